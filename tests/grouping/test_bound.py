"""Nothing may be below the bound; and the bound is where the linear programme says it is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.base.errors import InputError, OptionError
from microagg.grouping.bound.lower_bound import lower_bound
from microagg.grouping.bound.near import find_near, half_sums
from microagg.grouping.bound.pricing import price, square_distances
from microagg.grouping.bound.proving import prove, sse_of
from tests.grouping.test_reorder import KINDS, make
from tests.naive import bound as naive
from tests.reference import load


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.integers(2, 9),
    st.integers(1, 5),
    st.sampled_from([1, 2, 3, 20]),
    st.integers(0, 10**6),
)
def test_never_above_the_optimum_and_no_lower_than_the_linear_programme(kind, n, k, d, seed):
    k = min(n, k)
    records = make(kind, n, d, seed)
    found = lower_bound(records, k, standardize=False, progress=False)
    centred = records - records.mean(axis=0)
    optimum = naive.least_sse(centred, k)
    rounding = 1e-6 * (centred**2).sum() if kind == "offset" else 0.0
    assert found.sse <= optimum + rounding
    assert found.sse >= naive.linear_bound(centred, k) * (1 - 1e-5) - 1e-12 - rounding
    if k == 1 or n < 2 * k or d == 1:
        assert found.kind == "exact"
        assert found.sse == pytest.approx(optimum, rel=1e-6, abs=1e-9)
    assert found.optimal


@pytest.mark.parametrize("seed", range(30))
def test_larger_k_and_more_records(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    records = make(KINDS[seed % 2], 10, 2, seed)
    optimum = naive.least_sse(records, k)
    assert lower_bound(records, k, 5, standardize=False).sse <= optimum


@pytest.mark.parametrize("k", [6, 7])
def test_by_way_of_smaller_groups_or_a_relaxation(k):
    for seed in range(4):
        records = make("generic", 2 * k, 2, seed)
        optimum = naive.least_sse(records, k)
        for seconds in (0.0, 0.02, 5.0):
            for tight in (False, True):
                found = prove(records, k, seconds, tight=tight)
                assert found.total <= optimum * (1 + 1e-9)


def test_stopped_at_once_it_still_holds():
    for seed in range(20):
        records = make("generic", 9, 3, seed)
        found = lower_bound(records, 3, 0.0, standardize=False)
        assert 0.0 <= found.sse <= naive.least_sse(records, 3)
        assert found.kind == "neighbours"


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_pricing_misses_nothing(kind, k):
    for seed in range(4):
        records = make(kind, 12, 3, seed)
        records -= records.mean(axis=0)
        rng = np.random.default_rng(seed)
        halves = half_sums(find_near(records, k - 1), k)
        expensive = halves[k - 1].mean() * 2 + 0.05
        prices = rng.normal(0.7, 1.0, 12) * expensive
        priced = price(square_distances(records), halves, prices, k, 1e-9, 10**6)
        assert priced.complete
        least = np.minimum(naive.least_margins(records, prices, k), 0.0)
        assert priced.least == pytest.approx(least, abs=1e-7)
        hurried = price(square_distances(records), halves, prices, k, 1e-9, 1)
        assert (hurried.least >= least - 1e-7).all()


@pytest.mark.parametrize(("n", "k", "d"), [(40, 3, 2), (60, 2, 4), (45, 5, 3)])
def test_prices_are_true(n, k, d):
    records = make("generic", n, d, 1)
    proof = prove(records, k, 20.0)
    assert proof.optimal
    halves = half_sums(find_near(records, k - 1), k)
    priced = price(square_distances(records), halves, proof.prices, k, 1e-7, 10**7)
    assert priced.complete
    assert priced.sets.size == 0


@pytest.mark.parametrize("method", ["mdav", "igd", "tsp", "cbfs-mhm"])
def test_below_every_method(method):
    for kind in KINDS:
        X = make(kind, 150, 3, 3)
        labels = microagg.partition(X, 3, method).labels
        found = lower_bound(X, 3, 5, upper=labels)
        assert found.information_loss <= microagg.information_loss(X, labels)


def test_nearest_records():
    for n, d, q in ((2, 1, 1), (17, 2, 16), (300, 3, 20), (400, 2, 7)):
        records = make("grid" if n == 400 else "generic", n, d, n)
        near = find_near(records, q)
        squares = ((records[:, np.newaxis] - records) ** 2).sum(axis=2)
        np.fill_diagonal(squares, np.inf)
        assert near.squares == pytest.approx(np.sort(squares, axis=1)[:, :q])
        assert np.take_along_axis(squares, near.numbers, axis=1) == pytest.approx(near.squares)
        assert all(len(set(row)) == q for row in near.numbers.tolist())


def test_many_records_get_the_cheap_bound():
    records = make("generic", 300, 3, 0)
    found = prove(records, 4, 60.0, most_records=100)
    assert found.kind == "neighbours"
    labels = microagg.partition(records, 4, standardize=False).labels
    assert 0 < found.total < sse_of(records, labels)


def test_units_do_not_matter():
    X = make("generic", 60, 3, 8)
    found = lower_bound(X, 3, standardize=False)
    for factor in (1e-150, 1e150):
        scaled = lower_bound(X * factor, 3, standardize=False)
        assert scaled.information_loss == pytest.approx(found.information_loss, rel=1e-4)
        assert scaled.sse / factor / factor == pytest.approx(found.sse, rel=1e-4)
    whole = np.rint(X * 1000).astype(np.int64) + 2**61
    assert lower_bound(whole, 3).information_loss == pytest.approx(
        lower_bound(X, 3).information_loss, rel=1e-2
    )
    assert lower_bound(np.full((9, 2), 3), 3).sse == 0.0


def test_what_is_refused():
    X = make("generic", 20, 2, 0)
    with pytest.raises(OptionError, match="time_limit"):
        lower_bound(X, 3, -1)
    with pytest.raises(OptionError, match="time_limit"):
        lower_bound(X, 3, "soon")
    with pytest.raises(InputError, match="fewer than 3"):
        lower_bound(X, 3, upper=np.repeat(np.arange(10), 2))
    with pytest.raises(InputError, match="labels"):
        lower_bound(X, 3, upper=[0, 1])


@pytest.mark.parametrize(
    ("name", "k", "least", "best"),
    [("census", 3, 4.645, 4.668), ("tarragona", 3, 13.85, 14.468)],
)
def test_reference_data(name, k, least, best):
    assert least < lower_bound(load(name), k, 60).information_loss < best
