"""Bounds with cuts: never above the optimum, and above the linear programme without them."""

from itertools import combinations

import numpy as np
import pytest

from microagg.grouping.bound.cuts import Cutting
from microagg.grouping.bound.near import find_near, half_sums
from microagg.grouping.bound.pricing import Fines, price, square_distances
from microagg.grouping.bound.proving import prove
from tests.grouping.test_reorder import make
from tests.naive import bound as naive


def fined(records, triples, costs, group):
    held = [len(set(triple) & set(group)) >= 2 for triple in triples.tolist()]
    return naive.sse(records, group) + float(costs[held].sum())


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_pricing_counts_each_fine_once(size):
    rng = np.random.default_rng(size)
    records = make("generic", 12, 3, size)
    triples = np.array([rng.choice(12, 3, replace=False) for _ in range(9)])
    costs = rng.random(9)
    halves = half_sums(find_near(records, size - 1), size)
    prices = rng.normal(0.7, 1.0, 12) * (halves[size - 1].mean() * 2 + 0.5)
    fines = Fines.of(triples, costs, 12)
    priced = price(square_distances(records), halves, prices, size, 1e-9, 10**6, fines=fines)
    assert priced.complete
    least = naive.least_margins(
        records, prices, size, lambda group: fined(records, triples, costs, group)
    )
    assert priced.least == pytest.approx(np.minimum(least, 0.0), abs=1e-7)


def cut(records, k):
    """The bound with cuts, from the optimum of the linear programme without them."""
    proof = prove(records, k, 20.0)
    groups = [np.arange(k * (len(records) // k)) // k, np.full(len(records) % k, 0)]
    labels = np.concatenate(groups)
    near, squares = find_near(records, 2 * k - 2), square_distances(records)
    work = Cutting(records, near, squares, k, proof.prices, proof.sets, labels, 1e-12)
    work.run(np.inf, lambda: True, lambda: 20.0)
    return proof.total, work


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n", "k"), [(7, 3), (8, 3), (10, 3), (9, 2), (10, 4)])
def test_between_the_linear_programme_and_the_optimum(n, k, seed):
    records = make("generic", n, 2, seed)
    low, work = cut(records, k)
    assert low * (1 - 1e-6) <= work.best.total <= naive.least_sse(records, k) * (1 + 1e-9)


def test_every_group_is_worth_its_prices_less_its_fines():
    records = make("generic", 9, 2, 3)
    _, work = cut(records, 3)
    for size in (3, 4, 5):
        for group in combinations(range(9), size):
            cost = fined(records, work.cuts, work.best.fines, group)
            assert work.best.prices[list(group)].sum() <= cost + 1e-7


def test_four_near_records_are_no_longer_covered_by_their_triples():
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    records = np.concatenate([square, square + 100.0])
    low, work = cut(records, 3)
    optimum = naive.least_sse(records, 3)
    assert low < 0.95 * optimum
    assert work.best.total == pytest.approx(optimum, rel=1e-4)
