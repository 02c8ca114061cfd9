"""What the spatial trees share: halving records, distances from a leaf, the order boxes wait in."""

from microagg.kernels.compiling import kernel


@kernel
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


@kernel(inline="always")
def push_in_order(stack, bounds, bottom, top, node, bound):
    """Put a node on a stack, its `bottom` to `top` ordered so that the least bound is on top."""
    at = top
    while at > bottom and bounds[at - 1] < bound:
        bounds[at] = bounds[at - 1]
        stack[at] = stack[at - 1]
        at -= 1
    bounds[at] = bound
    stack[at] = node


@kernel(inline="always")
def insert_in_order(values, names, first, last, value, name):
    """Put a value and its name among ascending ones from `first` on; the one at `last` goes."""
    at = last
    while at > first and values[at - 1] > value:
        values[at] = values[at - 1]
        names[at] = names[at - 1]
        at -= 1
    values[at] = value
    names[at] = name


@kernel(inline="always")
def measure_leaf(points, start, width, query, squares):
    """Squared distances of a query to the `width` points of a leaf, one line an attribute."""
    for i in range(width):
        squares[i] = 0.0
    for a in range(query.size):
        x = query[a]
        for i in range(width):
            away = points[start + i] - x
            squares[i] += away * away
        start += width


@kernel(inline="always")
def measure_boxes(walls, start, to_high, width, query, squares):
    """Squared distances of a query to `width` boxes: low sides, and `to_high` behind high ones."""
    for i in range(width):
        squares[i] = 0.0
    for a in range(query.size):
        x = query[a]
        for i in range(width):
            below = walls[start + i] - x
            above = x - walls[start + to_high + i]
            away = below if below > above else above
            away = away if away > 0.0 else 0.0
            squares[i] += away * away
        start += width
