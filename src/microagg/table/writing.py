"""A whole table out: in the types the target holds, read back, compared with what was meant."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from microagg.base.errors import InputError, PromiseError
from microagg.table.checks import cast_like, fingerprint, refuse_far_moments
from microagg.table.formats import check_writable, format_of
from microagg.table.formats.database import draft
from microagg.table.formats.format import Format
from microagg.table.frames import give_back_memory
from microagg.table.opening import Origin, in_pieces_of_one


@dataclass(frozen=True, eq=False)
class ReadBack:
    """What a table that was written holds when it is read again.

    table: what was read back. Of a text file only full columns of numbers are numbers, which take a
        third of the memory that their texts would; all others are text.
    complete: whether every column and row is there, in order.
    same: by column, whether it holds what was meant; empty if not complete.
    sha256: of the file's bytes; in a database, the fingerprint of what everybody reads there.
    """

    table: pa.Table
    complete: bool
    same: dict[str, bool]
    sha256: str


def write_file(table: pa.Table, path: Path, origin: Origin) -> ReadBack:
    """Write a file, like the input if it is of the same format, and read it back.

    A file that cannot be read back is a PromiseError.
    """
    check_writable(str(path))
    target, layout = format_of(str(path)), origin.layout_for(path)
    meant = origin.exported(table, path)
    if target.name != "arrow":
        refuse_far_moments(meant, f"a {path.suffix} file")
    target.write(meant, path, layout)
    give_back_memory()
    numbers = {
        field.name: field.type for field in meant.schema if _is_full_of_numbers(meant[field.name])
    }
    try:
        loaded = target.read_back(path, layout, numbers, meant.num_rows)
        back = in_pieces_of_one(loaded)
        if target.tells_types:
            back = cast_like(back, meant.schema)
    except InputError:
        raise PromiseError(
            "the written release cannot be read back, so it was not published"
        ) from None
    return _compared(back, meant, target, layout, loaded.sha256)


@contextmanager
def draft_in_database(
    table: pa.Table, address: str, origin: Origin, force: bool, certificate: Path | None = None
) -> Iterator[ReadBack]:
    """Write a database table and read it back, before it takes its name.

    The draft takes its name when the block ends well, and vanishes otherwise. certificate: a file
    whose text goes into a table beside it then.
    """
    meant = origin.exported(table, None)
    refuse_far_moments(meant, "a database")
    with draft(meant, address, force, origin.tables, certificate) as found:
        try:
            back = cast_like(found, meant.schema)
        except InputError as failure:
            raise PromiseError(f"the written release cannot be read back: {failure}") from None
        yield _compared(back, meant, format_of(address), None, fingerprint(found))


def _is_full_of_numbers(column: pa.ChunkedArray) -> bool:
    if column.type not in (pa.int64(), pa.float64()) or column.null_count:
        return False
    return column.type == pa.int64() or not pc.any(pc.is_nan(column)).as_py()


def _compared(
    back: pa.Table, meant: pa.Table, target: Format, layout: Any, sha256: str
) -> ReadBack:
    complete = back.column_names == meant.column_names and back.num_rows == meant.num_rows
    same = {}
    for name in meant.column_names if complete else ():
        column = meant[name]
        if pa.types.is_string(back[name].type):
            column = target.stored(column, name, layout)
        same[name] = back[name].equals(column) or _content(back[name]) == _content(column)
    return ReadBack(back, complete, same, sha256)


def _content(column: pa.ChunkedArray) -> str:
    """NaN is not equal to itself, but its bytes are."""
    return fingerprint(pa.table([column], ["column"]))
