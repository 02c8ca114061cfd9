"""Figures 18 to 32 of "Computational methods for large-scale microdata anonymization", as tables.

    python benchmarks/papers/pca.py [--quick]

Casanova (2015), section 5: PCA & MDAV, Piecewise PCA, Hybrid Lloyd & PCA, and the algorithms A and
B, against MDAV: time and distortion by the number of records, of dimensions kept, and by k; and the
claims made of them. Every algorithm runs twice: with MDAV by brute force, as in the paper, and with
the index, which gives the same groups. Seconds are processor time of all threads, the best of
several; distortion is the mean squared error in percent of the variance.

'Quant Forest' is the forest data. 'Large Census' is not public: a synthetic set of as many records
and columns stands in, whose first five components hold most of the variance. The paper names
neither k nor the number of cells: here k = 10 and 10 cells unless said. Writes pca_*.csv, .md and
.svg to benchmarks/results; --quick takes small sets and writes nothing.
"""

import argparse
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import microagg
from benchmarks.data import CENSUS_RECORDS, large_census, load, load_shuffled, standardise
from benchmarks.papers.pca_book import Book, Curves, Result
from microagg.base.groups import Partition
from microagg.grouping.cluster.mdav import mdav
from microagg.grouping.divide.blocks import group_blocks
from microagg.grouping.divide.lloyd import coarse_cells, lloyd_cells
from microagg.grouping.divide.lloyd_pca import lloyd_pca_cells
from microagg.grouping.divide.reduce import Reduction, find_axes, reduce
from microagg.grouping.method import Task

K, CELLS = 10, 10
MDAV, PCA, A, B = "MDAV", "PCA & MDAV", "A: Lloyd, MDAV", "B: MDAV, MDAV"
PIECEWISE, HYBRID = "Piecewise PCA", "Hybrid Lloyd & PCA"
ALGORITHMS = (MDAV, PCA, PIECEWISE, HYBRID, A, B)
CENSUS, FOREST, EIA = "Large Census (synthetic)", "Quant Forest", "EIA"
ENERGIES = {EIA: 17, FOREST: 22}
WAYS: dict[str, bool | None] = {"brute": False, "index": None}  # prunes
# What an index changes where it is not in the figures: MDAV by index is exact.
SAME = "nothing: the same groups"
SOONER = "the same groups sooner: the second number"


@dataclass(frozen=True)
class Scale:
    """How much is run."""

    sizes: tuple[int, ...]
    ks: tuple[int, ...]
    fixed: int  # records where n is not what varies
    times: int
    forest: int  # records for the bar, and those brute force is timed on
    part: int


