from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given

import microagg
from microagg.measure.evidence import Evidence
from microagg.measure.interval import satisfaction
from microagg.measure.probabilistic_loss import probabilistic_loss
from microagg.measure.statistics import paired
from tests.measure.test_linkage import releases
from tests.naive import measures
from tests.reference import load


@given(releases())
def test_against_the_definition(pair):
    X, R = pair
    found = list(astuple(probabilistic_loss(paired(X, R))))
    if not measures.varying(X):
        assert found == [0.0] * 6
        return
    parts = measures.probabilistic_loss(X, R)
    assert found[1:] == pytest.approx([part or 0.0 for part in parts], abs=1e-4)
    assert found[0] == pytest.approx(np.mean([p for p in parts if p is not None]), abs=1e-4)


def test_the_ends_of_the_scale():
    X = np.random.default_rng(0).normal(size=(500, 3))
    assert probabilistic_loss(paired(X, X)).total == pytest.approx(0.0, abs=1e-6)
    moved = probabilistic_loss(paired(X, X + 100.0))
    assert moved.means == pytest.approx(100.0)
    assert moved.quantiles > 99.0
    assert moved.covariances == pytest.approx(0.0, abs=1e-4)
    # One standard error of the mean costs what one deviation of the normal distribution holds.
    shifted = X + X.std(axis=0) / np.sqrt(500)
    assert probabilistic_loss(paired(X, shifted)).means == pytest.approx(68.2689, abs=1e-3)


# Scoring index and satisfaction of MDAV for k = 3, 4, 5, 10: tables 4 and 2 of the P3M paper.
PUBLISHED = {
    "tarragona": ((37.05, 34.76, 34.01, 33.21), (29.33, 33.78, 37.00, 47.20)),
    "census": ((28.37, 27.58, 26.88, 26.20), (53.67, 59.10, 62.44, 69.34)),
    "eia": ((34.41, 33.17, 34.44, 35.46), (5.58, 7.35, 10.64, 17.15)),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_tables_of_the_paper(name):
    X = load(name)
    for k, index, level in zip((3, 4, 5, 10), *PUBLISHED[name], strict=True):
        means = np.asarray(microagg.aggregate(X, microagg.partition(X, k, "mdav")))
        R = X.mean(axis=0) + (means - X.mean(axis=0)) * (X.std(axis=0) / means.std(axis=0))
        found = Evidence(numbers=paired(X, R))
        assert found.risk == (found.links.percent + found.interval.total) / 2.0
        assert found.scoring_index == pytest.approx(index, abs=1.2)
        assert satisfaction(paired(X, R), 0.1) == pytest.approx(level, abs=0.1)
