"""Figures 3 to 5 of the paper on private releases over groups, as tables and charts; its claims.

    python benchmarks/papers/dp.py [--runs 200]

Soria-Comas and Domingo-Ferrer, "Differentially Private Data Publishing via Optimal Univariate
Microaggregation and Record Perturbation", section 8. All its methods but INS_DP protect given the
partition only. Figures are means over simulated runs, with standard errors; errors are taken
between the table and the noisy, clamped group means of each record, as in the paper.
Writes dp_figure3, dp_figure4, dp_figure5, dp_claims and dp_speed, .csv and .md, and the figures as
.svg, to benchmarks/results.
"""

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.data import load
from benchmarks.measuring import RESULTS, best_times, save, show
from microagg.private import release
from microagg.private.budget import split
from microagg.private.domains import Range
from microagg.private.method import Task
from microagg.private.prepared import means_of
from microagg.private.registry import WORD, find
from microagg.private.theory import suggest_k

KS = (1, 2, 3, 5, 7, *range(10, 251, 10))
# More records want larger groups than the paper's 250.
WIDE_KS = (1, 2, 5, 10, 20, *range(50, 300, 25), *range(300, 1001, 100))
CENSUS = ("FICA", "FEDTAX", "INTVAL", "POTHVAL")
SIZES = (1290, 2580, 5160, 10_320, 20_640)
# name in the paper: method, budget
CURVES = {
    "MDAV_DP": ("mdav", "sensitivity"),
    "MDAV_IR_DP_1": ("mdav-columns", "even"),
    "MDAV_IR_DP_2": ("mdav-columns", "sensitivity"),
    "INS_DP": ("insensitive", "sensitivity"),
}
LINES = {"OPT_DP_1": ("optimal", "even"), "OPT_DP_2": ("optimal", "sensitivity")}
# Seen on a prototype: means over many runs, in 1e10.
SEEN = {
    ("OPT_DP_1", 1): 4.88,
    ("OPT_DP_2", 1): 3.46,
    ("OPT_DP_1", 2): 2.96,
    ("OPT_DP_2", 2): 2.03,
}


class Figure(NamedTuple):
    """A mean over runs, its standard error, and the error of the groups alone."""

    mean: float
    error: float
    groups: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="simulated releases a figure")
    runs = parser.parse_args().runs
    claims: list[list[object]] = []
    figure_3(load("census", CENSUS) / 1e5, runs, claims)
    prices = load("california_housing", ("median_house_value",))
    figures_4_and_5(prices[:, 0] / 1e5, runs, claims)
    header = ["claim", "paper", "ours", "holds"]
    show("Claims", header, claims)
    save("dp_claims", header, claims)
    speed()


def speed() -> None:
    """OPT_DP on a million values, from the table to the noisy one, in units of a plain sort."""
    rng = np.random.default_rng(0)
    rows = []
    for name, x in (("uniform", rng.random(10**6)), ("lognormal", rng.lognormal(size=10**6))):
        settings = {"epsilon": 1.0, "method": "optimal", "accept": WORD, "simulate": True}
        run = partial(release, x, bounds={"0": (0.0, 1.5 * x.max())}, **settings)
        times = best_times({"argsort": partial(np.argsort, x), "release": run})
        ratio = times["release"] / times["argsort"]
        rows.append([name, *(f"{1e3 * seconds:.0f}" for seconds in times.values()), f"{ratio:.2f}"])
    header = ["10^6 values", "numpy.argsort, ms", "OPT_DP, ms", "ratio"]
    show("Speed of OPT_DP, simulated noise included", header, rows)
    save("dp_speed", header, rows)


def study(
    method: str, budget: str, records: np.ndarray, epsilon: float, k: int, runs: int
) -> Figure:
    """The mean SSE over simulated releases by one method, bounds 0 and 1.5 times the maximum."""
    known = {str(j): Range(0.0, 1.5 * top) for j, top in enumerate(records.max(axis=0))}
    chosen = find(method, WORD)
    shares = list(split(epsilon, known, budget, groups_adapt=chosen.groups_adapt).values())
    ranges = list(known.values())
    partitions = chosen.group(Task(records, ranges, shares, k))
    rng = np.random.default_rng([k, round(100 * epsilon)])
    errors, groups = np.zeros(runs), 0.0
    for x, own, share, found in zip(records.T, ranges, shares, partitions, strict=True):
        means = np.bincount(found.labels, weights=x) / found.sizes
        own_error = float(((x - means[found.labels]) ** 2).sum())
        groups += own_error
        noisy = means_of(own, x, found, chosen, share).drawn(rng, runs)
        # A group's error is its SSE and the shift of its mean.
        errors += own_error + (found.sizes * (noisy - means) ** 2).sum(axis=1)
    return Figure(errors.mean(), errors.std(ddof=1) / math.sqrt(runs), groups)


