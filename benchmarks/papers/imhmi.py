"""Table 1 and Figures 1 and 2 of "Improved Univariate Microaggregation for Integer Values".

    python benchmarks/papers/imhmi.py [table1] [table3] [figures] [--quick] [--seeds 30]

Table 3 is in `imhmi_sequences.py`, Figures 1 and 2 in `imhmi_figures.py`. Table 1: n integers,
uniform in [-n/2, n/2]; the SSE of the best float groups with rounded centroids (the paper's column
IMHM), the SSE of the best integer groups (IMHMI), over 30 seeds as in the paper, and the seconds
that a plain MHM, a plain IMHM and this library take, sorting left out as in the paper. Seconds are
those of the processor, all threads together, so that what else runs matters less; published ones
are on the clock of another machine.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import microagg
from benchmarks.data import find
from benchmarks.measuring import save, show
from benchmarks.papers import imhmi_figures, imhmi_sequences
from microagg.grouping.sequence.split import split_sorted

# (k, n in millions): mean and deviation of IMHM, of IMHMI; seconds of MHM, IMHM, IMHMI
PUBLISHED = {
    (2, 0.5): (162_179.73, 238.56, 162_047.27, 236.22, 0.04, 0.04, 0.04),
    (2, 2): (648_522.30, 688.32, 648_000.27, 694.47, 0.16, 0.15, 0.18),
    (2, 5): (1_620_938.80, 1_115.41, 1_619_643.20, 1_114.77, 0.45, 0.37, 0.43),
    (2, 10): (3_241_856.10, 1_384.97, 3_239_297.70, 1_370.06, 0.89, 0.73, 0.84),
    (2, 20): (6_484_599.77, 1_715.31, 6_479_481.30, 1_704.58, 2.00, 1.47, 1.60),
    (3, 0.5): (358_295.97, 575.57, 357_851.10, 568.23, 0.03, 0.03, 0.03),
    (3, 2): (1_433_331.63, 1_306.13, 1_431_515.77, 1_290.68, 0.13, 0.10, 0.14),
    (3, 5): (3_583_541.17, 1_995.62, 3_579_080.50, 2_007.78, 0.37, 0.25, 0.33),
    (3, 10): (7_166_859.33, 2_017.97, 7_157_999.27, 2_022.67, 0.74, 0.50, 0.65),
    (3, 20): (14_334_838.73, 3_225.10, 14_317_135.07, 3_246.19, 1.28, 1.02, 1.29),
    (4, 0.5): (653_519.13, 969.39, 652_297.20, 967.96, 0.04, 0.03, 0.04),
    (4, 2): (2_613_360.43, 2_242.07, 2_608_464.90, 2_244.21, 0.17, 0.11, 0.15),
    (4, 5): (6_533_393.23, 3_173.83, 6_521_118.30, 3_122.51, 0.44, 0.28, 0.38),
    (4, 10): (13_067_459.40, 4_237.35, 13_042_940.17, 4_206.25, 0.79, 0.53, 0.76),
    (4, 20): (26_136_766.10, 4_730.61, 26_087_733.07, 4_741.18, 1.52, 1.15, 1.51),
    (5, 0.5): (1_026_032.43, 1_320.03, 1_025_130.97, 1_308.71, 0.05, 0.03, 0.04),
    (5, 2): (4_102_874.43, 2_353.69, 4_099_298.37, 2_343.45, 0.24, 0.12, 0.18),
    (5, 5): (10_255_386.17, 4_593.16, 10_246_432.03, 4_590.06, 0.48, 0.30, 0.43),
    (5, 10): (20_513_379.17, 5_343.78, 20_495_482.20, 5_292.48, 0.97, 0.58, 0.88),
    (5, 20): (41_025_516.20, 7_020.95, 40_989_651.23, 6_945.41, 1.95, 1.19, 1.70),
    (10, 0.5): (4_176_390.33, 4_697.34, 4_175_597.67, 4_692.73, 0.13, 0.05, 0.07),
    (10, 2): (16_706_812.27, 9_073.71, 16_703_655.80, 9_045.98, 0.47, 0.18, 0.27),
    (10, 5): (41_761_972.20, 13_314.56, 41_754_107.50, 13_320.37, 1.16, 0.44, 0.66),
    (10, 10): (83_524_960.37, 25_653.67, 83_509_196.83, 25_677.09, 2.24, 0.86, 1.32),
    (10, 20): (167_063_242.90, 22_794.65, 167_031_668.43, 22_830.84, 4.53, 1.80, 2.62),
}


def rounded_sse(line: np.ndarray, sizes: np.ndarray) -> int:
    """The exact SSE of consecutive groups of integers about their rounded means."""
    labels = np.repeat(np.arange(sizes.size), sizes)
    return int(((line - microagg.aggregate(line, labels, "integer")) ** 2).sum())


def line_of(n: int, seed: int) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).integers(-n // 2, n // 2, n, endpoint=True))


def measure(line: np.ndarray, k: int) -> tuple[int, int]:
    """SSE of the float groups with rounded centroids, and of the integer groups."""
    offsets = (line - line[0]).astype(np.float64)
    floats = split_sorted(offsets.copy(), k)
    whole = split_sorted(offsets, k, integer=True)
    return rounded_sse(line, floats), rounded_sse(line, whole)


@numba.njit
def plain_mhm(x, k):
    """Every arc summed from scratch: O(k^2 n)."""
    n = x.size
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    for start in range(n - k + 1):
        for end in range(start + k, min(n, start + 2 * k - 1) + 1):
            total = 0.0
            for i in range(start, end):
                total += x[i]
            mean = total / (end - start)
            scatter = 0.0
            for i in range(start, end):
                scatter += (x[i] - mean) ** 2
            best[end] = min(best[end], best[start] + scatter)
    return best[n]


@numba.njit
def plain_imhm(x, k):
    """Arcs summed from their predecessors: O(k n)."""
    n = x.size
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    first_mean = np.mean(x[:k])
    first = np.sum((x[:k] - first_mean) ** 2)
    for start in range(n - k + 1):
        if start > 0:
            change = x[start + k - 1] - x[start - 1]
            first_mean += change / k
            first += change * ((1 - k) * change / k + 2 * (x[start + k - 1] - first_mean))
        mean, scatter = first_mean, first
        best[start + k] = min(best[start + k], best[start] + scatter)
        for end in range(start + k + 1, min(n, start + 2 * k - 1) + 1):
            if best[end - k] < best[start]:
                break
            before = mean
            mean += (x[end - 1] - mean) / (end - start)
            scatter += (x[end - 1] - mean) * (x[end - 1] - before)
            best[end] = min(best[end], best[start] + scatter)
    return best[n]


def seconds(job: Callable[[], object], rounds: int) -> float:
    """Of the processor, the least of some rounds after one to compile."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        job()
        times.append(time.process_time() - start)
    return min(times)


