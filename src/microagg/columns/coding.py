"""A column as a whole, seen in parts: so that every part is read and placed the same.

`Observed` looks at a column part by part, in any order and on any machine, and adds up exactly:
the `Coding` it arrives at depends on the column alone. A coding then turns any part of the column
into numbers, and into points. A column in memory is one part.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError, MicroaggError
from microagg.columns.coded import Coded, Declared, counts_of
from microagg.columns.digits import Digits, is_few
from microagg.columns.kinds import find
from microagg.columns.kinds.date import are_firsts
from microagg.columns.kinds.kind import where_missing
from microagg.columns.points import Corners, Scores, stand
from microagg.columns.text import is_text, refuse_disguised, without_views
from microagg.kernels.exact_sums import Moments
from microagg.table.checks import plain


class Observed:
    """What a column shows of itself, part by part."""

    def __init__(
        self,
        name: str,
        column_type: pa.DataType,
        kind: str | None = None,
        order: tuple[str, ...] | None = None,
        most_categories: int = 1_000_000,
    ) -> None:
        self.name = name
        self._declared = Declared.by(name, column_type, kind, order)
        self._undeclared = kind is None and order is None
        self.rows = self.missing = 0
        # Of numbers. Text is added up as the finest of what it may be read as.
        self._moments, self._digits = Moments(), Digits()
        self._fineness = 0
        self._monthly = self._declared.kind == "date"
        self._nan = self._nulls = False
        # Of categories.
        self._most_categories = most_categories
        self._categories = plain(without_views(pa.nulls(0, column_type)))
        self._counts = np.zeros(0, np.int64)
        self._waiting: list[tuple[pa.Array, NDArray[np.int64]]] = []
        self._ordered: pa.Array | None = None
        self._step = 1 if self._declared.traits.categorical else self._shape(-1)[1]

    def add(self, part: pa.Array) -> None:
        """Take the next part."""
        self.rows += len(part)
        if self._declared.traits.categorical:
            self._count(part)
        else:
            self._sum(part)

    def merge(self, other: Self) -> None:
        """Take what somebody else saw of other parts."""
        self.rows += other.rows
        self.missing += other.missing
        self._moments.merge(other._moments)
        self._digits.merge(other._digits)
        self._fineness = max(self._fineness, other._fineness)
        self._step = min(self._step, other._step)
        self._monthly &= other._monthly
        self._nan |= other._nan
        self._nulls |= other._nulls
        if other._ordered is not None:
            self._same_order(other._ordered)
        other._settle_counts()
        self._merge_counts(other._categories, other._counts)

    def coding(self) -> "Coding":
        """What the column is, now that every part was seen."""
        categorical = self._declared.traits.categorical
        if self._undeclared and self._digits.whole:
            self._declared = replace(self._declared, kind="integer")
        categories, step, place = self._counted() if categorical else self._summed()
        few = self._digits.few
        return Coding(
            **vars(self._declared),
            categories=categories,
            fineness=self._fineness,
            step=step,
            nan=self._nan and not self._nulls,
            rows=self.rows,
            missing=self.missing,
            place=place,
            # Whole numbers that somebody declares continuous are to have means with a fraction.
            decimals=self._digits.decimals or None,
            monthly=self._monthly,
            few=few if few and is_few(len(few), self.rows - self.missing) else None,
        )

    def _shape(self, fineness: int) -> tuple[bool, int]:
        declared = self._declared
        try:
            return _shape(declared.kind, declared.type, fineness)
        except MicroaggError:
            # What does not fit is said with the name of the column.
            return _shape_of(declared, fineness)

    def _sum(self, part: pa.Array) -> None:
        traits = self._declared.traits
        entries, fineness = self._declared.read(part)
        if is_text(part.type):
            entries = entries.cast(traits.read_as[-1])
        coded = traits.encode(self.name, entries, self._declared.order)
        self._fineness = max(self._fineness, fineness)
        self._step = min(self._step, coded.step)
        values = coded.present
        if coded.missing is not None:
            self._nan |= coded.nan
            self._nulls |= not coded.nan
            self.missing += int(coded.missing.sum())
        self._monthly = self._monthly and are_firsts(coded)
        self._moments.add(values if coded.step == 1 else values * coded.step)
        if traits.amounts:
            self._digits.add(values, narrow=pa.types.is_float32(coded.type))

    def _summed(self) -> tuple[None, int, Scores]:
        whole, ticks = self._shape(self._fineness)
        # Of nothing, the step is a day: what it is in two types tells their ticks from each other.
        step = self._step * ticks // self._shape(-1)[1]
        return None, step, Scores.of_moments(self._moments, whole, self._step)

    def _count(self, part: pa.Array) -> None:
        if pa.types.is_dictionary(part.type) and part.type.ordered and self._declared.order is None:
            self._same_order(without_views(part).dictionary)
        entries = plain(without_views(part))
        self.missing += entries.null_count
        self._merge_counts(*counts_of(entries))

    def _merge_counts(self, values: pa.Array, counts: NDArray[np.int64]) -> None:
        self._waiting.append((values, counts))
        # Not each time: a part may have few of many categories.
        if sum(len(values) for values, _ in self._waiting) > len(self._categories):
            self._settle_counts()

    def _settle_counts(self) -> None:
        values, counts = zip((self._categories, self._counts), *self._waiting, strict=True)
        self._waiting = []
        encoded = pa.concat_arrays(values).dictionary_encode()
        self._categories = encoded.dictionary
        self._counts = np.zeros(len(self._categories), np.int64)
        np.add.at(self._counts, encoded.indices.to_numpy(), np.concatenate(counts))
        if len(self._categories) > self._most_categories:
            raise InputError(
                f"column {self.name!r} has more than {self._most_categories} categories; it may "
                "identify people: drop it as an identifier, or make it numbers"
            )

    def _same_order(self, dictionary: pa.Array) -> None:
        if self._ordered is None:
            self._ordered = dictionary
        elif not self._ordered.equals(dictionary):
            raise InputError(
                f"column {self.name!r} lists its ordered categories differently from part to part; "
                f"list them, lowest first: orders={{{self.name!r}: [...]}}"
            )

    def _counted(self) -> tuple[pa.Array, int, Scores | Corners]:
        self._settle_counts()
        traits, seen = self._declared.traits, self._categories
        if self._undeclared and is_text(self._declared.type):
            refuse_disguised(self.name, seen, self._counts)
        if self._ordered is not None:
            codes = pc.index_in(seen, value_set=self._ordered)
            seen = pa.DictionaryArray.from_arrays(codes, self._ordered, ordered=True)
        coded = traits.encode(self.name, seen, self._declared.order)
        assert coded.categories is not None
        counts = np.zeros(len(coded.categories), np.int64)
        np.add.at(counts, coded.values, self._counts)
        return coded.categories, 1, traits.placed.of_counts(counts)


@cache
def _shape(kind: str, column_type: pa.DataType, fineness: int) -> tuple[bool, int]:
    """Of columns of numbers of a kind and type: whether these are whole, and the step of none."""
    return _shape_of(Declared("", column_type, kind, None), fineness)


def _shape_of(declared: Declared, fineness: int) -> tuple[bool, int]:
    coded = declared.encode(pa.nulls(0, declared.type), fineness)
    return coded.whole, coded.step


@dataclass(frozen=True, eq=False)
class Coding(Declared):
    """How a column is read as numbers, and where these stand: the same in every part of a table.

    categories, step, nan: as in `Coded`, of the whole column; rows, missing: how many there are.
    fineness: which of the types that text may be read as takes all of it.
    decimals, monthly: as in `Coded`. few: all different numbers, where they are few and come again.
    """

    categories: pa.Array | None
    fineness: int
    step: int
    nan: bool
    rows: int
    missing: int
    place: Scores | Corners
    decimals: int | None = None
    monthly: bool = False
    few: tuple[float, ...] | None = None

    @property
    def has_gaps(self) -> bool:
        """Whether some values are missing."""
        return self.missing > 0

    @property
    def width(self) -> int:
        """How many coordinates its points have."""
        return self.place.width + self.has_gaps

    def code(self, part: pa.Array) -> Coded:
        """A part of the column as numbers."""
        coded = self._code_numbers(part) if self.categories is None else self._code_categories(part)
        if coded.missing is not None and not self.has_gaps:
            raise self._changed()
        return replace(coded, nan=self.nan, decimals=self.decimals, monthly=self.monthly)

    def as_coded(self, values: NDArray, missing: NDArray[np.bool_] | None) -> Coded:
        """Numbers that `code` gave, or that stand for some of its column, as a column again."""
        return replace(self.code(pa.nulls(0, self.type)), values=values, missing=missing)

    def fill(self, column: Coded, points: NDArray[np.float64]) -> None:
        """Write where the records of a part stand, (n, width)."""
        share = 1.0 - self.missing / self.rows if self.has_gaps else None
        stand(self.place, share, column.values, column.missing, points)

    def _code_numbers(self, part: pa.Array) -> Coded:
        coded = self.encode(part, self.fineness)
        if coded.step == self.step:
            return coded
        if coded.step % self.step:
            raise self._changed()
        return replace(coded, values=coded.values * (coded.step // self.step), step=self.step)

    def _code_categories(self, part: pa.Array) -> Coded:
        entries = plain(without_views(part))
        codes = pc.index_in(entries, value_set=self.categories)
        if codes.null_count != entries.null_count:
            raise self._changed()
        return replace(
            self.encode(pa.nulls(0, self.type)),
            values=codes.fill_null(0).to_numpy().astype(np.int64),
            missing=where_missing(entries),
            categories=self.categories,
        )

    def _changed(self) -> InputError:
        return InputError(
            f"column {self.name!r} holds values now that it did not hold at first; the input must "
            "not be changed while it is protected"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, but for the type and the categories, which Arrow writes down."""
        told = [each.name for each in fields(self) if each.name not in ("type", "categories")]
        return {name: getattr(self, name) for name in told} | {"place": asdict(self.place)}

    @classmethod
    def from_dict(
        cls, noted: Mapping[str, Any], column_type: pa.DataType, categories: pa.Array | None
    ) -> Self:
        """The coding that `to_dict` wrote down."""
        order = None if noted["order"] is None else tuple(noted["order"])
        place = find(noted["kind"]).placed(**noted["place"])
        few = None if noted["few"] is None else tuple(noted["few"])
        given = {**noted, "order": order, "place": place, "few": few}
        return cls(type=column_type, categories=categories, **given)
