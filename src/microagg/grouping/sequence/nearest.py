"""A tree over records that finds near neighbours, and lets visited records vanish.

A balanced tree of median splits along the widest attribute. Leaves hold a few records each, one
line an attribute, so that distances are computed for a whole leaf at once; every node has the box
of its records. A search starts in the leaf of the point itself and climbs: the nearest is mostly
close by, and the further up, the less is left to look at.

Squared distances add up the attributes in one fixed order, from the first to the last, and so do
the distances to boxes. Rounding is monotone, hence no record is ever computed to be nearer than its
box, and leaving out boxes that are farther than the best record found is exact to the last bit.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel
from microagg.kernels.threads import run_both
from microagg.progress import Report, silent

_LEAF = 16
# Records that say in which direction a part of them is widest.
_SOME = 64
_LEAVES_A_REPORT = 1 << 11
# Stands for "no row": greater than any row number.
_NONE = np.int32(2**31 - 1)


class Tree(NamedTuple):
    """Node 1 is the root, nodes 2i and 2i + 1 are the children of node i, the last half leaves."""

    low: NDArray[np.float64]  # (nodes, d) the boxes
    high: NDArray[np.float64]
    least: NDArray[np.int32]  # (nodes,) the lowest row number beneath that is left, or _NONE
    cells: NDArray[np.float64]  # (leaves, d, _LEAF) the records, infinite where there is none left
    rows: NDArray[np.int32]  # (leaves * _LEAF,) their row numbers, or _NONE
    slots: NDArray[np.int32]  # (n,) where in `rows` a row is, or -1


def plant(records: NDArray[np.float64], members: NDArray[np.int32]) -> Tree:
    """A tree over the rows `members` (ascending). O(n d log n) time."""
    n, d = records.shape
    leaves = 1
    while leaves * _LEAF < members.size:
        leaves *= 2
    tree = Tree(
        low=np.full((2 * leaves, d), np.inf),
        high=np.full((2 * leaves, d), -np.inf),
        least=np.full(2 * leaves, _NONE),
        cells=np.full((leaves, d, _LEAF), np.inf),
        rows=np.full(leaves * _LEAF, _NONE),
        slots=np.full(n, -1, np.int32),
    )
    places = members.copy()
    keys = np.empty(members.size)

    def grow(node: int, first: int, last: int) -> None:
        _grow(
            records,
            places,
            keys,
            node,
            first,
            last,
            tree.low,
            tree.high,
            tree.least,
            tree.cells,
            tree.rows,
            tree.slots,
        )

    if leaves == 1:
        grow(1, 0, members.size)
        return tree
    middle = _halve(records, places, keys, 0, members.size)
    run_both(partial(grow, 2, 0, middle), partial(grow, 3, middle, members.size))
    _join(tree.low, tree.high, tree.least, 1)
    return tree


def walk_on(
    tree: Tree, records: NDArray[np.float64], order: NDArray[np.int32], first: int, last: int
) -> None:
    """Fill order[first:last], always with the record of the tree nearest to the one before.

    What is visited vanishes from the tree. Ties go to the lowest row number.
    """
    _walk_on(
        tree.low,
        tree.high,
        tree.least,
        tree.cells,
        tree.rows,
        tree.slots,
        records,
        order,
        first,
        last,
    )


def nearest_lists(
    records: NDArray[np.float64],
    members: NDArray[np.int32],
    count: int,
    looks: int,
    report: Report = silent,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """For each of the rows `members`, `count` others of them that are near, the nearest first.

    Returns the members in the order of the tree, which keeps near ones together, and for each of
    them row numbers and squared distances. A search ends after `looks` leaves, so it is exact where
    that suffices, and never takes long. Fewer than `count` + 1 members have shorter lists.
    """
    tree = plant(records, members)
    count = min(count, members.size - 1)
    there = tree.rows != _NONE
    entries = np.concatenate([[0], np.cumsum(there)])[::_LEAF]
    lists = np.empty((members.size, count), np.int32)
    squares = np.empty((members.size, count))

    def fill(first: int, last: int) -> None:
        _fill_lists(
            tree.low,
            tree.high,
            tree.cells,
            tree.rows,
            looks,
            first,
            last,
            entries[first],
            lists,
            squares,
        )

    leaves = len(tree.cells)
    for first in range(0, leaves, _LEAVES_A_REPORT):
        last = min(leaves, first + _LEAVES_A_REPORT)
        middle = (first + last) // 2
        run_both(partial(fill, first, middle), partial(fill, middle, last))
        report(last / leaves)
    return tree.rows[there], lists, squares


@kernel
def _grow(records, members, keys, top, first, last, low, high, least, cells, rows, slots):
    """The part of the tree beneath a node, over members[first:last]."""
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
            slot = leaf * _LEAF + i - start
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
            _join(low, high, least, node)


@kernel
def _join(low, high, least, node):
    """A node's box and lowest row number, from its children."""
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
    _part(keys, members, start, end - 1, middle)
    return middle


