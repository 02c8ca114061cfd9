"""A column as numbers, and numbers as a column again: the kinds of quasi-identifiers."""

from dataclasses import dataclass, replace
from typing import Any, Self, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError, OptionError
from microagg.columns.text import as_understood, refuse_disguised
from microagg.columns.told import Kind

_CATEGORIES = ("ordinal", "nominal", "boolean")
_TICKS_A_SECOND = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as numbers.

    kind: continuous, integer, ordinal, nominal, boolean or date.
    values: the numbers themselves, or ranks and codes of `categories`; zero where missing.
    whole: values are integers and stay such: counts, days, ticks, units of a decimal's last place.
    missing: where there is no value; None if there is one everywhere.
    categories: of ordinal (in order), nominal and boolean columns, in the column's own type.
    type: what numbers are turned back to.
    text: the type of text that the column is, where it was read as numbers or dates.
    step: dates are published as multiples of so many ticks, as coarse as they came.
    nan: missing values are written as NaN, as the column did.
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

    @property
    def numeric(self) -> bool:
        """Whether values have distances: all but nominal and boolean columns do."""
        return self.kind not in ("nominal", "boolean")

    @property
    def has_gaps(self) -> bool:
        """Whether some values are missing."""
        return self.missing is not None

    @property
    def varies(self) -> bool:
        """Whether there is something to lose: two values that differ."""
        present = self.values if self.missing is None else self.values[~self.missing]
        return bool((present != present[:1]).any())

    def rows(self, chosen: NDArray[np.bool_] | NDArray[np.int64] | slice) -> Self:
        """The same column with some rows only."""
        missing = None if self.missing is None else self.missing[chosen]
        if missing is not None and not missing.any():
            missing = None
        return replace(self, values=self.values[chosen], missing=missing)


def encode(
    name: str,
    array: pa.Array,
    kind: str | None = None,
    order: tuple[str, ...] | None = None,
    declared_missing: NDArray[np.bool_] | None = None,
) -> Coded:
    """A column as numbers: of the kind its type says, or of the kind asked for.

    order: the categories of an ordinal column, lowest first.
    declared_missing: where a code stands for a missing value.
    """
    if declared_missing is not None and declared_missing.any():
        array = pc.if_else(pa.array(declared_missing), pa.scalar(None, array.type), array)
    if kind is None:
        kind = "ordinal" if order is not None else kind_of(name, array)
    if kind not in get_args(Kind):
        raise OptionError(
            f"kinds says that {name!r} is {kind!r}; there are {', '.join(get_args(Kind))}"
        )
    if is_category(kind):
        return _categories(name, array, kind, order)
    text = array.type if _is_text(array.type) else None
    if text is not None:
        array = _understood(name, array, kind)
    made = _dates(name, array) if kind == "date" else _numbers(name, array, kind)
    return made if text is None else replace(made, text=text)


def decode(coded: Coded, values: NDArray, missing: NDArray[np.bool_]) -> pa.Array:
    """Numbers as entries of the column: of its type, missing where asked."""
    entries = _decode(coded, values, missing)
    return entries if coded.text is None else entries.cast(coded.text)


def _decode(coded: Coded, values: NDArray, missing: NDArray[np.bool_]) -> pa.Array:
    if coded.categories is not None:
        if len(coded.categories) == 0:
            return pa.nulls(values.size, coded.type)
        codes = pa.array(values.astype(np.int64), mask=missing)
        entries = coded.categories.take(codes)
        if pa.types.is_dictionary(coded.type):
            indices = codes.cast(coded.type.index_type)
            return pa.DictionaryArray.from_arrays(
                indices, coded.categories, ordered=coded.type.ordered
            )
        return entries.cast(coded.type)
    if coded.kind == "date":
        ticks = pa.array(values.astype(np.int64) * coded.step, mask=missing)
        if pa.types.is_date32(coded.type) or pa.types.is_time32(coded.type):
            ticks = ticks.cast(pa.int32())
        return ticks.cast(coded.type)
    if pa.types.is_decimal(coded.type):
        return _as_decimals(values.astype(np.int64), missing, coded.type)
    if coded.nan:
        return pa.array(np.where(missing, np.nan, values), coded.type)
    return pa.array(values, mask=missing).cast(coded.type, safe=False)


