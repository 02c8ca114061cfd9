"""CBFS: groups of k from the outside in."""

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.grouping.cluster.outside_in import outside_in
from microagg.grouping.cluster.search import take_group
from microagg.grouping.cluster.shrinking import close_groups, shrinking
from microagg.grouping.cluster.tree import COUNT
from microagg.grouping.method import Method
from microagg.kernels.compiling import kernel


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
    n = len(records)
    order = np.empty(n, np.int64)
    seeds = outside_in(records)
    # How many of the seeds have been looked at.
    seen = np.zeros(1, np.int64)
    for tree, keep in shrinking(records, k, 2 * k, prunes=prunes):
        _take_groups(tree, records, k, keep, seeds, seen, order)
        advance(1.0 - (tree.left / n) ** 2)
    return order, close_groups(order, tree, k)


@kernel
def _take_groups(tree, records, k, keep, seeds, seen, order):
    found = np.empty(k - 1, np.int64)
    distances = np.empty(k - 1)
    while tree.nodes[len(tree.nodes) - 1, COUNT] >= keep:
        seed = seeds[seen[0]]
        seen[0] += 1
        if tree.slots[seed] >= 0:
            take_group(tree, records, seed, order, found, distances)


METHODS = (
    Method(
        "cbfs",
        "groups of k around the records farthest out, one at a time",
        "Laszlo and Mukherjee 2005; RepOrdMic, section 3",
        "O(n^2) at worst",
        lambda task: cbfs(task.records, task.k, task.advance),
    ),
)
