"""Lists of near neighbours, for all records at once.

The records of a leaf look together: at the leaves nearest to their middle, the nearest first, and
at no more than so many. So a list is exact where that suffices, and never takes long.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import inner, kernel
from microagg.kernels.threads import run_blocks
from microagg.kernels.trees.few import FEW, lists_of_few
from microagg.kernels.trees.measuring import least_of, measure_boxes, measure_leaf
from microagg.kernels.trees.planting import LEAF, NONE, plant, top_of

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
    count = min(count, members.size - 1)
    if members.size <= few:
        return members, *lists_of_few(records, members, count, advance)
    tree = plant(records, members)
    there = tree.rows != NONE
    entries = np.concatenate([[0], np.cumsum(there)])[::LEAF]
    lists = np.empty((members.size, count), np.int32)
    squares = np.empty((members.size, count))

    def fill(first: int, last: int) -> None:
        _fill_lists(tree, looks, first, last, entries[first], lists, squares)

    run_blocks(fill, len(tree.cells), _LEAVES_AT_ONCE, advance)
    return tree.rows[there], lists, squares


@kernel(fastmath={"nnan", "nsz"})
def _fill_lists(tree, looks, first, last, entry, lists, squares):
    """The lists of the records in leaves first..last, the first of which is at `entry`."""
    scales, boxes, cells, rows = tree.scales, tree.boxes, tree.cells, tree.rows
    count = lists.shape[1]
    leaves, d, _ = cells.shape
    middle = np.empty(d)
    point = np.empty(d)
    away = np.empty(LEAF)
    worst = np.empty(LEAF)
    near = np.empty(LEAF * count, np.int32)
    near_squares = np.empty(LEAF * count)
    nodes = np.empty(leaves + LEAF, np.int64)
    bounds = np.empty(leaves + LEAF)
    start = top_of(leaves)
    for leaf in range(first, last):
        own, own_at = (leaves + leaf) // LEAF, (leaves + leaf) % LEAF
        size = 0
        while size < LEAF and rows[leaf * LEAF + size] != NONE:
            worst[size] = np.inf
            for j in range(size * count, (size + 1) * count):
                near[j] = rows[leaf * LEAF + size]
                near_squares[j] = np.inf
            size += 1
        for a in range(d):
            total = 0.0
            for i in range(size):
                total += cells[leaf, a, i] / size
            middle[a] = total
        measure_boxes(boxes, np.int64(0), middle, scales, away)
        pending = np.int64(0)
        for i in range(start, 2 * start):
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
                for a in range(d):
                    point[a] = cells[leaf, a, i]
                measure_leaf(cells, np.int64(other), point, scales, away)
                if other == leaf:
                    away[i] = np.inf
                if not least_of(away) < worst[i]:
                    farthest = max(farthest, worst[i])
                    continue
                top = i * count
                for j in range(LEAF):
                    if away[j] < worst[i]:
                        end = top + count - 1
                        row = rows[other * LEAF + j]
                        while end > top and near_squares[end - 1] > away[j]:
                            near_squares[end], near[end] = near_squares[end - 1], near[end - 1]
                            end -= 1
                        near_squares[end], near[end] = away[j], row
                        worst[i] = near_squares[top + count - 1]
                farthest = max(farthest, worst[i])
        for i in range(size):
            for j in range(count):
                lists[entry, j] = near[i * count + j]
                squares[entry, j] = near_squares[i * count + j]
            entry += 1


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
