"""Columns of a table that is seen in parts: what each is as a whole, so that parts are read alike.

`Observed` looks at a column part by part, in any order and on any machine, and adds up exactly:
the `Coding` it arrives at depends on the column alone. A coding then turns any part of the column
into numbers, and into points as `matrix` does for a column that is held whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.columns.coded import Coded, encode, is_category, kind_of
from microagg.columns.points import corners_of, width_of_corners
from microagg.columns.text import refuse_disguised
from microagg.kernels.exact_sums import Moments

_MOST_CATEGORIES = 100_000
# Squares of larger numbers may overflow when they are added up.
_LARGEST = 1e150


class Observed:
    """What a column shows of itself, part by part."""

    def __init__(
        self,
        name: str,
        column_type: pa.DataType,
        kind: str | None = None,
        order: tuple[str, ...] | None = None,
    ) -> None:
        self.name, self.type, self.order = name, column_type, order
        unsaid = kind is None and order is None
        nothing = pa.array([], column_type)
        self.kind = kind or ("ordinal" if order is not None else kind_of(name, nothing))
        self._disguised = unsaid and self.kind == "nominal" and _is_text(column_type)
        self.rows = self.missing = 0
        self._nulls = False
        self._moments = Moments()
        self._step = 0
        self._categories = _plain(pa.array([], column_type))
        self._counts = np.zeros(0, np.int64)
        self._ordered: pa.Array | None = None

    def add(self, part: pa.Array) -> None:
        """Take the next part."""
        self.rows += len(part)
        if is_category(self.kind):
            self._count(part)
            return
        coded = self._encoded(part)
        self._nulls |= part.null_count > 0
        values = coded.values
        if coded.missing is not None:
            self.missing += int(coded.missing.sum())
            values = values[~coded.missing]
        if values.dtype.kind == "f" and values.size and np.abs(values).max() > _LARGEST:
            raise InputError(
                f"column {self.name!r} holds numbers beyond {_LARGEST:g}, too large to be added up "
                "in parts; divide them by a common unit"
            )
        if coded.kind == "date":
            self._step = min(self._step or coded.step, coded.step)
            values = values * coded.step
        self._moments.add(values)

    def merge(self, other: Self) -> None:
        """Take what somebody else saw of other parts."""
        self.rows += other.rows
        self.missing += other.missing
        self._nulls |= other._nulls
        self._moments.merge(other._moments)
        steps = [step for step in (self._step, other._step) if step]
        self._step = min(steps, default=0)
        if other._ordered is not None:
            self._same_order(other._ordered)
        self._merge_counts(other._categories, other._counts)

    def coding(self) -> "Coding":
        """What the column is, now that every part was seen."""
        if is_category(self.kind):
            return self._coding_of_categories()
        step = self._step or 1
        mean = self._moments.mean / step
        template = self._encoded(pa.array([], self.type))
        origin: int | float = round(mean) if template.whole else float(mean)
        return Coding(
            name=self.name,
            kind=self.kind,
            type=self.type,
            order=self.order,
            categories=None,
            step=step,
            nan=pa.types.is_floating(self.type) and self.missing > 0 and not self._nulls,
            rows=self.rows,
            missing=self.missing,
            origin=origin,
            rest=float(mean - Fraction(origin)),
            deviation=self._moments.deviation / step,
            home=np.zeros(0),
        )

    def _encoded(self, part: pa.Array) -> Coded:
        return _encoded(self.name, part, self.kind, self.order)

    def _count(self, part: pa.Array) -> None:
        if pa.types.is_dictionary(part.type) and part.type.ordered and self.order is None:
            self._same_order(part.dictionary)
        self.missing += part.null_count
        found = pc.value_counts(_plain(part).drop_null())
        self._merge_counts(found.field("values"), found.field("counts").to_numpy())

    def _merge_counts(self, values: pa.Array, counts: NDArray[np.int64]) -> None:
        encoded = pa.concat_arrays([self._categories, values]).dictionary_encode()
        self._categories = encoded.dictionary
        summed = np.zeros(len(self._categories), np.int64)
        np.add.at(summed, encoded.indices.to_numpy(), np.concatenate([self._counts, counts]))
        self._counts = summed
        if len(self._categories) > _MOST_CATEGORIES:
            raise InputError(
                f"column {self.name!r} has more than {_MOST_CATEGORIES} categories; it may "
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

    def _coding_of_categories(self) -> "Coding":
        if self._disguised:
            refuse_disguised(self.name, self._categories)
        seen = self._categories
        if self._ordered is not None:
            codes = pc.index_in(seen, value_set=self._ordered)
            seen = pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), self._ordered, True)
        coded = encode(self.name, seen, self.kind, self.order)
        categories = _plain(coded.categories)
        counts = np.zeros(max(1, len(categories)), np.int64)
        np.add.at(counts, coded.values, self._counts)
        coding = Coding(
            name=self.name,
            kind=self.kind,
            type=self.type,
            order=self.order,
            categories=categories,
            step=1,
            nan=False,
            rows=self.rows,
            missing=self.missing,
            origin=0,
            rest=0.0,
            deviation=0.0,
            home=np.zeros(0),
        )
        present = max(1, int(counts.sum()))
        if coding.numeric:
            ranks = [int(count) * rank for rank, count in enumerate(counts)]
            squares = sum(rank * total for rank, total in enumerate(ranks))
            mean = Fraction(sum(ranks), present)
            variance = Fraction(squares, present) - mean**2
            origin = round(mean)
            return replace(
                coding,
                origin=origin,
                rest=float(mean - origin),
                deviation=float(variance) ** 0.5,
            )
        weighted = counts[:, np.newaxis] * corners_of(len(categories))
        return replace(coding, home=weighted.sum(axis=0) / present)


@dataclass(frozen=True, eq=False)
class Coding:
    """How a column is read as numbers, and where these stand: the same in every part of a table.

    categories, step, nan: as in `Coded`, of the whole column; rows, missing: how many there are.
    origin, rest: their sum is the mean of the numbers; whole numbers have a whole origin.
    home: the mean of the places of categories.
    """

    name: str
    kind: str
    type: pa.DataType
    order: tuple[str, ...] | None
    categories: pa.Array | None
    step: int
    nan: bool
    rows: int
    missing: int
    origin: int | float
    rest: float
    deviation: float
    home: NDArray[np.float64]

    @property
    def numeric(self) -> bool:
        """Whether values have distances."""
        return self.kind not in ("nominal", "boolean")

    @property
    def has_gaps(self) -> bool:
        """Whether some values are missing."""
        return self.missing > 0

    @property
    def varies(self) -> bool:
        """Whether there is something to lose: two values that differ."""
        if self.numeric:
            return self.deviation > 0.0
        return self.categories is not None and len(self.categories) > 1

    @property
    def width(self) -> int:
        """How many coordinates its points have."""
        values = 1
        if not self.numeric and self.categories is not None:
            values = width_of_corners(len(self.categories))
        return values + (self.missing > 0)

    def code(self, part: pa.Array) -> Coded:
        """A part of the column as numbers."""
        if self.categories is not None:
            coded = self._code_categories(part)
        else:
            coded = _encoded(self.name, part, self.kind, self.order)
            if self.kind == "date":
                values = coded.values * (coded.step // self.step)
                coded = replace(coded, values=values, step=self.step)
        if coded.missing is not None and self.missing == 0:
            raise _changed(self.name)
        return replace(coded, nan=self.nan)

    def as_coded(self, values: NDArray, missing: NDArray[np.bool_] | None) -> Coded:
        """Numbers that `code` gave, or that stand for some of its column, as a column again."""
        return replace(self.code(pa.array([], self.type)), values=values, missing=missing)

    def fill(self, column: Coded, points: NDArray[np.float64]) -> None:
        """Write where the records of a part stand, (n, width)."""
        if self.numeric:
            points[:, 0] = (_offsets(column.values, self.origin) - self.rest) * self._scale
        else:
            kinds = 0 if self.categories is None else len(self.categories)
            values = points[:, : width_of_corners(kinds)]
            values[:] = corners_of(kinds)[column.values] - self.home
        if self.missing:
            points[:, -1] = 0.0 if column.missing is None else column.missing
            if column.missing is not None:
                points[column.missing, :-1] = 0.0

    @property
    def _scale(self) -> float:
        return 1.0 / self.deviation if self.deviation >= np.finfo(float).tiny else 0.0

    def _code_categories(self, part: pa.Array) -> Coded:
        plain = _plain(part)
        codes = pc.index_in(plain, value_set=self.categories)
        missing = plain.is_null().to_numpy(zero_copy_only=False) if plain.null_count else None
        if codes.null_count != plain.null_count:
            raise _changed(self.name)
        values = codes.fill_null(0).to_numpy().astype(np.int64)
        return Coded(self.name, self.kind, values, True, missing, self.type, self.categories)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, but for the type and the categories, which Arrow writes down."""
        return {
            "name": self.name,
            "kind": self.kind,
            "order": None if self.order is None else list(self.order),
            "step": self.step,
            "nan": self.nan,
            "rows": self.rows,
            "missing": self.missing,
            "origin": self.origin,
            "rest": self.rest,
            "deviation": self.deviation,
            "home": self.home.tolist(),
        }

    @classmethod
    def from_dict(
        cls, plain: Mapping[str, Any], column_type: pa.DataType, categories: pa.Array | None
    ) -> Self:
        """The coding that `to_dict` wrote down."""
        order = None if plain["order"] is None else tuple(plain["order"])
        told = {**plain, "order": order, "home": np.array(plain["home"], np.float64)}
        return cls(type=column_type, categories=categories, **told)


