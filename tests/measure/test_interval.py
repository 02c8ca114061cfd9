import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.base.errors import InputError, OptionError
from microagg.measure.interval import (
    interval_disclosure,
    satisfaction,
)
from microagg.measure.linkage import link
from microagg.measure.statistics import paired
from tests.measure.test_linkage import releases
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
