"""Near neighbours of mixed records: by their numbers, and the price of every category that differs.

Categories as points have many coordinates, among which a tree finds little. But records that agree
in most categories stand together where all are sorted by these. So every record looks to both sides
along several such orders, each of which leaves out other columns, and then at the neighbours of the
neighbours found: what is near to a near one is seldom far.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.method import Mixed
from microagg.kernels.compiling import inner, kernel
from microagg.kernels.threads import run_blocks

NEIGHBOURS = 24
# To how many on each side a record looks along an order, how many orders there are, and how often
# it looks at the neighbours of its neighbours.
_ASIDE = 8
_ORDERS = 16
_ROUNDS = 2
_AT_ONCE = 2048


def mixed_lists(
    mixed: Mixed, near: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """For each record others that are near, the nearest first, and squared distances.

    near: lists to begin with, (n, as many as are wanted). Where fewer were found, lists end with
    the record itself, infinitely far away. The same whatever the threads. O(n log n) time.
    """
    n = len(near)
    lists = np.repeat(np.arange(n, dtype=np.int32)[:, np.newaxis], near.shape[1], axis=1)
    squares = np.full(near.shape, np.inf)

    def begin(first: int, last: int) -> None:
        _look_at(mixed, near, first, last, lists, squares)

    run_blocks(begin, n, _AT_ONCE)
    for order in _orders(mixed):

        def aside(first: int, last: int, order: NDArray[np.int64] = order) -> None:
            _look_aside(mixed, order, _ASIDE, first, last, lists, squares)

        run_blocks(aside, n, _AT_ONCE)
    for _ in range(_ROUNDS):
        known = lists.copy()

        def around(first: int, last: int, known: NDArray[np.int32] = known) -> None:
            _look_around(mixed, known, first, last, lists, squares)

        run_blocks(around, n, _AT_ONCE)
    return lists, squares


def _orders(mixed: Mixed) -> Iterator[NDArray[np.int64]]:
    """Records that agree in some columns side by side, along their numbers.

    In all columns, in all but one, then in some that lots decide.
    """
    lots = np.random.default_rng(0)
    n, q = mixed.codes.shape
    numbers = np.nan_to_num(mixed.numbers)
    for number in range(min(_ORDERS, 2**q)):
        agreeing = np.ones(q, bool)
        if 0 < number <= q:
            agreeing[number - 1] = False
        elif number > q:
            agreeing[lots.permutation(q)[: lots.integers(2, q + 1)]] = False
        weights = 2 * lots.integers(1, 2**62, size=(q,), dtype=np.uint64) + 1
        hashed = np.zeros(n, np.uint64)
        for c in np.flatnonzero(agreeing):
            # The same weight for all orders would let sums of two columns collide in each of them.
            hashed += (mixed.codes[:, c] + 2).astype(np.uint64) * weights[c]
        along = np.zeros(n)
        # Added up one by one: products of matrices round differently from machine to machine.
        for column in numbers.T:
            along += column * np.round(lots.normal() * 64.0)
        yield np.lexsort((along, hashed))


@kernel
def _look_at(mixed, near, first, last, lists, squares):
    """Take what is given to the records from first to last."""
    for x in range(first, last):
        for j in range(near.shape[1]):
            _offer(mixed, x, near[x, j], lists, squares)


@kernel
def _look_aside(mixed, order, aside, first, last, lists, squares):
    """Take the neighbours along an order of those who stand there from first to last."""
    for at in range(first, last):
        for i in range(max(0, at - aside), min(order.size, at + aside + 1)):
            _offer(mixed, order[at], order[i], lists, squares)


@kernel
def _look_around(mixed, known, first, last, lists, squares):
    """Take the neighbours of the neighbours of the records from first to last."""
    for x in range(first, last):
        for j in range(known.shape[1]):
            y = known[x, j]
            if y != x:
                for i in range(known.shape[1]):
                    _offer(mixed, x, known[y, i], lists, squares)


@inner
def _offer(mixed, x, y, lists, squares):
    """Put y into the list of x, if it is nearer than the last one and not there yet."""
    if x == y:
        return
    end = lists.shape[1] - 1
    farthest = squares[x, end]
    square = 0.0
    for c in range(mixed.codes.shape[1]):
        one, other = mixed.codes[x, c], mixed.codes[y, c]
        if one != other and one >= 0 and other >= 0:
            # Two records that differ lose one of their categories, but half of a squared distance.
            square += 2.0 * mixed.prices[c]
    for a in range(mixed.numbers.shape[1]):
        away = mixed.numbers[x, a] - mixed.numbers[y, a]
        if away == away:
            square += away * away
    if not square < farthest:
        return
    for i in range(end + 1):
        if lists[x, i] == y:
            return
    while end > 0 and squares[x, end - 1] > square:
        squares[x, end], lists[x, end] = squares[x, end - 1], lists[x, end - 1]
        end -= 1
    squares[x, end], lists[x, end] = square, y
