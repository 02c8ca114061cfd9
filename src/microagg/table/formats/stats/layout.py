"""What files of statistics packages say beside their numbers and texts.

SPSS, Stata and SAS hold numbers and text only: dates are numbers with a format, and missing values
may be codes that a variable declares (SPSS: values and ranges) or that lie above what it can hold
(Stata: .a to .z). A table shows dates as dates and moments as moments where every value is one, and
the codes as they are, so that a column nobody touched is written as it was read; `mask_of_missing`
finds them.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

SUFFIXES = {
    ".sav": "SPSS",
    ".zsav": "SPSS",
    ".dta": "Stata",
    ".sas7bdat": "SAS",
    ".xpt": "SAS xport",
}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Stata keeps .a to .z just above the largest number of a type: these are the codes of long and
# double, the two types that can hold every Stata number.
LARGEST_LONG = 2_147_483_620
LARGEST_DOUBLE = float.fromhex("0x1.fffffffffffffp+1022")
LONG_TAGS = {letter: LARGEST_LONG + 2 + place for place, letter in enumerate(_LETTERS)}
DOUBLE_TAGS = {
    letter: float.fromhex(f"0x1.{place + 1:03x}p+1023") for place, letter in enumerate(_LETTERS)
}
EXACT = 2**53

_WHOLE = re.compile(r"(F|N|COMMA|DOT)\d+(\.0)?")
_DATES = {
    "SPSS": ("DATE", "ADATE", "EDATE", "JDATE", "SDATE"),
    "SAS": ("DATE", "DDMMYY", "MMDDYY", "YYMMDD", "E8601DA", "B8601DA", "WEEKDATE", "WEEKDATX"),
}
_MOMENTS = {
    "SPSS": ("DATETIME", "YMDHMS"),
    "SAS": ("DATETIME", "E8601DT", "B8601DT", "DATEAMPM"),
}
_DAY_MS = 86_400_000


@dataclass(frozen=True)
class MissingCodes:
    """Which values a variable declares to be missing: single ones, and ranges with both ends.

    They are the numbers of the file, also where the table shows dates.
    """

    values: tuple[float | str, ...] = ()
    ranges: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Layout:
    """What a file of the same kind needs to look alike; most of it by the name of the column.

    kind: SPSS, Stata, SAS or SAS xport.
    version: of a .dta or .xpt file; of SPSS the compression (0 none, 1 by rows, 2 zlib).
    types: of the columns as they were read; what is said of a column holds while its type does.
    kinds: of columns that labels or measurement levels tell to be codes.
    tags: of Stata, the letters of the extended missing values that a column uses.
    """

    kind: str
    version: int
    types: dict[str, pa.DataType] = field(default_factory=dict)
    file_label: str = ""
    table_name: str | None = None
    notes: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    value_labels: dict[str, dict[Any, str]] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    informats: dict[str, str] = field(default_factory=dict)
    measures: dict[str, str] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)
    missing_codes: dict[str, MissingCodes] = field(default_factory=dict)
    tags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)

    def still_like(self, name: str, kind: pa.DataType) -> bool:
        """Whether a column holds the same sort of thing as when it was read."""
        before = self.types.get(name)
        return before is not None and _sort(before) == _sort(kind)

    def with_values_of(self, name: str, column: pa.ChunkedArray) -> Self:
        """The same without labels and codes of a column for values that it does not hold."""
        text = pa.types.is_string(column.type)
        if not self.still_like(name, column.type):
            held: set[Any] = set()
        elif text:
            held = set(column.unique().to_pylist())
        else:
            held = set(np.unique(numbers_of(column, self.kind)).tolist())
        codes, tags = self.missing_codes.get(name, MissingCodes()), self.tags.get(name, ())
        by_tag = dict(zip(tags, codes.values, strict=False))
        found = MissingCodes(
            tuple(code for code in codes.values if code in held),
            tuple(
                (low, high)
                for low, high in codes.ranges
                if any(low <= each <= high for each in held)
            ),
        )
        shown = self.formats.get(name, "")
        return replace(
            self,
            value_labels=_with(
                self.value_labels,
                name,
                {
                    value: label
                    for value, label in self.value_labels.get(name, {}).items()
                    if (value if text else by_tag.get(value, value)) in held
                },
            ),
            missing_codes=_with(
                self.missing_codes, name, found if found != MissingCodes() else None
            ),
            tags=_with(self.tags, name, tuple(tag for tag in tags if by_tag[tag] in held)),
            # What follows an exclamation mark is shown as it stands: it may be anything.
            formats=_with(self.formats, name, None if "!" in shown else shown),
        )


def _with(said: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    rest = {other: said[other] for other in said if other != name}
    return {**rest, name: value} if value else rest


def _sort(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "number"
    return str(kind)


def mask_of_missing(array: pa.ChunkedArray, layout: Layout, name: str) -> NDArray[np.bool_] | None:
    """Which rows of a column hold a code declared as missing; None if it declares none.

    Rows that are null already do not count. A column that holds another sort of thing than when it
    was read, such as ranges instead of numbers, holds no codes.
    """
    codes = layout.missing_codes.get(name)
    if codes is None or not layout.still_like(name, array.type):
        return None
    if pa.types.is_string(array.type):
        found = pc.is_in(array, value_set=pa.array(codes.values, pa.string()))
        return found.to_numpy(zero_copy_only=False)
    numbers = numbers_of(array, layout.kind)
    mask = np.isin(numbers, np.array(codes.values, np.float64))
    for low, high in codes.ranges:
        mask |= (numbers >= low) & (numbers <= high)
    return mask


def understood(numbers: pa.Array, kind: str, shown: str) -> pa.Array:
    """Numbers of a file as dates, moments or whole numbers.

    Only if their format says so, and if every one of them can be had back exactly.
    """
    unit = unit_of(kind, shown)
    if unit is not None:
        target = pa.date32() if unit == "D" else pa.timestamp("ms")
        whole = _exactly(numbers, *_ratio(kind, unit), _shift(kind, unit), target)
    elif kind == "SPSS" and _WHOLE.fullmatch(shown):
        whole = _exactly(numbers, 1, 1, 0, pa.int64())
    else:
        whole = None
    return numbers if whole is None else whole


def unit_of(kind: str, shown: str) -> str | None:
    """D if a format shows dates, ms if it shows moments, None otherwise."""
    if kind == "Stata":
        # Anything may follow, as in %tdD_m_Y; a clock without a date is a number here.
        if shown.startswith(("%tcHH", "%tchh")):
            return None
        if shown.startswith(("%tc", "%-tc")):
            return "ms"
        return "D" if shown.startswith(("%td", "%-td", "%d")) else None
    word = shown.rstrip(".0123456789").upper()
    family = "SPSS" if kind == "SPSS" else "SAS"
    if word in _MOMENTS[family]:
        return "ms"
    return "D" if word in _DATES[family] else None


def numbers_of(array: pa.ChunkedArray, kind: str) -> NDArray[np.float64]:
    """The numbers that a file holds for a column of numbers, dates or moments; NaN where null."""
    if pa.types.is_date(array.type):
        unit, whole = "D", array.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
    elif pa.types.is_timestamp(array.type):
        unit, whole = "ms", array.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
    else:
        return array.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy()
    times, per = _ratio(kind, unit)
    moved = pc.subtract(whole, _shift(kind, unit)).cast(pa.float64()).fill_null(np.nan)
    return moved.to_numpy() * per / times


def _ratio(kind: str, unit: str) -> tuple[int, int]:
    """A number of the file, times the first, divided by the second, counts units of the table."""
    if unit == "D":
        return (1, 86_400) if kind == "SPSS" else (1, 1)
    return (1, 1) if kind == "Stata" else (1000, 1)


def _shift(kind: str, unit: str) -> int:
    zero = np.datetime64("1582-10-14" if kind == "SPSS" else "1960-01-01")
    days = int(zero.astype(np.int64))
    return days if unit == "D" else days * _DAY_MS


def _exactly(
    numbers: pa.Array, times: int, per: int, shift: int, target: pa.DataType
) -> pa.Array | None:
    """Whole numbers of the target type from which the numbers can be had back; None if not."""
    gaps = numbers.is_null().to_numpy(zero_copy_only=False)
    given = numbers.fill_null(0.0).to_numpy()
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.rint(given * times / per)
        if not np.all(np.abs(whole) < EXACT) or not np.array_equal(whole * per / times, given):
            return None
    moved = pa.array(whole.astype(np.int64) + shift, mask=gaps)
    if target == pa.int64():
        return moved
    days = np.abs(moved.fill_null(0).to_numpy()).max(initial=0)
    # Other programs know the years 1 to 9999 only.
    if days > 700_000 * (1 if target == pa.date32() else _DAY_MS):
        return None
    return moved.cast(pa.int32() if target == pa.date32() else pa.int64()).cast(target)
