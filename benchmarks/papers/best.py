"""How near to the best possible: published losses, ours, and what no partition can undercut.

    python benchmarks/papers/best.py [--quick]

Information loss in percent on three data sets: the least that Table 2 of "Repeated record ordering
for constrained size clustering" publishes for any method; the least of this library's heuristics
without search; the search in 1, 5 and 60 seconds; and the lower bound, with the gap between the
two, (loss - bound) / loss. The bound is given ten minutes, a minute with --quick, which also leaves
out the search of 60 seconds. Writes benchmarks/results/best as .csv and .md.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import microagg
from benchmarks.measuring import save, show
from benchmarks.papers.reporder import PUBLISHED_LOSS
from microagg.grouping.bound.lower_bound import lower_bound
from tests.reference import folder

HEURISTICS = ("mdav", "mdav-mhm", "cbfs-mhm", "tsp", "igd", "reporder")
SECONDS = (1, 5, 60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a minute or so for each row")
    quick = parser.parse_args().quick
    home = folder()
    if home is None:
        sys.exit("reference data not found; set MICROAGG_DATA to its folder")
    rows = []
    for name, k in PUBLISHED_LOSS:
        raw = np.loadtxt(home / f"{name}.csv", delimiter=",", skiprows=1)
        rows.append(row_of(name, k, raw, SECONDS[:-1] if quick else SECONDS, 60 if quick else 600))
        print(name, k, "done", file=sys.stderr, flush=True)
    table = [list(row.values()) for row in rows]
    show("Information loss in percent", list(rows[0]), table)
    save("best", list(rows[0]), table)


def row_of(
    name: str, k: int, raw: np.ndarray, seconds: tuple[int, ...], limit: float
) -> dict[str, object]:
    digits = 4 if name == "eia" else 3
    losses = {}
    for method in HEURISTICS:
        labels = microagg.partition(raw, k, method).labels
        losses[method] = microagg.information_loss(raw, labels)
    best = min(losses, key=lambda method: losses[method])
    row: dict[str, object] = {
        "data": name,
        "k": k,
        "published": min(PUBLISHED_LOSS[name, k], key=float),
        "heuristics": f"{losses[best]:.{digits}f} ({best})",
    }
    least, upper = np.inf, None
    for limit_of_search in seconds:
        labels = microagg.partition(raw, k, "search", time_limit=limit_of_search).labels
        loss = microagg.information_loss(raw, labels)
        row[f"search {limit_of_search} s"] = f"{loss:.{digits}f}"
        if loss < least:
            least, upper = loss, labels
    found = lower_bound(raw, k, limit, upper=upper)
    row["bound"] = f"{found.information_loss:.{digits}f}"
    row["bound's seconds"] = f"{found.seconds:.0f}"
    row["gap %"] = f"{100 * (least - found.information_loss) / least:.2f}"
    return row


if __name__ == "__main__":
    main()
