import numpy as np
import pytest

import microagg
from microagg.grouping.sequence.walk import walk_groups
from tests.grouping.test_decompose import start_of
from tests.grouping.test_reorder import KINDS, groups_of, make
from tests.naive import walk as naive
from tests.reference import load


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_line_is_that_of_the_twin_even_among_ties(kind, seed):
    records = make(kind, 50, 3, seed)
    order, sizes = start_of(50, 4, np.random.default_rng(seed))
    given = order.copy()
    line = walk_groups(records, order, sizes)
    groups = [group.tolist() for group in groups_of(order, sizes)]
    assert line.tolist() == naive.walk_groups(records, groups)
    assert np.array_equal(order, given)


@pytest.mark.parametrize(("name", "published"), [("tarragona", 22.46), ("census", 9.09)])
def test_published_losses_of_mdav_mhm_are_met(name, published):
    raw = load(name)
    labels = microagg.partition(raw, 5, "mdav-mhm").labels
    assert microagg.information_loss(raw, labels) <= published