def is_category(kind: str) -> bool:
    """Whether columns of this kind have categories, with or without an order."""
    return kind in _CATEGORIES


def kind_of(name: str, array: pa.Array) -> str:
    """How a column is treated if nobody says how, by its type."""
    kind = array.type
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "continuous"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_dictionary(kind):
        return "ordinal" if kind.ordered else "nominal"
    if _is_time(kind):
        return "date"
    if _is_text(kind):
        refuse_disguised(name, array)
        return "nominal"
    if pa.types.is_null(kind):
        return "nominal"
    raise InputError(
        f"column {name!r} is of type {kind}, which cannot be protected; "
        "make it numbers, text or dates, or leave it out of quasi_identifiers"
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_temporal(kind) and not pa.types.is_interval(kind))


def _understood(name: str, array: pa.Array, kind: str) -> pa.Array:
    read = as_understood(array, kind)
    if read is None:
        raise InputError(
            f"column {name!r} is text and was declared {kind}, but not all of it can be read so; "
            "correct those entries, or declare it nominal"
        )
    return read


def _split_missing(array: pa.Array) -> tuple[pa.Array, NDArray[np.bool_] | None]:
    if array.null_count == 0:
        return array, None
    return array, array.is_null().to_numpy(zero_copy_only=False)


def _numbers(name: str, array: pa.Array, kind: str) -> Coded:
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    given = array.type
    if pa.types.is_boolean(given) or not (
        pa.types.is_floating(given) or pa.types.is_integer(given) or pa.types.is_decimal(given)
    ):
        raise OptionError(
            f"column {name!r} was declared {kind}, but its type is {given}; "
            "only numbers can be so treated"
        )
    array, missing = _split_missing(array)
    nan = False
    if pa.types.is_decimal(given):
        values: NDArray = _unscaled(name, array)
        return Coded(name, kind, values, True, missing, given)
    if pa.types.is_floating(given):
        values = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
        not_numbers = np.isnan(values)
        if not_numbers.any():
            nan = missing is None
            missing = not_numbers
        if np.isinf(values).any():
            raise InputError(
                f"column {name!r} holds infinite numbers ({int(np.isinf(values).sum())}); "
                "replace them or mark them missing"
            )
    else:
        filled = array.fill_null(0) if missing is not None else array
        wide = pa.uint64() if given == pa.uint64() else pa.int64()
        values = filled.cast(wide).to_numpy()
    if missing is not None:
        values = np.where(missing, np.zeros(1, values.dtype), values)
    if kind == "integer" and values.dtype.kind == "f":
        values = _whole(name, values)
    if kind == "continuous" and values.dtype.kind != "f":
        values, given = values.astype(np.float64), pa.float64()
    return Coded(name, kind, values, kind == "integer", missing, given, nan=nan)


def _whole(name: str, values: NDArray) -> NDArray[np.int64]:
    broken = int((values != np.floor(values)).sum()) + int((np.abs(values) >= 2.0**62).sum())
    if broken:
        raise InputError(
            f"column {name!r} was declared integer, but {broken} of its values have a fraction or "
            "are too large; declare it continuous"
        )
    return values.astype(np.int64)


def _unscaled(name: str, array: pa.Array) -> NDArray[np.int64]:
    """Decimals as whole numbers of their last place."""
    try:
        wide = array.cast(pa.decimal128(18, array.type.scale))
    except pa.ArrowInvalid:
        raise InputError(
            f"column {name!r} holds decimals of more than 18 digits; make them floats"
        ) from None
    words = np.frombuffer(wide.buffers()[1], np.int64).reshape(-1, 2)
    values = words[wide.offset : wide.offset + len(wide), 0]
    return np.where(wide.is_null().to_numpy(zero_copy_only=False), 0, values)


def _as_decimals(
    values: NDArray[np.int64], missing: NDArray[np.bool_], kind: pa.DataType
) -> pa.Array:
    words = np.column_stack([values, values >> 63])
    buffers = [None, pa.py_buffer(np.ascontiguousarray(words))]
    wide = pa.Array.from_buffers(pa.decimal128(38, kind.scale), values.size, buffers)
    return pc.if_else(pa.array(missing), None, wide).cast(kind)


