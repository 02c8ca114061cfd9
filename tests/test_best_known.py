"""The best partitions that are known, kept as labels: who doubts a loss counts it himself."""

import csv
from pathlib import Path

import numpy as np
import pytest

from microagg import information_loss
from tests.reference import load

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
LEADERBOARD = list(
    csv.DictReader((RESULTS / "best_losses.csv").read_text(encoding="utf-8").splitlines())
)


@pytest.mark.parametrize("row", LEADERBOARD, ids=lambda row: f"{row['data']} {row['k']}")
def test_labels_have_the_loss_and_the_size_that_the_leaderboard_says(row):
    labels = np.loadtxt(RESULTS / "best" / f"{row['data']}_{row['k']}.csv", np.int64, skiprows=1)
    raw = load(row["data"])
    assert np.bincount(labels).min() >= int(row["k"])
    scores = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    means = np.array([scores[labels == group].mean(axis=0) for group in range(labels.max() + 1)])
    loss = 100 * ((scores - means[labels]) ** 2).sum() / scores.size
    digits = len(row["least known"].partition(".")[2])
    assert f"{loss:.{digits}f}" == row["least known"]
    assert loss == pytest.approx(information_loss(raw, labels))
    assert float(row["bound"]) <= loss
    assert loss < float(row["published"].split()[0])
