"""Groups in line from a corner, over all neighbours of small tables."""

import numpy as np
import pytest

from microagg.private.domains import Range
from tests.naive.private import largest_change
from tests.private.mechanisms.grouping import groups, sums_by


@pytest.mark.parametrize(("n", "k"), [(4, 2), (5, 2), (4, 1)])
def test_sums_change_by_the_width_in_each_group(n, k):
    ranges = [Range(0, 1), Range(0, 2)]
    domain = [(0, 0), (0, 1), (0, 2), (1, 0)]
    found = largest_change(sums_by("insensitive", k, ranges), domain, n)
    width = np.array([1, 2])
    assert (found <= (n // k) * width).all()
    # The bound is not idle: records that move from group to group do add up.
    assert (found > width).any()


def test_groups_differ_in_one_member():
    rng = np.random.default_rng(1)
    ranges = [Range(0, 1)] * 3
    for _ in range(50):
        values = rng.integers(0, 4, (23, 3)) / 3
        row = rng.integers(23)
        other = values.copy()
        other[row] = rng.integers(0, 4, 3) / 3
        one = groups("insensitive", values, 4, ranges)[0]
        two = groups("insensitive", other, 4, ranges)[0]
        assert (one.sizes == two.sizes).all()
        for label in range(one.n_groups):
            members = set(np.flatnonzero(one.labels == label))
            others = set(np.flatnonzero(two.labels == label))
            assert len(members - others) <= 1
