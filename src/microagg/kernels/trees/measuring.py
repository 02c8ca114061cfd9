"""What the spatial trees share: halving records, distances from a leaf, the order boxes wait in."""

import numpy as np

from microagg.kernels.compiling import inner


@inner
def put_least_first(keys, rows, first, last, middle):
    """Bring the least keys of first..last before `middle`, their rows with them.

    Hoare's selection, in O(last - first) time for all but contrived orders.
    """
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
                rows[i], rows[j] = rows[j], rows[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


@inner(forceinline=True)
def push_in_order(stack, bounds, bottom, top, node, bound):
    """Put a node on a stack, its `bottom` to `top` ordered so that the least bound is on top."""
    at = top
    while at > bottom and bounds[at - 1] < bound:
        bounds[at] = bounds[at - 1]
        stack[at] = stack[at - 1]
        at -= 1
    bounds[at] = bound
    stack[at] = node


@inner(forceinline=True)
def insert_in_order(values, names, value, name):
    """Put a value and its name among ascending ones, of equals the lowest name first; one goes."""
    at = values.size - 1
    while at > 0 and (values[at - 1] > value or (values[at - 1] == value and names[at - 1] > name)):
        values[at] = values[at - 1]
        names[at] = names[at - 1]
        at -= 1
    values[at] = value
    names[at] = name


@inner(forceinline=True, fastmath={"nnan", "nsz"})
def measure_leaf(cells, leaf, point, scales, squares):
    """Squared distances of a point to the records of a leaf.

    Two attributes at a time, one after the other: so the sums are read and written half as often.
    """
    # Unsigned, and the width from an array: so the compiler makes vectors of the loops.
    at, width, d = np.uint64(leaf), np.uint64(cells.shape[2]), np.uint64(point.size)
    one = np.uint64(1)
    for i in range(width):
        squares[i] = 0.0
    if d & one:
        for i in range(width):
            away = (cells[at, np.uint64(0), i] - point[0]) * scales[0]
            squares[i] = away * away
    for a in range(d & one, d, np.uint64(2)):
        x, y = point[a], point[a + one]
        x_scale, y_scale = scales[a], scales[a + one]
        for i in range(width):
            x_away = (cells[at, a, i] - x) * x_scale
            y_away = (cells[at, a + one, i] - y) * y_scale
            squares[i] = (squares[i] + x_away * x_away) + y_away * y_away


@inner(forceinline=True, fastmath={"nnan", "nsz"})
def measure_boxes(boxes, block, point, scales, squares):
    """Squared distances of a point to the boxes of a block: low sides, then high ones."""
    at, width, d = np.uint64(block), np.uint64(boxes.shape[2]), np.uint64(point.size)
    one = np.uint64(1)
    for i in range(width):
        squares[i] = 0.0
    if d & one:
        for i in range(width):
            away = outside(boxes[at, np.uint64(0), i], boxes[at, d, i], point[0]) * scales[0]
            squares[i] = away * away
    for a in range(d & one, d, np.uint64(2)):
        x, y = point[a], point[a + one]
        x_scale, y_scale = scales[a], scales[a + one]
        for i in range(width):
            x_away = outside(boxes[at, a, i], boxes[at, d + a, i], x) * x_scale
            y_away = outside(boxes[at, a + one, i], boxes[at, d + a + one, i], y) * y_scale
            squares[i] = (squares[i] + x_away * x_away) + y_away * y_away


@inner(forceinline=True, fastmath={"nnan", "nsz"})
def outside(low, high, x):
    """How far x lies outside of low to high."""
    below, above = low - x, x - high
    away = below if below > above else above
    return away if away > 0.0 else 0.0


@inner(forceinline=True, fastmath={"nnan", "nsz"})
def least_of(squares):
    least = np.inf
    for i in range(np.uint64(squares.size)):
        least = squares[i] if squares[i] < least else least
    return least
