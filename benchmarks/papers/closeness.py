"""t-closeness through microaggregation: three published algorithms, and groups searched under t.

    python benchmarks/papers/closeness.py [--quick] [--steps N]

Quasi-identifiers are TAXINC and POTHVAL of Census as z-scores; confidential is FEDTAX, which TAXINC
nearly tells, then FICA, which it does not. Loss is SSE / SST in percent. Every partition is counted
anew before it is shown: k in each group, and the distance of each from the whole. The columns have
a process each. With --quick, two k and two t. Writes benchmarks/results/closeness and
closeness_gains, as .csv and .md.
"""

import argparse
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import microagg
from benchmarks.data import load, standardise
from benchmarks.measuring import save, show
from microagg.grouping.constraints import How, partition_units
from microagg.grouping.demands.demand import Close, Confidential
from microagg.measure.anonymity import AmongAll, WithinClasses

KS = (2, 5, 10, 20, 30)
TS = (0.05, 0.1, 0.15, 0.2, 0.25)
PUBLISHED = ("t-merge", "t-swap", "t-first")
OURS = "auto"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="k = 5 and 20, t = 0.1 and 0.2 only")
    parser.add_argument("--steps", type=int, help="of a search, instead of the default effort")
    quick, steps = parser.parse_args().quick, parser.parse_args().steps
    with ProcessPoolExecutor(2) as pool:
        found = [
            row
            for rows in pool.map(rows_of, ("FEDTAX", "FICA"), [quick] * 2, [steps] * 2)
            for row in rows
        ]
    rows, gains = [row for row, _ in found], [gain for _, gain in found]
    tables = {
        "closeness": (list(rows[0]), [list(row.values()) for row in rows]),
        "closeness_gains": (
            ["ours below the best of the three, %", "of all cells"],
            [
                ["least", f"{min(gains):.1f}"],
                ["median", f"{statistics.median(gains):.1f}"],
                ["largest", f"{max(gains):.1f}"],
            ],
        ),
    }
    for name, (header, lines) in tables.items():
        show(f"{name}: Census, loss in percent under t-closeness", header, lines)
        if not quick:
            save(name, header, lines)


def rows_of(name: str, quick: bool, steps: int | None) -> list[tuple[dict[str, object], float]]:
    """A row for each k and t, and how far ours is below the best of the three."""
    numbers = load("census", ["TAXINC", "POTHVAL", name])
    points = standardise(numbers[:, :2])
    values, ranks = np.unique(numbers[:, 2], return_inverse=True)
    column = Confidential(name, ranks, np.bincount(ranks), values)
    rows = []
    ours = {} if steps is None else {"steps": steps}
    for k in (5, 20) if quick else KS:
        alone = loss_of(points, partition_units(points, k, How(OURS, 0, ours)))
        for t in (0.1, 0.2) if quick else TS:
            hows = [*(How(method, 0, {}) for method in PUBLISHED), How(OURS, 0, ours)]
            found = {how.method: cell(points, column, k, t, how) for how in hows}
            best = min(found[method][0] for method in PUBLISHED)
            gain = 100 * (1 - found[OURS][0] / best)
            row = (
                {"confidential": name, "k": k, "t": t}
                | {method: f"{found[method][0]:.2f}" for method in PUBLISHED}
                | {"ours": f"{found[OURS][0]:.2f}", "below the best": f"{gain:.1f} %"}
                | {"without t": f"{alone:.2f}", "seconds of ours": f"{found[OURS][1]:.1f}"}
            )
            rows.append((row, gain))
            print(*row.values(), sep="  ", file=sys.stderr, flush=True)
    return rows


def cell(
    points: np.ndarray, column: Confidential, k: int, t: float, how: How
) -> tuple[float, float]:
    """Loss in percent and processor seconds of a partition that keeps k and t, or an error."""
    begun = time.process_time()
    found = partition_units(points, k, how, demands=[Close(column, t)])
    spent = time.process_time() - begun
    within = WithinClasses(AmongAll(column.counts), found.labels, column.ranks)
    assert found.sizes.min() >= k, (how.method, k, t)
    assert within.distance().max() <= t, (how.method, k, t)
    return loss_of(points, found), spent


def loss_of(points: np.ndarray, found: microagg.Partition) -> float:
    """SSE / SST in percent."""
    return microagg.information_loss(points, found)


if __name__ == "__main__":
    main()
