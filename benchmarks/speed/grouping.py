"""MDAV with its index against brute force, and how long the orderings take, as ratios in one run.

    python benchmarks/speed/grouping.py [--quick]

Both run on the same records, one after the other, and give the same groups. The bars are meant for
the full sizes; --quick takes a tenth of the records, to see that it runs.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import microagg
from benchmarks.data import find, load, load_shuffled, records_of, standardise
from benchmarks.measuring import RESULTS, best_times
from microagg.grouping.cluster.mdav import mdav
from microagg.grouping.sequence.kmeans import kmeans
from microagg.grouping.sequence.reorder import repeat_rounds
from microagg.kernels.trees.planting import plant

K, D = 3, 10
SAID: list[str] = []


def say(line):
    """Print a line, and keep it for the results."""
    print(line, flush=True)
    SAID.append(line)


def seconds(records, k=K, prunes=None, times=1):
    """The best time, and the groups."""
    best = np.inf
    for _ in range(times):
        start = time.perf_counter()
        order, _ = mdav(records, k, prunes=prunes)
        best = min(best, time.perf_counter() - start)
    return best, order


def compare_kinds(n):
    """The bars: 2 for gaussian, 5 for the others, at 100,000 records."""
    say(f"\nn = {n}, d = {D}, k = {K}: seconds, and how many times faster (wanted)")
    for kind, wanted in (("gaussian", 2), ("correlated", 5), ("clustered", 5), ("skewed", 5)):
        records = records_of(kind, n, D)
        ours, order = seconds(records, times=2)
        brute, expected = seconds(records, prunes=False)
        same = "same groups" if (order == expected).all() else "DIFFERENT GROUPS"
        say(f"  {kind:11} {ours:7.2f} {brute:7.2f}   {brute / ours:6.1f}  ({wanted})  {same}")


def compare_small():
    """Never slower than brute force: by n and d."""
    say("\ngaussian, times faster than brute force (never much below 1)")
    sizes = (100, 1000, 3000, 6000, 12000)
    say("    k   d " + "".join(f"{n:8}" for n in sizes))
    for k in (3, 10):
        for d in (1, 2, 5, 10, 20, 50):
            ratios = []
            for n in sizes:
                records = records_of("gaussian", n, d)
                pairs = [(seconds(records, k, False)[0], seconds(records, k)[0]) for _ in range(5)]
                ratios.append(min(pair[0] for pair in pairs) / min(pair[1] for pair in pairs))
            say(f"  {k:3} {d:3} " + "".join(f"{ratio:8.2f}" for ratio in ratios))


def growth(n):
    """How time grows on clustered records: wanted n^1.5 or less."""
    small, large = (records_of("clustered", size, D) for size in (n, 4 * n))
    first, second = seconds(small)[0], seconds(large)[0]
    power = np.log(second / first) / np.log(4.0)
    say(f"\nclustered, {n} to {4 * n}: {first:.2f} s to {second:.2f} s, n^{power:.2f} (1.5)")


def forest(n, part):
    """All of the forest data, against brute force on a part of it, extrapolated by n^2."""
    if find("forest") is None:
        say("\nforest: data not found; set MICROAGG_DATA to its folder")
        return
    records = standardise(load_shuffled("forest")[:n])
    brute = seconds(np.ascontiguousarray(records[:part]), prunes=False)[0]
    expected = brute * (len(records) / part) ** 2
    ours = seconds(records)[0]
    walks(records)
    say(
        f"\nforest, {len(records)} records: {ours:.1f} s; brute force {brute:.2f} s for {part}, "
        f"so {expected:.0f} s: {expected / ours:.1f} times faster (10)"
    )


def orderings(n):
    """Whole calls that order and split, against numpy.argsort of one column: wanted 12 or less."""
    X = np.random.default_rng(1).normal(size=(n, D))
    column = X[:, 0].copy()
    times = best_times(
        {
            "argsort": lambda: np.argsort(column),
            "zscore": lambda: microagg.partition(X, K, "zscore"),
            "pca": lambda: microagg.partition(X, K, "pca"),
        },
        5,
    )
    say(f"\nn = {n}, d = {D}, k = {K}: partition / argsort of one column (12)")
    for name in ("zscore", "pca"):
        say(f"  {name:11} {times[name] / times['argsort']:6.1f}")


def walks(records):
    """The two slow orderings on all of forest; the tour must lose less."""
    say(f"\nforest, {len(records)} records, k = {K}: seconds and SSE")
    for name in ("npn", "tsp"):
        start = time.perf_counter()
        found = microagg.partition(records, K, name)
        elapsed = time.perf_counter() - start
        loss = microagg.information_loss(records, found)
        say(f"  {name:11} {elapsed:7.1f} {loss / 100 * records.size:12.1f}")


def iterations():
    """RepOrdMic from one clustering on EIA: the paper takes 31 ms an iteration."""
    if find("eia") is None:
        return
    records = standardise(load("eia"))
    tree = plant(records)
    labels = kmeans(records, 20, np.random.default_rng(0), spread=False)

    def run():
        return repeat_rounds(tree, records, labels, K, turn=False)

    elapsed = best_times({"rounds": run}, 5)["rounds"]
    say(f"\neia, k = {K}: {1000 * elapsed / run().rounds:.1f} ms an iteration of reporder (31)")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the records")
    scale = 10 if parser.parse_args().quick else 1
    start = time.perf_counter()
    seconds(records_of("gaussian", 4000, D))
    say(f"first call: {time.perf_counter() - start:.1f} s, compilation included where not cached")
    compare_kinds(100_000 // scale)
    compare_small()
    growth(50_000 // scale)
    orderings(1_000_000 // scale)
    iterations()
    forest(581_012 // scale, 50_000 // scale)
    if scale == 1:
        RESULTS.mkdir(exist_ok=True)
        text = "\n".join(["```", *SAID, "```", ""])
        (RESULTS / "grouping_speed.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
