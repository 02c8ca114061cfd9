"""How near to the best possible: published losses, ours, and what no partition can undercut.

    python benchmarks/papers/best.py [losses] [forest] [cells] [--quick] [--best 60] [--bound 100]

losses: the leaderboard, information loss in percent on three data sets: the least that Table 2 of
"Repeated record ordering for constrained size clustering" publishes, and the method it is of; this
library's heuristics without search; the search in 1 and 5 seconds; search, bound and integer
programme together in 60 seconds, or as many as --best says; the least that was ever found; and the
lower bound, how it was proved, and the gap between the two, (least - bound) / least. The bound is
given 100 seconds, or as many as --bound says. Labels of the least loss of each row are kept in
benchmarks/results/best, a number a record: tests/test_best_known.py says how to verify them.

Bounds of k = 10, as gaps in percent for Tarragona, Census and EIA, and what each way gave:
distances to the nearest 36, 35, 34; column generation by way of smaller groups 18, 15, 34; a
semidefinite relaxation 1.7, 4.0, 13.0; column generation from its prices on 1.1, 1.9, 4.75,
which for EIA is the optimum of the linear programme.

forest: 581,012 records of forest data, k = 5, searched for a minute from where mdav and lloyd-mdav
end.

cells: 100,000 gaussian records of ten attributes, k = 5, grouped by mdav in cells of 5,000, and
then searched for as long as that took, and for longer; beside mdav on the whole.

Writes benchmarks/results/best_<part> as .csv and .md. With --quick there are no 60 seconds, and
little time for the bound and forest; nothing is written.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import microagg
from benchmarks.data import load, standardise
from benchmarks.measuring import RESULTS, save, show
from benchmarks.papers.reporder import PUBLISHED_LOSS
from microagg.grouping.bound.lower_bound import lower_bound
from microagg.grouping.cluster.mdav import mdav
from microagg.grouping.divide.blocks import group_blocks
from microagg.grouping.divide.cells import assign, plan_cells
from microagg.grouping.method import Task
from microagg.grouping.refine.search import search

HEURISTICS = ("mdav", "mdav-mhm", "cbfs-mhm", "tsp", "igd", "reporder", "imhm", "ona")
PUBLISHED_METHODS = ("MDAV", "MDAV-MHM", "IMHM", "IGD", "RepOrdMic")
KNOWN = RESULTS / "best"
SECONDS = (1, 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help="losses, forest, cells; or all")
    parser.add_argument("--quick", action="store_true", help="a minute or so for each row")
    parser.add_argument("--best", type=float, default=60.0, help="seconds for each best search")
    parser.add_argument("--bound", type=float, default=100.0, help="seconds for each bound")
    given = parser.parse_args()
    jobs = {
        "losses": lambda: losses(given.quick, given.best, given.bound),
        "forest": lambda: forest(10.0 if given.quick else 60.0),
        "cells": cells,
    }
    for part in given.parts or jobs:
        if part not in jobs:
            parser.error(f"there is no part {part!r}; there are {', '.join(jobs)}")
        rows = jobs[part]()
        table = [list(row.values()) for row in rows]
        show(part, list(rows[0]), table)
        if not given.quick:
            save(f"best_{part}", list(rows[0]), table)


def losses(quick: bool, best: float, limit: float) -> list[dict[str, object]]:
    rows = []
    for name, k in PUBLISHED_LOSS:
        rows.append(row_of(name, k, load(name), quick, best, limit))
        print(name, k, "done", file=sys.stderr, flush=True)
    return rows


def row_of(
    name: str, k: int, raw: np.ndarray, quick: bool, best: float, limit: float
) -> dict[str, object]:
    digits = 4 if name == "eia" else 3
    published = dict(zip(PUBLISHED_METHODS, PUBLISHED_LOSS[name, k], strict=True))
    source = min(published, key=lambda method: float(published[method]))
    row: dict[str, object] = {
        "data": name,
        "k": k,
        "published": f"{published[source]} ({source})",
    }
    found: list[tuple[float, np.ndarray]] = []

    def add(column: str, method: str, **options: object) -> None:
        labels = microagg.partition(raw, k, method, **options).labels
        found.append((microagg.information_loss(raw, labels), labels))
        row[column] = f"{found[-1][0]:.{digits}f}"

    for method in HEURISTICS:
        add(method, method)
    for seconds in SECONDS:
        add(f"search {seconds} s", "search", time_limit=seconds)
    if not quick:
        add(f"best {best:.0f} s", "search", time_limit=best, effort="best")
    known = KNOWN / f"{name}_{k}.csv"
    if known.exists():
        labels = np.loadtxt(known, dtype=np.int64, skiprows=1)
        found.append((microagg.information_loss(raw, labels), labels))
    least, upper = min(found, key=lambda pair: pair[0])
    if not quick:
        KNOWN.mkdir(exist_ok=True)
        lines = "".join(f"{label}\n" for label in upper)
        known.write_text(f"group\n{lines}", encoding="utf-8")
    bound = lower_bound(raw, k, min(limit, 20.0) if quick else limit, upper=upper)
    row["least known"] = f"{least:.{digits}f}"
    row["bound"] = f"{bound.information_loss:.{digits}f}"
    row["proved by"] = bound.kind
    row["bound's seconds"] = f"{bound.seconds:.0f}"
    row["gap %"] = f"{100 * (least - bound.information_loss) / least:.2f}"
    return row


def forest(seconds: float) -> list[dict[str, object]]:
    raw = load("forest")
    records = standardise(raw)
    rows = []
    for method in ("lloyd-mdav", "mdav"):
        begun = time.perf_counter()
        start = microagg.partition(raw, 5, method)
        took = time.perf_counter() - begun
        order, sizes = np.argsort(start.labels, kind="stable"), np.bincount(start.labels)
        before = loss(records, order, sizes)
        rng = np.random.default_rng(0)
        found = search(records, order, sizes, 5, rng, seconds=seconds)
        after = loss(records, *found)
        rows.append(
            {
                "start": method,
                "its seconds": f"{took:.1f}",
                "its loss %": f"{before:.4f}",
                "seconds of search": f"{seconds:.0f}",
                "loss % then": f"{after:.4f}",
                "lower by %": f"{100 * (1 - after / before):.2f}",
            }
        )
    return rows


def cells() -> list[dict[str, object]]:
    n, k = 100_000, 5
    records = np.random.default_rng(0).normal(size=(n, 10))
    # Compiled before time is taken.
    few = records[:12_000].copy()
    search(few, *in_cells(few, k), k, np.random.default_rng(0), seconds=0.1)
    begun = time.perf_counter()
    start = in_cells(records, k)
    took = time.perf_counter() - begun
    begun = time.perf_counter()
    whole = loss(records, *mdav(records, k))
    took_whole = time.perf_counter() - begun
    steps = [
        ("mdav on the whole", took_whole, whole),
        ("mdav in cells of 5,000", took, loss(records, *start)),
    ]
    for times in (1, 4, 8, 16):
        refined = search(records, *start, k, np.random.default_rng(0), seconds=times * took)
        way = "and search as long" if times == 1 else f"and search {times} times as long"
        steps.append((way, (1 + times) * took, loss(records, *refined)))
    return [
        {
            "way": way,
            "seconds": f"{seconds:.2f}",
            "loss %": f"{percent:.3f}",
            "against the whole %": f"{100 * (percent / whole - 1):+.2f}",
        }
        for way, seconds, percent in steps
    ]


def in_cells(records: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    tree = plan_cells(records, 5_000)
    task = Task(records, k, np.random.default_rng(0))
    return group_blocks(
        task, assign(tree, records), lambda part: mdav(part.records, part.k, part.advance)
    )


def loss(records: np.ndarray, order: np.ndarray, sizes: np.ndarray) -> float:
    labels = np.empty(len(records), np.int64)
    labels[order] = np.repeat(np.arange(sizes.size), sizes)
    return microagg.information_loss(records, labels)


if __name__ == "__main__":
    main()