def figure_3(records: np.ndarray, runs: int, claims: list[list[object]]) -> None:
    """Census: SSE in 1e10 by k, for epsilon 1 and 2."""
    found: dict[tuple[str, float], list[Figure]] = {}
    for epsilon in (1, 2):
        for name, (method, budget) in CURVES.items():
            found[name, epsilon] = [study(method, budget, records, epsilon, k, runs) for k in KS]
        for name, (method, budget) in LINES.items():
            found[name, epsilon] = [study(method, budget, records, epsilon, 1, 5 * runs)] * len(KS)
        print(f"census, epsilon {epsilon}: done", file=sys.stderr, flush=True)
    insensitive = [study("insensitive", "sensitivity", records, 10, k, runs) for k in KS]
    bare = {
        "MDAV": [figure.groups for figure in found["MDAV_DP", 1]],
        "MDAV_IR": [figure.groups for figure in found["MDAV_IR_DP_1", 1]],
    }
    rows = []
    for epsilon in (1, 2):
        for place, k in enumerate(KS):
            row = [epsilon, k, *(f"{curve[place]:.3f}" for curve in bare.values())]
            for name in (*CURVES, *LINES):
                figure = found[name, epsilon][place]
                row.append(f"{figure.mean:.3f} ± {figure.error:.3f}")
            rows.append(row)
        curves = {name: [f.mean for f in found[name, epsilon]] for name in (*CURVES, *LINES)}
        chart(
            f"dp_figure3_epsilon{epsilon}",
            f"Census, epsilon = {epsilon}: SSE in 1e10",
            KS,
            {**bare, **curves},
        )
    header = ["epsilon", "k", *bare, *CURVES, *LINES]
    show("Figure 3: census, SSE in 1e10", header, rows)
    save("dp_figure3", header, rows)
    claims += claims_of_figure_3(found, bare, insensitive)


