"""Text that may be something else: numbers and dates in disguise."""

import pyarrow as pa
import pyarrow.compute as pc

from microagg.base.errors import InputError

_NUMBER = r"^\s*[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?\s*$"
_CODE = r"^0\d+$"
_DATE = r"^\s*\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T].*)?$"
_MOST = 0.5


def refuse_disguised(name: str, array: pa.Array) -> None:
    """Refuse text that is mostly numbers or dates: nobody said it should be mere categories.

    Codes with leading zeros, such as postal codes, are categories.
    """
    counts = pc.value_counts(array.drop_null())
    texts, rows = counts.field("values"), counts.field("counts")
    total = pc.sum(rows).as_py() or 0
    if total == 0:
        return

    def rows_like(pattern: str) -> int:
        alike = pc.match_substring_regex(texts, pattern)
        return pc.sum(rows.filter(alike)).as_py() or 0

    numbers, dates = rows_like(_NUMBER), rows_like(_DATE)
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


def as_understood(array: pa.Array, kind: str, *, exactly: bool = False) -> pa.Array | None:
    """Text read as numbers or ISO dates, or None if not all of it can be.

    exactly: nor if it holds codes, whose leading zeros would be lost.
    """
    if exactly and pc.any(pc.match_substring_regex(array, _CODE)).as_py():
        return None
    trimmed = pc.utf8_trim_whitespace(array)
    wanted = {
        "integer": (pa.int64(),),
        "continuous": (pa.float64(),),
        "date": (pa.date32(), pa.timestamp("s"), pa.timestamp("us")),
    }[kind]
    for target in wanted:
        try:
            return trimmed.cast(target)
        except pa.ArrowInvalid:
            continue
    return None
