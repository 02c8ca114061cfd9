import numpy as np
import pytest
from hypothesis import given

import microagg
from microagg.measure.statistics import changes, eigenvalue_distance, il1s, paired, release_loss
from tests.measure.test_linkage import releases
from tests.naive import measures

CLOSE = {"rel": 1e-6, "abs": 1e-6}


@given(releases())
def test_losses_against_the_definition(pair):
    X, R = pair
    kept = measures.varying(X)
    expected = np.zeros(X.shape[1])
    expected[kept] = measures.loss(X, R)
    found = release_loss(paired(X, R))
    assert found.attributes == pytest.approx(expected, **CLOSE)
    assert found.total == pytest.approx(expected[kept].mean() if kept else 0.0, **CLOSE)
    assert il1s(paired(X, R)) == pytest.approx(measures.il1s(X, R), **CLOSE)


@given(releases())
def test_changes_against_the_definition(pair):
    X, R = pair
    kept = measures.varying(X)
    found = changes(paired(X, R))
    *columns, apart = measures.changes(X, R)
    figures = (found.means, found.variances, found.quantiles, found.totals)
    for ours, expected in zip(figures, columns, strict=True):
        assert len(ours) == X.shape[1]
        assert [ours[a] for a in kept] == pytest.approx(expected, **CLOSE)
    assert found.correlations == pytest.approx(np.mean(apart) if apart else 0.0, **CLOSE)
    assert found.largest_correlation == pytest.approx(max(apart, default=0.0), **CLOSE)
    if kept:
        expected = measures.eigenvalue_distance(X, R)
        assert eigenvalue_distance(paired(X, R)) == pytest.approx(expected, **CLOSE)


def test_nothing_changed_and_all_wiped_out():
    X = np.random.default_rng(0).normal(size=(40, 3)) + 1e6
    assert (
        release_loss(paired(X, X)).total
        == il1s(paired(X, X))
        == eigenvalue_distance(paired(X, X))
        == 0.0
    )
    same = changes(paired(X, X))
    assert same.variances == pytest.approx([0.0] * 3, abs=1e-9)
    assert same.largest_correlation == pytest.approx(0.0, abs=1e-9)
    wiped = np.broadcast_to(X.mean(axis=0), X.shape)
    assert release_loss(paired(X, wiped)).total == pytest.approx(100.0)
    assert changes(paired(X, wiped)).variances == pytest.approx([-100.0] * 3)
    assert eigenvalue_distance(paired(X, wiped)) == pytest.approx(100.0)
    correlations = np.abs(np.corrcoef(X.T)[np.triu_indices(3, 1)])
    assert changes(paired(X, wiped)).largest_correlation == pytest.approx(correlations.max())


def test_group_means_lose_what_the_groups_lose():
    X = np.random.default_rng(0).normal(size=(200, 4))
    groups = microagg.partition(X, 5, "mdav")
    loss = release_loss(paired(X, microagg.aggregate(X, groups))).total
    assert loss == pytest.approx(microagg.information_loss(X, groups))


@pytest.mark.parametrize("unit", [1e300, 1e-300, 1.0])
def test_no_unit_is_too_large_or_small(unit):
    X = np.random.default_rng(0).normal(size=(50, 2))
    R = np.asarray(microagg.aggregate(X, np.arange(50) // 5))
    assert release_loss(paired(X * unit, R * unit)).total == pytest.approx(
        release_loss(paired(X, R)).total
    )
    assert changes(paired(X * unit, R * unit)).quantiles == pytest.approx(
        changes(paired(X, R)).quantiles
    )
    integers = np.array([-(2**63), -(2**63) + 9, 2**63 - 1, 2**63 - 5], np.int64)
    assert release_loss(paired(integers, integers)).total == 0.0
