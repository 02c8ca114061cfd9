"""How many records look alike, counted anew on the table itself and not on the groups made."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.table.frames import give_back_memory, in_one_piece


@dataclass(frozen=True, eq=False)
class Alike:
    """Classes of records that have the same values in some columns.

    sizes: records in each class; units: different entities in each, or the records again.
    """

    sizes: NDArray[np.int64]
    units: NDArray[np.int64]

    @property
    def k(self) -> int:
        """The least number of units that look alike."""
        return int(self.units.min())

    @property
    def unique(self) -> int:
        """How many records look like no other."""
        return int((self.sizes == 1).sum())


def count_alike(
    table: pa.Table, names: Sequence[str], entities: NDArray[np.int64] | None = None
) -> Alike:
    """Classes of records equal in the columns named. Missing equals missing, NaN equals NaN."""
    classes = class_of(table, names)
    sizes = np.bincount(classes)
    if entities is None:
        return Alike(sizes, sizes)
    who = int(entities.max()) + 1
    different = pa.array(classes * who + entities).unique().to_numpy() // who
    return Alike(sizes, np.bincount(different, minlength=sizes.size))


def class_of(table: pa.Table, names: Sequence[str]) -> NDArray[np.int64]:
    """For each record the number of its class, from 0 without gaps, in order of appearance.

    Column by column: pairs of the class so far and the next value are numbered by a hash table. So
    no more than a few numbers a record are held at a time.
    """
    classes = np.zeros(table.num_rows, np.int64)
    for name in names:
        try:
            codes = _numbered(_comparable(in_one_piece(table[name])))
        except pa.ArrowNotImplementedError:
            raise InputError(
                f"column {name!r} is of type {table[name].type}, whose values cannot be compared; "
                "make it numbers, text or dates"
            ) from None
        classes *= int(codes.max()) + 1
        classes += codes
        classes = _numbered(pa.array(classes)).astype(np.int64)
    give_back_memory()
    return classes


def _numbered(column: pa.Array) -> NDArray[np.int32]:
    encoded = column.dictionary_encode("encode")
    return encoded.indices.to_numpy()


def _comparable(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The same values, equal ones in the same bits: categories spelt out, one zero, one NaN."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type) and _has_twins(column):
        column = pc.add(column.cast(pa.float64()), 0.0)
        column = pc.if_else(pc.is_nan(column), float("nan"), column)
    return column


def _has_twins(column: pa.Array | pa.ChunkedArray) -> bool:
    """Whether there may be equal values of different bits: a negative zero or a NaN."""
    for chunk in getattr(column, "chunks", [column]):
        values = chunk.to_numpy(zero_copy_only=False)
        if np.isnan(values).any() or np.signbit(values[values == 0]).any():
            return True
    return False
