"""The best of two partitions, part by part.

Where two partitions of the same records differ, they mostly do so in many places that have nothing
to do with each other. The smallest sets of records that are made of whole groups in both fall apart
into such places: in each of them the better groups are taken.
"""

import numpy as np

from microagg.kernels.compiling import kernel


@kernel
def combine(points, order, sizes, other_order, other_sizes):
    """Rows group by group, the sizes, and the SSE: no larger than that of either partition.

    Where both are as good, the first one's groups. O(n d) time.
    """
    n = order.size
    group = np.empty(n, np.int32)
    scatter = np.empty(sizes.size)
    parent = np.empty(sizes.size, np.int32)
    at = 0
    for g in range(sizes.size):
        parent[g] = g
        scatter[g] = _scatter(points, order, at, at + sizes[g])
        for i in range(at, at + sizes[g]):
            group[order[i]] = g
        at += sizes[g]
    at = 0
    for g in range(other_sizes.size):
        one = _root(parent, group[other_order[at]])
        for i in range(at + 1, at + other_sizes[g]):
            two = _root(parent, group[other_order[i]])
            if two < one:
                one, two = two, one
            parent[two] = one
        at += other_sizes[g]
    gains = np.zeros(sizes.size)
    for g in range(sizes.size):
        gains[_root(parent, g)] += scatter[g]
    at = 0
    other_scatter = np.empty(other_sizes.size)
    for g in range(other_sizes.size):
        other_scatter[g] = _scatter(points, other_order, at, at + other_sizes[g])
        gains[_root(parent, group[other_order[at]])] -= other_scatter[g]
        at += other_sizes[g]

    best = np.empty(n, np.int32)
    best_sizes = np.empty(n, np.int32)
    filled = 0
    groups = 0
    total = 0.0
    at = 0
    for g in range(sizes.size):
        if not gains[_root(parent, g)] > 0.0:
            for i in range(at, at + sizes[g]):
                best[filled] = order[i]
                filled += 1
            best_sizes[groups] = sizes[g]
            groups += 1
            total += scatter[g]
        at += sizes[g]
    at = 0
    for g in range(other_sizes.size):
        if gains[_root(parent, group[other_order[at]])] > 0.0:
            for i in range(at, at + other_sizes[g]):
                best[filled] = other_order[i]
                filled += 1
            best_sizes[groups] = other_sizes[g]
            groups += 1
            total += other_scatter[g]
        at += other_sizes[g]
    return best, best_sizes[:groups], total


@kernel
def _root(parent, g):
    while parent[g] != g:
        parent[g] = parent[parent[g]]
        g = parent[g]
    return g


@kernel
def _scatter(points, order, first, last):
    """The SSE of one group about its mean."""
    total = 0.0
    for a in range(points.shape[1]):
        pivot = points[order[first], a]
        drift = 0.0
        for i in range(first, last):
            drift += points[order[i], a] - pivot
        mean = pivot + drift / (last - first)
        for i in range(first, last):
            away = points[order[i], a] - mean
            total += away * away
    return total
