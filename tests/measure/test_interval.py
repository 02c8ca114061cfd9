import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.aggregation.proximity import proximity_centroids
from microagg.base.errors import InputError, OptionError
from microagg.measure.interval import (
    interval_disclosure,
    satisfaction,
    transparent_disclosure,
)
from microagg.measure.statistics import paired
from tests.measure.test_linkage import link, releases
from tests.naive import measures


@given(
    releases(20),
    st.sampled_from(["deviation", "range", "rank"]),
    st.sampled_from([0.0, 5.3, 50.7]),
    st.booleans(),
)
def test_against_the_definition(pair, basis, width, linked):
    X, R = pair
    links = link(paired(X, R)).rows if linked else None
    shares = measures.interval(X, R, width, basis, links)
    found = interval_disclosure(paired(X, R), width=width, basis=basis, links=links)
    assert found.attributes == pytest.approx([share or 0.0 for share in shares])
    judged = [share for share in shares if share is not None]
    assert found.total == pytest.approx(np.mean(judged) if judged else 0.0)


def test_sdid_is_about_deviations():
    X = np.array([[0.0], [2.0], [4.0], [6.0]])  # the deviation is sqrt(5)
    R = X + np.array([[0.0], [0.11], [-0.12], [1.0]])
    assert interval_disclosure(paired(X, R)).total == 50.0
    assert interval_disclosure(paired(X, R), 5.4).total == 75.0
    assert interval_disclosure(paired(X, X)).total == 100.0
    assert interval_disclosure(paired(X, X), links=np.array([1, 1, 1, 1])).total == 25.0
    assert interval_disclosure(paired(X, X), links=np.array([0, 1, -1, -1])).total == 50.0


@given(
    releases(20),
    st.sampled_from(["one", "column", "cell"]),
    st.booleans(),
    st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    st.integers(0, 99),
)
def test_transparent_guesses_against_the_definition(pair, form, relative, alpha, seed):
    X, R = pair
    rng = np.random.default_rng(seed)
    shape = {"one": None, "column": X.shape[1:], "cell": X.shape}[form]
    asked = (1.5 * rng.random(shape), rng.random(shape), alpha)
    found = transparent_disclosure(paired(X, R), 20.3, *asked, relative=relative)
    shares = measures.transparent(X, R, 20.3, *asked, relative)
    kept = measures.varying(X)
    assert np.array(found.attributes)[kept] == pytest.approx(shares)
    assert found.total == pytest.approx(np.mean(shares) if shares else 0.0)
    assert found.total >= interval_disclosure(paired(X, R), 20.3).total


def test_who_knows_how_centroids_moved_finds_them():
    rng = np.random.default_rng(0)
    centres = np.repeat(rng.normal(size=40), 3)
    X = centres + rng.normal(scale=0.01, size=120)
    moved = proximity_centroids(X, np.arange(120) // 3, distance=0.8, alpha=0.6).values
    pair = paired(X[:, np.newaxis], moved[:, np.newaxis])
    assert interval_disclosure(pair).total < 5.0
    assert transparent_disclosure(pair, 5.0, 0.8, 0.001, 0.6).total > 40.0


@given(releases(20), st.sampled_from(["one", "column", "cell"]), st.booleans(), st.integers(0, 99))
def test_satisfaction_against_the_definition(pair, form, relative, seed):
    X, R = pair
    rng = np.random.default_rng(seed)
    shape = {"one": None, "column": X.shape[1:], "cell": X.shape}[form]
    distance, importance = rng.random(shape), rng.random(shape)
    found = satisfaction(paired(X, R), distance, importance, relative=relative)
    assert found == pytest.approx(measures.satisfaction(X, R, distance, importance, relative))


def test_satisfaction_at_the_ends():
    X = np.random.default_rng(0).normal(size=(30, 4))
    assert satisfaction(paired(X, X), 0.0) == 100.0
    assert satisfaction(paired(X, X), 0.1) == 0.0
    assert satisfaction(paired(X, X + 100.0), 0.1) == 100.0
    assert satisfaction(paired(X, X), 0.1, 0.0) == 100.0  # nobody asks
    assert satisfaction(paired(np.ones((5, 2)), np.ones((5, 2))), 0.1) == 100.0


def test_refusals():
    X = np.random.default_rng(0).normal(size=(30, 4))
    for width in (-1.0, float("nan"), float("inf")):
        with pytest.raises(OptionError, match="0 percent or more"):
            interval_disclosure(paired(X, X), width)
    with pytest.raises(InputError, match="one a column"):
        satisfaction(paired(X, X), np.ones(3))
    with pytest.raises(InputError, match="negative"):
        satisfaction(paired(X, X), -0.1)
    with pytest.raises(InputError, match="finite"):
        satisfaction(paired(X, X), 0.1, float("nan"))
