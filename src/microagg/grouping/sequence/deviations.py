"""The best split of sorted values by distances rather than squares.

A group costs the sum of absolute distances to its median, or its range, the largest distance of two
members. Both are Monge, as squares are (see `monge.py`), and splitting a group of 2k or more never
costs anything, so k to 2k - 1 members are enough.

Absolute distances: the ends are taken in blocks of k, as there. Every group that ends in a block
holds the value before its first end, and sums of distances to that one, a member, give the cost of
any group without a loop: nothing is subtracted but what the group's own members add.

Ranges: the ranges of all groups and the gaps between them add up to the whole span, so the sum of
the gaps is made as large as can be. What the best gaps up to a cut are worth is known when the next
cut is possible: one pass.
"""

import math

import numpy as np

from microagg.grouping.sequence.costs import rebase
from microagg.kernels.compiling import kernel


@kernel
def fill_absolute(values, k):
    """For each end, the size (k to 2k - 1) of the last group of the best split up to there.

    `values` ascend (float64, or uint64 offsets). O(n log k) time.
    """
    n = values.size
    sizes = np.empty(n + 1, np.int32)
    path = np.full(n + 1, math.inf)
    path[0] = 0.0
    left, right = np.zeros(2 * k), np.zeros(k)
    best = np.empty(k + 1, np.int64)
    for anchor in range(k, n + 1, k):
        rows = min(2 * k - 1, anchor)
        columns = min(k, n + 1 - anchor)
        rebase(path[anchor - rows : anchor])
        pivot = values[anchor - 1]
        for size in range(1, rows + 1):
            left[size] = left[size - 1] + np.float64(pivot - values[anchor - size])
        for size in range(1, columns):
            right[size] = right[size - 1] + np.float64(values[anchor + size - 1] - pivot)
        stride = 1
        while 2 * stride <= columns:
            stride *= 2
        best[0] = rows
        while stride >= 1:
            for column in range(stride, columns + 1, 2 * stride):
                after = column - 1
                low = k - after
                if column + stride <= columns:
                    low = max(low, best[column + stride])
                high = min(best[column - stride], 2 * k - 1 - after)
                chosen, least = low, math.inf
                for before in range(low, high + 1):
                    cost = path[anchor - before] + _deviation(left, right, before, after)
                    if cost < least:
                        chosen, least = before, cost
                best[column] = chosen
                sizes[anchor + after] = chosen + after
                path[anchor + after] = least
            stride //= 2
    return sizes


@kernel
def _deviation(left, right, before, after):
    """Distances to the median of so many values before the anchor and after it."""
    half = (before + after) // 2
    if after <= half:
        return right[after] - left[half - after] + left[before] - left[before - half]
    return left[before] - right[half - before] + right[after] - right[after - half]


@kernel
def fill_range(values, k):
    """For each end, the size (k to 2k - 1) of the last group of the best split up to there.

    Of equally good cuts the last is taken; a gap is never negative, so the groups stay small.
    """
    n = values.size
    sizes = np.empty(n + 1, np.int32)
    gaps = np.zeros(n + 1)
    cut, most = 0, 0.0
    for end in range(k, n + 1):
        at = end - k
        if (at >= k or at == 0) and gaps[at] >= most:
            cut, most = at, gaps[at]
        sizes[end] = end - cut
        if end < n:
            gaps[end] = most + np.float64(values[end] - values[end - 1])
    return sizes
