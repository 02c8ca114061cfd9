"""Key columns as whole numbers, and which records share their combination of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel

# What a key that has no value is numbered.
MISSING = 0
# Pairs of numbers are looked up in a table while it is no larger than so many times the rows.
_TABLE = 4


@dataclass(frozen=True, eq=False)
class Keys:
    """Key columns as whole numbers.

    codes: (columns, rows), equal where values are; 0 where there is none. kinds: for each column a
    number above all of its codes.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int32]
    kinds: tuple[int, ...]

    @classmethod
    def of(cls, names: Sequence[str], columns: Sequence[NDArray]) -> Self:
        """From the codes of each column."""
        codes = np.ascontiguousarray(np.stack(columns), np.int32)
        return cls(tuple(names), codes, tuple(int(each.max(initial=0)) + 1 for each in codes))

    @property
    def rows(self) -> int:
        """How many records there are."""
        return self.codes.shape[1]

    def without(self, column: int) -> Self:
        """All columns but one."""
        others = [place for place in range(len(self.names)) if place != column]
        return type(self)(
            tuple(self.names[place] for place in others),
            self.codes[others],
            tuple(self.kinds[place] for place in others),
        )

    @cached_property
    def combinations(self) -> "Combinations":
        """The different combinations of values, no value being one too. O(rows columns) time."""
        return Combinations(self, *numbered(self))


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations of values that occur, by number in order of appearance.

    labels: that of each record.
    """

    keys: Keys
    labels: NDArray[np.int64]
    count: int

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many records have each."""
        return np.bincount(self.labels, minlength=self.count)

    @cached_property
    def distinct(self) -> Keys:
        """The combinations themselves, one record each."""
        first = np.empty(self.count, np.int64)
        first[self.labels[::-1]] = np.arange(self.keys.rows - 1, -1, -1)
        codes = np.ascontiguousarray(self.keys.codes[:, first])
        return Keys(self.keys.names, codes, self.keys.kinds)

    def summed(self, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """The weights of the records of each added up; their number without weights."""
        if weights is None:
            return self.sizes.astype(np.float64)
        return np.asarray(np.bincount(self.labels, weights, self.count), np.float64)


def numbered(keys: Keys, columns: Iterable[int] | None = None) -> tuple[NDArray[np.int64], int]:
    """The combination of each record in some columns, as numbers from 0, and how many there are."""
    labels, count = np.zeros(keys.rows, np.int64), min(1, keys.rows)
    for column in range(len(keys.names)) if columns is None else columns:
        labels, count = joined(labels, count, keys.codes[column], keys.kinds[column])
    return labels, count


def joined(one: NDArray, count: int, other: NDArray, kinds: int) -> tuple[NDArray[np.int64], int]:
    """Pairs of numbers below `count` and `kinds`, numbered from 0 in order of appearance."""
    pairs = one.astype(np.int64)
    pairs *= kinds
    pairs += other
    labels = np.empty(pairs.size, np.int64)
    if count * kinds <= _TABLE * pairs.size + 1024:
        return labels, int(_number_by_table(pairs, np.zeros(count * kinds, np.int32), labels))
    slots = 1 << max(4, (2 * pairs.size - 1).bit_length())
    return labels, int(_number_by_hash(pairs, np.zeros((slots, 2), np.int64), labels))


@kernel
def _number_by_table(pairs, table, labels):
    """Numbers in order of appearance, by a table with a place for every pair: its number from 1, so
    that what memory begins with, 0, is none."""
    count = 0
    for row in range(pairs.size):
        found = table[pairs[row]]
        if found == 0:
            count += 1
            found = table[pairs[row]] = count
        labels[row] = found - 1
    return count


@kernel
def _number_by_hash(pairs, table, labels):
    """The same by a hash table, whose size is a power of two: pairs and their numbers, side by side
    as both are looked at."""
    mask = np.int64(len(table) - 1)
    count = 0
    for row in range(pairs.size):
        pair = pairs[row]
        mixed = np.uint64(pair) * np.uint64(0x9E3779B97F4A7C15)
        place = np.int64(mixed ^ (mixed >> np.uint64(32))) & mask
        while table[place, 1] != 0 and table[place, 0] != pair:
            place = (place + 1) & mask
        if table[place, 1] == 0:
            count += 1
            table[place, 0], table[place, 1] = pair, count
        labels[row] = table[place, 1] - 1
    return count
