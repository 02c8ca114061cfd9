"""The best split of sorted values, in time that does not depend on k.

A group of consecutive sorted values costs SSE, or SSE about the nearest integer to its mean, or
SSE + c / size. All three are Monge: w(a, c) + w(b, d) <= w(a, d) + w(b, c) for a <= b <= c <= d
(the mean, rounded or not, never leaves the group's range; 1 / size is convex). So the best start
of the last group never moves left as the end moves right, and divide and conquer over the ends of
a block finds every best start with O(log k) evaluations an end.

The ends are taken a block at a time. Every group that ends in the block starts before it, hence
holds the block's first boundary, the anchor. What lies left and right of the anchor is summed
once, relative to the value beside it, and a group joins its two parts: nothing is subtracted but
neighbours, so costs are good to a few units in the last place whatever the offset or the mixture
of magnitudes. Path costs are kept relative to the least in sight for the same reason.

Beyond the papers: Hansen and Mukherjee (MHM) and Mortazavi (IMHM, IMHMI) take O(k n), the
noise-aware split of Soria-Comas and Domingo-Ferrer (Algorithm 3) O(n^2).
"""

import math

import numpy as np

from microagg.grouping.sequence.costs import integer_gain, joining_cost, make_room, rebase
from microagg.kernels.compiling import inner, kernel

# Below this many candidates a plain loop beats a vector loop.
_FEW = 8


@kernel
def fill_sorted(values, k, size_cost, integer, sizes, tail):
    """For each end, the size of the last group of the best split up to there.

    `values` ascend (float64, or uint64 offsets); `sizes` (int32) has one entry more. With
    `size_cost` = c > 0 a group costs SSE + c / size and may have any size from k up, otherwise at
    most 2k - 1. With `integer`, values are whole and small enough for every sum to be exact. `tail`
    receives what the best splits up to the last ends cost, relative to each other.
    """
    n = values.size
    path = np.empty(4 * k + 4)
    path[0] = 0.0
    for end in range(1, k):
        path[end] = math.inf
    base = 0
    work = np.empty((7, 0))
    best = np.empty(0, np.int64)
    first = 0
    anchor = k
    width = k
    while anchor <= n:
        rows = anchor - first
        columns = min(width, n + 1 - anchor)
        if rows + columns >= best.size:
            best = np.empty(2 * (rows + columns), np.int64)
            work = np.zeros((7, best.size))
            for size in range(1, best.size):
                work[0, size] = size
                work[1, size] = 1.0 / size
        oldest = max(base, min(first, anchor - 2 * k + 1))
        path, base = make_room(path, base, oldest, anchor, anchor + columns)
        rebase(path[oldest - base : anchor - base])
        _fill_block(
            values, k, size_cost, integer, anchor, rows, columns, work, best, sizes, path, base
        )
        if size_cost > 0.0:
            accepted = _accepted(path, anchor - base, columns, k, size_cost)
            width = 2 * columns if accepted == columns else accepted
            anchor += accepted
        else:
            anchor += columns
        first = anchor - 1 - sizes[anchor - 1]
        if size_cost == 0.0:
            first = max(first, anchor - 2 * k + 1)
    for i in range(tail.size):
        tail[i] = path[n + 1 - tail.size + i - base]


@inner
def _fill_block(
    values, k, size_cost, integer, anchor, rows, columns, work, best, sizes, path, base
):
    """Find the best start, `rows` or fewer before the anchor, for `columns` ends from there on."""
    count, inverse, trial = work[0], work[1], work[2]
    left_cost, left, right_cost, right = work[3], work[4], work[5], work[6]
    right_cost[0] = right[0] = 0.0
    if integer:
        _sum(values, anchor, -1, rows, left_cost, left)
        _sum(values, anchor, 1, columns - 1, right_cost, right)
        for size in range(1, rows + 1):
            left_cost[size] += path[anchor - size - base]
    else:
        paths = path[: anchor - base]
        _average(values, anchor - 1, -1, rows, 0.0, paths, count, inverse, left_cost, left)
        if columns > 1:
            gap, last = np.float64(values[anchor] - values[anchor - 1]), columns - 1
            _average(values, anchor, 1, last, gap, paths[:0], count, inverse, right_cost, right)
    stride = 1
    while 2 * stride <= columns:
        stride *= 2
    best[0] = rows
    together = 0
    while stride >= 1:
        if stride == 2:
            together = columns - columns % 4
            for column in range(0, together, 4):
                _fill_between(k, size_cost, integer, column, anchor, work, best, sizes, path, base)
        for column in range(together + stride, columns + 1, 2 * stride):
            after = column - 1
            low = max(1, k - after)
            if column + stride <= columns:
                low = max(low, best[column + stride])
            high = best[column - stride] + 1
            if size_cost == 0.0:
                high = min(high, 2 * k - after)
            # Of equally good groups the shortest is taken: ties never grow past 2k - 1.
            before = low
            least = math.inf
            if high - low <= _FEW:
                # Written out, for passing arrays to a function costs more than this loop.
                for i in range(np.uint64(low), np.uint64(high)):
                    size = i + np.uint64(after)
                    apart = left[i] + right[after]
                    if integer:
                        total = left_cost[i] - integer_gain(apart, count[size], inverse[size])
                    else:
                        pairs = count[i] * count[after]
                        total = left_cost[i] + joining_cost(apart, pairs, inverse[size], size_cost)
                    less = total < least
                    before = np.int64(i) if less else before
                    least = total if less else least
            else:
                cost, mean, sizes_before = left_cost[low:high], left[low:high], count[low:high]
                inverses = inverse[low + after : high + after]
                other, size = right[after], count[after]
                if integer:
                    least = _try_integer(cost, mean, other, sizes_before, size, inverses, trial)
                else:
                    least = _try_joining(
                        cost, mean, other, sizes_before, size, inverses, size_cost, trial
                    )
                while trial[before - low] != least:
                    before += 1
            best[column] = before
            path[anchor + after - base] = least + right_cost[after]
            sizes[anchor + after] = before + after
        stride //= 2


