"""The best of two partitions, part by part.

Where two partitions of the same records differ, they mostly do so in many places that have nothing
to do with each other. The smallest sets of records that are made of whole groups in both fall apart
into such places: in each of them the better groups are taken.
"""

import numpy as np

from microagg.kernels.compiling import inner, kernel
from microagg.kernels.group_passes import root_of, scatter_of


@kernel
def combine(points, order, sizes, other_order, other_sizes):
    """Rows group by group, the sizes, and the SSE: no larger than that of either partition.

    Where both are as good, the first one's groups. O(n d) time.
    """
    scatter = np.empty(sizes.size + other_sizes.size)
    at = 0
    for g in range(sizes.size):
        scatter[g] = scatter_of(points, order, np.int64(at), at + sizes[g])
        at += sizes[g]
    at = 0
    for g in range(other_sizes.size):
        scatter[sizes.size + g] = scatter_of(points, other_order, np.int64(at), at + other_sizes[g])
        at += other_sizes[g]
    return better_parts(scatter, order, sizes, other_order, other_sizes)


@inner
def better_parts(costs, order, sizes, other_order, other_sizes):
    """The same by whatever the groups of both cost, those of the first one first."""
    n, own = order.size, sizes.size
    rows = np.concatenate((order, other_order))
    counts = np.concatenate((sizes, other_sizes))
    group = np.empty(n, np.int32)
    parent = np.arange(own).astype(np.int32)
    at = 0
    for g in range(counts.size):
        one = np.int32(g) if g < own else root_of(parent, group[rows[at]])
        for i in range(at, at + counts[g]):
            if g < own:
                group[rows[i]] = g
            else:
                two = root_of(parent, group[rows[i]])
                one, two = min(one, two), max(one, two)
                parent[two] = one
        at += counts[g]
    gains = np.zeros(own)
    at = 0
    for g in range(counts.size):
        gains[root_of(parent, group[rows[at]])] += costs[g] if g < own else -costs[g]
        at += counts[g]

    best = np.empty(n, np.int32)
    best_sizes = np.empty(n, np.int32)
    filled = groups = at = 0
    total = 0.0
    for g in range(counts.size):
        if (gains[root_of(parent, group[rows[at]])] > 0.0) == (g >= own):
            for i in range(at, at + counts[g]):
                best[filled] = rows[i]
                filled += 1
            best_sizes[groups] = counts[g]
            groups += 1
            total += costs[g]
        at += counts[g]
    return best, best_sizes[:groups], total
