"""Tables 2 to 6 of "Fine granular proximity breach prevention": published and ours.

    python benchmarks/papers/p3m.py [--quick]

Groups are MDAV's; the column MDAV is their centroids renormalised to the variance of the data.
Writes benchmarks/results/p3m_table2 to p3m_table6, as .csv and .md; with --quick, k = 3 and 10 only
and nothing is written. Where ours differ from the published figures:

- The paper's solver stops at a local optimum: compare "local" with it. "Global" costs less, by the
  paper's own objective, and that is not always what the scoring index likes best.
- The variances in the probabilistic loss, half of the scoring index, are not given in the paper;
  ours are the textbook's (see `microagg.measure.probabilistic_loss`).
- The synthetic data were never published. Ours are ten normal clusters in ten dimensions, too,
  spread so that MDAV's satisfaction for k = 3 comes near the paper's.
- DREAM has no code to run, and its description is not enough to write it: values as far from the
  originals as can be, among those that keep mean and variance, are the means of the groups with
  their signs turned. Its column is the published one.

The solver of every column is named in it: the paper's, CONOPT, stops at a local optimum; "global"
and "local" are ours, and Table 6 says which of the two was the better. Figures 2 to 9 are in
`p3m_figures.py`.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import microagg
from benchmarks.data import load, ten_clusters
from benchmarks.measuring import save, show
from microagg.actions.tune import tune_proximity
from microagg.aggregation.proximity import proximity_centroids
from microagg.measure.evidence import Evidence
from microagg.measure.interval import satisfaction
from microagg.measure.statistics import paired

KS = (3, 4, 5, 10)
# Satisfaction in percent, MDAV and P3M: with importance 0.001 (Table 2) and random (Table 3).
PUBLISHED_SATISFACTION = {
    "tarragona": (
        ((29.33, 47.92), (33.78, 51.38), (37.00, 54.55), (47.20, 57.64)),
        ((29.37, 66.16), (33.36, 67.29), (36.70, 69.42), (47.09, 76.26)),
    ),
    "census": (
        ((53.67, 55.19), (59.10, 61.10), (62.44, 65.18), (69.34, 73.10)),
        ((53.74, 60.49), (59.22, 67.06), (62.41, 70.24), (69.60, 76.29)),
    ),
    "eia": (
        ((5.58, 5.67), (7.35, 7.52), (10.64, 10.89), (17.15, 17.81)),
        ((5.60, 6.81), (7.42, 9.37), (10.78, 13.50), (17.22, 27.93)),
    ),
    "synthetic": (
        ((65.84, 67.65), (70.24, 71.96), (72.46, 74.00), (76.98, 78.24)),
        ((65.85, 71.23), (70.27, 75.34), (72.41, 76.80), (76.74, 80.43)),
    ),
}
# Scoring index in percent: P3M, its alpha and distance, MDAV (Table 4), DREAM (Table 6). Three of
# DREAM's Tarragona figures, k = 4 to 10, are those of MDAV in Table 4: a slip in the paper.
PUBLISHED_INDEX = {
    "tarragona": (
        (16.69, 0.6, 0.8, 37.05, 28.67),
        (17.20, 0.6, 0.8, 34.76, 34.76),
        (16.44, 0.8, 0.8, 34.01, 34.01),
        (21.34, 0.8, 0.8, 33.21, 33.21),
    ),
    "census": (
        (24.37, 0.8, 0.6, 28.37, 22.86),
        (24.00, 0.8, 0.6, 27.58, 21.82),
        (25.29, 0.8, 0.6, 26.88, 22.25),
        (25.23, 0.6, 0.8, 26.20, 21.91),
    ),
    "eia": (
        (18.56, 0.6, 0.6, 34.41, 31.48),
        (17.98, 0.6, 0.6, 33.17, 31.70),
        (19.78, 0.6, 0.6, 34.44, 29.93),
        (21.89, 0.8, 0.4, 35.46, 30.32),
    ),
    "synthetic": (
        (27.41, 0.6, 0.8, 31.09, None),
        (28.12, 0.8, 0.8, 30.31, None),
        (28.34, 0.8, 0.6, 30.11, None),
        (28.66, 0.8, 0.6, 29.33, None),
    ),
}
PUBLISHED_SECONDS = {
    "tarragona": ("< 1", "< 1", "< 1", "< 1"),
    "census": ("< 1", "< 1", "< 1", "< 1"),
    "eia": ("1", "1", "1", "1"),
    "synthetic": ("3", "2", "2", "2"),
}

Row = dict[str, object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="k = 3 and 10 only")
    ks = (3, 10) if parser.parse_args().quick else KS
    tables: dict[int, list[Row]] = {number: [] for number in (2, 3, 4, 5, 6)}
    for name in PUBLISHED_SATISFACTION:
        X = ten_clusters() if name == "synthetic" else load(name)
        for k in ks:
            labels = microagg.partition(X, k, method="mdav").labels
            for number, row in rows_of(name, k, X, labels).items():
                tables[number].append({"data": name, "k": k, **row})
            print(name, k, "done", file=sys.stderr, flush=True)
    publish("p3m_table2", "Satisfaction in percent, importance 0.001", tables[2])
    publish("p3m_table3", "Satisfaction in percent, random importance", tables[3])
    publish("p3m_table4", "Scoring index in percent, best of 16 settings", tables[4])
    publish("p3m_table5", "Seconds to aggregate", tables[5])
    publish("p3m_table6", "Scoring index in percent, beside DREAM", tables[6])


def rows_of(name: str, k: int, X: np.ndarray, labels: np.ndarray) -> dict[int, Row]:
    """One row for each table."""
    place = KS.index(k)
    satisfaction_low, satisfaction_drawn = (table[place] for table in PUBLISHED_SATISFACTION[name])
    index, alpha, distance, mdav, dream = PUBLISHED_INDEX[name][place]
    plain = proximity_centroids(X, labels, alpha=0.0).values
    n, d = X.shape
    drawn = np.random.RandomState(1).random_sample(n * d).reshape(n, d, order="F")
    everywhere = tune_proximity(X, labels, progress=False)
    local = tune_proximity(X, labels, solution="local", progress=False)
    hardest = proximity_centroids(X, labels, distance=0.8, alpha=0.8)
    rows: dict[int, Row] = {
        2: satisfied(X, labels, plain, np.full((n, d), 0.001), satisfaction_low),
        3: satisfied(X, labels, plain, drawn, satisfaction_drawn),
        4: {
            "MDAV published": f"{mdav:.2f}",
            "MDAV ours": f"{Evidence(numbers=paired(X, plain)).scoring_index:.2f}",
            "P3M published": f"{index:.2f}",
            "alpha, distance": f"{alpha}, {distance}",
            "P3M global": f"{everywhere.scoring_index:.2f}",
            "global at": f"{everywhere.alpha}, {everywhere.distance}",
            "P3M local": f"{local.scoring_index:.2f}",
            "local at": f"{local.alpha}, {local.distance}",
        },
        5: {
            "published": PUBLISHED_SECONDS[name][place],
            "ours, global": seconds(lambda: proximity_centroids(X, labels)),
            "ours, global, distance 0.8, alpha 0.8": seconds(
                lambda: proximity_centroids(X, labels, distance=0.8, alpha=0.8)
            ),
            "worst gap there": f"{hardest.gap.max():.0e}",
        },
    }
    if dream is not None:
        best = min(everywhere.scoring_index, local.scoring_index)
        rows[6] = {
            "DREAM published": f"{dream:.2f}",
            "P3M published": f"{index:.2f}",
            "P3M ours": f"{best:.2f}",
            "solver": "global" if best == everywhere.scoring_index else "local",
        }
    return rows


def satisfied(
    X: np.ndarray,
    labels: np.ndarray,
    plain: np.ndarray,
    importance: np.ndarray,
    published: tuple[float, float],
) -> Row:
    moved = proximity_centroids(X, labels, importance=importance).values
    local = proximity_centroids(X, labels, importance=importance, solution="local").values
    return {
        "MDAV published": f"{published[0]:.2f}",
        "MDAV ours": f"{satisfaction(paired(X, plain), 0.1, importance):.2f}",
        "P3M published": f"{published[1]:.2f}",
        "P3M global": f"{satisfaction(paired(X, moved), 0.1, importance):.2f}",
        "P3M local": f"{satisfaction(paired(X, local), 0.1, importance):.2f}",
    }


def seconds(job: Callable[[], object]) -> str:
    """Of the processor, best of three: the sets are too small for a second thread."""
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        job()
        best = min(best, time.process_time() - start)
    return f"{best:.3f}"


def publish(stem: str, title: str, rows: list[Row]) -> None:
    table = [list(row.values()) for row in rows]
    show(title, list(rows[0]), table)
    save(stem, list(rows[0]), table)


if __name__ == "__main__":
    main()
