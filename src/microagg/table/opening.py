"""Any table in: a data frame, a file, a database, standard input."""

import difflib
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from microagg.base.errors import InputError, OptionError
from microagg.base.memory import Arriving
from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.kernels.threads import run_each
from microagg.table.checks import fingerprint
from microagg.table.formats import FORMATS, format_of
from microagg.table.formats.database import NO_TABLES, Database, Tables
from microagg.table.formats.format import STANDARD_STREAM as STANDARD_STREAM
from microagg.table.formats.format import Format, Loaded, Marks, Piped
from microagg.table.frames import Frame, give_back_memory, in_one_piece

_READ_AT_ONCE = 1 << 24
_JOINED_AT_ONCE = 2


@dataclass(frozen=True)
class Origin:
    """Where a table came from and how it was written, to write another like it.

    form: the name of the format; "frame" for a table that was in memory.
    path: of the file or the SQLite file, so that it is never written over.
    """

    name: str
    form: str
    reading: Reading
    layout: Any = None
    path: Path | None = None

    @property
    def tables(self) -> Tables:
        """Those of a database that it was read from, which are never replaced."""
        return self.layout if self.form == Database.name else NO_TABLES

    @property
    def format(self) -> Format:
        """The format itself; tables in memory, and those of other engines, are of none."""
        return FORMATS.get(self.form, Format())

    def readable(self, array: pa.Array) -> pa.Array:
        """A column to be read but not written: what a text says, without texts for missing."""
        return self.format.readable(array, self.reading, self.layout)

    def kind_of(self, name: str) -> str | None:
        """The kind that the input says a column is of, if it says so."""
        # A layout that holds nothing is one all the same.
        return None if self.layout is None else self.format.kind_of(name, self.layout)

    def exported(self, table: pa.Table, path: Path | None) -> pa.Table:
        """A release for a file, or a database if None: what only the input explains stays there."""
        return self.format.exported(table, path, self.reading, self.layout)

    def released(self, table: Any, recipe: Recipe) -> Self:
        """The origin of a release, which holds no more of the input than the release does."""
        known, layout = self.format, self.layout
        if layout is not None:
            layout = known.released(layout, table, recipe)
        return replace(self, layout=layout)

    def layout_for(self, path: Path) -> Any:
        """How a file is to be laid out: like the input if it is of the same format."""
        target = format_of(str(path))
        return target.layout_for(path, self.layout if target.name == self.form else None, self.path)


@dataclass
class Opened:
    """A table that was opened: its columns, where it came from, and its hash."""

    frame: Frame
    origin: Origin
    sha256: str
    notes: list[str] = field(default_factory=list)

    @property
    def in_order(self) -> bool:
        """Its rows have places."""
        return True

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.frame.rows

    def without_codes(self, name: str) -> pa.Array:
        """A column, missing also where it holds codes that its file declares to be missing."""
        origin = self.origin
        return origin.format.without_codes(self.frame.column(name), name, origin.layout)

    def looked_at(self, name: str) -> pa.Array:
        """A column that is read but never written: texts that mean missing are missing."""
        return self.origin.readable(self.frame.column(name))


def open_table(
    source: Any,
    reading: Reading,
    typed: Collection[str] | None = None,
    advance: Advance = silent,
    named: Collection[str] = (),
) -> Opened:
    """Open a data frame, the file or folder at a path, the database table at a URL, or "-".

    typed: the columns of a text file to understand; others stay text as they are. None is all.
    named: the columns that are asked for, among which an index of pandas may be.
    """
    if not isinstance(source, str | os.PathLike):
        frame = Frame(source, named)
        origin = Origin("table", "frame", reading)
        return Opened(frame, origin, fingerprint(frame.hashable()), frame.notes)
    address = os.fspath(source)
    known = format_of(address)
    content = _at_hand(address)
    is_path = known.is_file and isinstance(content, str)
    with unchanged(known, Path(address)) if is_path else nullcontext():
        loaded = known.read(content, reading, typed, advance)
    return _opened(address, known, reading, loaded)


@dataclass(frozen=True)
class OpenedHead:
    """The first rows of a table; see `Head`."""

    opened: Opened
    share: float
    left_out: Sequence[str]


def open_head(
    source: Any, reading: Reading, wanted: Collection[str] | None, most: int
) -> OpenedHead | None:
    """The first rows of a large file, about so many bytes; wanted: columns, None for all.

    None for anything else, and where the first rows make no table.
    """
    if not isinstance(source, str | os.PathLike) or os.fspath(source) == STANDARD_STREAM:
        return None
    address = os.fspath(source)
    try:
        known = format_of(address)
        found = known.head(address, reading, wanted, most)
    except (InputError, OptionError, OSError):
        return None
    if found is None:
        return None
    opened = _opened(address, known, reading, found.loaded)
    return OpenedHead(opened, found.share, found.left_out)


def _opened(address: str, known: Format, reading: Reading, loaded: Loaded) -> Opened:
    path = known.file_of(address)
    origin = Origin(
        known.shown(address),
        known.name,
        reading,
        loaded.layout,
        path=path and path.absolute(),
    )
    return Opened(Frame(in_pieces_of_one(loaded)), origin, loaded.sha256, loaded.notes)


@contextmanager
def unchanged(known: Format, path: Path) -> Iterator[Marks]:
    """Refuse files that are changed while they are read, and so are not what was hashed."""
    marks = known.marks(path)
    try:
        yield marks
    finally:
        # What looks like damage may be what somebody is writing just now.
        if known.marks(path) != marks:
            raise changed_meanwhile(path.name)


def changed_meanwhile(name: str) -> InputError:
    """What is said of a file that is not the one that was opened."""
    return InputError(
        f"{name} was changed while it was being read; start again once nobody writes to it"
    )


def in_pieces_of_one(loaded: Loaded) -> pa.Table:
    """The table with every column in one piece; few columns at once, so that it is held once."""
    names, columns = loaded.table.column_names, loaded.table.columns
    schema = loaded.table.schema
    del loaded.table

    def join(place: int) -> None:
        columns[place] = in_one_piece(columns[place])

    run_each([partial(join, place) for place in range(len(columns))], _JOINED_AT_ONCE)
    give_back_memory()
    return pa.table(columns, names).replace_schema_metadata(schema.metadata)


def check_columns(named: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a column that the table does not have, with the nearest name as a hint."""
    known = {*names}
    for name in named:
        if name not in known:
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


def _at_hand(address: str) -> str | Piped:
    """What can be read twice: standard input is held in memory.

    A copy of it in a file would outlive a process that is killed.
    """
    if address != STANDARD_STREAM:
        return address
    if sys.stdin is None or sys.stdin.buffer.isatty():
        raise InputError('"-" reads the table from standard input, but nothing is piped in')
    parts, arriving = [], Arriving("standard input")
    while part := sys.stdin.buffer.read(_READ_AT_ONCE):
        parts.append(part)
        arriving.add(len(part))
    return Piped(b"".join(parts))
