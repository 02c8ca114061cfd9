"""A column as numbers, and numbers as a column again."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.columns.digits import Digits
from microagg.columns.kinds import find, kind_for
from microagg.columns.kinds.kind import Kind
from microagg.columns.points import Corners, Scores
from microagg.columns.text import is_text, read_text, refuse_disguised, without_views
from microagg.kernels.exact_sums import Moments


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as numbers.

    kind: the name of its kind, see `columns.kinds`.
    values: the numbers themselves, or ranks and codes of `categories`; zero where missing.
    whole: values are integers and stay such: counts, days, ticks, units of a decimal's last place.
    missing: where there is no value; None if there is one everywhere.
    categories: those of kinds that have such, in the order of their codes.
    type: what numbers are turned back to.
    text: the type of the column where that is another: text that was read as numbers or dates.
    step: dates are published as multiples of so many ticks, as coarse as they came.
    nan: missing values are written as NaN, as the column did.
    decimals: the places that all its numbers have, None where there is no end of them.
    monthly: dates that are all the first of a month, and are published as such.
    """

    name: str
    kind: str
    values: NDArray
    whole: bool
    missing: NDArray[np.bool_] | None
    type: pa.DataType
    categories: pa.Array | None = None
    text: pa.DataType | None = None
    step: int = 1
    nan: bool = False
    decimals: int | None = None
    monthly: bool = False

    @property
    def traits(self) -> Kind:
        """What its kind knows."""
        return find(self.kind)

    @property
    def numeric(self) -> bool:
        """Whether values have distances."""
        return self.traits.numeric

    @property
    def present(self) -> NDArray:
        """The values of the records that have one."""
        return self.values if self.missing is None else self.values[~self.missing]

    @property
    def varies(self) -> bool:
        """Whether there is something to lose: two values that differ."""
        return bool((self.present != self.present[:1]).any())

    def place(self) -> Scores | Corners:
        """How its values are placed, if it is the whole of an original."""
        if self.categories is not None:
            counts = np.bincount(self.present, minlength=len(self.categories))
            return self.traits.placed.of_counts(counts)
        moments = Moments()
        moments.add(self.present)
        return Scores.of_moments(moments, self.whole)

    def rows(self, chosen: NDArray[np.bool_] | NDArray[np.int64] | slice) -> Self:
        """The same column with some rows only."""
        missing = None if self.missing is None else self.missing[chosen]
        if missing is not None and not missing.any():
            missing = None
        return replace(self, values=self.values[chosen], missing=missing)


@dataclass(frozen=True, eq=False)
class Declared:
    """A column as it was declared: how entries of it are read, in whatever part they come.

    type: of the column. order: the categories of an ordinal column, lowest first.
    """

    name: str
    type: pa.DataType
    kind: str
    order: tuple[str, ...] | None

    @classmethod
    def by(
        cls, name: str, column_type: pa.DataType, kind: str | None, order: tuple[str, ...] | None
    ) -> Self:
        """Of the kind declared, by name or by an order of categories; else of that of the type."""
        if kind is None:
            kind = kind_for(name, column_type).name if order is None else "ordinal"
        return cls(name, column_type, find(kind).name, order)

    @property
    def traits(self) -> Kind:
        """What its kind knows."""
        return find(self.kind)

    def read(self, array: pa.Array, fineness: int | None = None) -> tuple[pa.Array, int]:
        """The entries as the kind takes them, and which type text was read as.

        fineness: the only one of the types of the kind to try.
        """
        plain, traits = without_views(array), self.traits
        if traits.categorical or not is_text(plain.type):
            return plain, 0
        types = traits.read_as if fineness is None else traits.read_as[fineness:][:1]
        entries = read_text(plain, types)
        if entries is None:
            raise InputError(
                f"column {self.name!r} is text and was declared {self.kind}, but not all of it can "
                f"be read so; correct those entries, or say kinds={{{self.name!r}: 'nominal'}}"
            )
        return entries

    def encode(self, array: pa.Array, fineness: int | None = None) -> Coded:
        """Some entries as numbers."""
        entries, _ = self.read(array, fineness)
        coded = self.traits.encode(self.name, entries, self.order)
        return coded if entries.type == array.type else replace(coded, text=array.type)


def encode(
    name: str, array: pa.Array, kind: str | None = None, order: tuple[str, ...] | None = None
) -> Coded:
    """A column as numbers: of the kind its type says, or of the kind asked for.

    order: the categories of an ordinal column, lowest first.
    """
    declared = Declared.by(name, array.type, kind, order)
    undeclared = kind is None and order is None
    if undeclared and is_text(array.type):
        refuse_disguised(name, *counts_of(without_views(array)))
    coded = declared.encode(array)
    if undeclared and coded.values.dtype.kind == "f":
        digits = Digits()
        digits.add(coded.present)
        return replace(declared, kind="integer").encode(array) if digits.whole else coded
    return coded


def decode(coded: Coded, values: NDArray, missing: NDArray[np.bool_]) -> pa.Array:
    """Numbers as entries of the column: of its type, missing where asked."""
    entries = coded.traits.decode(coded, values, missing)
    return entries if coded.text is None else entries.cast(coded.text)


def counts_of(array: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """The different values of a column but the missing one, and how many rows have each."""
    counts = pc.value_counts(array.drop_null())
    return counts.field("values"), counts.field("counts").to_numpy()
