"""The best split of a line of records, trying all k sizes of the last group at every end.

This is the O(k n d) programme of MHM, IMHM and IMHMI (Mortazavi, "Improved Univariate
Microaggregation for Integer Values", section 3, and equation 5 for vectors). It asks nothing of the
order of the records, so it serves every ordering of multivariate data, and it beats divide and
conquer on sorted values while k is small.

Where it departs from the papers: groups grow backwards from their last record, for a few hundred
ends at a time, so that the arithmetic runs on whole vectors of ends. Each group is summed relative
to its own last record and only ever by adding, so nothing drifts over millions of records. The
papers' early break is left out: it saves evaluations but breaks the vectors, and does not pay.
"""

import math

import numpy as np

from microagg.grouping.sequence.abreast import ABREAST, group_abreast
from microagg.grouping.sequence.costs import integer_gain, make_room, rebase
from microagg.kernels.compiling import inner, kernel

_CHUNK = 256
# Costs this close are equal but for rounding. Of equals the longest group is taken, as the papers'
# loops do: where means are rounded afterwards, even this shows in the last digit of their tables.
_TIE = 1.0 - 2.0**-50
# A path this many times dearer than a group would blur the choice of it.
_DEAR = 2.0**24


@kernel
def fill_sequence(records, order, k, integer, sizes, tail):
    """For each end, the size (k to 2k - 1) of the last group of the best split up to there.

    `records` is (attributes, n) in line, or, with an `order` (int32) in which they stand,
    (n, attributes); `sizes` (int32) has n + 1 entries. With `integer`, records are
    whole and small enough for every sum to be exact, and groups are centred on integers. `tail`
    receives what the best splits up to the last ends (2k - 1 at most) cost, less a constant.
    """
    attributes, n = records.shape
    if order.size > 0:
        attributes, n = records.shape[1], order.size
    # Of records in another order only these are in line at a time: all would be a second table.
    window = np.empty((attributes, _CHUNK + 2 * k), records.dtype)
    path = np.empty(8 * (2 * k + _CHUNK))
    path[0] = 0.0
    for end in range(1, k):
        path[end] = math.inf
    base = 0
    sums = np.empty((attributes, _CHUNK))
    scatter = np.empty(_CHUNK)
    group_costs = np.empty((k, _CHUNK))
    weights = np.zeros((2, 2 * k))
    for size in range(1, 2 * k):
        weights[0, size] = 1.0 / size
        weights[1, size] = (size - 1.0) / size
    side_by_side = np.empty(attributes * ABREAST)
    tie = 1.0 if integer else _TIE
    for first in range(k, n + 1, _CHUNK):
        ends = min(_CHUNK, n + 1 - first)
        lines, begin = records, 0
        if order.size > 0:
            begin = max(0, first - 2 * k + 1)
            _gather(records, order, begin, first - 1 + ends, window)
            lines = window
        here = first - begin
        oldest = max(base, first - 2 * k + 1)
        path, base = make_room(path, base, oldest, first, first + ends)
        rebase(path[oldest - base : first - base])
        abreast = k >= ABREAST and first >= 2 * k and ends % ABREAST == 0
        if abreast:
            at, longest, found = first - base, group_costs[k - 1], sizes[begin:]
            group_abreast(
                lines, here, ends, k, integer, tie, weights, side_by_side, path, at, found, longest
            )
        else:
            _grow_all(lines, here, k, ends, integer, sums, scatter, group_costs)
            _choose(group_costs, k, first, ends, tie, False, sizes, path, base)
        if _is_dear(path[first + ends - 1 - base], group_costs[k - 1], 2 * k - 1 - first, ends):
            if abreast:
                _grow_all(lines, here, k, ends, integer, sums, scatter, group_costs)
            _choose(group_costs, k, first, ends, tie, True, sizes, path, base)
    for i in range(tail.size):
        tail[i] = path[n + 1 - tail.size + i - base]


@inner
def _gather(records, order, begin, end, window):
    """The records at some places of a line, an attribute a row."""
    for i in range(begin, end):
        row = order[i]
        for a in range(records.shape[1]):
            window[a, i - begin] = records[row, a]


@inner
def _grow_all(records, first, k, ends, integer, sums, scatter, group_costs):
    """What the groups of every size cost that end with one of so many records."""
    for i in range(_CHUNK):
        scatter[i] = 0.0
    for a in range(len(records)):
        for i in range(_CHUNK):
            sums[a, i] = 0.0
    for size in range(2, 2 * k):
        skip = max(0, size - first)
        if skip >= ends:
            break
        for a in range(len(records)):
            _grow(records[a], first, size, skip, ends, integer, sums[a], scatter)
        if size >= k:
            group = group_costs[size - k]
            for i in range(ends):
                group[i] = scatter[i]
            if integer:
                for a in range(len(records)):
                    _centre(sums[a], group, float(size))


@kernel
def _grow(values, first, size, skip, ends, integer, sums, scatter):
    """Take one more record into each group, by Welford's update relative to its last record."""
    last = values[first - 1 + skip : first - 1 + ends]
    joining = values[first - size + skip : first - size + ends]
    sums = sums[skip:]
    scatter = scatter[skip:]
    inverse = 1.0 / (size - 1.0)
    share = (size - 1.0) / size
    if integer:
        for i in range(last.size):
            x = np.float64(last[i] - joining[i])
            sums[i] += x
            scatter[i] += x * x
    else:
        for i in range(last.size):
            x = np.float64(last[i] - joining[i])
            away = x - sums[i] * inverse
            sums[i] += x
            scatter[i] += away * away * share


@kernel
def _centre(sums, costs, size):
    inverse = 1.0 / size
    for i in range(sums.size):
        costs[i] -= integer_gain(sums[i], size, inverse)


@inner(fastmath={"nnan", "nsz"})
def _is_dear(path, group_costs, first, ends):
    """Whether a path costs so much that it blurs the choice between some of the groups."""
    least = math.inf
    for i in range(max(0, first), ends):
        cost = group_costs[i] if group_costs[i] > 0.0 else math.inf
        least = min(least, cost)
    return path > _DEAR * least


@kernel
def _choose(group_costs, k, first, ends, tie, careful, sizes, path, base):
    """The best size for each end; `careful` makes path costs relative anew before each."""
    least_size = np.uint64(k)
    for i in range(np.uint64(ends)):
        end = np.uint64(first) + i
        at = end - np.uint64(base)
        if careful:
            rebase(path[max(0, np.int64(at) - 2 * k + 1) : np.int64(at)])
        least = path[at - least_size] + group_costs[0, i]
        best = least_size
        for size in range(least_size + np.uint64(1), min(2 * least_size, end + np.uint64(1))):
            total = path[at - size] + group_costs[size - least_size, i]
            less = total * tie < least
            best = size if less else best
            least = total if less else least
        path[at] = least
        sizes[end] = best
