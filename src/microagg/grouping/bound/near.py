"""The nearest records of every record, and the bound that follows from their distances alone."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel
from microagg.kernels.neighbours import plant
from microagg.kernels.selecting import insert_in_order, measure_boxes, measure_leaf, push_in_order
from microagg.kernels.threads import run_halves

_FAN = 16
_LEAVES_AT_ONCE = 256
# A descent leaves at most 15 siblings behind on each level, and has fewer than 9 levels.
_STACK = 9 * _FAN


class Near(NamedTuple):
    """The nearest others of each record, by distance."""

    numbers: NDArray[np.int32]  # (n, q)
    squares: NDArray[np.float64]  # (n, q) ascending


def find_near(
    records: NDArray[np.float64], q: int, in_time: Callable[[float], bool] = lambda _share: True
) -> Near:
    """The q nearest others of each record, q < n, exactly, by a tree on two threads.

    `in_time` is called now and then with the share done. Once it says no, the records that are left
    get no neighbours, at no distance: this weakens what follows from them but keeps it true.
    """
    n, d = records.shape
    index = plant(records, np.ones(d))
    near = Near(np.full((n, q), -1, np.int32), np.zeros((n, q)))
    leaves = len(index.cells)

    def search(first: int, last: int) -> None:
        _search(index, records, first, last, near)

    for first in range(0, leaves, _LEAVES_AT_ONCE):
        if not in_time(first / leaves):
            break
        run_halves(search, first, min(leaves, first + _LEAVES_AT_ONCE))
    return near


def half_sums(near: Near, k: int) -> NDArray[np.float64]:
    """What records pay at least in a group of k, to 0, 1, ..., k - 1 of the others; (k, n).

    The SSE of k records is the sum of the squared distances of all pairs over k. A pair is paid
    half by each, so a record pays at least its nearest squared distances over 2k. All k - 1 of
    them, summed over the records, bound the SSE of every partition: with these shares no group of k
    costs less than its members pay.
    """
    sums = np.zeros((k, len(near.squares)))
    np.cumsum(near.squares[:, : k - 1].T, axis=0, out=sums[1:])
    return sums / (2.0 * k)


@kernel(fastmath={"nnan", "nsz"})
def _search(index, records, first, last, near):
    """The nearest others of the records in the leaves first to last - 1."""
    cells, numbers, boxes, children = index.cells, index.numbers, index.boxes, index.children
    d = records.shape[1]
    q = near.numbers.shape[1]
    leaves = len(cells)
    root = leaves + len(boxes) - 1
    width = np.uint64(numbers.shape[1])
    to_high = np.uint64(d) * width
    points = cells.reshape(-1)
    walls = boxes.reshape(-1)
    query = np.empty(d)
    buffer = np.empty(numbers.shape[1])
    nearest = np.empty(q + 1)
    who = np.empty(q + 1, np.int32)
    stack = np.empty(_STACK, np.int64)
    bounds = np.empty(_STACK)
    for home in range(first, last):
        for slot in range(_FAN):
            row = numbers[home, slot]
            if row < 0:
                continue
            for a in range(d):
                query[a] = records[row, a]
            for i in range(q):
                nearest[i] = np.inf
            stack[0] = root
            bounds[0] = 0.0
            depth = 1
            at_home = root != home
            if at_home:
                stack[1] = home
                bounds[1] = 0.0
                depth = 2
            while depth > 0:
                depth -= 1
                node = stack[depth]
                if bounds[depth] >= nearest[q - 1]:
                    continue
                if node == home and not at_home and root != home:
                    continue
                at_home = False
                if node < leaves:
                    measure_leaf(points, np.uint64(node) * to_high, width, query, buffer)
                    for i in range(_FAN):
                        square = buffer[i]
                        if square < nearest[q - 1] and numbers[node, i] != row:
                            insert_in_order(nearest, who, 0, q - 1, square, numbers[node, i])
                    continue
                start = np.uint64(node - leaves) * (to_high + to_high)
                measure_boxes(walls, start, to_high, width, query, buffer)
                child = children[node - leaves]
                bottom = depth
                for i in range(_FAN):
                    bound = buffer[i]
                    if bound < nearest[q - 1]:
                        push_in_order(stack, bounds, bottom, depth, child + i, bound)
                        depth += 1
            for i in range(q):
                near.numbers[row, i] = who[i]
                near.squares[row, i] = nearest[i]
