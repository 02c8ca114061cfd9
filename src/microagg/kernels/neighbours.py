"""The nearest of many fixed points, exactly and with its ties, for millions of queries.

Points lie in leaves of up to 16, one line an attribute, so that the distances of a whole leaf are a
few vector instructions. Leaves come from median splits of the widest side; sixteen neighbouring
leaves share a node, sixteen nodes the next, up to one root, and a node keeps the boxes of its
children in lines as well. Points never leave: trees that shrink live where groups are formed.

A squared distance is the sum over the attributes, in order, of ((point - query) * scale)^2, and the
distance to a box the same over the sides that face the query. Rounding is monotone, so no point is
ever computed to be nearer than its box, and leaving out boxes that are strictly farther than what
is known is exact to the last bit. The scale is applied to differences, not to coordinates: points
that lie symmetrically on a grid of whole numbers stay tied in any units.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel
from microagg.kernels.selecting import push_in_order, put_least_first
from microagg.kernels.threads import run_halves

_LEAF = 16
_FAN_BITS = 4
_FAN = 1 << _FAN_BITS
_QUERIES_AT_ONCE = 1 << 16
# Deep enough for any number of points below 2^31.
_STACK = 8 * _FAN


class Index(NamedTuple):
    """Leaves come first among the nodes, the root last; d is the number of attributes."""

    scales: NDArray[np.float64]  # (d,) positive
    cells: NDArray[np.float64]  # (leaves, d, 16) the points, infinite where there is none
    numbers: NDArray[np.int32]  # (leaves, 16) which points they are
    boxes: NDArray[np.float64]  # (inner nodes, 2, d, 16) low and high sides of the children
    children: NDArray[np.int64]  # (inner nodes,) the first child
    sides: NDArray[np.int64]  # (leaves,) the attribute each split looks at: split 2i and 2i + 1
    cuts: NDArray[np.float64]  # (leaves,) follow split i, the root is 1; and where it cuts


class Nearest(NamedTuple):
    """For each query: the lowest number among the nearest points, its distance, and the ties."""

    numbers: NDArray[np.int32]
    squares: NDArray[np.float64]
    weights: NDArray[np.int64]


def plant(points: NDArray[np.float64], scales: NDArray[np.float64]) -> Index:
    """Index the points, (m, d) with m and d at least 1. O(m d log m) time."""
    m, d = points.shape
    depth = max(0, (-(-m // _LEAF) - 1).bit_length())
    leaves = 1 << depth
    widths = [leaves]
    while widths[-1] > 1:
        widths.append(-(-widths[-1] // _FAN))
    starts = np.cumsum([0, *widths])
    inner = int(starts[-1]) - leaves
    index = Index(
        scales=scales,
        cells=np.full((leaves, d, _LEAF), np.inf),
        numbers=np.full((leaves, _LEAF), -1, np.int32),
        boxes=np.concatenate(
            [np.full((inner, 1, d, _FAN), np.inf), np.full((inner, 1, d, _FAN), -np.inf)], axis=1
        ),
        children=np.concatenate(
            [starts[j] + _FAN * np.arange(width) for j, width in enumerate(widths[1:])]
            or [np.empty(0, np.int64)]
        ),
        sides=np.zeros(leaves, np.int64),
        cuts=np.zeros(leaves),
    )
    _plant(points, depth, starts, index)
    return index


def nearest(
    index: Index,
    queries: NDArray[np.float64],
    within: NDArray[np.float64],
    weights: NDArray[np.int64],
    advance: Callable[[float], None],
) -> Nearest:
    """The point nearest to each query, and the summed `weights` of all that are just as near.

    `within` is a squared distance, for each query, inside which there is a point for certain: the
    better it is, the less is searched. On two threads; the answer does not depend on them.
    """
    n = len(queries)
    homes = np.empty(n, np.int32)
    _route(index.sides, index.cuts, queries, homes)
    # Queries that end in one leaf look at the same few others: they come one after the other.
    sequence = np.argsort(homes, kind="stable").astype(np.int32)
    found = Nearest(np.empty(n, np.int32), np.empty(n), np.empty(n, np.int64))

    def search(first: int, last: int) -> None:
        _search(index, homes, queries, within, weights, sequence[first:last], found)

    for first in range(0, n, _QUERIES_AT_ONCE):
        last = min(n, first + _QUERIES_AT_ONCE)
        run_halves(search, first, last)
        advance(last / n)
    return found


@kernel
def _plant(points, depth, starts, index):
    scales, cells, numbers, boxes, _, sides, cuts = index
    m, d = points.shape
    rows = np.arange(m)
    keys = np.empty(m)
    low = np.empty(d)
    high = np.empty(d)
    leaves = 1 << depth
    for level in range(depth + 1):
        height = (depth - level) // _FAN_BITS
        boxed = level > 0 and (depth - level) % _FAN_BITS == 0
        for j in range(1 << level):
            start = (j * m) >> level
            end = ((j + 1) * m) >> level
            for a in range(d):
                low[a] = np.inf
                high[a] = -np.inf
            for i in range(start, end):
                for a in range(d):
                    x = points[rows[i], a]
                    low[a] = min(low[a], x)
                    high[a] = max(high[a], x)
            if boxed:
                parent = starts[height + 1] - leaves + j // _FAN
                for a in range(d):
                    boxes[parent, 0, a, j % _FAN] = low[a]
                    boxes[parent, 1, a, j % _FAN] = high[a]
            if level == depth:
                for i in range(start, end):
                    numbers[j, i - start] = rows[i]
                    for a in range(d):
                        cells[j, a, i - start] = points[rows[i], a]
                continue
            widest = 0
            for a in range(1, d):
                if (high[a] - low[a]) * scales[a] > (high[widest] - low[widest]) * scales[widest]:
                    widest = a
            for i in range(start, end):
                keys[i] = points[rows[i], widest]
            middle = ((2 * j + 1) * m) >> (level + 1)
            put_least_first(keys, rows, start, end - 1, middle)
            cut = -np.inf
            for i in range(start, middle):
                cut = max(cut, keys[i])
            sides[(1 << level) + j] = widest
            cuts[(1 << level) + j] = cut


@kernel
def _route(sides, cuts, queries, homes):
    """The leaf each query would lie in."""
    leaves = sides.size
    for q in range(homes.size):
        node = 1
        while node < leaves:
            node = 2 * node + (1 if queries[q, sides[node]] > cuts[node] else 0)
        homes[q] = node - leaves


@kernel(fastmath={"nnan", "nsz"})
def _search(index, homes, queries, within, weights, sequence, found):
    scales, cells, numbers, boxes, children, _, _ = index
    d = scales.size
    leaves = len(cells)
    root = leaves + len(boxes) - 1
    # From an array, or the compiler would unroll the loops instead of making vectors of them.
    width = np.uint64(numbers.shape[1])
    to_high = np.uint64(d) * width
    points = cells.reshape(-1)
    walls = boxes.reshape(-1)
    query = np.empty(d)
    buffer = np.empty(numbers.shape[1])
    stack = np.empty(_STACK, np.int64)
    bounds = np.empty(_STACK)
    for q in sequence:
        for a in range(d):
            query[a] = queries[q, a]
        best = within[q]
        lowest = np.int32(2**31 - 1)
        weight = 0
        # The leaf at home only tells how near the nearest is at least: it is read again below.
        stack[0] = root
        bounds[0] = 0.0
        stack[1] = homes[q]
        bounds[1] = 0.0
        depth = 2
        scouting = True
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if bounds[depth] > best:
                continue
            for i in range(width):
                buffer[i] = 0.0
            if node < leaves:
                start = np.uint64(node) * to_high
                for a in range(d):
                    x = query[a]
                    scale = scales[a]
                    for i in range(width):
                        away = (points[start + i] - x) * scale
                        buffer[i] += away * away
                    start += width
                least = np.inf
                for i in range(width):
                    least = buffer[i] if buffer[i] < least else least
                if scouting:
                    best = min(best, least)
                    scouting = False
                elif least <= best:
                    if least < best:
                        best = least
                        lowest = np.int32(2**31 - 1)
                        weight = 0
                    for i in range(_LEAF):
                        if buffer[i] == best:
                            number = numbers[node, i]
                            weight += weights[number]
                            lowest = min(lowest, number)
                continue
            start = np.uint64(node - leaves) * (to_high + to_high)
            for a in range(d):
                x = query[a]
                scale = scales[a]
                for i in range(width):
                    below = walls[start + i] - x
                    above = x - walls[start + to_high + i]
                    away = below if below > above else above
                    away = (away if away > 0.0 else 0.0) * scale
                    buffer[i] += away * away
                start += width
            child = children[node - leaves]
            bottom = depth
            for i in range(_FAN):
                bound = buffer[i]
                if bound <= best:
                    push_in_order(stack, bounds, bottom, depth, child + i, bound)
                    depth += 1
        found.numbers[q] = lowest
        found.squares[q] = best
        found.weights[q] = weight
