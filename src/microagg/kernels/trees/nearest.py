"""The nearest record of a tree, exactly: of the records left, or of all with its ties.

A query starts in a leaf close by and climbs: the nearest is mostly there, and the further up, the
less is left to look at.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import inner, kernel
from microagg.kernels.threads import run_blocks
from microagg.kernels.trees.measuring import (
    insert_in_order,
    least_of,
    measure_boxes,
    measure_leaf,
    push_in_order,
)
from microagg.kernels.trees.planting import LEAF, NONE, Tree, top_of

_QUERIES_AT_ONCE = 1 << 12
# A way down leaves at most 15 nodes behind at each level, and has fewer than 9 levels.
STACK = 9 * LEAF


class Space(NamedTuple):
    """Where a query writes its answer, and what it works with."""

    rows: NDArray[np.int32]
    squares: NDArray[np.float64]
    weights: NDArray[np.int64]  # of all rows, or none
    buffer: NDArray[np.float64]
    nodes: NDArray[np.int64]
    bounds: NDArray[np.float64]


class Nearest(NamedTuple):
    """For each query: the lowest number among the nearest points, its distance, and the ties."""

    numbers: NDArray[np.int32]
    squares: NDArray[np.float64]
    weights: NDArray[np.int64]


def find_nearest(
    tree: Tree,
    queries: NDArray[np.float64],
    within: NDArray[np.float64],
    weights: NDArray[np.int64],
    advance: Callable[[float], None],
) -> Nearest:
    """The record nearest to each query, and the summed `weights` of all that are just as near.

    `within` is a squared distance, for each query, inside which there is a record for certain: the
    better it is, the less is searched.
    """
    n = len(queries)
    homes = np.empty(n, np.int32)
    run_blocks(partial(_route, tree, queries, homes), n, _QUERIES_AT_ONCE)
    # Queries that end in one leaf look at the same few others: they come one after the other.
    sequence = np.argsort(homes, kind="stable").astype(np.int32)
    found = Nearest(np.empty(n, np.int32), np.empty(n), np.empty(n, np.int64))
    search = partial(_find_nearest, tree, queries, homes, within, weights, sequence, found)
    run_blocks(search, n, _QUERIES_AT_ONCE, advance)
    return found


def find_several(
    tree: Tree,
    queries: NDArray[np.float64],
    count: int,
    advance: Callable[[float], None] = lambda _share: None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The so many records nearest to each query, the nearest first, and their squared distances.

    The lowest of equally near ones come first; there must be so many. (n, count) each.
    """
    n = len(queries)
    homes = np.empty(n, np.int32)
    run_blocks(partial(_route, tree, queries, homes), n, _QUERIES_AT_ONCE)
    sequence = np.argsort(homes, kind="stable").astype(np.int32)
    numbers, squares = np.empty((n, count), np.int32), np.empty((n, count))
    search = partial(_find_several, tree, queries, homes, sequence, numbers, squares)
    run_blocks(search, n, _QUERIES_AT_ONCE, advance)
    return numbers, squares


@kernel(fastmath={"nnan", "nsz"})
def _route(tree, queries, homes, first, last):
    """A leaf close to each query: always on to the nearest box."""
    leaves = tree.least.size // 2
    squares = np.empty(LEAF)
    for q in range(first, last):
        block = 0
        low = top_of(leaves)
        high = 2 * low
        while block < leaves:
            measure_boxes(tree.boxes, np.int64(block), queries[q], tree.scales, squares)
            at = low
            for i in range(low + 1, high):
                at = i if squares[i] < squares[at] else at
            block, low, high = block * LEAF + at, 0, LEAF
        homes[q] = block - leaves


@kernel
def _find_nearest(tree, queries, homes, within, weights, sequence, found, first, last):
    space = make_space(1, weights)
    for q in sequence[first:last]:
        home = np.int64(homes[q])
        found.weights[q] = nearest(tree, queries[q], home, NONE, within[q], space)
        found.numbers[q] = space.rows[0]
        found.squares[q] = space.squares[0]