def _dates(name: str, array: pa.Array) -> Coded:
    if not _is_time(array.type):
        raise OptionError(f"column {name!r} was declared date, but its type is {array.type}")
    array, missing = _split_missing(array)
    narrow = pa.types.is_date32(array.type) or pa.types.is_time32(array.type)
    ticks = array.cast(pa.int32()).cast(pa.int64()) if narrow else array.cast(pa.int64())
    values = (ticks.fill_null(0) if missing is not None else ticks).to_numpy()
    step = _step(values, array.type)
    return Coded(name, "date", values // step, True, missing, array.type, step=step)


def ticks_a_day(kind: pa.DataType) -> int:
    """How many units of a type of dates, moments or durations a day has."""
    if pa.types.is_date32(kind):
        return 1
    return 86400 * _TICKS_A_SECOND["ms" if pa.types.is_date64(kind) else kind.unit]


def _step(ticks: NDArray[np.int64], kind: pa.DataType) -> int:
    """How coarse the moments are: days, hours, ... in ticks, if all of them are such."""
    if pa.types.is_date32(kind):
        return 1
    a_second = ticks_a_day(kind) // 86400
    for seconds in (86400, 3600, 60, 1):
        if not (ticks % (seconds * a_second)).any():
            return seconds * a_second
    for step in (10**6, 10**3):
        if step < a_second and not (ticks % step).any():
            return step
    return 1


def _categories(name: str, array: pa.Array, kind: str, order: tuple[str, ...] | None) -> Coded:
    given = array.type
    in_order = pa.types.is_dictionary(given) and given.ordered and order is None
    encoded = _plainly_encoded(array, keep_unused=in_order)
    categories = encoded.dictionary
    if pa.types.is_null(given):
        empty = np.ones(len(array), bool)
        return Coded(name, kind, np.zeros(len(array), np.int64), True, empty, given, array[:0])
    indices, missing = _split_missing(encoded.indices)
    codes = indices.fill_null(0).cast(pa.int64()).to_numpy().copy()
    if not in_order:
        ranks = _ranks(name, categories, kind, order)
        if ranks.size:
            codes = ranks[codes]
        categories = categories.take(pa.array(np.argsort(ranks)))
    if kind == "boolean" and len(categories) > 2:
        raise InputError(
            f"column {name!r} was declared boolean, but it has {len(categories)} different values"
        )
    if missing is not None:
        codes[missing] = 0
    return Coded(name, kind, codes, True, missing, given, categories)


def _plainly_encoded(array: pa.Array, keep_unused: bool) -> pa.DictionaryArray:
    """A dictionary in which each category stands once, and none of them is missing."""
    if not pa.types.is_dictionary(array.type):
        return array.dictionary_encode()
    categories = array.dictionary
    known = categories if keep_unused else categories.take(array.indices.unique().drop_null())
    known = known.drop_null().unique()
    if len(known) == len(categories):
        return array
    places = pc.index_in(categories, value_set=known)
    return pa.DictionaryArray.from_arrays(places.take(array.indices), known)


def _ranks(
    name: str, categories: pa.Array, kind: str, order: tuple[str, ...] | None
) -> NDArray[np.int64]:
    """The place of each category among its likes; a category that appears nowhere has none."""
    if order is None:
        if kind == "ordinal" and _is_text(categories.type):
            raise OptionError(
                f"column {name!r} is ordinal, but nothing says in which order; "
                f"list its categories, lowest first: orders={{{name!r}: [...]}}"
            )
        if pa.types.is_boolean(categories.type):
            categories = categories.cast(pa.int8())
        places = pc.array_sort_indices(categories).to_numpy()
    else:
        known: dict[Any, int] = {category: place for place, category in enumerate(order)}
        texts = categories.cast(pa.string()).to_pylist()
        strange = sum(text not in known for text in texts)
        if strange:
            raise InputError(
                f"column {name!r} has {strange} categories that orders does not list; list them all"
            )
        places = np.argsort([known[text] for text in texts])
    ranks = np.empty(len(categories), np.int64)
    ranks[places] = np.arange(len(categories))
    return ranks
