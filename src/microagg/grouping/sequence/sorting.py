"""A stable order of one attribute, in less than half the time of `numpy.argsort`.

Keys of floats are their own bits, made monotone: a logarithmic scale, so neither a heavy tail nor a
common offset crowds them. By their leading bits the values are dealt out to buckets that fit the
nearer caches, and each bucket is sorted by itself: leading bits of what its keys differ in and
their places in it are packed into 32-bit integers, which NumPy sorts with vector instructions, and
neighbours that the dropped bits left out of order are set right by insertion.
"""

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import inner, kernel
from microagg.kernels.memory import roomy
from microagg.kernels.threads import run_all, run_blocks

_SIGN = np.uint64(1 << 63)
_MOST_BLOCKS = 8
_MOST_BUCKETS = 256
_MOST_SLOT_BITS = 16
# Larger buckets leave too few of 32 bits for the keys.
_LARGEST_BUCKET = 1 << 16


def sort_stably(
    x: NDArray, *, block: int = 1 << 15, bucket: int = 1 << 13
) -> tuple[NDArray[np.int32], NDArray]:
    """Return the stable ascending order of `x` and `x` in that order; the two zeros become one.

    `x` is contiguous, float64 without NaN or uint64. O(n log n) time, and little memory besides the
    two results. The last arguments say how many values are dealt out, and sorted, in one job.
    """
    n = x.size
    if _ascends(x):
        return np.arange(n, dtype=np.int32), x.copy()
    raw, floating = x.view(np.uint64), x.dtype.kind == "f"
    least, most = (int(_key(end.view(np.uint64), floating)) for end in (x.min(), x.max()))
    slot_bits = min(_MOST_SLOT_BITS, max(1, n.bit_length() - 5))
    shift = max(0, (most - least).bit_length() - slot_bits)
    scale = floating, np.uint64(least), np.uint64(shift)
    block = max(block, -(-n // _MOST_BLOCKS))
    counts = np.zeros((-(-n // block), (most - least >> shift) + 1), np.int32)

    def count(first: int, last: int) -> None:
        _count(raw[first:last], *scale, counts[first // block])

    run_blocks(count, n, block)
    buckets, starts, places = _buckets(counts, max(bucket, n // _MOST_BUCKETS))
    keys, order = np.empty(n, np.uint64), roomy(n, np.int32)

    def deal(first: int, last: int) -> None:
        _deal(raw[first:last], *scale, buckets, places[first // block], first, keys, order)

    def sort(number: int, _tell: object) -> None:
        part = slice(*starts[number : number + 2])
        _sort_bucket(keys[part], order[part])
        _unlock(keys[part], np.uint64(least), floating)

    run_blocks(deal, n, block)
    run_all(sort, np.diff(starts), lambda _share: None)
    return order, keys.view(x.dtype)


def _ascends(x: NDArray) -> bool:
    return all((part[:-1] <= part[1:]).all() for part in (x[:100], x))


def _buckets(counts, least):
    """The bucket of each slot; where buckets start, and where each block's share of them does.

    `counts` says how many values of each block are in each slot. A bucket is slots side by side
    that hold about `least` values together; a crowded slot is one of its own.
    """
    total = counts.sum(axis=0, dtype=np.int64)
    number = (np.cumsum(total) - total) // least
    opens = (total > least) | np.concatenate([[True], number[1:] != number[:-1]])
    shares = np.add.reduceat(counts, np.flatnonzero(opens), axis=1, dtype=np.int64)
    ends = np.cumsum(shares.T).reshape(shares.T.shape).T
    buckets = (np.cumsum(opens) - 1).astype(np.int32)
    return buckets, np.concatenate([[0], ends[-1]]), np.ascontiguousarray(ends - shares)


def _sort_bucket(keys, rows):
    if keys.size > _LARGEST_BUCKET:
        order, keys[:] = sort_stably(keys)
        rows[:] = rows[order]
        return
    packed = np.empty(keys.size, np.uint32)
    dropped = _pack(keys, packed)
    packed.sort()
    _put(packed, keys, rows)
    if dropped and not _settle(rows, keys):
        order = np.argsort(keys, kind="stable")
        rows[:], keys[:] = rows[order], keys[order]


@kernel
def _key(raw, floating):
    """Bits that sort as the value does; the two zeros are one."""
    if not floating:
        return raw
    if raw == _SIGN:
        return _SIGN
    return ~raw if raw & _SIGN else raw | _SIGN


@kernel
def _unlock(keys, least, floating):
    """Turn keys, relative to the least, back into the bits of values."""
    for i in range(keys.size):
        key = keys[i] + least
        if floating:
            key = key ^ _SIGN if key & _SIGN else ~key
        keys[i] = key


@kernel
def _count(raw, floating, least, shift, counts):
    for i in range(raw.size):
        counts[(_key(raw[i], floating) - least) >> shift] += 1


@kernel
def _deal(raw, floating, least, shift, buckets, places, first_row, keys, rows):
    """Put keys, relative to the least, and rows where their buckets have the next place free."""
    for i in range(raw.size):
        key = _key(raw[i], floating) - least
        bucket = buckets[key >> shift]
        place = np.uint64(places[bucket])
        places[bucket] += 1
        keys[place] = key
        rows[place] = first_row + i


@kernel
def _pack(keys, packed):
    """The leading bits of the keys above the bits of their places; how many bits were dropped."""
    least = most = keys[0]
    for i in range(keys.size):
        least = min(least, keys[i])
        most = max(most, keys[i])
    place_bits = _bits_of_places(keys)
    dropped = np.uint64(0)
    while (most - least) >> dropped >> (np.uint64(32) - place_bits):
        dropped += np.uint64(1)
    for i in range(keys.size):
        packed[i] = ((keys[i] - least) >> dropped << place_bits) | np.uint64(i)
    return dropped


@inner
def _bits_of_places(keys):
    bits = np.uint64(0)
    while np.uint64(keys.size - 1) >> bits:
        bits += np.uint64(1)
    return bits


@kernel
def _put(packed, keys, rows):
    """Bring keys and rows into the order of the places that were packed."""
    mask = (np.uint64(1) << _bits_of_places(keys)) - np.uint64(1)
    keys_before, rows_before = keys.copy(), rows.copy()
    for i in range(packed.size):
        place = packed[i] & mask
        rows[i] = rows_before[place]
        keys[i] = keys_before[place]


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
