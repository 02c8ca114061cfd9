"""Cut a line of values or records into the groups of least total cost: one door, several ways in.

All ways are exact. Which one is taken depends on n, k and the cost only, never on the machine.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.grouping.method import Groups, Method, Task
from microagg.grouping.sequence.deviations import fill_absolute, fill_range
from microagg.grouping.sequence.monge import fill_sorted
from microagg.grouping.sequence.scan import fill_sequence
from microagg.grouping.sequence.wide import fill_wide
from microagg.kernels.compiling import kernel
from microagg.kernels.memory import roomy
from microagg.kernels.threads import run_each

# Measured: beyond, divide and conquer is faster on sorted values than trying every size.
_SCAN_UP_TO_K = 22
# Shorter lines are split before a second thread has started.
_TWO_WAY_FROM = 1 << 15
_TILE = 64
_NOTHING = np.empty(0, np.int32)


def split_sorted(
    values: NDArray,
    k: int,
    *,
    integer: bool = False,
    size_cost: float = 0.0,
    scan_up_to_k: int = _SCAN_UP_TO_K,
    two_way_from: int = _TWO_WAY_FROM,
) -> NDArray[np.int32]:
    """Sizes of consecutive groups, from the first to the last, of ascending values.

    A group costs its SSE about its mean; with `integer`, about the nearest integer; with
    `size_cost` = c > 0, SSE + c / size, and then its size has no upper limit. `values` are float64
    or uint64. O(n log k) time, O(n) memory. The last two arguments choose the way, not the optimum.
    """
    n = values.size
    if size_cost > 0.0:
        sizes = np.empty(n + 1, np.int32)
        fill_sorted(values, k, size_cost * _rescale(values) ** 2, False, sizes, np.empty(0))
        return _walk(sizes, n)
    if n < 2 * k or k == 1:
        return _undivided(n, k)
    if not integer:
        _rescale(values)
    elif values.dtype.kind == "u" or not _stays_exact(values[np.newaxis], k):
        return _walk(fill_wide(*_wide_input(values, k)), n)
    fill = fill_sequence if k <= scan_up_to_k else _fill_sorted
    part = partial(_part_of_values, values)
    return _split_two_way(part, n, k, integer, fill, two_way_from)


def split_by_distances(values: NDArray, k: int, cost: str) -> NDArray[np.int32]:
    """Sizes of consecutive groups of ascending values, float64 or uint64, as `split_sorted`.

    A group costs its "absolute" distances to the median, or its "range". O(n log k) time.
    """
    if values.size < 2 * k or k == 1:
        return _undivided(values.size, k)
    _rescale(values)
    fill = fill_absolute if cost == "absolute" else fill_range
    return _walk(fill(values, k), values.size)


def split_sequence(
    records: NDArray[np.float64],
    k: int,
    *,
    order: NDArray[np.int32] | None = None,
    integer: bool = False,
    two_way_from: int = _TWO_WAY_FROM,
) -> NDArray[np.int32]:
    """Sizes of consecutive groups, from the first to the last, of records in a line.

    `records` is (n, d); `order` says in which order they stand, as they come if not given. Least
    sum over the attributes of what `split_sorted` would charge; with `integer` they are whole and
    every group is centred on integers. O(k n d) time.
    """
    n = len(records)
    if n < 2 * k or k == 1:
        return _undivided(n, k)
    if order is None:
        order = np.arange(n, dtype=np.int32)
    if integer and not _stays_exact(lines_in_order(records, order), k):
        raise InputError(
            "the records lie too far apart for exact integer centroids; "
            "divide the attributes by a common unit, or ask for means"
        )
    part = partial(_part_of_records, records, order)
    return _split_two_way(part, n, k, integer, fill_sequence, two_way_from)


def split_task(task: Task, order: NDArray[np.int32]) -> Groups:
    """The records of a task in this order, split; about integers where these are asked for."""
    integer = task.whole is not None
    records = task.records if task.whole is None else task.whole
    return order, split_sequence(records, task.k, order=order, integer=integer)


def by_order(
    name: str,
    description: str,
    time: str,
    order_of: Callable[[Task], NDArray[np.int32]],
    paper: str = "IMHMI, section 2.2",
) -> Method:
    """A method that puts the records in a line, once for every k, and splits it."""

    def group(task: Task) -> Groups:
        if name not in task.orders:
            task.orders[name] = order_of(task)
        return split_task(task, task.orders[name])

    return Method(name, f"{description}, split optimally", paper, time, group, integer=True)


def lines_in_order(records: NDArray[np.float64], order: NDArray[np.int32]) -> NDArray[np.float64]:
    """The records in this order, one line an attribute: `records[order].T`, contiguous."""
    lines = np.empty((records.shape[1], order.size))
    _gather(records, order, lines)
    return lines


def _undivided(n: int, k: int) -> NDArray[np.int32]:
    return np.ones(n, np.int32) if k == 1 else np.array([n], np.int32)


def _fill_sorted(lines, _order, k, integer, sizes, tail):
    fill_sorted(lines[0], k, 0.0, integer, sizes, tail)


def _split_two_way(part, n, k, integer, fill, two_way_from):
    """Split from both ends at once, and join where the two paths are cheapest together.

    Groups have at most 2k - 1 members, so among 2k - 1 neighbouring boundaries every split has one.
    `part(first, last, backwards)` gives that part of the line as `fill` takes it.
    """
    if n < max(two_way_from, 16 * k):
        sizes = np.empty(n + 1, np.int32)
        fill(*part(0, n, False), k, integer, sizes, np.empty(0))
        return _walk(sizes, n)
    middle = (n - 2 * k) // 2 + 1
    overlap = middle + 2 * k - 2
    ahead, back = roomy(overlap + 1, np.int32), roomy(n - middle + 1, np.int32)
    ahead_costs, back_costs = np.empty(2 * k - 1), np.empty(2 * k - 1)
    run_each(
        [
            lambda: fill(*part(0, overlap, False), k, integer, ahead, ahead_costs),
            lambda: fill(*part(middle, n, True), k, integer, back, back_costs),
        ]
    )
    join = middle + int(np.argmin(ahead_costs + back_costs[::-1]))
    return _walk(ahead, join, back[: n - join + 1])


def _part_of_values(values, first, last, backwards):
    """Values that ascend from either end: from the other, they are seen in the mirror."""
    if not backwards:
        return values[np.newaxis, first:last], _NOTHING
    turned = values[first:last][::-1]
    mirrored = roomy(turned.size, values.dtype)
    if values.dtype.kind == "u":
        np.subtract(values[last - 1], turned, out=mirrored)
    else:
        np.negative(turned, out=mirrored)
    return mirrored[np.newaxis], _NOTHING


def _part_of_records(records, order, first, last, backwards):
    part = order[first:last]
    return records, np.ascontiguousarray(part[::-1]) if backwards else part


@kernel
def _gather(records, order, lines):
    d = records.shape[1]
    # A few records at a time, so that they stay in the nearest cache until they are written out.
    tile = np.empty((d, _TILE))
    for start in range(0, order.size, _TILE):
        count = min(_TILE, order.size - start)
        for i in range(count):
            row = order[start + i]
            for a in range(d):
                tile[a, i] = records[row, a]
        for a in range(d):
            for i in range(count):
                lines[a, start + i] = tile[a, i]


def _walk(ahead, join, back=_NOTHING):
    """Follow the best paths from a boundary to both ends; the sizes they meet, in line."""
    found = roomy(join + max(0, back.size - 1), np.int32)
    first, last = _follow(ahead, join, back, found)
    return found[first:last]


@kernel
def _follow(ahead, join, back, found):
    first = last = at = join
    while at > 0:
        first -= 1
        found[first] = ahead[at]
        at -= ahead[at]
    at = found.size - join
    while at > 0:
        found[last] = back[at]
        last += 1
        at -= back[at]
    return first, last


def _rescale(values: NDArray) -> float:
    """Where squares would overflow or vanish, scale `values` in place; return the factor."""
    if values.dtype.kind != "f":
        return 1.0
    low, high = float(values[0]), float(values[-1])
    half_span = high / 2 - low / 2
    if half_span == 0.0 or 1e-120 < half_span < 1e120:
        return 1.0
    # 2^-800 at the most: a span of the least double must not become an infinite factor.
    factor = math.ldexp(1.0, -max(-800, math.frexp(half_span)[1]))
    values *= factor
    return factor


def _spread(line: NDArray, neighbours: int) -> int:
    """A bound on how far apart any so many neighbours lie: the widest two blocks side by side."""
    starts = np.arange(0, line.size, neighbours)
    low, high = np.minimum.reduceat(line, starts), np.maximum.reduceat(line, starts)
    if starts.size > 1:
        low, high = np.minimum(low[1:], low[:-1]), np.maximum(high[1:], high[:-1])
    return int((high - low).max())


def _stays_exact(lines: NDArray, k: int) -> bool:
    """Whether float64 holds every number that an exact integer split meets.

    Path costs in sight of each other differ by less than what 4k neighbours cost, and a group of
    fewer than 3k adds less than that again. The spread of all is tried first: it is quickly had
    and small enough in most data.
    """
    return any(
        sum(8 * k * _spread(line, neighbours) ** 2 for line in lines) <= 2**52
        for neighbours in (lines.shape[1], 6 * k)
    )


def _wide_input(values: NDArray, k: int) -> tuple[NDArray[np.uint64], int]:
    """Values for 128-bit sums, or a refusal where even those could overflow."""
    apart = _spread(values, 6 * k)
    if values.size * apart**2 >= 2**125 or 6 * k * apart >= 2**61:
        raise InputError(
            "neighbouring values lie too far apart for exact sums of squares; "
            "divide them by a common unit, or use cost='sse'"
        )
    return values.astype(np.uint64), k
