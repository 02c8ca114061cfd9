"""A tree over records that finds near neighbours, while records vanish, return and move.

A balanced tree of median splits along the widest attribute. Leaves hold a few records each, one
line an attribute, so that distances are computed for a whole leaf at once; every node has the box
of its records. A search starts in a leaf close by and climbs: the nearest is mostly there, and the
further up, the less is left to look at.

Squared distances add up the attributes in one fixed order, from the first to the last, and so do
the distances to boxes. Rounding is monotone, hence no record is ever computed to be nearer than its
box, and leaving out boxes that are farther than the best record found is exact to the last bit.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel
from microagg.kernels.selecting import put_least_first
from microagg.kernels.threads import run_both

LEAF = 16
# Records that say in which direction a part of them is widest.
_SOME = 64
# Stands for "no row": greater than any row number.
NONE = np.int32(2**31 - 1)


class Tree(NamedTuple):
    """Node 1 is the root, nodes 2i and 2i + 1 are the children of node i, the last half leaves."""

    low: NDArray[np.float64]  # (nodes, d) the boxes
    high: NDArray[np.float64]
    least: NDArray[np.int32]  # (nodes,) the lowest row number beneath that is left, or NONE
    cells: NDArray[np.float64]  # (leaves, d, LEAF) the records, infinite where there is none left
    rows: NDArray[np.int32]  # (leaves * LEAF,) their row numbers, or NONE
    slots: NDArray[np.int32]  # (n,) where in `rows` a row has its place, or -1


def plant(records: NDArray[np.float64], members: NDArray[np.int32] | None = None) -> Tree:
    """A tree over the rows `members` (ascending), or all. O(n d log n) time."""
    n, d = records.shape
    if members is None:
        members = np.arange(n, dtype=np.int32)
    leaves = 1
    while leaves * LEAF < members.size:
        leaves *= 2
    tree = Tree(
        low=np.full((2 * leaves, d), np.inf),
        high=np.full((2 * leaves, d), -np.inf),
        least=np.full(2 * leaves, NONE),
        cells=np.full((leaves, d, LEAF), np.inf),
        rows=np.full(leaves * LEAF, NONE),
        slots=np.full(n, -1, np.int32),
    )
    places = members.copy()
    keys = np.empty(members.size)

    def grow(node: int, first: int, last: int) -> None:
        _grow(records, places, keys, node, first, last, tree)

    if leaves == 1:
        grow(1, 0, members.size)
        return tree
    middle = _halve(records, places, keys, 0, members.size)
    run_both(partial(grow, 2, 0, middle), partial(grow, 3, middle, members.size))
    _join(tree, 1)
    return tree


@kernel
def _grow(records, members, keys, top, first, last, tree):
    """The part of the tree beneath a node, over members[first:last]."""
    low, high, least, cells, rows, slots = tree
    d = records.shape[1]
    leaves = least.size // 2
    depth = 0
    while (top << depth) < leaves:
        depth += 1
    nodes = np.empty(depth + 2, np.int64)
    starts = np.empty(depth + 2, np.int64)
    ends = np.empty(depth + 2, np.int64)
    nodes[0], starts[0], ends[0] = top, first, last
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node, start, end = nodes[waiting], starts[waiting], ends[waiting]
        if node < leaves:
            middle = _halve(records, members, keys, start, end)
            nodes[waiting], starts[waiting], ends[waiting] = 2 * node + 1, middle, end
            waiting += 1
            nodes[waiting], starts[waiting], ends[waiting] = 2 * node, start, middle
            waiting += 1
            continue
        leaf = node - leaves
        for i in range(start, end):
            row = members[i]
            slot = leaf * LEAF + i - start
            rows[slot] = row
            slots[row] = slot
            least[node] = min(least[node], row)
            for a in range(d):
                value = records[row, a]
                cells[leaf, a, i - start] = value
                low[node, a] = min(low[node, a], value)
                high[node, a] = max(high[node, a], value)
    for level in range(depth - 1, -1, -1):
        for node in range(top << level, (top + 1) << level):
            _join(tree, node)


@kernel
def _join(tree, node):
    """A node's box and lowest row number, from its children."""
    low, high, least = tree.low, tree.high, tree.least
    one, other = 2 * node, 2 * node + 1
    least[node] = min(least[one], least[other])
    for a in range(low.shape[1]):
        low[node, a] = min(low[one, a], low[other, a])
        high[node, a] = max(high[one, a], high[other, a])


