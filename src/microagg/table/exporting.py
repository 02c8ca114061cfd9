"""A table on its way out: in the types that the format holds, and read back to be compared."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from microagg.base.progress import silent
from microagg.base.reading import Reading
from microagg.table import formats
from microagg.table.checks import cast_like, fingerprint
from microagg.table.opening import Origin, without_stand_ins


def as_exported(table: pa.Table, origin: Origin, path: Path | None) -> pa.Table:
    """The table as the file at a path, or a database, should hold it.

    Untouched columns of a text file are text as long as they go to a text file; elsewhere numbers
    are to be numbers. Codes for missing values mean something only in the format that declares
    them.
    """
    form = "database" if path is None else formats.form_of(str(path))
    if origin.form == "csv" != form:
        columns = [_typed(column.combine_chunks(), origin) for column in table.columns]
        return pa.table(columns, table.column_names)
    if origin.form == "stats" and (path is None or not formats.holds_codes(path, origin.layout)):
        return formats.without_codes(table, origin.layout)
    return table


def layout_for(path: Path, origin: Origin) -> Any:
    """How a file is to be laid out: like the input if it is of the same format."""
    same = origin.form == formats.form_of(str(path))
    return formats.layout_for(path, origin.layout if same else None, origin.path)


def _typed(array: pa.Array, origin: Origin) -> pa.Array:
    """What the texts of an untouched column say, by the same rules as those of a protected one."""
    if not pa.types.is_string(array.type):
        return array
    read = without_stand_ins(array, origin)
    if read.null_count == len(read):
        return read
    return formats.understood(read, origin.layout)


def read_back(form: str, path: Path, expected: pa.Table, layout: Any) -> pa.Table:
    """What was written, read again, in the types expected.

    From a text file only full columns of numbers come back as such, which take a third of the
    memory that their texts would; all others are text.
    """
    if form != "csv":
        found = formats.read(form, str(path), Reading(), (), silent).table
        return cast_like(found, expected.schema)
    reading = replace(formats.reading_of(layout), missing_values=())
    numbers = [name for name in expected.column_names if _is_full_of_numbers(expected[name])]
    return formats.read(form, str(path), reading, numbers, silent).table


def _is_full_of_numbers(column: pa.ChunkedArray) -> bool:
    if column.type not in (pa.int64(), pa.float64()) or column.null_count:
        return False
    return column.type == pa.int64() or not pc.any(pc.is_nan(column)).as_py()


def same_columns(form: str, found: pa.Table, expected: pa.Table, layout: Any) -> dict[str, bool]:
    """By column, whether what was read back is what was written, as text if it is text."""
    same = {}
    for name in expected.column_names:
        column = expected[name]
        if form == "csv" and pa.types.is_string(found[name].type):
            column = formats.as_texts(column, name, layout)
        same[name] = found[name].equals(column) or _content(found[name]) == _content(column)
    return same


def _content(column: pa.ChunkedArray) -> str:
    """NaN is not equal to itself, but its bytes are."""
    return fingerprint(pa.table([column], ["column"]))
