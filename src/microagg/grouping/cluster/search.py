"""Search the index: the rows nearest to a point, or farthest from it.

Pruned or not, the answer is the same to the last bit. A squared distance is always the sum over the
attributes, in order, of (record - point)^2. Nothing is skipped unless its bound is strictly worse
than what is known, so ties are seen, and go to the lowest row.

The nearest: the same sum over the sides of a box that face the point. Rounding is monotone, so it
never exceeds the computed distance of a record inside, and needs no margin. Nor does a record lie
nearer than its own distance from the centre and that of the point differ.

The farthest: with the centre as origin and any t > 0,
    |q - x|^2 = (1 + t) |x|^2 + (1 + 1/t) |q|^2 - t |x + q/t|^2,
so what is far from q lies far out and close to -q/t, and a box is as far from -q/t as it is for the
nearest. With t = |q| / (the largest radius), -q/t is the point opposite q on the sphere around all
records, best for a ball of records; farther out is better where the farthest is not opposite. This
leaves out nearly all that the far corner of a box would let in.

Bounds that use the centre carry a margin far above their rounding error.
"""

import math

import numpy as np

from microagg.grouping.cluster.tree import (
    CENTRE,
    CHILD,
    COUNT,
    FAN,
    LEAF,
    REACH,
    WIDTH,
    remove,
)
from microagg.kernels.compiling import kernel
from microagg.kernels.trees.measuring import (
    insert_in_order,
    measure_boxes,
    measure_leaf,
    push_in_order,
)

# Deep enough for 32 * 16^7 records.
_STACK = 8 * FAN
# Measured: twice the largest radius is never far from the best.
_BEYOND = 2.0
# Rounding errors reach about 4 d * 2^-53 of what the margin is relative to: safe up to d = 1000.
_MARGIN = 1e-12


@kernel(fastmath={"nnan", "nsz"})
def search(tree, query, sign, skip, found, distances):
    """Fill `found` with the rows nearest to a point (`sign` 1.0) or farthest from it (-1.0).

    There must be as many, not counting the row `skip`. The best comes first, the lowest of equally
    good rows. `distances` receives squared distances times `sign`: less is better. Returns the row
    farthest from the point if the search for the nearest happened to see all, else -1.
    """
    d = query.size
    leaf, fan = np.uint64(tree.points.shape[2]), np.uint64(tree.boxes.shape[2])
    rows = tree.rows
    boxes = tree.boxes
    nodes = tree.nodes
    wanted = found.size
    for i in range(wanted):
        distances[i] = math.inf
        found[i] = -1
    worst = math.inf
    farthest_row = -1
    most = -1.0
    far = sign < 0.0
    buffer = np.empty(LEAF)
    stack = np.empty(_STACK, np.int64)
    stack_bounds = np.empty(_STACK)
    flat = not tree.prunes
    depth = 1
    stack[0] = len(nodes) - 1
    stack_bounds[0] = -math.inf
    if flat:
        depth = (nodes[len(nodes) - 1, COUNT] + LEAF - 1) // LEAF
    target = np.empty(d)
    own = offset = 0.0
    for a in range(d):
        centre = tree.frame[CENTRE, a]
        away = query[a] - centre
        own += away * away
        offset += centre * centre
    radius = math.sqrt(own)
    reach = _BEYOND * tree.frame[REACH, 0]
    t = radius / reach if far and reach > 0.0 else 0.0
    for a in range(d):
        centre = tree.frame[CENTRE, a]
        target[a] = query[a]
        if far:
            target[a] = centre - (query[a] - centre) / t if t > 0.0 else centre
    span = radius + reach
    margin = _MARGIN * (1.0 + t) * span * (span + math.sqrt(offset))
    own += radius * reach + margin
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
            measure_leaf(tree.points, np.int64(node), query, tree.ones, buffer)
            least = math.inf
            for i in range(leaf):
                x = sign * buffer[i]
                buffer[i] = x
                least = x if x < least else least
            if least <= worst:
                for i in range(nodes[node, COUNT]):
                    x = buffer[i]
                    if x > worst:
                        continue
                    row = rows[node * LEAF + i]
                    if row == skip or (x == worst and row > found[wanted - 1] >= 0):
                        continue
                    insert_in_order(distances, found, x, row)
                    worst = distances[wanted - 1]
            if flat and not far:
                largest = 0.0
                for i in range(leaf):
                    x = buffer[i]
                    largest = x if x > largest else largest
                if largest >= most:
                    for i in range(nodes[node, COUNT]):
                        row = rows[node * LEAF + i]
                        x = buffer[i]
                        if (x > most or (x == most and row < farthest_row)) and row != skip:
                            most = x
                            farthest_row = row
            continue
        nodes_opened += 1
        measure_boxes(boxes, np.int64(node - tree.leaves), target, tree.ones, buffer)
        block, radii = np.uint64(node - tree.leaves), np.uint64(2 * d)
        if far:
            for c in range(fan):
                outer = boxes[block, radii, c]
                buffer[c] = t * buffer[c] - (1.0 + t) * (outer * outer) - own
        else:
            for c in range(fan):
                away = radius - boxes[block, radii, c]
                away = away if away > 0.0 else 0.0
                away = away * away - margin
                buffer[c] = away if away > buffer[c] else buffer[c]
        first = nodes[node, CHILD]
        bottom = depth
        for c in range(nodes[node, WIDTH]):
            bound = buffer[c]
            if bound <= worst and nodes[first + c, COUNT] > 0:
                push_in_order(stack, stack_bounds, bottom, depth, first + c, bound)
                depth += 1
    tree.work[0] += 1
    tree.work[1] += leaves_read
    tree.work[2] += nodes_opened
    return farthest_row


@kernel(inline="always")
def farthest(tree, query):
    """The row farthest from a point."""
    found = np.empty(1, np.int64)
    search(tree, query, -1.0, np.int64(-1), found, np.empty(1))
    return found[0]


@kernel(inline="always")
def take_group(tree, records, seed, order, found, distances):
    """Append a seed and the rows nearest to it to `order`, and remove them; `found` holds k - 1.

    `order` is full once no record is left. Returns the farthest of the others from the seed, or -1
    if the search did not come across it.
    """
    far = search(tree, records[seed], 1.0, seed, found, distances)
    at = order.size - tree.nodes[len(tree.nodes) - 1, COUNT]
    order[at] = seed
    remove(tree, seed)
    for i in range(found.size):
        order[at + 1 + i] = found[i]
        remove(tree, found[i])
        far = -1 if found[i] == far else far
    return far
