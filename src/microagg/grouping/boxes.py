"""Points in boxes within boxes, for nearest-neighbour searches while points come and go."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel

LEAF = 12


class Tree(NamedTuple):
    """Points in boxes within boxes: node i holds nodes 2i and 2i + 1, the root is node 1.

    `points` stand leaf by leaf, `rows` says where they stood before; leaf number j, node
    `leaves` + j, has the places edges[j] to edges[j + 1].
    """

    points: NDArray[np.float64]
    rows: NDArray[np.int64]
    edges: NDArray[np.int64]
    leaf_of: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    counts: NDArray[np.int64]


def plant(points: NDArray[np.float64]) -> Tree:
    """A tree of boxes, halved at the median of their widest side. O(n log^2 n) time."""
    n, d = points.shape
    depth = max(0, (max(1, n // LEAF)).bit_length() - 1)
    rows = np.arange(n)
    low, high = np.empty((2 << depth, d)), np.empty((2 << depth, d))
    counts = np.zeros(2 << depth, np.int64)
    for level in range(depth + 1):
        edges = np.arange((1 << level) + 1) * n >> level
        for j in range(1 << level):
            node = (1 << level) + j
            inside = rows[edges[j] : edges[j + 1]]
            part = points[inside]
            low[node], high[node] = part.min(axis=0), part.max(axis=0)
            counts[node] = inside.size
            if level < depth:
                widest = int(np.argmax(high[node] - low[node]))
                inside[:] = inside[np.argsort(part[:, widest], kind="stable")]
    leaf_of = np.repeat(np.arange(1 << depth), np.diff(edges))
    return Tree(points[rows], rows, edges, leaf_of, low, high, counts)


@kernel
def hide(tree, left, waiting, place):
    """Hide a point from all further searches."""
    waiting[place] = False
    node = (left.size >> 1) + tree.leaf_of[place]
    while node > 0:
        left[node] -= 1
        node >>= 1


@kernel
def nearest(tree, left, waiting, x, barred, within):
    """The place of the waiting point nearest to `x`, other than `barred`; ties to the least row.

    -1 if none is nearer than the square root of `within`.
    """
    points, rows, edges, low, high = tree.points, tree.rows, tree.edges, tree.low, tree.high
    leaves = left.size >> 1
    attributes = x.size
    nodes = np.empty(64, np.int64)
    bounds = np.empty(64)
    nodes[0] = 1
    bounds[0] = 0.0
    pending = 1
    least = within
    found = np.int64(-1)
    while pending > 0:
        pending -= 1
        node = nodes[pending]
        # Rounding keeps order, so a box is never farther than the points inside it.
        if bounds[pending] > least:
            continue
        while node < leaves:
            one, other = 2 * node, 2 * node + 1
            if left[one] == 0:
                node = other
                continue
            if left[other] == 0:
                node = one
                continue
            to_one, to_other = 0.0, 0.0
            for a in range(attributes):
                value = x[a]
                apart = max(max(low[one, a] - value, value - high[one, a]), 0.0)
                to_one += apart * apart
                apart = max(max(low[other, a] - value, value - high[other, a]), 0.0)
                to_other += apart * apart
            if to_other < to_one:
                one, other = other, one
                to_one, to_other = to_other, to_one
            if to_other <= least:
                nodes[pending] = other
                bounds[pending] = to_other
                pending += 1
            node = one
            if to_one > least:
                break
        if node < leaves:
            continue
        for place in range(edges[node - leaves], edges[node - leaves + 1]):
            if not waiting[place] or place == barred:
                continue
            square = 0.0
            for a in range(attributes):
                apart = points[place, a] - x[a]
                square += apart * apart
            if square < least or (square == least and found >= 0 and rows[place] < rows[found]):
                least = square
                found = place
    return found
