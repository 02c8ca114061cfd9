"""Figures 3 to 5 of the paper on private releases over groups, as tables and charts; its claims.

    python benchmarks/papers/dp.py [--runs 200] [--quick]

Soria-Comas and Domingo-Ferrer, "Differentially Private Data Publishing via Optimal Univariate
Microaggregation and Record Perturbation", section 8. All its methods but INS_DP protect given the
partition only. Figures are means over simulated runs, with standard errors; errors are taken
between the table and the noisy, clamped group means of each record, as in the paper. The paper
prints no figures of these curves, only what it says of them: the claims. Bare OPT, the third
baseline of Figure 3, is the SSE of OPT_DP_1's groups without their noise, for it has no k either.
With --quick there are 20 runs and few k, and nothing is written.
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
from benchmarks.charts import draw
from benchmarks.data import load
from benchmarks.measuring import best_times, save, show
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
# The attributes of Figures 4 and 5: the paper shows the price only. Degrees are taken without their
# sign, for the paper's bounds are 0 and 1.5 times the maximum. Each in units that make it some 1.
CALIFORNIA = {"price": "median_house_value", "longitude": "longitude", "latitude": "latitude"}
UNITS = {"price": (1e5, "1e7"), "longitude": (1.0, "1e-3"), "latitude": (1.0, "1e-3")}


class Figure(NamedTuple):
    """A mean over runs, its standard error, and the error of the groups alone."""

    mean: float
    error: float
    groups: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="simulated releases a figure")
    parser.add_argument("--quick", action="store_true", help="20 runs, the smaller subsets")
    given = parser.parse_args()
    runs = 20 if given.quick else given.runs
    sizes = SIZES[:3] if given.quick else SIZES
    claims: list[list[object]] = []
    figure_3(load("census", CENSUS) / 1e5, runs, claims)
    figures_4_and_5(sizes, runs, claims)
    header = ["claim", "paper", "ours", "holds"]
    show("Claims", header, claims)
    save("dp_claims", header, claims)
    if not given.quick:
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
            row.append(f"{found['OPT_DP_1', epsilon][place].groups:.3f}")
            for name in (*CURVES, *LINES):
                figure = found[name, epsilon][place]
                row.append(f"{figure.mean:.3f} ± {figure.error:.3f}")
            rows.append(row)
        curves = {name: [f.mean for f in found[name, epsilon]] for name in (*CURVES, *LINES)}
        draw(
            f"dp_figure3_epsilon{epsilon}",
            f"Census, epsilon = {epsilon}: SSE in 1e10",
            KS,
            {**bare, "OPT": [f.groups for f in found["OPT_DP_1", epsilon]], **curves},
            logarithmic=True,
        )
    header = ["epsilon", "k", *bare, "OPT", *CURVES, *LINES]
    show("Figure 3: census, SSE in 1e10", header, rows)
    save("dp_figure3", header, rows)
    claims += claims_of_figure_3(found, bare, insensitive)


def claims_of_figure_3(
    found: Mapping[tuple[str, float], list[Figure]],
    bare: Mapping[str, list[float]],
    insensitive: list[Figure],
) -> list[list[object]]:
    claims: list[list[object]] = []
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


class Study(NamedTuple):
    """By the number of records: MSE of MDAV_IR_DP_1 by k, and of OPT_DP_1, in 1e-3 of squares."""

    curves: dict[int, list[float]]
    lines: dict[int, float]

    @property
    def leasts(self) -> list[float]:
        return [min(curve) for curve in self.curves.values()]

    @property
    def ratios(self) -> list[float]:
        return [min(curve) / self.lines[n] for n, curve in self.curves.items()]

    @property
    def best_ks(self) -> list[int]:
        return [WIDE_KS[int(np.argmin(curve))] for curve in self.curves.values()]


def study_sizes(name: str, sizes: Sequence[int], runs: int) -> Study:
    """Epsilon 1 over 3 columns: with an even budget each has a third whatever the others hold."""
    values = np.abs(load("california_housing", (CALIFORNIA[name],))[:, 0]) / UNITS[name][0]
    shuffled = np.random.default_rng(0).permutation(values)
    found = Study({}, {})
    for n in sizes:
        part = shuffled[:n, np.newaxis]
        # Only the price's curve is shown whole: the others' want fewer runs.
        some = max(2, runs // (4 if name == "price" else 20))
        curve = [study("mdav-columns", "even", part, 1 / 3, k, some) for k in WIDE_KS]
        found.curves[n] = [1e3 * figure.mean / n for figure in curve]
        found.lines[n] = 1e3 * study("optimal", "even", part, 1 / 3, 1, runs).mean / n
        print(f"california, {name}, {n} records: done", file=sys.stderr, flush=True)
    return found


def figures_4_and_5(sizes: Sequence[int], runs: int, claims: list[list[object]]) -> None:
    """California: MSE by k and number of records, of the price and of the two other attributes."""
    studies = {name: study_sizes(name, sizes, runs) for name in CALIFORNIA}
    price = studies["price"]
    header = ["k", *(f"{n} records" for n in sizes)]
    rows: list[list[object]] = [
        [k, *(f"{price.curves[n][place]:.3f}" for n in sizes)] for place, k in enumerate(WIDE_KS)
    ]
    show("Figure 4: price, MSE in 1e7, MDAV_IR_DP_1", header, rows)
    save("dp_figure4", header, rows)
    by_size = {f"{n}": price.curves[n] for n in sizes}
    flat_lines = {f"OPT {n}": [price.lines[n]] * len(WIDE_KS) for n in sizes}
    title = "California, epsilon = 1, MSE of the price in 1e7: MDAV_IR_DP_1"
    draw("dp_figure4", title, WIDE_KS, by_size, logarithmic=True)
    both = {**by_size, **flat_lines}
    draw("dp_figure5", f"{title} and OPT_DP_1", WIDE_KS, both, logarithmic=True)
    header = [
        "attribute",
        "MSE in",
        "records",
        "OPT_DP_1",
        "least of MDAV_IR_DP_1",
        "at k",
        "ratio",
    ]
    rows = [
        [name, UNITS[name][1], n, f"{own.lines[n]:.3f}", f"{least:.3f}", k, f"{ratio:.2f}"]
        for name, own in studies.items()
        for n, least, k, ratio in zip(sizes, own.leasts, own.best_ks, own.ratios, strict=True)
    ]
    show("Figure 5: MSE", header, rows)
    save("dp_figure5", header, rows)
    for name, own in studies.items():
        claims += claims_of_figure_5(name, own)


def claims_of_figure_5(name: str, own: Study) -> list[list[object]]:
    """The paper's are of the price; of the others they are held against our figures, too."""
    said = (lambda words: words) if name == "price" else (lambda _words: "not shown")
    leasts, optima, ks = own.leasts, list(own.lines.values()), own.best_ks
    gains = [one / two for one, two in pairwise(leasts)]
    more = all(gain > ratio for gain, ratio in zip(gains, own.ratios, strict=False))
    fewer = f"{name}: more records, less MSE"
    best_first = f"{name}: twice the records gain more than the optimal groups (gains)"
    near = f"{name}: the least MSE of MDAV_IR_DP_1 is close to OPT_DP_1 (ratios)"
    larger = f"{name}: more records, a larger best k"
    grows = all(two >= one for one, two in pairwise(ks))
    return [
        [f"{fewer}: MDAV_IR_DP_1 at its best k", said("yes"), listed(leasts), falls(leasts)],
        [f"{fewer}: OPT_DP_1", said("yes"), listed(optima), falls(optima)],
        [larger, said("yes"), ", ".join(map(str, ks)), yes(grows)],
        [near, said("close"), listed(own.ratios), yes(max(own.ratios) < 1.25)],
        [best_first, said("in general"), listed(gains), yes(more)],
    ]


def listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:.2f}" for number in numbers)


def yes(holds: bool) -> str:
    return "yes" if holds else "no"


def falls(curve: Sequence[float]) -> str:
    return yes(all(two < one for one, two in pairwise(curve)))


def best(curve: list[Figure]) -> int:
    return KS[min(range(len(KS)), key=lambda place: curve[place].mean)]


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


if __name__ == "__main__":
    main()
