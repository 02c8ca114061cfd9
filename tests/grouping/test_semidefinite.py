"""Multipliers of any kind prove a bound; good ones a good bound."""

import numpy as np
import pytest

import microagg
from microagg.grouping.bound.lower_bound import lower_bound
from microagg.grouping.bound.pricing import square_distances
from microagg.grouping.bound.proving import sse_of
from microagg.grouping.bound.semidefinite import bound_of, relax
from tests.grouping.test_reorder import make
from tests.naive import bound as naive


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n", "k"), [(6, 2), (9, 3), (10, 4), (11, 5)])
def test_never_above_the_optimum_whatever_the_multipliers(n, k, seed):
    rng = np.random.default_rng(seed)
    records = make("generic", n, 2, seed)
    optimum = naive.least_sse(records, k)
    costs = square_distances(records) / 2
    for scale in (0.0, 0.1, 1.0, 10.0):
        noise = rng.normal(size=(n, n)) * scale
        assert bound_of(costs, noise + noise.T, k) <= optimum
        assert bound_of(costs, np.minimum(noise + noise.T, 0.0) - costs / 2, k) <= optimum


@pytest.mark.parametrize("kind", ["generic", "grid", "equal", "repeated"])
def test_near_the_optimum_of_few_records(kind):
    records = make(kind, 12, 2, 1)
    optimum = naive.least_sse(records, 5)
    labels = np.arange(12) % 2
    found = relax(square_distances(records), 5, labels, np.inf, lambda: 1.0)
    assert 0.7 * optimum - 1e-12 <= found <= optimum * (1 + 1e-9) + 1e-12


def test_a_bound_for_large_groups_is_below_what_is_found():
    records = make("generic", 60, 3, 2)
    labels = microagg.partition(records, 8, "search", steps=20_000, standardize=False).labels
    found = lower_bound(records, 8, 0.5, standardize=False, upper=labels)
    assert 0.0 <= found.sse <= sse_of(records, labels)
