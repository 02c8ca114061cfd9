"""The nearest record of a tree to each of very many queries: roughly first, then exactly.

In single precision a whole leaf is measured by half as many instructions, and how much that may be
off is known. Where one record is nearer than all others beyond doubt it is the nearest, and its
distance is measured as everywhere. For queries that are left, with ties or in doubt, the tree is
asked as always.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import inner, kernel
from microagg.kernels.lanes import LANES, lowest_bit, near_boxes, near_points
from microagg.kernels.threads import run_blocks
from microagg.kernels.trees.measuring import push_in_order
from microagg.kernels.trees.nearest import (
    STACK,
    Nearest,
    find_nearest,
    make_space,
    nearest,
)
from microagg.kernels.trees.planting import LEAF, NONE, Tree, top_of
from microagg.kernels.trees.single import beyond, single_precision

_QUERIES_AT_ONCE = 1 << 12


class Rough(NamedTuple):
    """A tree and queries in single precision."""

    cells: NDArray[np.float32]  # (leaves, d, LEAF)
    boxes: NDArray[np.float32]  # (nodes / 16, 2d, 16)
    queries: NDArray[np.float32]  # (n, d)
    limits: NDArray[np.float32]  # (n,) a squared distance within which there is a record


def find_nearest_roughly(
    tree: Tree,
    queries: NDArray[np.float64],
    within: NDArray[np.float64],
    weights: NDArray[np.int64],
    advance: Callable[[float], None],
) -> Nearest:
    """What `find_nearest` finds."""
    n = len(queries)
    rough = _in_single_precision(tree, queries, within)
    if rough is None:
        return find_nearest(tree, queries, within, weights, advance)
    homes = np.empty(n, np.int32)
    run_blocks(partial(_route, tree, rough, homes), n, _QUERIES_AT_ONCE)
    # Queries that end in one leaf look at the same few others: they come one after the other.
    sequence = np.argsort(homes, kind="stable").astype(np.int32)
    found = Nearest(np.empty(n, np.int32), np.empty(n), np.empty(n, np.int64))
    search = partial(_search, tree, rough, queries, homes, within, weights, sequence, found)
    run_blocks(search, n, _QUERIES_AT_ONCE, advance)
    return found


def _in_single_precision(
    tree: Tree, queries: NDArray[np.float64], within: NDArray[np.float64]
) -> Rough | None:
    """None where squares could overflow or vanish."""
    single = single_precision(tree, queries.min(axis=0), queries.max(axis=0))
    if single is None:
        return None
    sides = single.of(tree.boxes.reshape(-1, 2, tree.scales.size, LEAF), 2)
    with np.errstate(over="ignore"):
        limits = np.square(np.sqrt(within) * single.unit).astype(np.float32)
    boxes = sides.reshape(tree.boxes.shape)
    return Rough(single.of(tree.cells, 1), boxes, single.of(queries, 1), limits)


@kernel
def _route(tree, rough, homes, first, last):
    """A leaf close to each query: always on to the nearest box."""
    leaves, d = tree.least.size // 2, rough.queries.shape[1]
    squares = np.empty(LEAF, np.float32)
    for q in range(first, last):
        block = 0
        low = top_of(leaves)
        high = 2 * low
        while block < leaves:
            start = np.int64(block * 2 * d * LEAF)
            near_boxes(rough.boxes, start, rough.queries[q], np.float32(0.0), squares)
            at = low
            for i in range(low + 1, high):
                at = i if squares[i] < squares[at] else at
            block, low, high = block * LEAF + at, 0, LEAF
        homes[q] = block - leaves


@kernel
def _search(tree, rough, queries, homes, within, weights, sequence, found, first, last):
    space = make_space(1, weights)
    rooms = (
        np.empty(LEAF, np.float32),
        np.empty(LEAF, np.float32),
        np.empty(STACK, np.int64),
        np.empty(STACK, np.float32),
    )
    for q in sequence[first:last]:
        slot, sure = _nearest(tree, rough, q, homes[q], rooms)
        square = within[q]
        if slot >= 0:
            square = _exactly(tree, slot, queries[q])
        if sure:
            row = tree.rows[slot]
            found.numbers[q], found.weights[q], found.squares[q] = row, weights[row], square
            continue
        home = np.int64(homes[q]) if slot < 0 else slot // LEAF
        found.weights[q] = nearest(tree, queries[q], home, NONE, min(square, within[q]), space)
        found.numbers[q] = space.rows[0]
        found.squares[q] = space.squares[0]


@inner
def _exactly(tree, slot, point):
    """The squared distance to a record, summed up as everywhere."""
    total = 0.0
    for a in range(point.size):
        away = (tree.cells[slot // LEAF, a, slot % LEAF] - point[a]) * tree.scales[a]
        total += away * away
    return total


@inner
def _nearest(tree, rough, q, home, space):
    """Where the record nearest to a query has its place, and whether no other may be as near."""
    boxes, cells, point = rough.boxes, rough.cells, rough.queries[q]
    squares, away, waiting, bounds = space
    leaves, d = tree.least.size // 2, point.size
    slot = np.int64(-1)
    best = second = np.float32(np.inf)
    limit = beyond(rough.limits[q], d)
    # The node whose neighbours come next, once nothing beneath it is waiting.
    climbed = (leaves + np.int64(home)) // LEAF
    waiting[0] = climbed
    bounds[0] = 0.0
    count = 1
    while count > 0 or climbed > 0:
        wanted = np.uint64((1 << LANES) - 1)
        if count > 0:
            count -= 1
            block = waiting[count]
            if bounds[count] > limit:
                continue
        else:
            wanted ^= np.uint64(1) << np.uint64(climbed % LEAF)
            block = climbed = climbed // LEAF
        if block == 0:
            low = np.uint64(top_of(leaves))
            wanted &= ((np.uint64(1) << low) - np.uint64(1)) << low
        near = wanted & near_boxes(boxes, block * 2 * d * LEAF, point, limit, squares)
        bottom = count
        while near != np.uint64(0):
            at = np.int64(lowest_bit(near))
            near &= near - np.uint64(1)
            node, bound = block * LEAF + at, squares[at]
            if node < leaves:
                push_in_order(waiting, bounds, bottom, count, node, bound)
                count += 1
                continue
            if bound > limit:
                continue
            leaf = node - leaves
            close = near_points(cells, leaf * d * LEAF, point, limit, away)
            while close != np.uint64(0):
                i = np.int64(lowest_bit(close))
                close &= close - np.uint64(1)
                if away[i] < best:
                    second = best
                    best = away[i]
                    slot = leaf * LEAF + i
                elif away[i] < second:
                    second = away[i]
            limit = min(limit, beyond(best, d))
    return slot, slot >= 0 and second > beyond(best, d)