SIZES = (10_000, 27_500, 50_000, 75_000, 100_000, CENSUS_RECORDS)
FULL = Scale(SIZES, (3, 5, 10, 20, 50, 100), 50_000, 3, 581_012, 50_000)
QUICK = Scale((2000, 4000, 8000), (3, 10, 30), 4000, 1, 20_000, 5000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sets, nothing written")
    quick = parser.parse_args().quick
    scale, book = QUICK if quick else FULL, Book(write=not quick)
    sets = {CENSUS: large_census(), FOREST: standardise(load_shuffled("forest"))}
    for records in sets.values():
        measure(records[:12_000], K)  # compiles
    energies(book, sets)
    by_records = {name: vary_records(book, name, sets[name], scale) for name in sets}
    by_dimensions = vary_dimensions(book, sets[CENSUS], scale)
    by_k = vary_k(book, sets[CENSUS], scale)
    hybrid = compare_hybrid(book, sets, scale)
    claims(book, scale, by_records, by_dimensions, by_k, hybrid)
    the_bar(book, sets[FOREST], scale)


# Runs


def run(algorithm: str, records: np.ndarray, k: int, reduction: Reduction, prunes: bool | None):
    """One of the algorithms, put together from the parts of the registered methods."""
    rng = np.random.default_rng(0)

    def plain(task: Task):
        return mdav(task.records, task.k, prunes=prunes)

    def reduced(task: Task):
        return mdav(reduce(task.records, reduction), task.k, prunes=prunes)

    if algorithm == MDAV:
        return mdav(records, k, prunes=prunes)
    if algorithm == PCA:
        return mdav(reduce(records, reduction), k, prunes=prunes)
    task = Task(records, k, rng)
    if algorithm == B:
        return group_blocks(task, coarse_cells(records, CELLS), plain)
    if algorithm == HYBRID:
        cell_of, kept = lloyd_pca_cells(records, k, CELLS, reduction, rng)
        reduction = Reduction(dimensions=kept)
        return group_blocks(task, cell_of, reduced)
    cell_of = lloyd_cells(records, CELLS, rng)
    return group_blocks(task, cell_of, plain if algorithm == A else reduced)


def measure(
    records: np.ndarray,
    k: int,
    reduction: Reduction = Reduction(),  # noqa: B008
    algorithms: Sequence[str] = ALGORITHMS,
    times: int = 1,
) -> dict[str, Result]:
    """All algorithms in turns, so that all meet the same noise."""
    seconds = {(algorithm, way): math.inf for algorithm in algorithms for way in WAYS}
    losses = {}
    for _ in range(times):
        for algorithm, way in seconds:
            start = time.process_time()
            order, sizes = run(algorithm, records, k, reduction, WAYS[way])
            spent = time.process_time() - start
            seconds[algorithm, way] = min(seconds[algorithm, way], spent)
            losses[algorithm] = loss(records, order, sizes, k)
    return {
        algorithm: Result(seconds[algorithm, "brute"], seconds[algorithm, "index"], lost)
        for algorithm, lost in losses.items()
    }


def loss(records: np.ndarray, order: np.ndarray, sizes: np.ndarray, k: int) -> float:
    return microagg.information_loss(records, Partition.from_sequence(order, sizes, k, "pca"))


def by_algorithm(results: Sequence[dict[str, Result]]) -> Curves:
    return {algorithm: [result[algorithm] for result in results] for algorithm in results[0]}


# Figures


def energies(book: Book, sets: Mapping[str, np.ndarray]) -> None:
    """Figures 17 and 22, and the same of the third set."""
    rows = []
    eia = standardise(load("eia")[:, 1:])  # ten dimensions, as in the paper: no number of the unit
    for name, records in {**sets, EIA: eia}.items():
        shares = find_axes(records[:50_000]).variances
        shares = np.cumsum(shares) / shares.sum()
        rows += [[name, m + 1, f"{100 * share:.2f}"] for m, share in enumerate(shares)]
        if name in ENERGIES:
            curve = {"cumulated energy": [100 * float(share) for share in shares]}
            title = f"{name}: percent of the variance"
            book.chart(f"pca_figure{ENERGIES[name]}", title, range(1, 11), curve, "components")
    book.table(
        "pca_energy", "Figures 17 and 22: energy kept", ["data", "components", "percent"], rows
    )


def vary_records(book: Book, name: str, records: np.ndarray, scale: Scale) -> Curves:
    """Figures 18, 19, 25 to 30 (Large Census), 20 and 21 (Quant Forest)."""
    results = []
    for n in scale.sizes:
        results.append(measure(standardise(records[:n]), K, times=scale.times))
        print(name, n, "done", file=sys.stderr, flush=True)
    curves = by_algorithm(results)
    short = "census" if name == CENSUS else "forest"
    book.results(f"pca_records_{short}", f"{name}, k = {K}", "n", scale.sizes, curves)
    pairs = {18: (MDAV, PCA)} if short == "census" else {20: (MDAV, PCA)}
    if short == "census":
        pairs |= {25: (MDAV, PCA, PIECEWISE), 27: (MDAV, A, PIECEWISE)}
        pairs |= {28: (MDAV, B, PIECEWISE), 29: (MDAV, PIECEWISE, HYBRID)}
    for figure, shown in pairs.items():
        book.times(figure, f"{name}: seconds", scale.sizes, curves, shown, "records")
        if figure in (18, 20, 25, 29):
            book.losses(figure + 1, f"{name}: distortion", scale.sizes, curves, shown, "records")
    return curves


def vary_dimensions(book: Book, records: np.ndarray, scale: Scale) -> Curves:
    """Figures 23 and 24: what PCA & MDAV gains over MDAV, by the dimensions kept."""
    records = standardise(records[: scale.fixed])
    kept = range(2, 14)
    results = [measure(records, K, Reduction(dimensions=m), (MDAV, PCA), scale.times) for m in kept]
    curves = by_algorithm(results)
    title = f"{CENSUS}, {len(records)} records, k = {K}"
    book.results("pca_dimensions", title, "m", kept, curves)
    gains = {
        way: [
            100 * (1 - getattr(pca, way) / getattr(plain, way))
            for plain, pca in zip(curves[MDAV], curves[PCA], strict=True)
        ]
        for way in WAYS
    }
    book.chart("pca_figure23", f"{CENSUS}: percent of time saved", kept, gains, "dimensions kept")
    worse = [
        100 * (pca.loss / plain.loss - 1)
        for plain, pca in zip(curves[MDAV], curves[PCA], strict=True)
    ]
    title = f"{CENSUS}: percent more distortion"
    book.chart("pca_figure24", title, kept, {PCA: worse}, "dimensions kept")
    return curves


def vary_k(book: Book, records: np.ndarray, scale: Scale) -> Curves:
    """Figures 31 and 32."""
    records = standardise(records[: scale.fixed])
    three = (MDAV, PCA, PIECEWISE)
    results = [measure(records, k, algorithms=three, times=scale.times) for k in scale.ks]
    curves = by_algorithm(results)
    book.results("pca_k", f"{CENSUS}, {len(records)} records", "k", scale.ks, curves)
    book.times(31, f"{CENSUS}: seconds", scale.ks, curves, three, "k")
    book.losses(32, f"{CENSUS}: distortion", scale.ks, curves, three, "k")
    return curves


def compare_hybrid(
    book: Book, sets: Mapping[str, np.ndarray], scale: Scale
) -> dict[tuple[str, int], tuple[float, float, float]]:
    """Piecewise PCA, the hybrid to the letter (price 0) and ours, at the same dimensions kept."""
    found = {}
    for name, records in sets.items():
        part = standardise(records[: scale.fixed])
        for m in range(3, records.shape[1]):
            reduction = Reduction(dimensions=m)

            def reduced(task: Task, reduction=reduction):
                return mdav(reduce(task.records, reduction), task.k)

            losses = []
            for price in (1.0, 0.0, None):  # at a price of 1 cells are Lloyd's
                rng = np.random.default_rng(0)
                cell_of, _ = lloyd_pca_cells(part, K, CELLS, reduction, rng, price=price)
                losses.append(loss(part, *group_blocks(Task(part, K, rng), cell_of, reduced), K))
            found[name, m] = (losses[0], losses[1], losses[2])
    rows = [[name, m, *(f"{x:.3f}" for x in losses)] for (name, m), losses in found.items()]
    header = ["data", "dimensions", PIECEWISE, "hybrid to the letter", "hybrid, ours"]
    book.table("pca_hybrid", f"Distortion, {scale.fixed} records, k = {K}", header, rows)
    return found


# Claims


def claims(
    book: Book,
    scale: Scale,
    by_records: Mapping[str, Curves],
    by_dimensions: Curves,
    by_k: Curves,
    hybrid: Mapping[tuple[str, int], tuple[float, float, float]],
) -> None:
    census, quant = by_records[CENSUS], by_records[FOREST]
    n = scale.sizes[-1]

    def gain(curves: Curves, one: str, other: str, way: str, at: int = -1) -> float:
        return getattr(curves[one][at], way) / getattr(curves[other][at], way)

    def faster(curves: Curves, one: str, other: str) -> tuple[str, list[bool]]:
        gains = [gain(curves, one, other, way) for way in WAYS]
        words = f"{gains[0]:.2f} times by brute force, {gains[1]:.2f} with the index"
        return f"{words} (n = {n})", [x > 1 for x in gains]

    def extra(curves: Curves, algorithm: str, at: int = -1) -> float:
        return 100 * (curves[algorithm][at].loss / curves[MDAV][at].loss - 1)

    rows: list[list[str]] = []

    def say(
        where: str, claim: str, figures: str, holds: bool | list[bool], indexed: str = SAME
    ) -> None:
        verdict = "yes" if holds is True else "no"
        if isinstance(holds, list):
            brute, index = holds
            verdict = "yes" if brute and index else "no"
            if brute and not index:
                verdict = "by brute force only: the index makes it obsolete"
            elif index and not brute:
                verdict = "with the index only"
            indexed = SOONER
        rows.append([where, claim, figures, verdict, indexed])

    say("18", "PCA & MDAV is faster than MDAV, Large Census", *faster(census, MDAV, PCA))
    grows = [gain(census, MDAV, PCA, "brute", at) for at in (0, -1)]
    words = f"{grows[0]:.2f} times at n = {scale.sizes[0]}, {grows[1]:.2f} at {n}; seconds apart: "
    apart = [census[MDAV][at].brute - census[PCA][at].brute for at in (0, -1)]
    words += f"{apart[0]:.2f} and {apart[1]:.2f} (brute force)"
    sooner = [census[MDAV][at].index - census[PCA][at].index for at in (0, -1)]
    indexed = f"seconds apart: {sooner[0]:.2f} and {sooner[1]:.2f}"
    say("18", "the difference grows with the records", words, apart[1] > apart[0], indexed)
    words = f"{extra(census, PCA):+.1f} % (Large Census), {extra(quant, PCA):+.1f} % (Quant Forest)"
    small = max(extra(census, PCA), extra(quant, PCA)) < 5
    say("19, 21", "its distortion is hardly greater", words, small)
    few, many = census[PCA][0].loss, census[PCA][-1].loss
    say("19", "distortion falls with the records", f"{few:.2f} to {many:.2f}", many < few)
    gains = [gain(curves, MDAV, PCA, "brute") for curves in (census, quant)]
    words = f"{gains[0]:.2f} and {gains[1]:.2f} times, brute force"
    indexed = "{:.2f} and {:.2f} times".format(
        *(gain(curves, MDAV, PCA, "index") for curves in (census, quant))
    )
    say("20", "Quant Forest gains less than Large Census", words, gains[0] > gains[1], indexed)
    few, many = (gain(by_dimensions, MDAV, PCA, "brute", at) for at in (0, -1))
    words = f"2 kept: {few:.2f} times, 13 kept: {many:.2f} (brute force)"
    indexed = "2 kept: {:.2f} times, 13 kept: {:.2f}".format(
        *(gain(by_dimensions, MDAV, PCA, "index", at) for at in (0, -1))
    )
    saved = few > 1.25 > many
    say("23", "fewer dimensions save more time; all save none", words, saved, indexed)
    at = {m: extra(by_dimensions, PCA, m - 2) for m in (5, 7, 8)}
    words = ", ".join(f"{m} of 13 kept: {worse:+.1f} %" for m, worse in at.items())
    say("24", "with 8 dimensions distortion is almost that of MDAV", words, at[8] < 3)
    say("25", "Piecewise PCA is faster than PCA & MDAV", *faster(census, PCA, PIECEWISE))
    words = f"{extra(census, PIECEWISE):+.1f} % (Large Census), "
    words += f"{extra(quant, PIECEWISE):+.1f} % (Quant Forest), in {CELLS} cells"
    none = max(extra(census, PIECEWISE), extra(quant, PIECEWISE)) <= 0.5
    say("26", "Piecewise PCA loses no distortion", words, none)
    say("27", "PCA makes it faster than A", *faster(census, A, PIECEWISE))
    say("28", "PCA makes it faster than B", *faster(census, B, PIECEWISE))
    say("29", "the hybrid is faster than MDAV", *faster(census, MDAV, HYBRID))
    worst = max(letter / piecewise for piecewise, letter, _ in hybrid.values())
    words = f"to the letter up to {100 * (worst - 1):+.0f} %"
    say("30", "to the letter the hybrid does not lower distortion reliably", words, worst > 1)
    ours = [100 * (own / piecewise - 1) for piecewise, _, own in hybrid.values()]
    words = f"ours {min(ours):+.0f} % to {max(ours):+.1f} % at the same dimensions"
    better = np.mean([x <= 0.5 for x in ours]) > 0.9 and min(ours) < -5
    say("30", "the hybrid can lower distortion, as it was meant to", words, bool(better))
    times = [result.brute for result in by_k[MDAV]]
    words = f"MDAV {times[0]:.2f} s at k = {scale.ks[0]}, {times[-1]:.2f} at {scale.ks[-1]}"
    sooner = [by_k[MDAV][at].index for at in (0, -1)]
    indexed = f"MDAV {sooner[0]:.2f} s and {sooner[1]:.2f}"
    say("31", "time falls as k grows", words, times[-1] < times[0], indexed)
    lost = {name: [result.loss for result in results] for name, results in by_k.items()}
    rising = all(sorted(curve) == curve for curve in lost.values())
    words = "; ".join(f"{name} {curve[0]:.2f} to {curve[-1]:.2f}" for name, curve in lost.items())
    say("32", "distortion rises with k", words, rising)
    wins = sum(p < min(m, q) for m, q, p in zip(*lost.values(), strict=True))
    words = f"at {wins} of {len(scale.ks)} k"
    say("32", "Piecewise PCA usually has the least distortion", words, 2 * wins > len(scale.ks))
    first, last = census[MDAV][0], census[MDAV][-1]
    powers = [
        math.log(getattr(last, way) / getattr(first, way)) / math.log(n / scale.sizes[0])
        for way in WAYS
    ]
    words = f"n^{powers[0]:.2f} by brute force, n^{powers[1]:.2f} with the index"
    say("2.2", "MDAV takes time as n^2", words, [powers[0] > 1.75, powers[1] > 1.75])
    alone = gain(census, MDAV, PIECEWISE, "brute")
    both = census[MDAV][-1].brute / census[PIECEWISE][-1].index
    index = census[MDAV][-1].brute / census[MDAV][-1].index
    words = f"cells and PCA {alone:.1f} times, index {index:.1f} times, both {both:.1f}"
    multiply = both > 0.9 * alone * index
    indexed = "it takes the gain that cells and PCA had"
    say("7", "gains multiply with those of a faster MDAV", words, multiply, indexed)
    header = ["figure", "claim", "here", "holds", "what the index changes"]
    book.table("pca_claims", "Claims", header, rows)


def the_bar(book: Book, records: np.ndarray, scale: Scale) -> None:
    """All of forest by default: 5 times faster than brute force, at most 5 % more distortion."""
    records = standardise(records[: scale.forest])
    n = len(records)
    spent, found = {}, {}
    for name in ("mdav", "piecewise-pca"):
        microagg.partition(records[:5000], K, name)  # compiles
        start = time.process_time(), time.perf_counter()
        found[name] = microagg.partition(records, K, name, standardize=False)
        spent[name] = time.process_time() - start[0], time.perf_counter() - start[1]
    part = standardise(records[: scale.part])
    start = time.process_time()
    mdav(part, K, prunes=False)
    brute = (time.process_time() - start) * (n / scale.part) ** 2
    lost = {name: microagg.information_loss(records, groups) for name, groups in found.items()}
    rows = [["brute force, extrapolated", f"{brute:.1f}", "", f"{lost['mdav']:.4f}", "1"]]
    for name, (processor, wall) in spent.items():
        gain = f"{brute / processor:.1f}"
        rows.append([name, f"{processor:.1f}", f"{wall:.1f}", f"{lost[name]:.4f}", gain])
    extra = 100 * (lost["piecewise-pca"] / lost["mdav"] - 1)
    title = f"{FOREST}, {n} records, k = {K}: {extra:+.1f} % distortion (at most 5), "
    title += f"{brute / spent['piecewise-pca'][0]:.0f} times faster than brute force (at least 5)"
    header = ["method", "processor seconds", "seconds", "distortion", "times faster"]
    book.table("pca_bar", title, header, rows)


if __name__ == "__main__":
    main()
