import numpy as np
import pytest

import microagg
from microagg.actions.tune import score, tune_proximity
from microagg.aggregation.proximity import proximity_centroids
from microagg.measure.evidence import Evidence
from microagg.measure.statistics import paired


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).lognormal(size=(90, 3))
    return X, microagg.partition(X, 3, "mdav")


def test_the_best_of_the_grid_is_found(data):
    X, partition = data
    found = tune_proximity(X, partition, alphas=(0.2, 0.8), distances=(0.2, 0.6), progress=False)
    tried = [(trial.alpha, trial.distance) for trial in found.grid]
    assert tried == [(0.2, 0.2), (0.2, 0.6), (0.8, 0.2), (0.8, 0.6)]
    assert found.scoring_index == min(trial.scoring_index for trial in found.grid)
    moved = proximity_centroids(X, partition, alpha=found.alpha, distance=found.distance).values
    evidence = Evidence(
        numbers=paired(X, moved), alpha=found.alpha, distance=found.distance, importance=0.001
    )
    figures = (found.scoring_index, found.disclosure_risk, found.information_loss)
    assert score(evidence) == (*figures, found.transparent)
    assert found.grid[-1].transparent > found.grid[-1].scoring_index
    risk = (evidence.links.percent + evidence.transparent_interval) / 2.0
    assert found.transparent == (risk + found.information_loss) / 2.0
    assert found.scoring_index == (found.disclosure_risk + found.information_loss) / 2.0
    assert found.to_dict()["grid"][0]["alpha"] == 0.2


def test_moving_the_centroids_pays(data):
    X, partition = data
    plain = Evidence(numbers=paired(X, proximity_centroids(X, partition, alpha=0.0).values))
    assert tune_proximity(X, partition, progress=False).scoring_index < plain.scoring_index


def test_nothing_to_try(data):
    with pytest.raises(microagg.MicroaggError, match="at least one number each"):
        tune_proximity(*data, alphas=())
