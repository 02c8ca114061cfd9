import numpy as np
import pytest

from microagg.grouping.refine.exchange import NEIGHBOURS, exchange_and_decompose
from tests.grouping.test_decompose import start_of
from tests.grouping.test_reorder import groups_of
from tests.naive import exchange as naive
from tests.naive.decompose import total_sse


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "k"), [(4, 2), (9, 3), (40, 2), (60, 5)])
def test_groups_are_those_of_the_twin(n, k, seed):
    rng = np.random.default_rng(seed)
    records = rng.normal(size=(n, 3))
    order, sizes = start_of(n, k, rng)
    start = [group.tolist() for group in groups_of(order, sizes)]
    found = groups_of(*exchange_and_decompose(records, order, sizes, k))
    expected = naive.exchange_and_decompose(records, start, k, NEIGHBOURS)
    assert {frozenset(g.tolist()) for g in found} == {frozenset(g) for g in expected}
    assert total_sse(records, found) <= total_sse(records, start) * (1 + 1e-12)


def test_two_records_in_the_wrong_of_two_full_groups_are_exchanged():
    records = np.array([[0.0], [0.1], [5.0], [9.0], [9.1], [4.0]])
    order, sizes = exchange_and_decompose(records, np.arange(6), np.array([3, 3]), 3)
    groups = groups_of(order, sizes)
    assert {frozenset(g.tolist()) for g in groups} == {frozenset({0, 1, 5}), frozenset({2, 3, 4})}
