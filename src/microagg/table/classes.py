"""How many records share their values in some columns, counted on the table itself.

`classes_in_parts` counts a table that is seen only in parts.
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
from microagg.kernels.compiling import read_only
from microagg.kernels.labelling import Words, label
from microagg.kernels.threads import run_each
from microagg.table.checks import plain
from microagg.table.frames import give_back_memory, in_one_piece

_NOTHING = Words(np.empty((0, 1), np.uint64), False)


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

    Exact; see `label`. O(cells) time on every core; memory for a few numbers a record, and a code
    of each value that is no number.
    """
    columns: list[Words] = [_NOTHING] * len(names)

    def take(place: int) -> None:
        try:
            columns[place] = _words(_numbers(in_one_piece(table[names[place]])))
        except pa.ArrowNotImplementedError:
            raise not_comparable(names[place], table[names[place]].type) from None

    run_each([partial(take, place) for place in range(len(names))])
    classes = label(columns, table.num_rows)
    give_back_memory()
    return classes


def _numbers(column: pa.Array) -> NDArray:
    """Numbers as they are, if none is missing; codes of anything else, equal for equal values."""
    column, kind = plain(column), column.type
    if not column.null_count and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return column.to_numpy()
    return _codes(_comparable(column))


def _words(numbers: NDArray) -> Words:
    """Numbers of any width as words of 64 bits."""
    floating = numbers.dtype.kind == "f"
    if numbers.dtype.itemsize < 8:
        numbers = numbers.astype(np.float64 if floating else np.int64)
    entries = np.ascontiguousarray(numbers).view(np.uint64).reshape(-1, 1)
    return Words(read_only(entries), floating)


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
