import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.aggregation.centres import integers, means, medians, modes
from tests.naive import centres as naive

# Weights of a few binary digits add up exactly, so ties are ties in floats too.
WEIGHTS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 7.5])


@st.composite
def grouped(draw, values):
    n = draw(st.integers(1, 24))
    groups = draw(st.integers(1, n))
    labels = [*range(groups), *draw(st.lists(st.integers(0, groups - 1), min_size=n - groups))]
    labels = draw(st.permutations(labels))
    column = draw(st.lists(values, min_size=len(labels), max_size=len(labels)))
    weights = draw(
        st.none() | st.lists(WEIGHTS, min_size=len(labels), max_size=len(labels)), label="weights"
    )
    return column, labels, weights


def compared(function, kind, case, dtype):
    column, labels, weights = case
    found = function(
        np.array(column, dtype),
        np.array(labels, np.int64),
        max(labels) + 1,
        None if weights is None else np.array(weights),
    )
    expected = naive.centres(column, labels, weights or [1] * len(labels), kind)
    return found, expected


@given(case=grouped(st.integers(-1000, 1000)))
@settings(max_examples=60)
def test_means(case):
    found, expected = compared(means, "mean", case, np.float64)
    np.testing.assert_allclose(found, [float(each) for each in expected], rtol=1e-12, atol=1e-12)


@given(case=grouped(st.integers(-6, 6) | st.integers(2**62, 2**62 + 5)))
@settings(max_examples=100)
def test_integers_halves_away_from_zero(case):
    column, labels, weights = case
    if weights is not None and len({abs(each) > 100 for each in column}) > 1:
        column = [each % 2**20 for each in column]
    found, expected = compared(integers, "integer", (column, labels, weights), np.int64)
    assert found.dtype == np.int64
    assert found.tolist() == expected


@given(case=grouped(st.integers(2**64 - 9, 2**64 - 1)))
@settings(max_examples=40)
def test_integers_without_sign(case):
    found, expected = compared(integers, "integer", case, np.uint64)
    assert found.dtype == np.uint64
    assert found.tolist() == expected


def test_weighted_integers_at_both_ends():
    ends = np.array([-(2**63), 2**63 - 1, -(2**63), 2**63 - 1])
    labels = np.array([0, 1, 0, 1])
    assert integers(ends, labels, 2, np.full(4, 0.5)).tolist() == [-(2**63), 2**63 - 1]
    across = integers(ends, np.zeros(4, np.int64), 1, np.full(4, 0.5))
    assert abs(int(across[0])) <= 2**12


@given(case=grouped(st.integers(0, 6)))
@settings(max_examples=100)
def test_lower_medians(case):
    found, expected = compared(medians, "median", case, np.int64)
    assert found.tolist() == expected


@given(case=grouped(st.integers(0, 6)))
@settings(max_examples=100)
def test_modes(case):
    found, expected = compared(modes, "mode", case, np.int64)
    assert found.tolist() == expected


def test_weighted_totals_stay():
    rng = np.random.default_rng(1)
    values = 1e9 + rng.normal(size=500)
    labels, weights = rng.integers(0, 50, 500), rng.exponential(size=500)
    weights[labels == 7] = 0.0
    published = means(values, labels, 50, weights)[labels]
    assert (published * weights).sum() == pytest.approx((values * weights).sum(), rel=1e-13)


def test_light_groups_after_heavy_ones_have_their_own_median():
    codes = np.array([0, 1, 2, 2, 0, 1])
    labels = np.array([0, 0, 0, 1, 1, 1])
    weights = np.array([1e20, 1e20, 1e20, 3.0, 1.0, 1.0])
    assert medians(codes, labels, 2, weights).tolist() == [1, 2]