@inner
def _fill_between(k, size_cost, integer, column, anchor, work, best, sizes, path, base):
    """Find the best starts of the three ends between two that are known, in one loop.

    Three loops, short as they are, would each be left by surprise. What only some of the three ends
    may start with comes before and after what all of them may.
    """
    low, high = best[column + 4], best[column] + 1
    limit = np.int64(2) * k if size_cost == 0.0 else np.int64(1) << 62
    first = min(high, max(low, k - column))
    last = max(first, min(high, limit - column - 2))
    before0 = before1 = before2 = np.int64(0)
    least0 = least1 = least2 = math.inf
    # Written out, for a function of two results costs more than these loops.
    for i in range(max(low, k - column - 1), first):
        total = _total(work, i, column + 1, size_cost, integer)
        if total < least1:
            before1, least1 = i, total
    for i in range(max(low, k - column - 2), first):
        total = _total(work, i, column + 2, size_cost, integer)
        if total < least2:
            before2, least2 = i, total
    for i in range(first, last):
        total0 = _total(work, i, column, size_cost, integer)
        total1 = _total(work, i, column + 1, size_cost, integer)
        total2 = _total(work, i, column + 2, size_cost, integer)
        less0, less1, less2 = total0 < least0, total1 < least1, total2 < least2
        before0 = i if less0 else before0
        before1 = i if less1 else before1
        before2 = i if less2 else before2
        least0 = total0 if less0 else least0
        least1 = total1 if less1 else least1
        least2 = total2 if less2 else least2
    for i in range(last, min(high, limit - column)):
        total = _total(work, i, column, size_cost, integer)
        if total < least0:
            before0, least0 = i, total
    for i in range(last, min(high, limit - column - 1)):
        total = _total(work, i, column + 1, size_cost, integer)
        if total < least1:
            before1, least1 = i, total
    right_cost = work[5]
    at = anchor + column
    best[column + 1], best[column + 2], best[column + 3] = before0, before1, before2
    path[at - base] = least0 + right_cost[column]
    path[at + 1 - base] = least1 + right_cost[column + 1]
    path[at + 2 - base] = least2 + right_cost[column + 2]
    sizes[at] = before0 + column
    sizes[at + 1] = before1 + column + 1
    sizes[at + 2] = before2 + column + 2


@inner
def _total(work, before, after, size_cost, integer):
    """What the best path costs with a group of so many values before and after the anchor."""
    i, j = np.uint64(before), np.uint64(after)
    apart = work[4, i] + work[6, j]
    if integer:
        return work[3, i] - integer_gain(apart, work[0, i + j], work[1, i + j])
    return work[3, i] + joining_cost(apart, work[0, i] * work[0, j], work[1, i + j], size_cost)


@inner(fastmath={"nnan", "nsz"})
def _try_joining(cost, left, right, before, after, inverse, size_cost, trial):
    least = math.inf
    for i in range(cost.size):
        total = cost[i] + joining_cost(left[i] + right, before[i] * after, inverse[i], size_cost)
        trial[i] = total
        least = total if total < least else least
    return least


@inner(fastmath={"nnan", "nsz"})
def _try_integer(cost, left, right, before, after, inverse, trial):
    least = math.inf
    for i in range(cost.size):
        total = cost[i] - integer_gain(left[i] + right, before[i] + after, inverse[i])
        trial[i] = total
        least = total if total < least else least
    return least


@inner
def _average(values, at, step, last, gap, path, count, inverse, cost, mean):
    """SSE of the values from `at` on, one way or the other, and how far their mean lies from it.

    To the first is added what the path up to there costs, if given; to the second a gap.
    """
    pivot = values[at]
    total = sse = 0.0
    for size in range(1, last + 1):
        value = values[at + step * (size - 1)]
        x = np.float64(value - pivot if step > 0 else pivot - value)
        away = x - total * inverse[size - 1]
        total += x
        sse += away * away * (count[size - 1] * inverse[size])
        cost[size] = sse + path[path.size - size] if path.size > 0 else sse
        mean[size] = gap + total * inverse[size]


@kernel
def _sum(values, anchor, step, last, cost, sums):
    """Squares and sum of what lies on one side, relative to the anchor's left neighbour."""
    pivot = values[anchor - 1]
    total = squares = 0.0
    for size in range(1, last + 1):
        if step > 0:
            x = np.float64(values[anchor + size - 1] - pivot)
        else:
            x = -np.float64(pivot - values[anchor - size])
        total += x
        squares += x * x
        cost[size] = squares
        sums[size] = total


@inner
def _accepted(path, at, columns, k, size_cost):
    """How many of a block's ends are final: those that no group inside the block can improve.

    Such a group has at most r members when it ends r after the anchor, so it costs at least
    size_cost / r on top of the least path cost in the block.
    """
    least = most = path[at]
    for after in range(1, columns):
        least = min(least, path[at + after])
        most = max(most, path[at + after])
        if after >= k and least + size_cost / after < most:
            return after
    return columns