@kernel
def _halve(records, members, keys, start, end):
    """Bring the lower half, along the attribute in which some of them lie widest, to the front."""
    stride = max(1, (end - start) // _SOME)
    widest = 0
    width = -1.0
    for a in range(records.shape[1]):
        low = high = records[members[start], a]
        for i in range(start, end, stride):
            value = records[members[i], a]
            low = min(low, value)
            high = max(high, value)
        if high - low > width:
            widest = a
            width = high - low
    for i in range(start, end):
        keys[i] = records[members[i], widest]
    middle = (start + end) // 2
    put_least_first(keys, members, start, end - 1, middle)
    return middle


@kernel
def walk_on(tree, records, order, first, last):
    """Fill order[first:last], always with the record of the tree nearest to the one before.

    What is visited vanishes from the tree. Ties go to the lowest row number.
    """
    space = make_space()
    point = np.empty(records.shape[1])
    for place in range(first, last):
        current = order[place - 1]
        hide(tree, current)
        for a in range(point.size):
            point[a] = records[current, a]
        order[place] = nearest(tree, point, tree.slots[current] // LEAF, NONE, np.inf, space)


@kernel(inline="always")
def hide(tree, row):
    """Let a row vanish from all further searches."""
    slot = tree.slots[row]
    tree.rows[slot] = NONE
    for a in range(tree.low.shape[1]):
        tree.cells[slot // LEAF, a, slot % LEAF] = np.inf
    _note_lowest(tree, slot // LEAF)


@kernel
def put(tree, row, point):
    """Let a row stand at this point from now on, hidden before or not; boxes grow to hold it."""
    slot = tree.slots[row]
    tree.rows[slot] = row
    node = tree.least.size // 2 + slot // LEAF
    for a in range(point.size):
        tree.cells[slot // LEAF, a, slot % LEAF] = point[a]
    while node > 0:
        for a in range(point.size):
            tree.low[node, a] = min(tree.low[node, a], point[a])
            tree.high[node, a] = max(tree.high[node, a], point[a])
        node //= 2
    _note_lowest(tree, slot // LEAF)


@kernel(inline="always")
def _note_lowest(tree, leaf):
    """Bring the lowest row number of a leaf up to date, and of the nodes above it."""
    least = tree.least
    node = leaf + least.size // 2
    lowest = NONE
    for i in range(leaf * LEAF, (leaf + 1) * LEAF):
        lowest = min(lowest, tree.rows[i])
    while least[node] != lowest:
        least[node] = lowest
        if node == 1:
            break
        lowest = min(lowest, least[node ^ 1])
        node //= 2


@kernel
def make_space():
    """What a search works with, made once for many."""
    return np.empty(LEAF), np.empty(128, np.int64), np.empty(128)


@kernel(inline="always")
def nearest(tree, point, leaf, barred, within, space):
    """The row nearest to a point, other than `barred`; ties go to the lowest row number.

    NONE if the squared distance of none is less than `within`. The search starts in this leaf.
    """
    low, high, least, cells, rows = tree.low, tree.high, tree.least, tree.cells, tree.rows
    squares, waiting, bounds = space
    leaves = least.size // 2
    # What is as far as `within` is not near enough.
    best = within if within == np.inf else np.nextafter(within, -np.inf)
    found = NONE
    climbing = leaf + leaves
    waiting[0] = climbing
    bounds[0] = 0.0
    count = 1
    while True:
        while count > 0:
            count -= 1
            node = waiting[count]
            bound = bounds[count]
            if bound > best or (bound == best and least[node] > found):
                continue
            if node >= leaves:
                leaf = node - leaves
                for i in range(LEAF):
                    squares[i] = 0.0
                for a in range(point.size):
                    x = point[a]
                    for i in range(LEAF):
                        away = cells[leaf, a, i] - x
                        squares[i] += away * away
                for i in range(LEAF):
                    if squares[i] <= best:
                        row = rows[leaf * LEAF + i]
                        if (squares[i] < best or row < found) and row != barred:
                            best = squares[i]
                            found = row
                continue
            left, right = 2 * node, 2 * node + 1
            to_left, to_right = 0.0, 0.0
            for a in range(point.size):
                x = point[a]
                away = max(low[left, a] - x, x - high[left, a], 0.0)
                to_left += away * away
                away = max(low[right, a] - x, x - high[right, a], 0.0)
                to_right += away * away
            if to_right < to_left:
                left, right = right, left
                to_left, to_right = to_right, to_left
            if least[right] != NONE and to_right <= best:
                waiting[count] = right
                bounds[count] = to_right
                count += 1
            if least[left] != NONE and to_left <= best:
                waiting[count] = left
                bounds[count] = to_left
                count += 1
        if climbing == 1:
            break
        sibling = climbing ^ 1
        climbing //= 2
        if least[sibling] != NONE:
            bound = 0.0
            for a in range(point.size):
                x = point[a]
                away = max(low[sibling, a] - x, x - high[sibling, a], 0.0)
                bound += away * away
            waiting[0] = sibling
            bounds[0] = bound
            count = 1
    return found
