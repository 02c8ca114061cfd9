"""What trees answer, for few records: each is measured against all, in NumPy.

That takes a blink where compiling the kernels of a tree takes seconds. Squared distances are summed
up attribute by attribute, as everywhere, so they are the same to the last bit.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.trees.nearest import Nearest
from microagg.kernels.trees.planting import plant
from microagg.kernels.trees.roughly import find_nearest_roughly

# Measured: so many take less than a tenth of a second.
FEW = 1 << 12
_AT_ONCE = 1 << 19


def lists_of_few(
    records: NDArray[np.float64],
    members: NDArray[np.int32],
    count: int,
    advance: Callable[[float], None],
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """For each of the rows `members`, the `count` others nearest to it, and their squares.

    The nearest come first, and the lowest row of equally near ones.
    """
    lines = np.ascontiguousarray(records[members].T)
    n = members.size
    lists, squares = np.empty((n, count), np.int32), np.empty((n, count))
    if count == 0:
        return lists, squares
    for first, last in _blocks(n, n):
        away = _measure(lines, lines[:, first:last], None)
        away[np.arange(last - first), np.arange(first, last)] = np.inf
        worst = np.partition(away, count - 1, axis=1)[:, count - 1]
        for i in range(last - first):
            near = np.flatnonzero(away[i] <= worst[i])
            near = near[np.argsort(away[i, near], kind="stable")[:count]]
            squares[first + i] = away[i, near]
            # As in a tree: nobody is near at an infinite distance.
            lists[first + i] = members[np.where(squares[first + i] < np.inf, near, first + i)]
        advance(last / n)
    return lists, squares


def nearest_among(
    points: NDArray[np.float64],
    scales: NDArray[np.float64] | None,
    queries: NDArray[np.float64],
    within: NDArray[np.float64],
    weights: NDArray[np.int64],
    advance: Callable[[float], None],
    few: int = FEW,
) -> Nearest:
    """What `find_nearest` finds: by a tree of the points, unless there are few pairs to measure."""
    if len(points) * len(queries) > few * few // 4:
        tree = plant(points, scales=scales)
        return find_nearest_roughly(tree, queries, within, weights, advance)
    n = len(queries)
    found = Nearest(np.empty(n, np.int32), np.empty(n), np.empty(n, np.int64))
    lines, asked = np.ascontiguousarray(points.T), np.ascontiguousarray(queries.T)
    for first, last in _blocks(n, len(points)):
        away = _measure(lines, asked[:, first:last], scales)
        least = away.min(axis=1)
        found.numbers[first:last] = away.argmin(axis=1)
        found.squares[first:last] = least
        found.weights[first:last] = (away == least[:, None]) @ weights
        advance(last / n)
    return found


def _blocks(queries: int, points: int) -> list[tuple[int, int]]:
    size = max(1, _AT_ONCE // points)
    return [(first, min(first + size, queries)) for first in range(0, queries, size)]


@np.errstate(over="ignore")
def _measure(
    points: NDArray[np.float64], queries: NDArray[np.float64], scales: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Squared distances from each query to each point, both given one line an attribute."""
    squares = np.zeros((queries.shape[1], points.shape[1]))
    for a, (line, asked) in enumerate(zip(points, queries, strict=True)):
        away = line - asked[:, None]
        if scales is not None:
            away *= scales[a]
        away *= away
        squares += away
    return squares
