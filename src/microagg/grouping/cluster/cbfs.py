"""CBFS: groups of k from the outside in."""

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.grouping.cluster.outside_in import take_from_outside
from microagg.grouping.cluster.shrinking import close_groups
from microagg.grouping.method import Method


def cbfs(
    records: NDArray[np.float64], k: int, advance: Advance = silent, *, prunes: bool | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Centroid-based fixed-size: groups of k, the last of k to 2k - 1.

    While at least 2k records are left, the one farthest from the centroid of all records, which
    stays where it is, is grouped with its k - 1 nearest; the rest is the last group. Ties go to the
    lowest row. The result is that of brute force, in O(n d) memory, usually far below its
    O(n^2 d / k) time. `prunes` forces the index (True) or brute force (False), for comparison.

    Laszlo and Mukherjee, "Minimum spanning tree partitioning algorithm for microaggregation"
    (2005). Where we depart: the last k to 2k - 1 records stay together.
    """
    order, _, tree = take_from_outside(records, k, 2 * k, 0.0, advance, prunes)
    return order, close_groups(order, tree, k)


METHODS = (
    Method(
        "cbfs",
        "groups of k around the records farthest out, one at a time",
        "Laszlo and Mukherjee 2005; RepOrdMic, section 3",
        "O(n^2) at worst",
        lambda task: cbfs(task.records, task.k, task.advance),
    ),
)
