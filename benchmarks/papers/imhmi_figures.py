"""Figures 1 and 2 of "Improved Univariate Microaggregation for Integer Values": time by k.

    python benchmarks/papers/imhmi_figures.py [--quick]

Processor seconds to split the z-score order of vlCensus (a stand-in, see `imhmi_sequences.py`) and
of forest, for k = 2 to 50: a plain MHM, which sums every arc from scratch, a plain IMHM, which sums
arcs from their predecessors, and this library's split, with and without integer centroids. All grow
with the number of records alike, so MHM, and with it IMHM, is timed on every twentieth part of the
line and multiplied. Writes benchmarks/results/imhmi_figures as .csv and .md and a chart of each.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.charts import draw
from benchmarks.data import large_census, load
from benchmarks.measuring import save, show
from benchmarks.papers.imhmi_sequences import whole_records
from microagg.grouping.sequence.orderings import order_by_zscore
from microagg.grouping.sequence.split import split_sequence

KS = (2, 3, 5, 10, 15, 20, 30, 40, 50)
PART = 20
NAMES = ("MHM", "IMHM", "ours", "ours, integer")


@numba.njit
def plain_mhm(records, k):
    n, d = records.shape
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    for start in range(n - k + 1):
        for end in range(start + k, min(n, start + 2 * k - 1) + 1):
            scatter = 0.0
            for a in range(d):
                total = 0.0
                for i in range(start, end):
                    total += records[i, a]
                mean = total / (end - start)
                for i in range(start, end):
                    scatter += (records[i, a] - mean) ** 2
            best[end] = min(best[end], best[start] + scatter)
    return best[n]


@numba.njit
def plain_imhm(records, k):
    n, d = records.shape
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    mean = np.empty(d)
    for start in range(n - k + 1):
        scatter = 0.0
        mean[:] = records[start]
        for end in range(start + 2, min(n, start + 2 * k - 1) + 1):
            for a in range(d):
                away = records[end - 1, a] - mean[a]
                mean[a] += away / (end - start)
                scatter += away * (records[end - 1, a] - mean[a])
            if end >= start + k:
                best[end] = min(best[end], best[start] + scatter)
    return best[n]


def run(quick: bool) -> None:
    sets = {"vlCensus (stand-in)": large_census()}
    if not quick:
        sets["forest"] = load("forest")
    rows = []
    for figure, (name, numbers) in enumerate(sets.items(), 1):
        curves = times_of(whole_records(numbers, order_by_zscore), (2, 10) if quick else KS)
        for place, k in enumerate(curves["k"]):
            rows.append([figure, name, int(k), *(f"{curves[each][place]:.3f}" for each in NAMES)])
        title = f"{name}: processor seconds to split, by k"
        draw(f"imhmi_figure{figure}", title, curves.pop("k"), curves, logarithmic=True)
        print("Figure", figure, name, "done", file=sys.stderr, flush=True)
    header = ["figure", "data", "k", *(f"{name} s" for name in NAMES)]
    show("Figures 1 and 2: processor seconds to split", header, rows)
    save("imhmi_figures", header, rows)


def times_of(line: np.ndarray, ks: tuple[int, ...]) -> dict[str, list[float]]:
    part = np.ascontiguousarray(line[: len(line) // PART])
    scale = len(line) / len(part)
    for warm in (plain_mhm, plain_imhm):
        warm(part[:200], 2)
    split_sequence(line[: 1 << 16], 2, integer=True)
    curves: dict[str, list[float]] = {"k": []} | {name: [] for name in NAMES}
    for k in ks:
        curves["k"].append(k)
        curves["MHM"].append(scale * seconds(lambda: plain_mhm(part, k)))  # noqa: B023
        curves["IMHM"].append(scale * seconds(lambda: plain_imhm(part, k)))  # noqa: B023
        curves["ours"].append(seconds(lambda: split_sequence(line, k)))  # noqa: B023
        curves["ours, integer"].append(
            seconds(lambda: split_sequence(line, k, integer=True))  # noqa: B023
        )
    return curves


def seconds(job: Callable[[], object]) -> float:
    began = time.process_time()
    job()
    return time.process_time() - began


if __name__ == "__main__":
    run("--quick" in sys.argv)
