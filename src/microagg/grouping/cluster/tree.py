"""An index of records that shrinks: who is nearest to a point, who is farthest, and out they go.

Records lie in leaves of 32, attribute by attribute, so that the distances of a whole leaf are a few
vector instructions. Sixteen neighbouring leaves share a node, sixteen nodes the next, up to one
root; a node keeps the bounding boxes of its children the same way. A record that leaves is
replaced by the last of its leaf, and the boxes above shrink. When many have left, build it anew.

Without pruning the same leaves are simply read from end to end: that is brute force, and what
small or high-dimensional data is served best by.

Both give the same answers, to the last bit. A squared distance is always the sum over the
attributes, in order, of (record - point)^2. Rounding is monotone, so the same steps taken on the
nearest side of a box never give more than on a record inside: that bound needs no margin. The bound
on the farthest uses another formula, and carries a margin far above its rounding error. Nothing is
skipped unless its bound is strictly worse than what is known, so ties are seen, and go to the
lowest row. Memory is O(n d).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel
from microagg.kernels.threads import run_both

_LEAF = 32
_FAN = 16
# Smaller trees are built before a second thread has started.
_TWO_THREADS_FROM = 1 << 14
# A split looks at this many records to choose its attribute.
_SAMPLE = 64
# Far above the rounding error of the bound on the farthest, for any number of attributes up to 1000.
_MARGIN = 1e-12


class Tree(NamedTuple):
    """Leaves come first among the nodes, the root last; `d` is the number of attributes."""

    prunes: bool
    leaves: int
    leaf: int  # records to a leaf, and
    fan: int  # children to a node: constants that the compiler must not know, or it unrolls loops
    points: NDArray[np.float64]  # leaf by leaf: d times 32 values
    rows: NDArray[np.int64]  # the row in each slot
    slots: NDArray[np.int64]  # the slot of each row, -1 once it has left
    radii: NDArray[np.float64]  # squared distance from the centre, slot by slot
    boxes: NDArray[np.float64]  # inner node by inner node: low d x 16, high d x 16, radius 16
    counts: NDArray[np.int64]  # records alive below each node
    parents: NDArray[np.int64]
    children: NDArray[np.int64]  # the first child of each node
    widths: NDArray[np.int64]  # how many children it has
    centre: NDArray[np.float64]
    reach: NDArray[np.float64]  # how far from the centre records lie, attribute by attribute
    stack: NDArray[np.int64]
    stack_bounds: NDArray[np.float64]
    work: NDArray[np.int64]  # leaves read and nodes opened so far


def build(records: NDArray[np.float64], rows: NDArray[np.int64], *, prunes: bool) -> Tree:
    """Index these rows. O(n d log n) time with pruning, O(n d) without."""
    n, d = rows.size, records.shape[1]
    leaves = -(-n // _LEAF)
    rows = rows.copy()
    if prunes:
        _arrange_all(records, rows, leaves)
    starts, total = [0], leaves
    level = leaves
    while level > 1 or len(starts) == 1:
        level = -(-level // _FAN)
        starts.append(total)
        total += level
    parents, children, widths = (np.full(total, -1, np.int64) for _ in range(3))
    for below, start in zip(starts, starts[1:], strict=False):
        inside = np.arange(start - below)
        parents[below:start] = start + inside // _FAN
        first = np.arange(0, start - below, _FAN)
        children[start : start + first.size] = below + first
        widths[start : start + first.size] = np.minimum(_FAN, start - below - first)
    tree = Tree(
        prunes=prunes,
        leaves=leaves,
        leaf=_LEAF,
        fan=_FAN,
        points=np.zeros(leaves * d * _LEAF),
        rows=np.full(leaves * _LEAF, -1, np.int64),
        slots=np.full(len(records), -1, np.int64),
        radii=np.zeros(leaves * _LEAF),
        boxes=np.zeros((total - leaves) * (2 * d + 1) * _FAN),
        counts=np.zeros(total, np.int64),
        parents=parents,
        children=children,
        widths=widths,
        centre=np.zeros(d),
        reach=np.zeros(d),
        stack=np.empty(len(starts) * _FAN + 1, np.int64),
        stack_bounds=np.empty(len(starts) * _FAN + 1),
        work=np.zeros(2, np.int64),
    )
    _fill(tree, records, rows)
    return tree


def _arrange_all(records, rows, leaves):
    """Put rows that lie together into the same leaves, neighbouring leaves under the same node."""
    keys = np.empty(rows.size)
    if rows.size < _TWO_THREADS_FROM:
        _arrange(records, rows, keys, 0, leaves, leaves)
        return
    middle = _arrange(records, rows, keys, 0, leaves, 1)
    run_both(
        lambda: _arrange(records, rows, keys, 0, middle, leaves),
        lambda: _arrange(records, rows, keys, middle, leaves, leaves),
    )


@kernel
def _arrange(records, rows, keys, first, last, splits):
    """Halve the leaves `first` to `last` again and again, `splits` times at the most.

    Where a node would end, so does a half. Returns where the first half ends.
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
        while unit * _FAN < last - first:
            unit *= _FAN
        middle = first + max(1, (last - first + unit) // (2 * unit)) * unit
        low = first * _LEAF
        high = min(last * _LEAF, rows.size)
        # The attribute with the largest variance, judged from a few records.
        step = max(1, (high - low) // _SAMPLE)
        widest = -1.0
        attribute = 0
        for a in range(d):
            total = squares = count = 0.0
            pivot = records[rows[low], a]
            for i in range(low, high, step):
                x = records[rows[i], a] - pivot
                total += x
                squares += x * x
                count += 1.0
            spread = squares - total * total / count
            if spread > widest:
                widest = spread
                attribute = a
        for i in range(low, high):
            keys[i] = records[rows[i], attribute]
        # Quickselect: afterwards no key before `cut` is larger than one behind.
        cut = middle * _LEAF
        left = low
        right = high - 1
        while left < right:
            a = keys[left]
            b = keys[(left + right) // 2]
            c = keys[right]
            pivot = max(min(a, b), min(max(a, b), c))
            i = left
            j = right
            while i <= j:
                while keys[i] < pivot:
                    i += 1
                while keys[j] > pivot:
                    j -= 1
                if i <= j:
                    keys[i], keys[j] = keys[j], keys[i]
                    rows[i], rows[j] = rows[j], rows[i]
                    i += 1
                    j -= 1
            if cut <= j:
                right = j
            elif cut >= i:
                left = i
            else:
                break
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
def _fill(tree, records, rows):
    """Copy the records into their leaves and draw the boxes, from the leaves to the root."""
    n = rows.size
    d = records.shape[1]
    centre = tree.centre
    for i in range(n):
        for a in range(d):
            centre[a] += records[rows[i], a]
    for a in range(d):
        centre[a] /= n
    for i in range(n):
        row = rows[i]
        leaf = i // _LEAF
        at = leaf * d * _LEAF + i % _LEAF
        radius = 0.0
        for a in range(d):
            x = records[row, a]
            tree.points[at + a * _LEAF] = x
            away = x - centre[a]
            radius += away * away
            tree.reach[a] = max(tree.reach[a], abs(away))
        tree.radii[i] = radius
        tree.rows[i] = row
        tree.slots[row] = i
        tree.counts[leaf] += 1
    for node in range(tree.counts.size - 1):
        tree.counts[tree.parents[node]] += tree.counts[node]
    if tree.prunes:
        for node in range(tree.counts.size - 1):
            _shrink(tree, d, node)


@kernel
def _shrink(tree, d, node):
    """Draw the box of a node around what it holds; say whether that changed it."""
    boxes = tree.boxes
    parent = tree.parents[node]
    block = (2 * d + 1) * _FAN
    at = (parent - tree.leaves) * block + node - tree.children[parent]
    changed = False
    if node < tree.leaves:
        count = np.uint64(tree.counts[node])
        points = tree.points
        for a in range(d):
            start = np.uint64((node * d + a) * _LEAF)
            low = math.inf
            high = -math.inf
            for i in range(start, start + count):
                x = points[i]
                low = min(low, x)
                high = max(high, x)
            changed |= low != boxes[at + a * _FAN] or high != boxes[at + (d + a) * _FAN]
            boxes[at + a * _FAN] = low
            boxes[at + (d + a) * _FAN] = high
        radius = 0.0
        start = np.uint64(node * _LEAF)
        for i in range(start, start + count):
            radius = max(radius, tree.radii[i])
    else:
        inside = (node - tree.leaves) * block
        first = tree.children[node]
        width = tree.widths[node]
        for a in range(d):
            low = math.inf
            high = -math.inf
            for c in range(width):
                if tree.counts[first + c] > 0:
                    low = min(low, boxes[inside + a * _FAN + c])
                    high = max(high, boxes[inside + (d + a) * _FAN + c])
            changed |= low != boxes[at + a * _FAN] or high != boxes[at + (d + a) * _FAN]
            boxes[at + a * _FAN] = low
            boxes[at + (d + a) * _FAN] = high
        radius = 0.0
        for c in range(width):
            if tree.counts[first + c] > 0:
                radius = max(radius, boxes[inside + 2 * d * _FAN + c])
    changed |= radius != boxes[at + 2 * d * _FAN]
    boxes[at + 2 * d * _FAN] = radius
    return changed


@kernel
def remove(tree, row):
    """Let a row go. O(d) time per level."""
    d = tree.centre.size
    slot = tree.slots[row]
    tree.slots[row] = -1
    root = tree.counts.size - 1
    leaf = slot // _LEAF
    # Without boxes any record may fill the gap: leaves stay full but for the last.
    last = leaf * _LEAF + tree.counts[leaf] - 1 if tree.prunes else tree.counts[root] - 1
    source = (last // _LEAF) * d * _LEAF + last % _LEAF
    target = leaf * d * _LEAF + slot % _LEAF
    for a in range(d):
        tree.points[target + a * _LEAF] = tree.points[source + a * _LEAF]
    tree.radii[slot] = tree.radii[last]
    if last != slot:
        moved = tree.rows[last]
        tree.rows[slot] = moved
        tree.slots[moved] = slot
    node = last // _LEAF
    while node != -1:
        tree.counts[node] -= 1
        node = tree.parents[node]
    if tree.prunes:
        node = leaf
        while node != root:
            if tree.counts[node] > 0 and not _shrink(tree, d, node):
                break
            node = tree.parents[node]


@kernel(fastmath={"nnan", "nsz"})
def nearest(tree, query, skip, found, distances):
    """Fill `found` with the rows nearest to a point, nearest first, `skip` left out.

    At least that many must be there. Returns the row farthest from the point if every leaf was
    read, as happens without pruning, else -1.
    """
    d = query.size
    leaf = np.uint64(tree.leaf)
    fan = np.uint64(tree.fan)
    points = tree.points
    rows = tree.rows
    boxes = tree.boxes
    counts = tree.counts
    stack = tree.stack
    stack_bounds = tree.stack_bounds
    wanted = found.size
    for i in range(wanted):
        distances[i] = math.inf
        found[i] = -1
    worst = math.inf
    farthest_row = -1
    best = -1.0
    leaf_distances = np.empty(_LEAF)
    bounds = np.empty(_FAN)
    depth = 1
    stack[0] = counts.size - 1
    stack_bounds[0] = 0.0
    flat = not tree.prunes
    if flat:
        depth = (counts[counts.size - 1] + _LEAF - 1) // _LEAF
    leaves_read = 0
    nodes_opened = 0
    while depth > 0:
        depth -= 1
        if flat:
            node = depth
        else:
            node = stack[depth]
            if stack_bounds[depth] > worst:
                continue
        if node < tree.leaves:
            leaves_read += 1
            start = np.uint64(node * d * _LEAF)
            for i in range(leaf):
                leaf_distances[i] = 0.0
            for a in range(d):
                value = query[a]
                for i in range(leaf):
                    away = points[start + i] - value
                    leaf_distances[i] += away * away
                start += leaf
            least = math.inf
            most = 0.0
            for i in range(leaf):
                x = leaf_distances[i]
                least = x if x < least else least
                most = x if x > most else most
            if least <= worst:
                for i in range(counts[node]):
                    distance = leaf_distances[i]
                    if distance > worst:
                        continue
                    row = rows[node * _LEAF + i]
                    if row == skip or (distance == worst and row > found[wanted - 1] >= 0):
                        continue
                    at = wanted - 1
                    while at > 0 and (
                        distances[at - 1] > distance
                        or (distances[at - 1] == distance and found[at - 1] > row)
                    ):
                        distances[at] = distances[at - 1]
                        found[at] = found[at - 1]
                        at -= 1
                    distances[at] = distance
                    found[at] = row
                    worst = distances[wanted - 1]
            if flat and most >= best:
                for i in range(counts[node]):
                    distance = leaf_distances[i]
                    if distance >= best:
                        row = rows[node * _LEAF + i]
                        if row != skip and (distance > best or row < farthest_row):
                            best = distance
                            farthest_row = row
            continue
        nodes_opened += 1
        start = np.uint64((node - tree.leaves) * (2 * d + 1) * _FAN)
        to_high = np.uint64(d * _FAN)
        for c in range(fan):
            bounds[c] = 0.0
        for a in range(d):
            value = query[a]
            for c in range(fan):
                below = boxes[start + c] - value
                above = value - boxes[start + to_high + c]
                away = below if below > above else above
                away = away if away > 0.0 else 0.0
                bounds[c] += away * away
            start += fan
        first = tree.children[node]
        bottom = depth
        for c in range(tree.widths[node]):
            bound = bounds[c]
            if bound <= worst and counts[first + c] > 0:
                at = depth
                while at > bottom and stack_bounds[at - 1] < bound:
                    stack_bounds[at] = stack_bounds[at - 1]
                    stack[at] = stack[at - 1]
                    at -= 1
                stack_bounds[at] = bound
                stack[at] = first + c
                depth += 1
    tree.work[0] += leaves_read
    tree.work[1] += nodes_opened
    return farthest_row


@kernel(fastmath={"nnan", "nsz"})
def farthest(tree, query):
    """The row farthest from a point.

    Seen from the centre, |q - x|^2 = |q|^2 + |x|^2 - 2 q.x, so a child lies no farther than its
    radius and the least q.x in its box allow: much tighter than the far corner of the box.
    """
    d = query.size
    leaf = np.uint64(tree.leaf)
    fan = np.uint64(tree.fan)
    points = tree.points
    rows = tree.rows
    boxes = tree.boxes
    counts = tree.counts
    stack = tree.stack
    stack_bounds = tree.stack_bounds
    best = -1.0
    best_row = -1
    leaf_distances = np.empty(_LEAF)
    bounds = np.empty(_FAN)
    depth = 1
    stack[0] = counts.size - 1
    stack_bounds[0] = math.inf
    flat = not tree.prunes
    if flat:
        depth = (counts[counts.size - 1] + _LEAF - 1) // _LEAF
    own = size = 0.0
    for a in range(d):
        away = query[a] - tree.centre[a]
        own += away * away
        size += (abs(away) + tree.reach[a]) ** 2
    own += _MARGIN * size
    leaves_read = 0
    nodes_opened = 0
    while depth > 0:
        depth -= 1
        if flat:
            node = depth
        else:
            node = stack[depth]
            if stack_bounds[depth] < best:
                continue
        if node < tree.leaves:
            leaves_read += 1
            start = np.uint64(node * d * _LEAF)
            for i in range(leaf):
                leaf_distances[i] = 0.0
            for a in range(d):
                value = query[a]
                for i in range(leaf):
                    away = points[start + i] - value
                    leaf_distances[i] += away * away
                start += leaf
            most = 0.0
            for i in range(leaf):
                x = leaf_distances[i]
                most = x if x > most else most
            if most >= best:
                for i in range(counts[node]):
                    distance = leaf_distances[i]
                    if distance >= best:
                        row = rows[node * _LEAF + i]
                        if distance > best or row < best_row:
                            best = distance
                            best_row = row
            continue
        nodes_opened += 1
        start = np.uint64((node - tree.leaves) * (2 * d + 1) * _FAN)
        to_high = np.uint64(d * _FAN)
        for c in range(fan):
            bounds[c] = 0.0
        for a in range(d):
            middle = tree.centre[a]
            away = query[a] - middle
            side = start if away > 0.0 else start + to_high
            for c in range(fan):
                bounds[c] += away * (boxes[side + c] - middle)
            start += fan
        start += to_high
        for c in range(fan):
            bounds[c] = own + boxes[start + c] - 2.0 * bounds[c]
        first = tree.children[node]
        bottom = depth
        for c in range(tree.widths[node]):
            bound = bounds[c]
            if bound >= best and counts[first + c] > 0:
                at = depth
                while at > bottom and stack_bounds[at - 1] > bound:
                    stack_bounds[at] = stack_bounds[at - 1]
                    stack[at] = stack[at - 1]
                    at -= 1
                stack_bounds[at] = bound
                stack[at] = first + c
                depth += 1
    tree.work[0] += leaves_read
    tree.work[1] += nodes_opened
    return best_row
