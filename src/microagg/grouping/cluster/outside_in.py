"""What the methods with one fixed centre share: groups from the outside in."""

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance
from microagg.grouping.cluster.search import search, take_group
from microagg.grouping.cluster.shrinking import shrinking
from microagg.grouping.cluster.tree import COUNT, Tree, remove
from microagg.kernels.columns import squared_distances
from microagg.kernels.compiling import kernel


def take_from_outside(
    records: NDArray[np.float64],
    k: int,
    stop: int,
    gamma: float,
    advance: Advance,
    prunes: bool | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Tree]:
    """Rows group by group, the sizes of the groups, and an index of the fewer than `stop` left.

    The record farthest from the centroid of all, the lowest of equally far, is grouped with its
    k - 1 nearest; the group grows as `vmdav` tells, which it never does where gamma is 0. The last
    places of the rows are those of the records left.
    """
    n = len(records)
    distances = np.empty(n)
    # A running sum adds in the order of rows, whatever the number of attributes.
    squared_distances(records, np.cumsum(records, axis=0)[-1] / n, distances)
    seeds = np.argsort(-distances, kind="stable")
    order = np.empty(n, np.int64)
    sizes = np.empty(n // k, np.int64)
    # How many of the seeds have been looked at, and how many groups there are.
    seen = np.zeros(2, np.int64)
    for tree, keep in shrinking(records, k, stop, prunes=prunes):
        _take_groups(tree, records, k, keep, gamma * gamma, seeds, seen, sizes, order)
        advance(1.0 - (tree.left / n) ** 2)
    return order, sizes[: seen[1]], tree


@kernel
def _take_groups(tree, records, k, keep, gamma_squared, seeds, seen, sizes, order):
    """Take groups while at least `keep` records are left.

    Every member remembers its nearest unassigned record, and looks again only once that one joins.
    """
    found = np.empty(k - 1, np.int64)
    distances = np.empty(k - 1)
    one = np.empty(1, np.int64)
    one_distance = np.empty(1)
    nearest = np.empty(2 * k - 1, np.int64)
    nearest_distance = np.empty(2 * k - 1)
    left = tree.nodes[len(tree.nodes) - 1, COUNT]
    while left >= keep:
        seed = seeds[seen[0]]
        seen[0] += 1
        if tree.slots[seed] < 0:
            continue
        start = order.size - left
        take_group(tree, records, seed, order, found, distances)
        size = k
        left -= k
        for i in range(2 * k - 1):
            nearest[i] = -1
        while size < 2 * k - 1 and left > 0 and gamma_squared > 0.0:
            best = 0
            for i in range(size):
                if nearest[i] < 0:
                    member = order[start + i]
                    search(tree, records[member], 1.0, member, one, one_distance)
                    nearest[i] = one[0]
                    nearest_distance[i] = one_distance[0]
                if nearest_distance[i] < nearest_distance[best] or (
                    nearest_distance[i] == nearest_distance[best] and nearest[i] < nearest[best]
                ):
                    best = i
            joining = nearest[best]
            if left > 1:
                search(tree, records[joining], 1.0, joining, one, one_distance)
                if not nearest_distance[best] < gamma_squared * one_distance[0]:
                    break
            order[start + size] = joining
            remove(tree, joining)
            size += 1
            left -= 1
            for i in range(size):
                nearest[i] = -1 if nearest[i] == joining else nearest[i]
        sizes[seen[1]] = size
        seen[1] += 1
