"""Lists of near neighbours, for all records at once.

The records of a leaf look together: at the leaves nearest to their middle, the nearest first, and
at no more than so many. So a list is exact where that suffices, and never takes long.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import inner, kernel
from microagg.kernels.lanes import lowest_bit, near_points
from microagg.kernels.threads import run_blocks
from microagg.kernels.trees.few import FEW, lists_of_few
from microagg.kernels.trees.measuring import measure_boxes
from microagg.kernels.trees.planting import LEAF, NONE, plant, top_of
from microagg.kernels.trees.single import beyond, single_precision

_LEAVES_AT_ONCE = 64


def nearest_lists(
    records: NDArray[np.float64],
    members: NDArray[np.int32],
    count: int,
    looks: int,
    advance: Callable[[float], None] = lambda _share: None,
    few: int = FEW,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """For each of the rows `members`, `count` others of them that are near, the nearest first.

    Returns the members in the order of the tree, which keeps near ones together, and for each of
    them row numbers and squared distances. A search ends after `looks` leaves, so it is exact where
    that suffices, and never takes long. Fewer than `count` + 1 members have shorter lists. No more
    than `few` stay in the order they came in, and their lists are always exact.
    """
    count, d = min(count, members.size - 1), records.shape[1]
    if members.size <= few:
        return members, *lists_of_few(records, members, count, advance)
    tree = plant(records, members)
    single = single_precision(tree, tree.boxes[0, :d, 1], tree.boxes[0, d:, 1])
    if single is None:
        # At no distance from each other, nothing is left out.
        cells, unit = np.zeros(tree.cells.shape, np.float32), 0.0
    else:
        cells, unit = single.of(tree.cells, 1), single.unit
    there = tree.rows != NONE
    entries = np.concatenate([[0], np.cumsum(there)])[::LEAF]
    lists = np.empty((members.size, count), np.int32)
    squares = np.empty((members.size, count))

    def fill(first: int, last: int) -> None:
        _fill_lists(tree, cells, unit, looks, first, last, entries[first], lists, squares)

    run_blocks(fill, len(tree.cells), _LEAVES_AT_ONCE, advance)
    return tree.rows[there], lists, squares


@kernel(fastmath={"nnan", "nsz"})
def _fill_lists(tree, singles, unit, looks, first, last, entry, lists, squares):
    """The lists of the records in leaves first..last, the first of which is at `entry`."""
    scales, boxes, cells, rows = tree.scales, tree.boxes, tree.cells, tree.rows
    count = lists.shape[1]
    leaves, d, _ = cells.shape
    middle = np.empty(d)
    points = np.empty((LEAF, d), np.float32)
    limits = np.empty(LEAF, np.float32)
    roughly = np.empty(LEAF, np.float32)
    away = np.empty(LEAF)
    worst = np.empty(LEAF)
    near = np.empty(LEAF * count, np.int32)
    near_squares = np.empty(LEAF * count)
    nodes = np.empty(leaves + LEAF, np.int64)
    bounds = np.empty(leaves + LEAF)
    top_node = top_of(leaves)
    for leaf in range(first, last):
        own, own_at = (leaves + leaf) // LEAF, (leaves + leaf) % LEAF
        size = 0
        while size < LEAF and rows[leaf * LEAF + size] != NONE:
            worst[size] = limits[size] = np.inf
            for j in range(size * count, (size + 1) * count):
                near[j] = rows[leaf * LEAF + size]
                near_squares[j] = np.inf
            size += 1
        for a in range(d):
            total = 0.0
            for i in range(size):
                total += cells[leaf, a, i] / size
                points[i, a] = singles[leaf, a, i]
            middle[a] = total
        measure_boxes(boxes, np.int64(0), middle, scales, away)
        pending = np.int64(0)
        for i in range(top_node, 2 * top_node):
            _let_wait(nodes, bounds, pending, i, away[i])
            pending += 1
        looked = 0
        farthest = np.inf
        while pending > 0 and looked < looks:
            node = _nearest_waiting(nodes, bounds, pending)
            pending -= 1
            block, at = node // LEAF, node % LEAF
            gap = 0.0
            for a in range(d):
                below = boxes[block, a, at] - boxes[own, d + a, own_at]
                above = boxes[own, a, own_at] - boxes[block, d + a, at]
                side = max(below, above, 0.0)
                gap += side * side
            if gap >= farthest:
                continue
            if node < leaves:
                measure_boxes(boxes, np.int64(node), middle, scales, away)
                for i in range(LEAF):
                    if away[i] < np.inf:
                        _let_wait(nodes, bounds, pending, node * LEAF + i, away[i])
                        pending += 1
                continue
            looked += 1
            other = node - leaves
            farthest = 0.0
            for i in range(size):
                start = np.int64(other * d * LEAF)
                close = near_points(singles, start, points[i], limits[i], roughly)
                top, end = i * count, i * count + count - 1
                while close != np.uint64(0):
                    j = np.int64(lowest_bit(close))
                    close &= close - np.uint64(1)
                    square = _square(cells, other, j, leaf, i)
                    if not square < worst[i] or (other == leaf and j == i):
                        continue
                    at = end
                    while at > top and near_squares[at - 1] > square:
                        near_squares[at], near[at] = near_squares[at - 1], near[at - 1]
                        at -= 1
                    near_squares[at], near[at] = square, rows[other * LEAF + j]
                    worst[i] = near_squares[end]
                    if worst[i] < np.inf:
                        limits[i] = beyond(np.float32(worst[i] * unit * unit), d)
                farthest = max(farthest, worst[i])
        for i in range(size):
            for j in range(count):
                lists[entry, j] = near[i * count + j]
                squares[entry, j] = near_squares[i * count + j]
            entry += 1


@inner
def _square(cells, leaf, i, other, j):
    """The squared distance of a record of a leaf from one of another."""
    total = 0.0
    for a in range(cells.shape[1]):
        away = cells[leaf, a, i] - cells[other, a, j]
        total += away * away
    return total


@inner
def _let_wait(nodes, bounds, pending, node, bound):
    """Add a node to a heap of nodes with the least bound on top."""
    at = pending
    while at > 0 and bounds[(at - 1) // 2] > bound:
        nodes[at], bounds[at] = nodes[(at - 1) // 2], bounds[(at - 1) // 2]
        at = (at - 1) // 2
    nodes[at], bounds[at] = node, bound


@inner
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
