"""A stable order of one attribute, in about half the time of `numpy.argsort`.

The leading bits of each value and its row number are packed into one 64-bit key, the keys are
sorted as plain integers (which NumPy does with vector instructions), and neighbours that the
dropped bits left out of order are set right by insertion. Keys of floats are their own bits, made
monotone: a logarithmic scale, so neither a heavy tail nor a common offset crowds them.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel
from microagg.kernels.memory import roomy
from microagg.kernels.threads import run_blocks, run_each

_SIGN = np.uint64(1 << 63)
_MERGED_AT_ONCE = 1 << 16


def sort_stably(x: NDArray, *, two_way_from: int = 1 << 16) -> tuple[NDArray[np.int32], NDArray]:
    """Return the stable ascending order of `x` and `x` in that order.

    `x` is contiguous, float64 without NaN or uint64. O(n log n) time; besides the two results, one
    array of n integers is used.
    """
    n = x.size
    if _ascends(x):
        return np.arange(n, dtype=np.int32), x.copy()
    raw = x.view(np.uint64)
    floating = x.dtype.kind == "f"
    least = np.uint64(_key(x.min().view(np.uint64), floating))
    span = int(_key(x.max().view(np.uint64), floating)) - int(least)
    row_bits = int(n - 1).bit_length()
    dropped = max(0, span.bit_length() + row_bits - 64)

    keys = np.empty(n, np.uint64)
    order = roomy(n, np.int32)
    values = np.empty_like(x)
    middle = n // 2 if n >= two_way_from else n

    def prepare(first: int, last: int) -> None:
        part = keys[first:last]
        _pack(raw[first:last], floating, least, dropped, row_bits, first, part)
        part.sort()

    def merge(first: int, last: int) -> None:
        _merge(keys, middle, first, last, row_bits, x, order, values)

    run_each([partial(prepare, 0, middle), partial(prepare, middle, n)][: 1 + (middle < n)])
    run_blocks(merge, n, _MERGED_AT_ONCE)
    if dropped and not _settle(order, values):
        order = np.argsort(x, kind="stable").astype(np.int32)
        values = x[order]
    return order, values


@kernel
def _ascends(x):
    for i in range(1, x.size):
        if x[i] < x[i - 1]:
            return False
    return True


@kernel
def _key(raw, floating):
    """Bits that sort as the value does; the two zeros are one."""
    if not floating:
        return raw
    if raw == _SIGN:
        return _SIGN
    return ~raw if raw & _SIGN else raw | _SIGN


@kernel
def _pack(raw, floating, least, dropped, row_bits, first_row, keys):
    drop = np.uint64(dropped)
    shift = np.uint64(row_bits)
    for i in range(raw.size):
        key = (_key(raw[i], floating) - least) >> drop
        keys[i] = (key << shift) | np.uint64(first_row + i)


@kernel
def _merge(keys, middle, first, last, row_bits, x, order, values):
    """Write places first..last of the merged halves, as row numbers and values."""
    n = keys.size
    low, high = max(0, first - (n - middle)), min(first, middle)
    while low < high:
        left = (low + high) // 2
        if keys[left] < keys[middle + first - left - 1]:
            low = left + 1
        else:
            high = left
    left = np.uint64(low)
    right = np.uint64(middle + first - low)
    end_left, end_right = np.uint64(middle), np.uint64(n)
    mask = (np.uint64(1) << np.uint64(row_bits)) - np.uint64(1)
    for place in range(np.uint64(first), np.uint64(last)):
        if left == end_left:
            key = keys[right]
            right += np.uint64(1)
        elif right == end_right:
            key = keys[left]
            left += np.uint64(1)
        else:
            ours, theirs = keys[left], keys[right]
            take = np.uint64(ours < theirs)
            key = min(ours, theirs)
            left += take
            right += np.uint64(1) - take
        row = key & mask
        order[place] = row
        values[place] = x[row]


@kernel
def _settle(order, values):
    """Insert what the dropped bits left out of order; give up where that would take long."""
    budget = 16 * values.size
    for i in range(1, values.size):
        value = values[i]
        if not value < values[i - 1]:
            continue
        row = order[i]
        place = i
        while place > 0 and value < values[place - 1]:
            values[place] = values[place - 1]
            order[place] = order[place - 1]
            place -= 1
        values[place] = value
        order[place] = row
        budget -= i - place
        if budget < 0:
            return False
    return True
