"""Groups by rank, over all neighbours of small tables."""

import pytest

from microagg.private.domains import Range
from tests.naive.private import largest_change
from tests.private.mechanisms.grouping import sums_by


@pytest.mark.parametrize(("n", "k"), [(4, 2), (5, 2), (4, 1), (3, 3), (6, 2)])
def test_sums_change_by_the_width_in_all(n, k):
    domain = [(x,) for x in range(3)] if n == 6 else [(x,) for x in range(4)]
    width = len(domain) - 1
    found = largest_change(sums_by("marginals", k, [Range(0, width)]), domain, n)
    assert found[0] == width  # never more, and no smaller bound would do
