import numpy as np
import pytest

from microagg.grouping.refine.exchange import NEIGHBOURS
from microagg.grouping.refine.iterated import iterate
from microagg.kernels.trees.planting import plant
from tests.grouping.test_decompose import start_of
from tests.grouping.test_reorder import groups_of
from tests.naive import iterated as naive
from tests.naive.decompose import total_sse


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "k"), [(4, 2), (9, 3), (24, 2), (30, 4)])
def test_groups_are_those_of_the_twin(n, k, seed):
    rng = np.random.default_rng(seed)
    records = rng.normal(size=(n, 2))
    order, sizes = start_of(n, k, rng)
    start = [group.tolist() for group in groups_of(order, sizes)]
    found = iterate(plant(records), records, (order, sizes), k)
    groups = groups_of(found.line, found.sizes)
    expected = naive.iterate(records, start, k, NEIGHBOURS)
    assert {frozenset(g.tolist()) for g in groups} == {frozenset(g) for g in expected}
    assert found.sse == pytest.approx(total_sse(records, groups), rel=1e-9)
    assert found.sse <= total_sse(records, start) * (1 + 1e-12)
