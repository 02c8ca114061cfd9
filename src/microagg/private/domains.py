"""What is publicly known of each column before anyone looks at the data.

Everything here treats each record on its own. That is what makes it free: a function of one record
that does not look at the others changes nothing in a release but that record's own part.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from microagg.base.arrays import as_numbers
from microagg.base.errors import InputError, OptionError

OTHER = "other"
FROM_DATA = "from-data"
_HINT = (
    "choose them from what is known without the data, such as a legal limit, a scale's ends or "
    "last year's published range"
)


@dataclass(frozen=True)
class Range:
    """The values that a column of numbers may take."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The most that one record can change: the sensitivity of a single value."""
        return self.high - self.low

    def clamp(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """Move what lies outside to the nearer bound."""
        return np.clip(column, self.low, self.high)

    def to_steps(self, column: NDArray[np.float64], steps: int) -> NDArray[np.int64]:
        """Clamped values as whole steps, 0 to `steps`, from low to high: a public ruler.

        Sums of them are exact, so no rounding of a sum can reveal what went into it.
        """
        shares = (column - self.low) / self.width
        return np.clip(np.rint(shares * steps), 0, steps).astype(np.int64)

    def from_steps(self, places: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
        """Where such places lie, clamped to the bounds."""
        return self.clamp(self.low + self.width * (places / steps))


@dataclass(frozen=True)
class Categories:
    """The texts that a column may hold, and "other", which is always there.

    To refuse a text that nobody foresaw would tell that somebody has it, and to drop it would
    change n. So it is counted as "other", with noise like any category, also when nobody has it.
    """

    names: tuple[str, ...]
    # A record leaves one category and enters another: two counts change by one.
    sensitivity: ClassVar[int] = 2

    def count(self, column: NDArray) -> NDArray[np.int64]:
        """How many records hold each text."""
        places = {name: place for place, name in enumerate(self.names)}
        other = places[OTHER]
        found = [places.get(str(text), other) for text in column]
        return np.bincount(np.array(found, np.int64), minlength=len(self.names))


Domain = Range | Categories


def checked_columns(columns: Mapping[str, Any]) -> dict[str, NDArray]:
    """Columns of float64 or of text, of one length and with nothing missing."""
    checked = {str(name): _check_column(str(name), values) for name, values in columns.items()}
    if not checked:
        raise InputError("the table has no columns; at least one is needed")
    lengths = {column.size for column in checked.values()}
    if len(lengths) > 1:
        raise InputError("the columns must have one length, but they differ")
    if lengths == {0}:
        raise InputError("the table has no records; at least one is needed")
    return checked


def with_codes(columns: Mapping[str, NDArray], bounds: Any) -> dict[str, NDArray]:
    """The columns, numbers as texts where the bounds list whole numbers as categories: codes.

    The bounds alone say which, and each record is read for itself.
    """
    said = bounds if isinstance(bounds, Mapping) else {}
    return {
        name: np.array([_code(value) for value in column.tolist()], object)
        if column.dtype.kind == "f" and _lists_codes(said.get(name))
        else column
        for name, column in columns.items()
    }


def _lists_codes(said: Any) -> bool:
    listed = list(said) if isinstance(said, tuple | list | np.ndarray) else []
    return bool(listed) and all(
        isinstance(entry, str) and re.fullmatch(r"-?\d+", entry, re.ASCII) for entry in listed
    )


def _code(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _check_column(name: str, values: Any) -> NDArray:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise InputError(f"column {name!r} must hold one number or text a record") from None
    gaps = _missing(array)
    if gaps:
        raise InputError(
            f"column {name!r} has {gaps} missing values, and a private release can have none; drop "
            "those records or fill them by a rule that looks at no other record"
        )
    texts = array.dtype.kind in "UT"
    if array.dtype.kind == "O":
        texts = any(isinstance(entry, str) for entry in array.flat)
    if not texts:
        return as_numbers(array, f"column {name!r}", (1,)).astype(np.float64)
    if array.ndim != 1:
        raise InputError(f"column {name!r} must be 1-dimensional, but it has {array.ndim}")
    strange = sum(not isinstance(entry, str) for entry in array.tolist())
    if strange:
        raise InputError(
            f"column {name!r} holds text, but {strange} of {array.size} entries are no text; drop "
            "those records, or give them a category of their own such as 'unknown'"
        )
    return array


def _missing(array: NDArray) -> int:
    if array.dtype.kind == "f":
        return int(np.isnan(array).sum())
    if array.dtype.kind == "O":
        return sum(
            entry is None or (isinstance(entry, float) and entry != entry) for entry in array.flat
        )
    return 0


def check_bounds(bounds: Any, columns: Mapping[str, NDArray]) -> dict[str, Domain]:
    """The public domain of every column, from what the caller says."""
    if bounds is None:
        raise OptionError(
            "bounds are needed, as bounds={'column': (low, high)}: the noise hides a change from "
            f"one to the other; {_HINT}"
        )
    if isinstance(bounds, str) and bounds == FROM_DATA:
        return {name: _domain_of_data(name, column) for name, column in columns.items()}
    if not isinstance(bounds, Mapping):
        raise OptionError(
            "bounds must map column names to (low, high) or to a list of categories, but an "
            f"object of type {type(bounds).__name__} arrived"
        )
    given = {str(name): said for name, said in bounds.items()}
    unknown = [name for name in given if name not in columns]
    if unknown:
        raise OptionError(
            f"bounds name the column {unknown[0]!r}, which the table does not have; "
            f"it has {', '.join(columns)}"
        )
    missing = [name for name in columns if name not in given]
    if missing:
        raise OptionError(
            f"bounds are missing for {', '.join(map(repr, missing))}; {_HINT}; or leave such "
            "columns out of the table"
        )
    return {name: _domain(name, given[name], column) for name, column in columns.items()}


def _domain(name: str, said: Any, column: NDArray) -> Domain:
    entries = list(said) if isinstance(said, tuple | list | np.ndarray) else []
    numbers = column.dtype.kind == "f"
    if entries and all(isinstance(entry, str) for entry in entries):
        if numbers:
            raise OptionError(
                f"column {name!r} holds numbers, but its bounds are texts; give "
                f"bounds={{{name!r}: (low, high)}}, or list the codes that it may hold"
            )
        return Categories(tuple(dict.fromkeys([*map(str, entries), OTHER])))
    if not numbers:
        raise OptionError(
            f"column {name!r} holds text, so its bounds must list all categories that it may "
            f"hold, as texts; {_HINT}"
        )
    return as_range(said, f"bounds of column {name!r}")


def as_range(said: Any, name: str) -> Range:
    """A pair of numbers as a range with a width, or one sentence."""
    entries = list(said) if isinstance(said, tuple | list | np.ndarray) else []
    fit = len(entries) == 2 and not any(
        isinstance(entry, bool | np.bool_) or not isinstance(entry, Real) for entry in entries
    )
    if not fit:
        raise OptionError(f"{name} must be a pair of numbers (low, high)")
    low, high = map(float, entries)
    if not (low < high and math.isfinite(high - low)):
        raise OptionError(f"{name} must be finite, with low below high")
    return Range(low, high)


def _domain_of_data(name: str, column: NDArray) -> Domain:
    """For experiments only: the bounds then tell the extremes of the data."""
    if column.dtype.kind != "f":
        return Categories(tuple(dict.fromkeys([*sorted(map(str, column)), OTHER])))
    low, high = float(column.min()), float(column.max())
    if low == high:
        raise InputError(f"column {name!r} is constant: its bounds cannot come from the data")
    return Range(low, high)