def claims_of_figure_3(
    found: Mapping[tuple[str, float], list[Figure]],
    bare: Mapping[str, list[float]],
    insensitive: list[Figure],
) -> list[list[object]]:
    claims: list[list[object]] = []
    for (name, epsilon), seen in SEEN.items():
        figure = found[name, epsilon][0]
        near = abs(figure.mean - seen) <= 3 * figure.error + 0.005
        ours = f"{figure.mean:.3f} ± {figure.error:.3f}"
        claims.append([f"{name}, epsilon {epsilon} (prototype)", seen, ours, yes(near)])
    for name, curve in bare.items():
        dip = max(1 - two / one for one, two in pairwise(curve[1:]))
        early, late = slope(curve, 0, KS.index(20)), slope(curve, KS.index(200), len(KS) - 1)
        ours = f"largest dip {100 * max(dip, 0):.1f} %, slope {early:.3f}, later {late:.3f}"
        holds = curve[-1] == max(curve) and dip < 0.03 and early > late
        claims.append(
            [f"bare SSE of {name} rises with k, steeply at first", "yes", ours, yes(holds)]
        )
    for epsilon, published in ((1, "140"), (2, "90")):
        low, high = flat(found["MDAV_IR_DP_2", epsilon])
        ours = f"{best(found['MDAV_IR_DP_2', epsilon])}, not told apart from {low} to {high}"
        claims.append(
            [
                f"best k of MDAV_IR_DP_2, epsilon {epsilon}",
                published,
                ours,
                yes(low <= int(published) <= high),
            ]
        )
        suggested = suggest_k(1080, epsilon, "mdav-columns", columns=4)
        claims.append([f"suggest_k for MDAV_IR_DP_1, epsilon {epsilon}", "none", suggested, ""])
    smaller = [best(found[name, 2]) <= best(found[name, 1]) for name in list(CURVES)[:3]]
    claims.append(
        ["a greater epsilon has a smaller best k", "yes", str(smaller), yes(all(smaller))]
    )
    for epsilon in (1, 2):
        shares = [
            found[name, epsilon][-1].mean / found[name, epsilon][-1].groups
            for name in list(CURVES)[:3]
        ]
        ours = listed(shares)
        claims.append(
            [
                f"at k = 250 errors near the bare SSE (ratios), epsilon {epsilon}",
                "converge",
                ours,
                yes(max(shares) < 1.25),
            ]
        )
        for better, worse in (
            ("MDAV_IR_DP_1", "MDAV_DP"),
            ("MDAV_IR_DP_2", "MDAV_DP"),
            ("MDAV_IR_DP_2", "MDAV_IR_DP_1"),
            ("OPT_DP_1", "MDAV_IR_DP_1"),
            ("OPT_DP_2", "MDAV_IR_DP_2"),
        ):
            first, ratio = wins_from(found[better, epsilon], found[worse, epsilon])
            claims.append(
                [
                    f"{better} no worse than {worse} from k =, epsilon {epsilon}",
                    "1",
                    f"{first}; at their best k, ratio {ratio:.2f}",
                    yes(first == 1),
                ]
            )
    line = found["OPT_DP_2", 2][0].mean
    for name, published in (("MDAV", 20), ("MDAV_IR", 50)):
        first = next((k for k, sse in zip(KS, bare[name], strict=True) if sse > line), None)
        claims.append(
            [
                f"OPT_DP_2, epsilon 2, loses less than bare {name} from k =",
                published,
                first,
                yes(first is not None and first <= published),
            ]
        )
    least = min(figure.mean for figure in insensitive)
    ours_least = min(figure.mean for figure in found["MDAV_IR_DP_2", 1])
    claims.append(
        [
            "MDAV_IR_DP at epsilon 1 does as well as INS_DP at epsilon 10 (least SSE of each)",
            "yes",
            f"{ours_least:.2f}, {least:.2f}",
            yes(ours_least <= least),
        ]
    )
    return claims


