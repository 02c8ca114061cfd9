"""A random sample of rows that depends on the rows alone: not on their order, parts or machines."""

import math
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.table.checks import decoded

SAMPLED = 1 << 17
_MOST = np.uint64(2**64 - 1)
# In standard deviations: so many more rows are looked at than are wanted.
_MARGIN = 12


class Sample:
    """The rows whose numbers have the least hashes, up to so many.

    limit: where hashes end that are looked at, if it is known that lesser ones are enough.
    """

    def __init__(self, size: int = SAMPLED, limit: int | None = None) -> None:
        self._size = size
        self._limit = _MOST if limit is None else np.uint64(limit)
        self._parts: list[pa.Table] = []
        self._rows: list[NDArray[np.int64]] = []
        self._held = 0

    def add(self, part: pa.Table, rows: NDArray[np.int64]) -> None:
        """Take the next part; rows: the number of each of its rows."""
        hashes = row_hashes(rows)
        chosen = np.flatnonzero(hashes < self._limit)
        if chosen.size > self._size:
            # A large part is not copied to throw most of it away again.
            least = np.partition(hashes[chosen], self._size - 1)[self._size - 1]
            chosen = chosen[hashes[chosen] <= least]
        if chosen.size:
            self._parts.append(decoded(part.take(pa.array(chosen))))
            self._rows.append(rows[chosen])
            self._held += chosen.size
        if self._held > 2 * self._size:
            self._trim()

    def merge(self, other: Self) -> None:
        """Take the rows that somebody else chose among other rows."""
        for part, rows in zip(other._parts, other._rows, strict=True):
            self.add(part, rows)

    @property
    def held(self) -> int:
        """How many rows there are so far; some may have to go again."""
        return self._held

    def result(self) -> tuple[pa.Table, NDArray[np.int64]]:
        """The rows chosen and their numbers, in order."""
        self._trim()
        return self._parts[0], self._rows[0]

    def _trim(self) -> None:
        table, rows = pa.concat_tables(self._parts), np.concatenate(self._rows)
        hashes = row_hashes(rows)
        if rows.size > self._size:
            self._limit = np.partition(hashes, self._size)[self._size]
        chosen = np.flatnonzero(hashes <= self._limit)
        chosen = chosen[np.lexsort((rows[chosen], hashes[chosen]))][: self._size]
        chosen = chosen[np.argsort(rows[chosen], kind="stable")]
        # A copy: what was not chosen need not be kept.
        self._parts = [table.take(pa.array(chosen)).combine_chunks()]
        self._rows = [rows[chosen]]
        self._held = chosen.size


def enough(size: int, rows: int) -> int:
    """A limit below which there are hashes of so many rows, of all rows of a table."""
    wanted = size + _MARGIN * math.isqrt(size)
    return int(2**64 * min(1.0, wanted / rows)) - 1


def row_hashes(rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Numbers that look random, one for each row number (splitmix64; Steele and others 2014)."""
    mixed = rows.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