@kernel
def _find_several(tree, queries, homes, sequence, numbers, squares, first, last):
    count = numbers.shape[1]
    space = make_space(count, np.empty(0, np.int64))
    for q in sequence[first:last]:
        nearest(tree, queries[q], np.int64(homes[q]), NONE, np.inf, space)
        for i in range(count):
            numbers[q, i] = space.rows[i]
            squares[q, i] = space.squares[i]


@inner
def make_space(count, weights):
    """Room for the answers of queries for so many rows, made once for many queries."""
    return Space(
        np.empty(count, np.int32),
        np.empty(count),
        weights,
        np.empty(LEAF),
        np.empty(STACK, np.int64),
        np.empty(STACK),
    )


@kernel(fastmath={"nnan", "nsz"})
def nearest(tree, point, leaf, barred, within, space):
    """Fill `space` with the rows nearest to a point, other than `barred`, and squared distances.

    The nearest first, the lowest of equally near rows; NONE where none is left that is as near as
    `within`. The query starts in this leaf. With weights it is for one row, and the summed weights
    of all that are just as near are returned.
    """
    scales, boxes, least, cells, rows, _ = tree
    found, distances, weights, squares, waiting, bounds = space
    leaves = least.size // 2
    counting = weights.size > 0
    worst = found.size - 1
    for i in range(found.size):
        found[i] = NONE
        distances[i] = within
    best = within
    ties = 0
    # The node whose neighbours come next, once nothing beneath it is waiting.
    climbed = leaves + leaf
    waiting[0] = climbed
    bounds[0] = 0.0
    count = 1
    while count > 0 or climbed > 0:
        if count > 0:
            count -= 1
            block = waiting[count]
            bound = bounds[count]
            if bound > best or (bound == best and not counting and least[block] > found[worst]):
                continue
            if block >= leaves:
                first = (block - leaves) * LEAF
                measure_leaf(cells, np.int64(block - leaves), point, scales, squares)
                closest = least_of(squares)
                if closest > best:
                    continue
                if counting and closest < best:
                    best = closest
                    found[0] = NONE
                    distances[0] = best
                    ties = 0
                for i in range(LEAF):
                    row = rows[first + i]
                    if squares[i] > best or row == barred:
                        continue
                    if counting:
                        found[0] = min(found[0], row)
                        ties += weights[row]
                    elif squares[i] < best or row < found[worst]:
                        insert_in_order(distances, found, squares[i], row)
                        best = distances[worst]
                continue
            low, high, left_out = 0, LEAF, -1
        else:
            block, left_out = climbed // LEAF, climbed % LEAF
            low, high = 0, LEAF
            if block == 0:
                low = top_of(leaves)
                high = 2 * low
            climbed = block
        measure_boxes(boxes, np.int64(block), point, scales, squares)
        bottom = count
        for i in range(low, high):
            node = block * LEAF + i
            if squares[i] <= best and i != left_out and least[node] != NONE:
                push_in_order(waiting, bounds, bottom, count, node, squares[i])
                count += 1
    return ties


@kernel
def hide(tree, row):
    """Let a row vanish from all further queries."""
    slot = tree.slots[row]
    tree.rows[slot] = NONE
    for a in range(tree.scales.size):
        tree.cells[slot // LEAF, a, slot % LEAF] = np.inf
    _note_lowest(tree, slot // LEAF)


@kernel
def put(tree, row, point):
    """Let a row stand at this point from now on, hidden before or not; boxes grow to hold it."""
    slot = tree.slots[row]
    tree.rows[slot] = row
    for a in range(point.size):
        tree.cells[slot // LEAF, a, slot % LEAF] = point[a]
    node = tree.least.size // 2 + slot // LEAF
    while node > 0:
        block, at = node // LEAF, node % LEAF
        for a in range(point.size):
            tree.boxes[block, a, at] = min(tree.boxes[block, a, at], point[a])
            tree.boxes[block, point.size + a, at] = max(
                tree.boxes[block, point.size + a, at], point[a]
            )
        node = block
    _note_lowest(tree, slot // LEAF)


@inner
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