def figures_4_and_5(prices: np.ndarray, runs: int, claims: list[list[object]]) -> None:
    """California: MSE of the price in 1e10 by k and number of records, epsilon 1 over 3 columns.

    With an even budget the price has a third of epsilon whatever the other columns hold.
    """
    shuffled = np.random.default_rng(0).permutation(prices)
    curves: dict[int, list[Figure]] = {}
    lines: dict[int, Figure] = {}
    for n in SIZES:
        subset = shuffled[:n, np.newaxis]
        curves[n] = [study("mdav-columns", "even", subset, 1 / 3, k, runs // 4) for k in WIDE_KS]
        lines[n] = study("optimal", "even", subset, 1 / 3, 1, runs)
        print(f"california, {n} records: done", file=sys.stderr, flush=True)
    header = ["k", *(f"{n} records" for n in SIZES)]
    rows = [
        [k, *(f"{1e3 * curves[n][place].mean / n:.3f}" for n in SIZES)]
        for place, k in enumerate(WIDE_KS)
    ]
    show("Figure 4: price, MSE in 1e7, MDAV_IR_DP_1", header, rows)
    save("dp_figure4", header, rows)
    by_size = {f"{n}": [1e3 * f.mean / n for f in curves[n]] for n in SIZES}
    flat_lines = {f"OPT {n}": [1e3 * lines[n].mean / n] * len(WIDE_KS) for n in SIZES}
    title = "California, epsilon = 1, MSE of the price in 1e7: MDAV_IR_DP_1"
    chart("dp_figure4", title, WIDE_KS, by_size)
    chart("dp_figure5", f"{title} and OPT_DP_1", WIDE_KS, {**by_size, **flat_lines})
    leasts = [1e3 * min(f.mean for f in curves[n]) / n for n in SIZES]
    optima = [1e3 * lines[n].mean / n for n in SIZES]
    sizes = [best(curves[n], WIDE_KS) for n in SIZES]
    ratios = [least / optimum for least, optimum in zip(leasts, optima, strict=True)]
    gains = [one / two for one, two in pairwise(leasts)]
    header = ["records", "OPT_DP_1", "least of MDAV_IR_DP_1", "at k", "ratio"]
    rows = [
        [n, f"{optimum:.3f}", f"{least:.3f}", k, f"{ratio:.2f}"]
        for n, optimum, least, k, ratio in zip(SIZES, optima, leasts, sizes, ratios, strict=True)
    ]
    show("Figure 5: price, MSE in 1e7", header, rows)
    save("dp_figure5", header, rows)
    fewer = "more records, less MSE"
    best_first = "twice the records gain more than the optimal groups (gains)"
    near = "the least MSE of MDAV_IR_DP_1 is close to OPT_DP_1 (ratios)"
    more = all(gain > ratio for gain, ratio in zip(gains, ratios, strict=False))
    claims += [
        [f"{fewer}: MDAV_IR_DP_1 at its best k", "yes", listed(leasts), yes(rises(leasts[::-1]))],
        [f"{fewer}: OPT_DP_1", "yes", listed(optima), yes(rises(optima[::-1]))],
        ["more records, a larger best k", "yes", ", ".join(map(str, sizes)), yes(rises(sizes))],
        [near, "close", listed(ratios), yes(max(ratios) < 1.25)],
        [best_first, "in general", listed(gains), yes(more)],
    ]


def listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:.2f}" for number in numbers)


def yes(holds: bool) -> str:
    return "yes" if holds else "no"


def rises(curve: Sequence[float]) -> bool:
    return all(two > one for one, two in pairwise(curve))


def best(curve: list[Figure], ks: Sequence[int] = KS) -> int:
    return ks[min(range(len(ks)), key=lambda place: curve[place].mean)]


def flat(curve: list[Figure]) -> tuple[int, int]:
    """The values of k whose means lie within two standard errors of the least."""
    least = min(curve, key=lambda figure: figure.mean)
    near = [
        k
        for k, figure in zip(KS, curve, strict=True)
        if figure.mean - least.mean <= 2 * math.hypot(figure.error, least.error)
    ]
    return min(near), max(near)


def wins_from(better: list[Figure], worse: list[Figure]) -> tuple[int, float]:
    """The k from which on the one is nowhere above the other, but for noise; their least ratio."""
    first = KS[0]
    for number, (one, two) in enumerate(zip(better, worse, strict=True)):
        if one.mean - two.mean > 2 * math.hypot(one.error, two.error):
            first = KS[min(number + 1, len(KS) - 1)]
    return first, min(f.mean for f in better) / min(f.mean for f in worse)


def slope(curve: Sequence[float], first: int, last: int) -> float:
    return (curve[last] - curve[first]) / (KS[last] - KS[first])


def chart(stem: str, title: str, xs: Sequence[int], curves: Mapping[str, Sequence[float]]) -> None:
    """A line chart with a logarithmic height, written as benchmarks/results/<stem>.svg."""
    heights = [y for curve in curves.values() for y in curve if y > 0]
    low, high = math.floor(math.log10(min(heights))), math.ceil(math.log10(max(heights)))

    def across(x: float) -> float:
        return 50 + 560 * (x - xs[0]) / (xs[-1] - xs[0])

    def down(y: float) -> float:
        return 370 - 330 * (math.log10(max(y, 10.0**low)) - low) / (high - low)

    parts = [text(50, 20, title)]
    for power in range(low, high + 1):
        y = down(10.0**power)
        parts.append(f'<path d="M50 {y:.1f}H610" stroke="#ddd"/>' + text(8, y + 4, f"1e{power}"))
    parts += [
        text(across(x) - 8, 388, f"{x:g}")
        for x in (xs[0], *range(xs[-1] // 5, xs[-1] + 1, xs[-1] // 5))
    ]
    parts.append(text(320, 404, "k"))
    for number, (name, curve) in enumerate(curves.items()):
        colour = f"hsl({number * 360 / len(curves):.0f} 70% 40%)"
        points = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in zip(xs, curve, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}"/>')
        parts.append(text(622, 50 + 18 * number, name, colour))
    body = "\n".join(parts)
    (RESULTS / f"{stem}.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 412" '
        f'font-family="sans-serif" font-size="12">\n{body}\n</svg>\n',
        encoding="utf-8",
    )


def text(x: float, y: float, words: str, colour: str = "#333") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}">{words}</text>'


if __name__ == "__main__":
    main()