def _encoded(name: str, part: pa.Array, kind: str, order: tuple[str, ...] | None) -> Coded:
    if kind == "date" and _is_text(part.type):
        # Parts must agree on how fine moments are; days always do.
        try:
            days = pc.utf8_trim_whitespace(part).cast(pa.date32())
        except pa.ArrowInvalid:
            raise InputError(
                f"column {name!r} is text and was declared date, but not all of it is written as "
                "YYYY-MM-DD; make it a column of dates first"
            ) from None
        return replace(encode(name, days, kind), text=part.type)
    return encode(name, part, kind, order)


def _offsets(values: NDArray, origin: int | float) -> NDArray[np.float64]:
    """Distances from the origin; those of whole numbers are exact until they become floats."""
    if values.dtype.kind == "f":
        return values - origin
    start = values.dtype.type(origin)
    above = (values - start).astype(np.uint64).astype(np.float64)
    below = (start - values).astype(np.uint64).astype(np.float64)
    return np.where(values >= start, above, -below)


def _plain(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        return array.cast(array.type.value_type)
    return array.cast(pa.large_string()) if array.type == pa.string_view() else array


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def _changed(name: str) -> InputError:
    return InputError(
        f"column {name!r} holds values now that it did not hold at first; the input must not be "
        "changed while it is protected"
    )
