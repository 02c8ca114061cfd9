"""Which records are equal: hashes of their words bring them together, and the words are compared.

Records are dealt to buckets by their hashes, so that every core works on buckets of its own.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import inner, kernel
from microagg.kernels.threads import run_all, run_blocks, run_each

_BLOCK = 1 << 16
_BUCKET_BITS = 6
# Fewer words are sorted before the kernels are compiled.
_FEW = 1 << 16


class Words(NamedTuple):
    """Some words of every record.

    floating: they are numbers, of which zeros of either sign are equal, and so is all that is none.
    """

    entries: NDArray[np.uint64]  # (n, w), contiguous and read only
    floating: bool


def label(parts: Sequence[Words], rows: int, few: int = _FEW) -> NDArray[np.int64]:
    """For each of so many records the number of its class, from 0, in order of appearance.

    Records are of one class if they agree in every word of every part. Exact: where the hashes of
    different records are the same, which somebody must have meant them to be, words are sorted.
    Expected O(words) time on every core; memory for three numbers a record.
    """
    if rows * sum(part.entries.shape[1] for part in parts) <= few:
        return _by_sorting(parts, rows)
    firsts = _first_of_each(_hashes(parts, rows))
    if not _agree(parts, firsts):
        return _by_sorting(parts, rows)
    return _numbered(firsts)


def _hashes(parts: Sequence[Words], rows: int) -> NDArray[np.uint64]:
    hashes = np.zeros(rows, np.uint64)

    def fold(first: int, last: int) -> None:
        for entries, floating in parts:
            _fold(entries, floating, hashes, first, last)

    run_blocks(fold, rows, _BLOCK)
    return hashes


def _first_of_each(hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
    """For each record the first of the same hash."""
    n = hashes.size
    counts = np.zeros((-(-n // _BLOCK), 1 << _BUCKET_BITS), np.int64)
    run_blocks(partial(_count, hashes, counts), n, _BLOCK)
    # A bucket takes its records block by block, so they stay in order.
    ends = np.cumsum(counts.T).reshape(counts.T.shape)
    places = np.ascontiguousarray(ends.T - counts)
    dealt, rows = np.empty(n, np.uint64), np.empty(n, np.int32)
    run_blocks(partial(_deal, hashes, places, dealt, rows), n, _BLOCK)
    sizes, lasts, firsts = counts.sum(axis=0), ends[:, -1], np.empty(n, np.int32)

    def meet(bucket: int, _tell: object) -> None:
        size, last = int(sizes[bucket]), int(lasts[bucket])
        bits = (2 * size).bit_length()
        _meet(dealt, rows, np.full(1 << bits, -1, np.int32), bits, firsts, last - size, last)

    run_all(meet, sizes, lambda _share: None)
    return firsts


def _agree(parts: Sequence[Words], firsts: NDArray[np.int32]) -> bool:
    """Whether every record agrees with the first of its hash."""
    n = firsts.size
    differ = np.zeros(-(-n // _BLOCK), bool)
    # Part by part: of one, the records that are compared with stay in a cache.
    jobs = [
        partial(_compare, *part, firsts, differ, first, min(n, first + _BLOCK))
        for part in parts
        for first in range(0, n, _BLOCK)
    ]
    run_each(jobs)
    return not differ.any()


def _numbered(firsts: NDArray[np.int32]) -> NDArray[np.int64]:
    counts = np.zeros(-(-firsts.size // _BLOCK), np.int64)

    def count(first: int, last: int) -> None:
        there = firsts[first:last] == np.arange(first, last, dtype=np.int32)
        counts[first // _BLOCK] = np.count_nonzero(there)

    run_blocks(count, firsts.size, _BLOCK)
    labels, starts = np.empty(firsts.size, np.int64), np.cumsum(counts) - counts
    run_blocks(partial(_number, firsts, starts, labels), firsts.size, _BLOCK)
    run_blocks(partial(_spread, firsts, labels), firsts.size, _BLOCK)
    return labels


def _by_sorting(parts: Sequence[Words], rows: int) -> NDArray[np.int64]:
    """Pairs of the class so far and the next word are numbered, word by word."""
    labels = np.zeros(rows, np.int64)
    for entries, floating in parts:
        for words in entries.T:
            if floating:
                numbers = words.view(np.float64) + 0.0
                words = np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)
            codes = np.unique(words, return_inverse=True)[1]
            labels = np.unique(labels * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]
    _, firsts = np.unique(labels, return_index=True)
    return np.argsort(np.argsort(firsts))[labels]


@inner
def _plain(word, floating):
    """The same bits for numbers that are equal."""
    if floating:
        size = word << np.uint64(1)
        if size == np.uint64(0):
            return size
        if size > np.uint64(0xFFE0000000000000):
            return np.uint64(0x7FF8000000000000)
    return word


@kernel
def _fold(entries, floating, hashes, first, last):
    for i in range(first, last):
        mixed = hashes[i]
        for a in range(entries.shape[1]):
            mixed = (mixed ^ _plain(entries[i, a], floating)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        hashes[i] = mixed


@kernel
def _count(hashes, counts, first, last):
    for i in range(first, last):
        counts[first // _BLOCK, hashes[i] >> np.uint64(64 - _BUCKET_BITS)] += 1


@kernel
def _deal(hashes, places, dealt, rows, first, last):
    for i in range(first, last):
        bucket = hashes[i] >> np.uint64(64 - _BUCKET_BITS)
        at = places[first // _BLOCK, bucket]
        places[first // _BLOCK, bucket] = at + 1
        dealt[at] = hashes[i]
        rows[at] = i


@kernel
def _meet(dealt, rows, table, bits, firsts, first, last):
    """`table` has a power of two of places, more than there are records: the first of each hash."""
    mask = np.uint64(table.size - 1)
    for i in range(first, last):
        # The hash of few bits that differ has few that differ at its end.
        slot = (dealt[i] * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(64 - bits)
        while table[slot] >= 0 and dealt[table[slot]] != dealt[i]:
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = i
        firsts[rows[i]] = rows[table[slot]]


@kernel
def _compare(entries, floating, firsts, differ, first, last):
    # Without a way out nobody waits for one record after the other.
    other_bits = False
    for a in range(entries.shape[1]):
        for i in range(first, last):
            other_bits |= entries[i, a] != entries[firsts[i], a]
    for i in range(first, last if other_bits else first):
        for a in range(entries.shape[1]):
            one, other = entries[i, a], entries[firsts[i], a]
            if _plain(one, floating) != _plain(other, floating):
                differ[first // _BLOCK] = True
                return


@kernel
def _number(firsts, starts, labels, first, last):
    count = starts[first // _BLOCK]
    for i in range(first, last):
        if firsts[i] == i:
            labels[i] = count
            count += 1


@kernel
def _spread(firsts, labels, first, last):
    for i in range(first, last):
        if firsts[i] != i:
            labels[i] = labels[firsts[i]]
