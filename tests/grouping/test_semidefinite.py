"""Prices are true whatever was done to find them, and good ones if there was time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.grouping.bound.lower_bound import lower_bound
from microagg.grouping.bound.near import find_near, half_sums
from microagg.grouping.bound.pricing import price, square_distances
from microagg.grouping.bound.proving import prove, sse_of
from microagg.grouping.bound.regions import regions_of
from microagg.grouping.bound.semidefinite import _Ascent, _lift, _negative, relax
from tests.grouping.test_reorder import KINDS, make
from tests.naive import bound as naive


def steps(count):
    """Time for so many steps."""
    left = iter([True] * count)
    return lambda: next(left, False)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.sampled_from([(6, 2), (9, 3), (10, 4), (11, 5)]),
    st.sampled_from([1, 2, 7]),
    st.sampled_from([3, 6, 20]),
    st.sampled_from([0, 1, 2, 30]),
    st.integers(0, 10**6),
)
def test_no_group_pays_more_than_it_costs(kind, size, q, region, count, seed):
    n, k = size
    records = make(kind, n, 2, seed)
    records -= records.mean(axis=0)
    near = find_near(records, min(n - 1, k + q))
    if not near.squares[:, : k - 1].any():
        return
    prices = relax(records, k, near, steps(count), region=region)
    rounding = 1e-9 * (records**2).sum()
    for larger in range(k, min(n, 2 * k - 1) + 1):
        assert (naive.least_margins(records, prices, larger) >= -rounding).all()
    assert prices.sum() <= naive.least_sse(records, k) + rounding


@pytest.mark.parametrize("kind", ["generic", "grid", "repeated"])
def test_near_the_optimum_of_few_records(kind):
    records = make(kind, 12, 2, 1)
    optimum = naive.least_sse(records, 5)
    found = relax(records, 5, find_near(records, 11), steps(200), enough=0.0).sum()
    assert 0.7 * optimum - 1e-12 <= found <= optimum * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("region", [40, 60, 1000])
def test_pricing_finds_nothing_against_them(region):
    records = make("generic", 150, 3, 3)
    records[0] += 40.0
    records[1] -= 30.0
    near = find_near(records, 12)
    prices = relax(records, 4, near, steps(30), region=region)
    halves = half_sums(near, 4)
    priced = price(square_distances(records), halves, prices, 4, 1e-7, 10**7)
    assert priced.complete
    assert priced.sets.size == 0
    assert prices.sum() > 1.2 * halves[-1].sum()


@pytest.mark.parametrize("scale", [0.0, 1.0])
@pytest.mark.parametrize("region", [2, 4, 20])
def test_whatever_the_numbers_and_the_matrices(region, scale):
    """Truth rests on the definition of the prices alone."""
    rng = np.random.default_rng(0)
    for seed in range(10):
        records = make("generic", 10, 2, seed)
        ascent = _Ascent(records, 3, find_near(records, 2), region)
        ascent.u = rng.normal(0.2, 0.4, 10) + 2.0 * (rng.random(10) < 0.2)
        for own in ascent.regions:
            root = scale * rng.normal(size=own.above.shape)
            own.above[:] = root @ root.T
        margins = naive.least_margins(records, ascent.prices(), 3)
        assert (margins >= -1e-9).all()


def test_a_matrix_is_lifted_until_it_is_positive():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(30, 20))
    assert _lift(root @ root.T) < 1e-9
    bent = root @ root.T - 0.5 * np.eye(30)
    assert _lift(bent) >= 0.5
    assert np.linalg.eigvalsh(bent + _lift(bent) * np.eye(30))[0] >= 0.0


def test_the_negative_part():
    matrix = np.diag([3.0, -2.0, 0.0, -1.0])
    assert _negative(matrix) == pytest.approx(np.diag([0.0, 2.0, 0.0, 1.0]))
    assert _negative(np.eye(3)) == pytest.approx(np.zeros((3, 3)))


@pytest.mark.parametrize("kind", KINDS)
def test_regions_divide_the_records(kind):
    records = make(kind, 200, 3, 5)
    for most in (1, 7, 50, 200):
        regions = regions_of(records, most)
        assert np.array_equal(np.sort(np.concatenate(regions)), np.arange(200))
        assert max(rows.size for rows in regions) <= most


def test_prices_go_on_from_where_the_relaxation_ends():
    records = make("generic", 90, 3, 2)
    labels = microagg.partition(records, 7, "search", steps=20_000, standardize=False).labels
    found = prove(records, 7, 20.0, labels, tight=True)
    relaxed = relax(records, 7, find_near(records, 28), steps(100)).sum()
    assert relaxed < found.total <= sse_of(records, labels)


def test_a_bound_for_many_records_is_better_than_that_of_their_neighbours():
    records = make("generic", 110, 3, 0)
    labels = microagg.partition(records, 4, standardize=False).labels
    cheap = prove(records, 4, 60.0, most_records=100)
    found = prove(records, 4, 60.0, most_records=100, tight=True)
    assert found.kind == "semidefinite"
    assert 1.3 * cheap.total < found.total < sse_of(records, labels)


def test_a_bound_for_large_groups_is_below_what_is_found():
    records = make("generic", 60, 3, 2)
    labels = microagg.partition(records, 8, "search", steps=20_000, standardize=False).labels
    found = lower_bound(records, 8, 0.5, standardize=False, upper=labels)
    assert 0.0 <= found.sse <= sse_of(records, labels)
