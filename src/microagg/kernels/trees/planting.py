"""A tree over records that finds near ones, while records vanish, return and move.

Median splits along the widest attribute, down to leaves of up to 16 records, one line an attribute,
so that the distances of a whole leaf are a few vector instructions. Every node has the box of its
records, and the boxes of 16 neighbouring nodes stand in lines as well: a query goes down four
levels at a time, from a node i to the nodes 16 i to 16 i + 15.

A squared distance is the sum over the attributes, in order, of ((record - point) * scale)^2, and
the distance to a box the same over the sides that face the point. Rounding is monotone, so no
record is ever computed to be nearer than its box, and leaving out boxes that are strictly farther
than what is known is exact to the last bit. The scale is applied to differences, not to
coordinates: points that lie symmetrically on a grid of whole numbers stay tied in any units.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import inner, kernel
from microagg.kernels.threads import run_each
from microagg.kernels.trees.measuring import put_least_first

LEAF = 16
# Records that say in which direction a part of them is widest.
_SOME = 64
# Fewer records are divided before another thread has started.
_ALONE = 1 << 11
# Stands for "no row": greater than any row number.
NONE = np.int32(2**31 - 1)


class Tree(NamedTuple):
    """Node 1 is the root, nodes 2i and 2i + 1 are the children of node i, the last half leaves."""

    scales: NDArray[np.float64]  # (d,) positive
    boxes: NDArray[np.float64]  # (nodes / 16, 2d, 16) low and high sides of 16 nodes in line
    least: NDArray[np.int32]  # (nodes,) the lowest row number beneath that is left, or NONE
    cells: NDArray[np.float64]  # (leaves, d, LEAF) the records, infinite where there is none left
    rows: NDArray[np.int32]  # (leaves * LEAF,) their row numbers, or NONE
    slots: NDArray[np.int32]  # (n,) where in `rows` a row has its place, or -1


def plant(
    records: NDArray[np.float64],
    members: NDArray[np.int32] | None = None,
    scales: NDArray[np.float64] | None = None,
) -> Tree:
    """A tree over the rows `members` (ascending), or all. O(n d log n) time."""
    n, d = records.shape
    places = np.arange(n, dtype=np.int32) if members is None else members.copy()
    leaves = 1
    while leaves * LEAF < places.size:
        leaves *= 2
    tree = Tree(
        scales=np.ones(d) if scales is None else scales,
        boxes=np.full((max(1, 2 * leaves // LEAF), 2 * d, LEAF), np.inf),
        least=np.full(2 * leaves, NONE),
        cells=np.full((leaves, d, LEAF), np.inf),
        rows=np.full(leaves * LEAF, NONE),
        slots=np.full(n, -1, np.int32),
    )
    tree.boxes[:, d:] = -np.inf
    _grow_beneath(records, places, np.empty(places.size), tree, 1, 0, places.size)
    return tree


# Not a function inside `plant`: one that knew itself would hold the tree long after it is used.
def _grow_beneath(
    records: NDArray[np.float64],
    places: NDArray[np.int32],
    keys: NDArray[np.float64],
    tree: Tree,
    node: int,
    first: int,
    last: int,
) -> None:
    if node >= tree.least.size // 2 or last - first < _ALONE:
        _grow(records, places, keys, node, first, last, tree)
        return
    middle = _halve(records, places, keys, tree.scales, first, last)
    grow = partial(_grow_beneath, records, places, keys, tree)
    run_each([partial(grow, 2 * node, first, middle), partial(grow, 2 * node + 1, middle, last)])
    _join(tree, node)


@kernel
def _grow(records, members, keys, top, first, last, tree):
    """The part of the tree beneath a node, over members[first:last]."""
    scales, boxes, least, cells, rows, slots = tree
    leaves, d = least.size // 2, scales.size
    depth = 0
    while (top << depth) < leaves:
        depth += 1
    nodes = np.empty(depth + 2, np.int64)
    ends = np.empty(depth + 2, np.int64)
    nodes[0], ends[0] = top, last
    waiting = 1
    start = first
    while waiting > 0:
        node, end = nodes[waiting - 1], ends[waiting - 1]
        if node < leaves:
            nodes[waiting - 1], nodes[waiting] = 2 * node + 1, 2 * node
            ends[waiting] = _halve(records, members, keys, scales, start, end)
            waiting += 1
            continue
        waiting -= 1
        leaf, block, at = node - leaves, node // LEAF, node % LEAF
        for i in range(end - start):
            row = members[start + i]
            rows[leaf * LEAF + i] = row
            slots[row] = leaf * LEAF + i
            least[node] = min(least[node], row)
            for a in range(d):
                x = records[row, a]
                cells[leaf, a, i] = x
                boxes[block, a, at] = min(boxes[block, a, at], x)
                boxes[block, d + a, at] = max(boxes[block, d + a, at], x)
        start = end
    for level in range(depth - 1, -1, -1):
        for node in range(top << level, (top + 1) << level):
            _join(tree, node)


@kernel
def _join(tree, node):
    """A node's box and lowest row number, from its children."""
    boxes, least = tree.boxes, tree.least
    one, at = 2 * node // LEAF, 2 * node % LEAF
    least[node] = min(least[2 * node], least[2 * node + 1])
    d = tree.scales.size
    for low in range(d):
        boxes[node // LEAF, low, node % LEAF] = min(boxes[one, low, at], boxes[one, low, at + 1])
    for high in range(d, 2 * d):
        boxes[node // LEAF, high, node % LEAF] = max(boxes[one, high, at], boxes[one, high, at + 1])


@kernel
def _halve(records, members, keys, scales, start, end):
    """Bring the lower half, along the attribute in which some of them lie widest, to the front."""
    stride = max(1, (end - start) // _SOME)
    widest = 0
    width = -1.0
    for a in range(scales.size):
        low = high = records[members[start], a]
        for i in range(start, end, stride):
            value = records[members[i], a]
            low = min(low, value)
            high = max(high, value)
        if (high - low) * scales[a] > width:
            widest = a
            width = (high - low) * scales[a]
    for i in range(start, end):
        keys[i] = records[members[i], widest]
    middle = (start + end) // 2
    put_least_first(keys, members, start, end - 1, middle)
    return middle


@inner
def top_of(leaves):
    """The first of the nodes from which steps of four levels lead to the leaves."""
    while leaves >= LEAF:
        leaves //= LEAF
    return leaves
