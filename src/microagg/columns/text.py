"""Text that may be something else: numbers and dates in disguise."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError

_NUMBER = r"^\s*[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?\s*$"
_CODE = r"^0\d+$"
_DATE = r"^\s*\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T].*)?$"
# Whichever of the two is the day.
_EITHER = r"^(0?[1-9]|1[0-2])([-/])(0?[1-9]|1[0-2])[-/]\d{4}$"
_READINGS = (("%d/%m/%Y", "the day first"), ("%m/%d/%Y", "the month first"))
_MOST = 0.5


def is_text(column_type: pa.DataType) -> bool:
    """Whether a type is one of Arrow's types of text."""
    return column_type in (pa.string(), pa.large_string(), pa.string_view())


def without_views(array: pa.Array) -> pa.Array:
    """The same entries, but text that Arrow can compute with."""
    if array.type == pa.string_view():
        return array.cast(pa.large_string())
    if pa.types.is_dictionary(array.type) and array.type.value_type == pa.string_view():
        return pa.DictionaryArray.from_arrays(
            array.indices, array.dictionary.cast(pa.large_string()), ordered=array.type.ordered
        )
    return array


def read_text(array: pa.Array, types: Sequence[pa.DataType]) -> tuple[pa.Array, int] | None:
    """Text read as the first of these types that takes all of it, and which one that is."""
    trimmed = pc.utf8_trim_whitespace(array)
    for place, wanted in enumerate(types):
        try:
            return trimmed.cast(wanted), place
        except pa.ArrowInvalid:
            continue
    return None


def refuse_disguised(name: str, texts: pa.Array, rows: NDArray[np.int64]) -> None:
    """Refuse text that is mostly numbers or dates: nobody said it should be mere categories.

    texts: the different ones; rows: how many rows have each. Codes with leading zeros, such as
    postal codes, are categories.
    """
    total = int(rows.sum())
    if total == 0:
        return

    def rows_like(pattern: str) -> int:
        fits = pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)
        return int(rows[fits].sum())

    numbers, dates = rows_like(_NUMBER), rows_like(_DATE)
    if dates == total == rows_like(_EITHER):
        day, month = (f"{form} ({told})" for form, told in _READINGS)
        raise InputError(
            f"column {name!r} holds dates as text that can be read as {day} and as {month}; of a "
            "text file say date_format (--date-format), otherwise make them dates"
        )
    if dates > _MOST * total:
        raise InputError(
            f"column {name!r} holds dates as text; if they are all written as YYYY-MM-DD, say so: "
            f"kinds={{{name!r}: 'date'}}; otherwise write them so, or declare them 'nominal'"
        )
    if numbers == total and rows_like(_CODE) == 0:
        raise InputError(
            f"column {name!r} holds numbers as text; make them numbers, or say what they are: "
            f"kinds={{{name!r}: 'continuous'}}, 'integer' or 'nominal'"
        )
    if _MOST * total < numbers < total:
        raise InputError(
            f"column {name!r} mixes numbers ({numbers} records) with other text "
            f"({total - numbers}); correct it, list the texts that mean missing "
            f"(missing_values), or treat all as categories: kinds={{{name!r}: 'nominal'}}"
        )
