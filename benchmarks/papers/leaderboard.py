"""Every method and every published loss on three data sets, least first: how far each is from best.

    python benchmarks/papers/leaderboard.py [--quick]

A row for each data set, k and method: information loss in percent, how much above the least known
that is, how far above the lower bound at most, and seconds of the processor, all threads together.
Methods of the registry run with their defaults; rows with a source are losses of the literature or
of other programs, as published or as measured with them. The least known loss and the bound are
those of `best_losses`, which `best.py losses` makes and whose labels anybody can verify. With
--quick Tarragona and k = 3 only; nothing is written.
"""

import csv
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import microagg
from benchmarks.data import load
from benchmarks.measuring import RESULTS, save, show
from benchmarks.papers.best import PUBLISHED_METHODS
from benchmarks.papers.reporder import PUBLISHED_LOSS

# Not for several attributes of numbers alone, or another name for one that is there.
LEFT_OUT = {"auto", "univariate", "t-merge", "t-swap", "t-first"}
PAPER = "Table 2 of Repeated record ordering for constrained size clustering"
PROGRAM = "sdcMicro 5.8.1, as measured"
# Its methods on z-scores; where one is missing it fails or was not run.
OF_PROGRAM = {
    ("tarragona", 3): {"rmd": "17.33", "pca": "23.9"},
    ("tarragona", 5): {"rmd": "21.94", "pca": "33.3"},
    ("tarragona", 10): {"rmd": "34.78", "pca": "39.9"},
    ("eia", 10): {"rmd": "3.648"},
}


def main() -> None:
    quick = "--quick" in sys.argv
    with (RESULTS / "best_losses.csv").open(encoding="utf-8", newline="") as stream:
        known = {(row["data"], int(row["k"])): row for row in csv.DictReader(stream)}
    rows = []
    for (name, k), row in known.items():
        if not quick or (name, k) == ("tarragona", 3):
            rows += rows_of(name, k, float(row["least known"]), float(row["bound"]))
            print(name, k, "done", file=sys.stderr, flush=True)
    header = ["data", "k", "method", "loss %", "above the least known %", "above the bound %",
              "processor seconds", "source"]  # fmt: skip
    show("leaderboard", header, rows)
    save("leaderboard", header, rows)


def rows_of(name: str, k: int, least: float, bound: float) -> list[list[object]]:
    """What is known of a data set and k, the least loss first."""
    raw, digits = load(name), 4 if name == "eia" else 3
    found: list[tuple[str, str, str, str]] = []
    for method in (each for each in microagg.methods() if each not in LEFT_OUT):
        loss, seconds = measured(raw, k, method)
        found.append((method, f"{loss:.{digits}f}", f"{seconds:.2f}", "ours"))
    published = zip(PUBLISHED_METHODS, PUBLISHED_LOSS[name, k], strict=True)
    found += [(method, loss, "", PAPER) for method, loss in published]
    found += [(method, loss, "", PROGRAM) for method, loss in OF_PROGRAM.get((name, k), {}).items()]
    found.append(("the least known, all runs", f"{least:.{digits}f}", "", "ours"))
    return [
        [name, k, method, loss, above(float(loss), least), above(float(loss), bound), took, source]
        for method, loss, took, source in sorted(found, key=lambda each: float(each[1]))
    ]


def measured(raw: np.ndarray, k: int, method: str) -> tuple[float, float]:
    """The loss of a method, and the seconds of its second run: the first may have to compile."""
    microagg.partition(raw, k, method)
    begun = time.process_time()
    labels = microagg.partition(raw, k, method).labels
    return microagg.information_loss(raw, labels), time.process_time() - begun


def above(loss: float, other: float) -> str:
    return f"{100 * (loss / other - 1):.2f}"


if __name__ == "__main__":
    main()
