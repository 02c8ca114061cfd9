"""How many records share their values in some columns, counted on the table itself.

Records are told apart by a hash of their values, and the hash is checked. `classes_in_parts` counts
a table that is seen only in parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.kernels.threads import run_blocks, run_each
from microagg.table.checks import plain
from microagg.table.frames import give_back_memory, in_one_piece

# Rows that are hashed at a time, by one thread, and those of them that fit into a cache.
_ROWS = 1 << 17
_CACHED = 1 << 13


@dataclass(frozen=True, eq=False)
class Classes:
    """How many records share their values in some columns.

    sizes: the different sizes of classes, ascending; times: how many classes have each size.
    k: the least number of units (records, or entities) that share a class; 0 without records.
    """

    sizes: NDArray[np.int64]
    times: NDArray[np.int64]
    k: int

    @classmethod
    def of(cls, sizes: NDArray[np.int64], units: NDArray[np.int64] | None = None) -> Self:
        """From the size of each class and, where entities count, the different ones in each."""
        different, times = np.unique(np.asarray(sizes, np.int64), return_counts=True)
        counted = sizes if units is None else units
        return cls(different, times.astype(np.int64), int(np.min(counted)) if len(counted) else 0)

    def merge(self, other: Self) -> Self:
        """With classes of other records."""
        sizes, places = np.unique(np.concatenate([self.sizes, other.sizes]), return_inverse=True)
        times = np.zeros(sizes.size, np.int64)
        np.add.at(times, places, np.concatenate([self.times, other.times]))
        return type(self)(sizes, times, min(self.k or other.k, other.k or self.k))

    @property
    def count(self) -> int:
        """How many classes there are."""
        return int(self.times.sum())

    @property
    def smallest(self) -> int:
        """The records of the smallest class."""
        return int(self.sizes[0])

    @property
    def median(self) -> float:
        """The median number of records of a class."""
        up_to, count = np.cumsum(self.times), self.count
        middle = np.searchsorted(up_to, [(count - 1) // 2, count // 2], side="right")
        return float(self.sizes[middle].mean())

    @property
    def largest(self) -> int:
        """The records of the largest class."""
        return int(self.sizes[-1])

    @property
    def unique(self) -> int:
        """How many records share their values with no other."""
        return int(self.times[self.sizes == 1].sum())


def count_classes(
    table: pa.Table, names: Sequence[str], entities: NDArray[np.int64] | None = None
) -> Classes:
    """Classes of records equal in the columns named. Missing equals missing, NaN equals NaN.

    entities: whose record each is, as numbers from 0; then k counts the different ones in a class.
    """
    return classes_by(class_of(table, names), entities)


def classes_by(labels: NDArray[np.int64], entities: NDArray[np.int64] | None = None) -> Classes:
    """Classes of which the number of each record is known; see `count_classes`."""
    sizes = np.bincount(labels)
    if entities is None:
        return Classes.of(sizes)
    who = int(entities.max()) + 1
    different = pa.array(labels * who + entities).unique().to_numpy() // who
    return Classes.of(sizes, np.bincount(different, minlength=sizes.size))


def class_of(table: pa.Table, names: Sequence[str]) -> NDArray[np.int64]:
    """For each record the number of its class, from 0 without gaps, in order of appearance.

    Exact: records of one hash are one class only if all of them are equal to the first. Where the
    hash of different records is the same, which somebody must have meant it to be, pairs of the
    class so far and the next value are numbered column by column. O(cells) time on every core;
    memory for a few numbers a record, and a code of each value that is no number.
    """
    columns: list[NDArray] = [np.empty(0)] * len(names)

    def take(place: int) -> None:
        try:
            columns[place] = _numbers(in_one_piece(table[names[place]]))
        except pa.ArrowNotImplementedError:
            raise not_comparable(names[place], table[names[place]].type) from None

    run_each([partial(take, place) for place in range(len(names))])
    classes = _codes(pa.array(_hashes(columns, table.num_rows))).astype(np.int64)
    if not _are_classes(classes, columns):
        classes = _by_pairs(columns, table.num_rows)
    give_back_memory()
    return classes


def _numbers(column: pa.Array) -> NDArray:
    """Numbers as they are, if none is missing; codes of anything else, equal for equal values."""
    column, kind = plain(column), column.type
    if not column.null_count and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return column.to_numpy()
    return _codes(_comparable(column))


def _keys(numbers: NDArray) -> NDArray[np.uint64]:
    """The same 64 bits for equal numbers: one zero, one NaN."""
    if numbers.dtype.kind != "f":
        return numbers.astype(np.int64, copy=False).view(np.uint64)
    values = np.add(numbers, 0.0, dtype=np.float64)
    nothing = np.isnan(values)
    if nothing.any():
        values[nothing] = np.nan
    return values.view(np.uint64)


def _hashes(columns: Sequence[NDArray], rows: int) -> NDArray[np.uint64]:
    hashes = np.zeros(rows, np.uint64)

    def fold(first: int, last: int) -> None:
        for start in range(first, last, _CACHED):
            part = slice(start, min(last, start + _CACHED))
            mixed = hashes[part]
            for column in columns:
                mixed ^= _keys(column[part])
                mixed *= np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(29)

    run_blocks(fold, rows, _ROWS)
    return hashes


def _are_classes(classes: NDArray[np.int64], columns: Sequence[NDArray]) -> bool:
    """Whether every record is equal to the first one of its class."""
    count = int(classes.max(initial=-1)) + 1
    if count == classes.size:
        return True
    firsts = np.empty(count, np.int64)
    firsts[classes[::-1]] = np.arange(classes.size - 1, -1, -1)
    of_firsts = [_keys(column[firsts]) for column in columns]
    differ: list[int] = []

    def compare(first: int, last: int) -> None:
        for start in range(first, last, _CACHED):
            part = slice(start, min(last, start + _CACHED))
            for column, of_first in zip(columns, of_firsts, strict=True):
                if not np.array_equal(_keys(column[part]), of_first[classes[part]]):
                    differ.append(start)
                    return

    run_blocks(compare, classes.size, _ROWS)
    return not differ


def _by_pairs(columns: Sequence[NDArray], rows: int) -> NDArray[np.int64]:
    classes = np.zeros(rows, np.int64)
    for column in columns:
        codes = _codes(pa.array(_keys(column)))
        classes *= int(codes.max(initial=0)) + 1
        classes += codes
        classes = _codes(pa.array(classes)).astype(np.int64)
    return classes


def codes_of(name: str, column: pa.Array) -> NDArray[np.int32]:
    """The values of a column by number, from 1 in order of appearance; 0 where there is none.

    NaN is no value.
    """
    try:
        column = _comparable(column)
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        codes = column.dictionary_encode().indices.fill_null(-1).to_numpy()
    except pa.ArrowNotImplementedError:
        raise not_comparable(name, column.type) from None
    return codes + np.int32(1)


def not_comparable(name: str, kind: pa.DataType) -> InputError:
    """What is wrong with a column that classes cannot be told by."""
    return InputError(
        f"column {name!r} is of type {kind}, whose values cannot be compared; "
        "make it numbers, text or dates"
    )


def _codes(column: pa.Array) -> NDArray[np.int32]:
    encoded = column.dictionary_encode("encode")
    return encoded.indices.to_numpy()


def _comparable(column: pa.Array) -> pa.Array:
    """The same values, equal ones in the same bits: categories spelt out, one zero, one NaN."""
    column = plain(column)
    if pa.types.is_floating(column.type):
        column = pc.add(column.cast(pa.float64()), 0.0)
        column = pc.if_else(pc.is_nan(column), float("nan"), column)
    return column