def rows_of(millions: float, seeds: int) -> dict[tuple[int, float], list[object]]:
    """The rows of so many values: a line is sorted once for every k."""
    n, ks = int(millions * 10**6), [k for k, size in PUBLISHED if size == millions]
    pairs: dict[int, list[tuple[int, int]]] = {k: [] for k in ks}
    for seed in range(seeds):
        line = line_of(n, seed)
        for k in ks:
            pairs[k].append(measure(line, k))
    line = line_of(n, 0) * 1.0
    return {(k, millions): row_of(k, millions, pairs[k], line) for k in ks}


def row_of(k: int, millions: float, pairs: list[tuple[int, int]], line: np.ndarray) -> list[object]:
    imhm, imhm_sd, imhmi, imhmi_sd, *published = PUBLISHED[k, millions]
    rounded, whole = ([pair[i] for pair in pairs] for i in (0, 1))
    rounds = 1 if millions >= 10 else 3
    times = [
        seconds(lambda: plain_mhm(line, k), rounds),
        seconds(lambda: plain_imhm(line, k), rounds),
        seconds(lambda: split_sorted(line.copy(), k), rounds),
        seconds(lambda: split_sorted(line - line[0], k, integer=True), rounds),
    ]
    spread = [statistics.stdev(column) for column in (rounded, whole)]
    return [
        k,
        millions,
        len(pairs),
        f"{imhm:,.0f} ± {imhm_sd:,.0f}",
        f"{statistics.mean(rounded):,.0f} ± {spread[0]:,.0f}",
        f"{imhmi:,.0f} ± {imhmi_sd:,.0f}",
        f"{statistics.mean(whole):,.0f} ± {spread[1]:,.0f}",
        ", ".join(f"{each:.2f}" for each in published),
        *(f"{elapsed:.3f}" for elapsed in times),
    ]


def table_1(quick: bool, seeds: int) -> None:
    for compiles in (plain_mhm, plain_imhm):
        compiles(np.arange(100.0), 2)
    split_sorted(np.arange(1e5), 2, integer=True)
    found: dict[tuple[int, float], list[object]] = {}
    for millions in dict.fromkeys(size for _, size in PUBLISHED):
        if not quick or millions == 0.5:
            found |= rows_of(millions, min(seeds, 5) if quick else seeds)
            print("Table 1:", millions, "million done", file=sys.stderr, flush=True)
    rows = [found[row] for row in PUBLISHED if row in found]
    header = (
        "k",
        "n (10^6)",
        "seeds",
        "IMHM published",
        "IMHM ours",
        "IMHMI published",
        "IMHMI ours",
        "MHM, IMHM, IMHMI published s",
        "plain MHM s",
        "plain IMHM s",
        "ours s",
        "ours, integer s",
    )
    show("Table 1: SSE and processor seconds", header, rows)
    save("imhmi_table1", header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help="table1, table3, figures; or all")
    parser.add_argument("--quick", action="store_true", help="the smallest rows only")
    parser.add_argument("--seeds", type=int, default=30)
    given = parser.parse_args()
    if given.seeds < 2:
        parser.error("a deviation needs at least two seeds")
    jobs: dict[str, Callable[[], None]] = {
        "table1": lambda: table_1(given.quick, given.seeds),
        "table3": lambda: imhmi_sequences.run(given.quick),
        "figures": lambda: imhmi_figures.run(given.quick),
    }
    for part in given.parts or jobs:
        if part not in jobs:
            parser.error(f"there is no part {part!r}; there are {', '.join(jobs)}")
        if part != "table1" and find("tarragona") is None:
            print(f"{part} needs the reference data sets; set MICROAGG_DATA to their folder")
            continue
        jobs[part]()


if __name__ == "__main__":
    main()
