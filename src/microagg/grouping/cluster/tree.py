"""An index of records that shrinks: records leave one by one, and what is left is drawn tighter.

Records lie in leaves of 32, attribute by attribute, so that the distances of a whole leaf are a few
vector instructions. Sixteen neighbouring leaves share a node, sixteen nodes the next, up to one
root; a node keeps the bounding boxes of its children the same way, and how far from a common centre
they reach. A record that leaves is replaced by the last of its leaf, and the boxes above shrink.

Without pruning there are no boxes: leaves hold the rows as they come and are read from end to end.
That is brute force, and the best there is for few records or many attributes.

How the index is searched is told in `search`, when it is built anew in `shrinking`. Memory is
O(n d).
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import inner, kernel
from microagg.kernels.threads import run_each
from microagg.kernels.trees.measuring import put_least_first

LEAF = 32
FAN = 16
# Smaller trees are built before a second thread has started.
_TWO_THREADS_FROM = 1 << 14
# A split looks at about this many records to choose what to split by.
_SAMPLE = 64

# The columns of Tree.nodes and the rows of Tree.frame.
COUNT, PARENT, CHILD, WIDTH = range(4)
CENTRE, REACH = range(2)


class Tree(NamedTuple):
    """Leaves come first among the nodes, the root last; d is the number of attributes."""

    prunes: bool
    leaves: int
    ones: NDArray[np.float64]  # (d,) the scales of the attributes
    points: NDArray[np.float64]  # (leaves, d, 32)
    rows: NDArray[np.int64]  # the row in each slot
    slots: NDArray[np.int64]  # the slot of each row, -1 once it has left
    radii: NDArray[np.float64]  # squared distance from the centre, slot by slot
    boxes: NDArray[np.float64]  # (inner nodes, 2d + 1, 16) low sides, high sides and radius
    nodes: NDArray[np.int64]  # records below it, parent, first child, number of children
    frame: NDArray[np.float64]  # the centre; and the largest radius when it was chosen
    work: NDArray[np.int64]  # searches, leaves read and nodes opened so far

    @property
    def left(self) -> int:
        """How many records it holds."""
        return int(self.nodes[-1, COUNT])

    def remaining(self) -> NDArray[np.int64]:
        """The rows it holds, ascending."""
        return np.flatnonzero(self.slots >= 0)


def build(records: NDArray[np.float64], rows: NDArray[np.int64], *, prunes: bool) -> Tree:
    """Index these rows. O(n d) time, and O(n (d + log n)) more to put neighbours together."""
    n, d = rows.size, records.shape[1]
    leaves = -(-n // LEAF)
    rows = rows.copy()
    if prunes:
        _arrange_all(records, rows, leaves)
    nodes = _hierarchy(n, leaves)
    padded = np.concatenate([rows, np.full(leaves * LEAF - n, rows[-1])])
    slots = np.full(len(records), -1)
    slots[rows] = np.arange(n)
    tree = Tree(
        prunes=prunes,
        leaves=leaves,
        ones=np.ones(d),
        points=np.ascontiguousarray(records[padded].reshape(leaves, LEAF, d).transpose(0, 2, 1)),
        rows=padded,
        slots=slots,
        radii=np.zeros(leaves * LEAF),
        boxes=np.zeros((len(nodes) - leaves, 2 * d + 1, FAN)),
        nodes=nodes,
        frame=np.zeros((2, d)),
        work=np.zeros(3, np.int64),
    )
    if prunes:
        recentre(tree)
    return tree


def _hierarchy(n: int, leaves: int) -> NDArray[np.int64]:
    """The nodes above so many full leaves, the last as full as it gets."""
    counts = np.full(leaves, LEAF)
    counts[-1] -= leaves * LEAF - n
    levels: list[NDArray[np.int64]] = []
    start = 0
    while counts.size > 1 or not levels:
        level = np.full((counts.size, 4), -1)
        level[:, COUNT] = counts
        level[:, PARENT] = start + counts.size + np.arange(counts.size) // FAN
        levels.append(level)
        first = np.arange(0, counts.size, FAN)
        counts = np.add.reduceat(counts, first)
        start += len(level)
    levels.append(np.array([[n, -1, -1, -1]]))
    nodes = np.concatenate(levels)
    inner = np.arange(leaves, len(nodes))
    nodes[inner, CHILD] = np.searchsorted(nodes[:-1, PARENT], inner)
    nodes[inner, WIDTH] = np.bincount(nodes[:-1, PARENT], minlength=len(nodes))[inner]
    return nodes


def _arrange_all(records, rows, leaves):
    """Put rows that lie together into the same leaves, neighbouring leaves under the same node."""
    keys = np.empty(rows.size)
    away = records[rows]
    away -= away.mean(axis=0)
    radii = np.zeros(len(records))
    radii[rows] = np.sqrt(np.einsum("ia,ia->i", away, away))
    if rows.size < _TWO_THREADS_FROM:
        _arrange(records, radii, rows, keys, 0, leaves, leaves)
        return
    middle = _arrange(records, radii, rows, keys, 0, leaves, 1)
    ends = (0, middle), (middle, leaves)
    run_each([partial(_arrange, records, radii, rows, keys, *part, leaves) for part in ends])


@kernel
def _arrange(records, radii, rows, keys, first, last, splits):
    """Halve the leaves `first` to `last` again and again, `splits` times at the most.

    A half ends where a node ends. Returns where the first half ended.
    """
    d = records.shape[1]
    pending = np.empty((64, 2), np.int64)
    pending[0, 0] = first
    pending[0, 1] = last
    depth = 1
    first_middle = last
    done = 0
    while depth > 0 and done < splits:
        depth -= 1
        first = pending[depth, 0]
        last = pending[depth, 1]
        if last - first < 2:
            continue
        unit = 1
        while unit * FAN < last - first:
            unit *= FAN
        middle = first + max(1, (last - first + unit) // (2 * unit)) * unit
        low = first * LEAF
        high = min(last * LEAF, rows.size)
        # By the attribute with the largest variance, judged from a few records. The distance from
        # the centre counts as one more: searches start outside, and leave the inside alone.
        step = max(1, (high - low) // _SAMPLE)
        widest = -1.0
        attribute = 0
        for a in range(d + 1):
            total = squares = count = 0.0
            pivot = records[rows[low], a] if a < d else radii[rows[low]]
            for i in range(low, high, step):
                x = (records[rows[i], a] if a < d else radii[rows[i]]) - pivot
                total += x
                squares += x * x
                count += 1.0
            spread = squares - total * total / count
            if spread > widest:
                widest = spread
                attribute = a
        for i in range(low, high):
            keys[i] = records[rows[i], attribute] if attribute < d else radii[rows[i]]
        put_least_first(keys, rows, low, high - 1, middle * LEAF)
        if done == 0:
            first_middle = middle
        done += 1
        pending[depth, 0] = first
        pending[depth, 1] = middle
        pending[depth + 1, 0] = middle
        pending[depth + 1, 1] = last
        depth += 2
    return first_middle


@kernel
def recentre(tree):
    """Measure radii from the centroid of what is left, and draw all boxes. O(n d) time."""
    d = tree.frame.shape[1]
    root = len(tree.nodes) - 1
    for a in range(d):
        total = 0.0
        for leaf in range(tree.leaves):
            for i in range(tree.nodes[leaf, COUNT]):
                total += tree.points[leaf, a, i]
        tree.frame[CENTRE, a] = total / max(1, tree.nodes[root, COUNT])
    largest = 0.0
    for leaf in range(tree.leaves):
        for i in range(tree.nodes[leaf, COUNT]):
            radius = 0.0
            for a in range(d):
                away = tree.points[leaf, a, i] - tree.frame[CENTRE, a]
                radius += away * away
            tree.radii[leaf * LEAF + i] = radius
            largest = max(largest, radius)
    tree.frame[REACH, 0] = math.sqrt(largest)
    for node in range(root):
        for side in range(d + 1):
            _shrink(tree, d, node, side)


@inner(fastmath={"nnan", "nsz"})
def _shrink(tree, d, node, a):
    """Draw the box of a node around what it holds, in attribute a, or its radius for a = d."""
    boxes = tree.boxes
    nodes = tree.nodes
    parent = nodes[node, PARENT]
    low = math.inf
    high = -math.inf
    if node < tree.leaves:
        start = node * LEAF
        values = tree.points[node, a] if a < d else tree.radii[start : start + LEAF]
        for i in range(np.uint64(nodes[node, COUNT])):
            x = values[i]
            low = x if x < low else low
            high = x if x > high else high
        if a == d:
            high = math.sqrt(max(0.0, high))
    else:
        inside = boxes[node - tree.leaves]
        first = nodes[node, CHILD]
        for c in range(nodes[node, WIDTH]):
            if nodes[first + c, COUNT] > 0:
                low = min(low, inside[a, c])
                high = max(high, inside[d + a, c])
    outer, at = boxes[parent - tree.leaves], node - nodes[parent, CHILD]
    if a < d:
        outer[a, at] = low
    outer[d + a, at] = high


@kernel
def remove(tree, row):
    """Let a row go. O(d) time for each level above it whose box it held open."""
    d = tree.frame.shape[1]
    nodes = tree.nodes
    points = tree.points
    boxes = tree.boxes
    slot = tree.slots[row]
    tree.slots[row] = -1
    root = len(nodes) - 1
    leaf = slot // LEAF
    # Without boxes any record may fill the gap: leaves stay full but for the last.
    last = (leaf * LEAF + nodes[leaf, COUNT] if tree.prunes else nodes[root, COUNT]) - 1
    point = np.empty(d)
    for a in range(d):
        point[a] = points[leaf, a, slot % LEAF]
        points[leaf, a, slot % LEAF] = points[last // LEAF, a, last % LEAF]
    radius = math.sqrt(tree.radii[slot])
    tree.radii[slot] = tree.radii[last]
    if last != slot:
        moved = tree.rows[last]
        tree.rows[slot] = moved
        tree.slots[moved] = slot
    node = last // LEAF
    while node != -1:
        nodes[node, COUNT] -= 1
        node = nodes[node, PARENT]
    node = leaf
    touched = tree.prunes
    while touched and node != root:
        parent = nodes[node, PARENT]
        block, at = parent - tree.leaves, node - nodes[parent, CHILD]
        touched = False
        for a in range(d + 1):
            x = point[a] if a < d else radius
            if x == boxes[block, d + a, at] or (a < d and x == boxes[block, a, at]):
                _shrink(tree, d, node, a)
                touched = True
        node = parent