@kernel
def _part(keys, members, first, last, middle):
    """Bring the least keys of first..last before `middle`, by Hoare's selection."""
    while first < last:
        pivot = keys[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                members[i], members[j] = members[j], members[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


@kernel
def _walk_on(low, high, least, cells, rows, slots, records, order, first, last):
    d = records.shape[1]
    leaves = least.size // 2
    point = np.empty(d)
    squares = np.empty(_LEAF)
    waiting = np.empty(128, np.int64)
    bounds = np.empty(128)
    for place in range(first, last):
        current = order[place - 1]
        slot = slots[current]
        leaf = slot // _LEAF
        slots[current] = -1
        rows[slot] = _NONE
        for a in range(d):
            point[a] = records[current, a]
            cells[leaf, a, slot % _LEAF] = np.inf
        node = leaf + leaves
        lowest = _NONE
        for i in range(leaf * _LEAF, (leaf + 1) * _LEAF):
            lowest = min(lowest, rows[i])
        while least[node] != lowest:
            least[node] = lowest
            if node == 1:
                break
            lowest = min(lowest, least[node ^ 1])
            node //= 2

        best = np.inf
        nearest = _NONE
        climbing = leaf + leaves
        waiting[0] = climbing
        bounds[0] = 0.0
        count = 1
        while True:
            while count > 0:
                count -= 1
                node = waiting[count]
                bound = bounds[count]
                if bound > best or (bound == best and least[node] > nearest):
                    continue
                if node >= leaves:
                    leaf = node - leaves
                    for i in range(_LEAF):
                        squares[i] = 0.0
                    for a in range(d):
                        x = point[a]
                        for i in range(_LEAF):
                            away = cells[leaf, a, i] - x
                            squares[i] += away * away
                    for i in range(_LEAF):
                        if squares[i] <= best:
                            row = rows[leaf * _LEAF + i]
                            if squares[i] < best or row < nearest:
                                best = squares[i]
                                nearest = row
                    continue
                left, right = 2 * node, 2 * node + 1
                to_left, to_right = 0.0, 0.0
                for a in range(d):
                    x = point[a]
                    away = max(low[left, a] - x, x - high[left, a], 0.0)
                    to_left += away * away
                    away = max(low[right, a] - x, x - high[right, a], 0.0)
                    to_right += away * away
                if to_right < to_left:
                    left, right = right, left
                    to_left, to_right = to_right, to_left
                if least[right] != _NONE and to_right <= best:
                    waiting[count] = right
                    bounds[count] = to_right
                    count += 1
                if least[left] != _NONE and to_left <= best:
                    waiting[count] = left
                    bounds[count] = to_left
                    count += 1
            if climbing == 1:
                break
            sibling = climbing ^ 1
            climbing //= 2
            if least[sibling] != _NONE:
                bound = 0.0
                for a in range(d):
                    x = point[a]
                    away = max(low[sibling, a] - x, x - high[sibling, a], 0.0)
                    bound += away * away
                waiting[0] = sibling
                bounds[0] = bound
                count = 1
        order[place] = nearest


@kernel(fastmath={"nnan", "nsz"})
def _fill_lists(low, high, cells, rows, looks, first, last, entry, lists, squares):
    """The lists of the records in leaves first..last, the first of which is at `entry`.

    The records of a leaf look together: at the leaves nearest to their middle, the nearest first.
    """
    count = lists.shape[1]
    leaves, d, _ = cells.shape
    # From an array, or the compiler would unroll the loops instead of making vectors of them.
    width = np.uint64(cells.shape[2])
    points = cells.reshape(-1)
    middle = np.empty(d)
    point = np.empty(d)
    away = np.empty(_LEAF)
    worst = np.empty(_LEAF)
    near = np.empty(_LEAF * count, np.int32)
    near_squares = np.empty(_LEAF * count)
    nodes = np.empty(leaves + 2, np.int64)
    bounds = np.empty(leaves + 2)
    for leaf in range(first, last):
        own = leaves + leaf
        size = 0
        while size < _LEAF and rows[leaf * _LEAF + size] != _NONE:
            worst[size] = np.inf
            for j in range(size * count, (size + 1) * count):
                near[j] = rows[leaf * _LEAF + size]
                near_squares[j] = np.inf
            size += 1
        for a in range(d):
            total = 0.0
            for i in range(size):
                total += cells[leaf, a, i] / size
            middle[a] = total
        nodes[0] = 1
        bounds[0] = 0.0
        pending = 1
        looked = 0
        farthest = np.inf
        while pending > 0 and looked < looks:
            node = _nearest_waiting(nodes, bounds, pending)
            pending -= 1
            gap = 0.0
            for a in range(d):
                side = max(low[node, a] - high[own, a], low[own, a] - high[node, a], 0.0)
                gap += side * side
            if gap >= farthest:
                continue
            if node < leaves:
                for child in range(2 * node, 2 * node + 2):
                    gap = 0.0
                    for a in range(d):
                        side = max(low[child, a] - middle[a], middle[a] - high[child, a], 0.0)
                        gap += side * side
                    _let_wait(nodes, bounds, pending, child, gap)
                    pending += 1
                continue
            looked += 1
            other = node - leaves
            farthest = 0.0
            for i in range(size):
                for a in range(d):
                    point[a] = cells[leaf, a, i]
                for j in range(width):
                    away[j] = 0.0
                start = np.uint64(other) * np.uint64(d) * width
                for a in range(d):
                    x = point[a]
                    for j in range(width):
                        side = points[start + j] - x
                        away[j] += side * side
                    start += width
                if other == leaf:
                    away[i] = np.inf
                least = np.inf
                for j in range(width):
                    least = away[j] if away[j] < least else least
                if not least < worst[i]:
                    farthest = max(farthest, worst[i])
                    continue
                top = i * count
                for j in range(_LEAF):
                    if away[j] < worst[i]:
                        place = top + count - 1
                        while place > top and near_squares[place - 1] > away[j]:
                            near_squares[place] = near_squares[place - 1]
                            near[place] = near[place - 1]
                            place -= 1
                        near_squares[place] = away[j]
                        near[place] = rows[other * _LEAF + j]
                        worst[i] = near_squares[top + count - 1]
                farthest = max(farthest, worst[i])
        for i in range(size):
            for j in range(count):
                lists[entry, j] = near[i * count + j]
                squares[entry, j] = near_squares[i * count + j]
            entry += 1


@kernel
def _let_wait(nodes, bounds, pending, node, bound):
    """Add a node to a heap of nodes with the least bound on top."""
    at = pending
    while at > 0 and bounds[(at - 1) // 2] > bound:
        nodes[at], bounds[at] = nodes[(at - 1) // 2], bounds[(at - 1) // 2]
        at = (at - 1) // 2
    nodes[at], bounds[at] = node, bound


@kernel
def _nearest_waiting(nodes, bounds, pending):
    """Take the node with the least bound from a heap."""
    top = nodes[0]
    node, bound = nodes[pending - 1], bounds[pending - 1]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= pending - 1:
            break
        if child + 1 < pending - 1 and bounds[child + 1] < bounds[child]:
            child += 1
        if bounds[child] >= bound:
            break
        nodes[at], bounds[at] = nodes[child], bounds[child]
        at = child
    nodes[at], bounds[at] = node, bound
    return top
