"""Any table in: a data frame, a file, a database, standard input."""

import difflib
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError, OptionError
from microagg.base.progress import Report, silent
from microagg.base.reading import Loaded, Reading
from microagg.table import formats
from microagg.table.checks import fingerprint
from microagg.table.frames import Frame, give_back_memory, in_one_piece

STANDARD_STREAM = "-"


@dataclass(frozen=True)
class Origin:
    """Where a table came from and how it was written, to write another alike.

    form: the name of the format; "frame" for a table that was in memory.
    path, address: of the file or the database table, so that it is never written over.
    """

    name: str
    form: str
    reading: Reading
    layout: Any = None
    path: Path | None = None
    address: str | None = field(default=None, repr=False)


@dataclass
class Opened:
    """A table that was opened: its columns, where it came from, and its hash."""

    frame: Frame
    origin: Origin
    sha256: str
    notes: list[str] = field(default_factory=list)

    def declared_missing(self, name: str, array: pa.Array) -> NDArray[np.bool_] | None:
        """Where a column holds codes that its file declares to be missing values."""
        return formats.declared_missing(self.origin.form, self.origin.layout, name, array)

    def looked_at(self, name: str) -> pa.Array:
        """A column that is read but never written: texts that mean missing are missing."""
        return readable(self.frame.column(name), self.origin)


def open_table(
    source: Any, reading: Reading, typed: Collection[str] | None = None, report: Report = silent
) -> Opened:
    """Open a data frame, the file at a path, the database table at a URL, or "-".

    typed: the columns of a text file to understand; others stay text as they are. None is all.
    """
    if not isinstance(source, str | os.PathLike):
        frame = Frame(source)
        return Opened(frame, Origin("table", "frame", reading), fingerprint(frame.hashable()))
    address = os.fspath(source)
    form = formats.form_of(address)
    with _at_hand(address) as place:
        loaded: Loaded = formats.read(form, place, reading, typed, report)
    named = Origin(formats.shown_name(address), form, reading, loaded.layout)
    if form == "database":
        origin = replace(named, address=address)
    elif address != STANDARD_STREAM:
        origin = replace(named, path=Path(address).absolute())
    else:
        origin = named
    return Opened(Frame(_in_pieces_of_one(loaded)), origin, loaded.sha256, loaded.notes)


def _in_pieces_of_one(loaded: Loaded) -> pa.Table:
    """The table with every column in one piece; column by column, so that it is held once."""
    names, columns = loaded.table.column_names, loaded.table.columns
    schema = loaded.table.schema
    del loaded.table
    for place in range(len(columns)):
        columns[place] = in_one_piece(columns[place])
    give_back_memory()
    return pa.table(columns, names).replace_schema_metadata(schema.metadata)


def readable(array: pa.Array, origin: Origin) -> pa.Array:
    """A column of a text file with decimal points, and missing where a stand-in says so."""
    if origin.form != "csv" or not pa.types.is_string(array.type):
        return array
    return formats.with_decimal_points(without_stand_ins(array, origin), origin.layout)


def without_stand_ins(array: pa.Array, origin: Origin) -> pa.Array:
    """Texts of a text file, missing where a stand-in says so."""
    stand_ins = pa.array(["", *origin.reading.missing_values], array.type)
    return pc.if_else(pc.is_in(array, value_set=stand_ins), pa.scalar(None, array.type), array)


def check_columns(named: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a column that the table does not have, with the nearest name as a hint."""
    for name in named:
        if name not in names:
            raise OptionError(f"there is no column {name!r}; {_near(name, names)}")


def _near(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if not near:
        folded = {other.casefold(): other for other in names}
        near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
        near = [folded[each] for each in near]
    if near:
        return f"did you mean {near[0]!r}?"
    shown = ", ".join(repr(other) for other in names[:20])
    return f"there are {shown}" + (" and more" if len(names) > 20 else "")


@contextmanager
def _at_hand(address: str) -> Iterator[str]:
    """The address of something that can be read twice: standard input is put into a file first."""
    if address != STANDARD_STREAM:
        yield address
        return
    stream = sys.stdin.buffer
    if stream.isatty():
        raise InputError('"-" reads the table from standard input, but nothing is piped in')
    with tempfile.TemporaryDirectory(prefix="microagg-") as folder:
        path = Path(folder) / "standard-input.csv"
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
        yield str(path)
