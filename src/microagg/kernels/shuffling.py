"""Numbers for rows that nobody foresees without the key: rows in their order are shuffled."""

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import inner, kernel

KEY_BYTES = 16


def shuffled_places(
    key: bytes, rows: NDArray[np.int64], ties: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """A number from 0 to 2^63 - 1 for each row: SipHash-2-4 (Aumasson, Bernstein 2012) of it.

    key: 16 bytes; ties: a second number for each row, 0 where there is none.

    Sorted by these numbers, rows stand in an order that is random to whoever has not the key. It
    depends on the row alone, so parts of a table may be numbered anywhere. O(n).
    """
    halves = np.frombuffer(key, "<u8")
    places = np.empty(rows.size, np.int64)
    words = np.zeros_like(rows) if ties is None else ties
    _hash(halves[0], halves[1], rows.view(np.uint64), words.view(np.uint64), places)
    return places


def shuffled_order(key: bytes, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of rows in the order of their numbers; of equal ones, which are rare, as given."""
    places = shuffled_places(key, rows)
    # Several times as fast as to keep equal ones in order, of which there are hardly ever any.
    order = np.argsort(places)
    ascending = places[order]
    if (ascending[1:] == ascending[:-1]).any():
        return np.argsort(places, kind="stable")
    return order


@kernel
def _hash(key0, key1, rows, ties, places):
    # Of the length, 16 bytes, in the top byte of the last word.
    end = np.uint64(16 << 56)
    for i in range(rows.size):
        a = key0 ^ np.uint64(0x736F6D6570736575)
        b = key1 ^ np.uint64(0x646F72616E646F6D)
        c = key0 ^ np.uint64(0x6C7967656E657261)
        d = key1 ^ np.uint64(0x7465646279746573)
        for word in (rows[i], ties[i], end):
            d ^= word
            a, b, c, d = _mixed(*_mixed(a, b, c, d))
            a ^= word
        c ^= np.uint64(0xFF)
        a, b, c, d = _mixed(*_mixed(*_mixed(*_mixed(a, b, c, d))))
        places[i] = np.int64((a ^ b ^ c ^ d) >> np.uint64(1))


@inner
def _mixed(a, b, c, d):
    a, c = a + b, c + d
    b, d = _turned(b, np.uint64(13)) ^ a, _turned(d, np.uint64(16)) ^ c
    a, c = _turned(a, np.uint64(32)) + d, c + b
    b, d = _turned(b, np.uint64(17)) ^ c, _turned(d, np.uint64(21)) ^ a
    return a, b, _turned(c, np.uint64(32)), d


@inner
def _turned(word, bits):
    return (word << bits) | (word >> (np.uint64(64) - bits))
