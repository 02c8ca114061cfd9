"""Tables 1 and 3 of "Improved Univariate Microaggregation for Integer Values": published and ours.

    python benchmarks/papers/imhmi.py [--quick] [--seeds 5]

Table 3, which needs the reference data sets, is in `imhmi_sequences.py`. Table 1: n integers,
uniform in [-n/2, n/2]; the SSE of the best float groups with rounded centroids (the paper's column
IMHM), the SSE of the best integer groups (IMHMI), and the seconds that a plain MHM, a plain IMHM
and this library take, sorting left out as in the paper.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import numba
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import microagg
from benchmarks.data import find
from benchmarks.measuring import save, show
from benchmarks.papers import imhmi_sequences
from microagg.grouping.sequence.split import split_sorted

# (k, n in millions): mean and deviation of IMHM, mean and deviation of IMHMI
PUBLISHED = {
    (2, 0.5): (162_179.73, 238.56, 162_047.27, 236.22),
    (2, 2): (648_522.30, 688.32, 648_000.27, 694.47),
    (2, 5): (1_620_938.80, 1115.41, 1_619_643.20, 1114.77),
    (3, 0.5): (358_295.97, 575.57, 357_851.10, 568.23),
    (3, 2): (1_433_331.63, 1306.13, 1_431_515.77, 1290.68),
    (3, 5): (3_583_541.17, 1995.62, 3_579_080.50, 2007.78),
    (4, 0.5): (653_519.13, 969.39, 652_297.20, 967.96),
    (4, 2): (2_613_360.43, 2242.07, 2_608_464.90, 2244.21),
    (4, 5): (6_533_393.23, 3173.83, 6_521_118.30, 3122.51),
    (5, 0.5): (1_026_032.43, 1320.03, 1_025_130.97, 1308.71),
    (5, 2): (4_102_874.43, 2353.69, 4_099_298.37, 2343.45),
    (5, 5): (10_255_386.17, 4593.16, 10_246_432.03, 4590.06),
    (10, 0.5): (4_176_390.33, 4697.34, 4_175_597.67, 4692.73),
    (10, 2): (16_706_812.27, 9073.71, 16_703_655.80, 9045.98),
    (10, 5): (41_761_972.20, 13_314.56, 41_754_107.50, 13_320.37),
}


def rounded_sse(line: np.ndarray, sizes: np.ndarray) -> int:
    """The exact SSE of consecutive groups of integers about their rounded means."""
    labels = np.repeat(np.arange(sizes.size), sizes)
    return int(((line - microagg.aggregate(line, labels, "integer")) ** 2).sum())


def measure(n: int, k: int, seed: int) -> tuple[int, int]:
    """SSE of the float groups with rounded centroids, and of the integer groups."""
    line = np.sort(np.random.default_rng(seed).integers(-n // 2, n // 2, n, endpoint=True))
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


def seconds(job) -> float:
    job()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="n = 0.5 million only")
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.seeds < 2:
        parser.error("a deviation needs at least two seeds")
    rows = []
    for (k, millions), (imhm, imhm_sd, imhmi, imhmi_sd) in PUBLISHED.items():
        if arguments.quick and millions != 0.5:
            continue
        n = int(millions * 10**6)
        pairs = [measure(n, k, seed) for seed in range(arguments.seeds)]
        rounded, whole = ([pair[i] for pair in pairs] for i in (0, 1))
        line = np.sort(np.random.default_rng(0).integers(-n // 2, n // 2, n, endpoint=True)) * 1.0
        times = [
            seconds(lambda line=line, k=k: plain_mhm(line, k)),
            seconds(lambda line=line, k=k: plain_imhm(line, k)),
            seconds(lambda line=line, k=k: split_sorted(line.copy(), k)),
            seconds(lambda line=line, k=k: split_sorted(line - line[0], k, integer=True)),
        ]
        spread = [statistics.stdev(column) for column in (rounded, whole)]
        rows.append(
            (
                k,
                millions,
                f"{imhm:,.0f} ± {imhm_sd:,.0f}",
                f"{statistics.mean(rounded):,.0f} ± {spread[0]:,.0f}",
                f"{imhmi:,.0f} ± {imhmi_sd:,.0f}",
                f"{statistics.mean(whole):,.0f} ± {spread[1]:,.0f}",
                *(f"{elapsed:.4f}" for elapsed in times),
            )
        )
    header = (
        "k",
        "n (10^6)",
        "IMHM published",
        "IMHM ours",
        "IMHMI published",
        "IMHMI ours",
        "MHM s",
        "IMHM s",
        "ours s",
        "ours, integer s",
    )
    show("Table 1: SSE and seconds", header, rows)
    save("imhmi_table1", header, rows)
    if find("tarragona") is None:
        print("Table 3 needs the reference data sets; set MICROAGG_DATA to their folder")
    else:
        imhmi_sequences.run(arguments.quick)


if __name__ == "__main__":
    main()
