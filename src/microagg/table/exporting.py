"""A table on its way out: in the types that the format holds, and read back to be compared."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.progress import silent
from microagg.table import formats
from microagg.table.checks import cast_like, fingerprint
from microagg.table.opening import Origin, readable
from microagg.table.source import Reading
from microagg.table.text import as_understood


def as_exported(table: pa.Table, origin: Origin, form: str) -> pa.Table:
    """The table as another format should hold it.

    Untouched columns of a text file are text as long as they go to a text file; elsewhere numbers
    are to be numbers. Codes for missing values mean something only in the format that declares
    them.
    """
    if origin.form == form:
        return table
    if origin.form == "csv":
        columns = [_typed(column.combine_chunks(), origin) for column in table.columns]
        return pa.table(columns, table.column_names)
    if origin.form == "stats":
        return formats.without_codes(table, origin.layout)
    return table


def _typed(array: pa.Array, origin: Origin) -> pa.Array:
    read = readable(array, origin)
    if pa.types.is_string(read.type) and read.null_count < len(read):
        for kind in ("integer", "continuous", "date"):
            understood = as_understood(read, kind, exactly=True)
            if understood is not None:
                return understood
    return read


def read_back(form: str, path: Path, expected: pa.Table, layout: Any) -> pa.Table:
    """What was written, read again: as text from a text file, else in the types expected."""
    reading = formats.reading_of(layout) if form == "csv" and layout is not None else Reading()
    found = formats.read(form, str(path), reading, (), silent).table
    return found if form == "csv" else cast_like(found, expected.schema)


def same_columns(form: str, found: pa.Table, expected: pa.Table, layout: Any) -> dict[str, bool]:
    """By column, whether what was read back is what was written; in a text file as text."""
    same = {}
    for name in expected.column_names:
        column = expected[name]
        if form == "csv":
            column = formats.as_texts(column, name, layout)
        same[name] = found[name].equals(column) or _content(found[name]) == _content(column)
    return same


def _content(column: pa.ChunkedArray) -> str:
    """NaN is not equal to itself, but its bytes are."""
    return fingerprint(pa.table([column], ["column"]))
