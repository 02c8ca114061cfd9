"""What every kind of file or database answers; each has a module of its own beside this one."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Literal

import pyarrow as pa

from microagg.base.errors import InputError
from microagg.base.files import suffix_of
from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.table.checks import Column
from microagg.table.metadata import changed

# Standard input or standard output.
STANDARD_STREAM = "-"
# The named columns, in any order and perhaps among others, in batches of about so many rows.
Read = Callable[[Sequence[str], int], Iterator[pa.RecordBatch]]
# A path, or the URL of a database.
Source = str | os.PathLike[str]
# The columns of a text file to understand, None for all; the others stay text as they are.
Typed = Collection[str] | None
# Which files there are: their sizes, times and places on the disk; None if they cannot be seen.
Marks = list[tuple[Path, int, int, int, int]] | None
# What puts the next rows into a file.
Put = Callable[[pa.Table], None]


@dataclass(frozen=True)
class Piped(os.PathLike[str]):
    """What came through standard input, in memory: opened like a file, as often as asked."""

    content: bytes = field(repr=False)
    name: str = "standard input"

    def __fspath__(self) -> str:
        return STANDARD_STREAM

    def open(self, mode: Literal["rb"]) -> BinaryIO:
        """Its bytes, from the first on."""
        return BytesIO(self.content)


@dataclass
class Loaded:
    """A table as it was read.

    table: every column. In a text file those that nobody asked to understand stay text, exactly as
        they were written.
    layout: what else a file of the same kind needs to be written like this one: delimiter, labels,
        ...; belongs to the format.
    sha256: of the file's bytes, or of the table's content where there is no file.
    """

    table: pa.Table
    layout: Any
    sha256: str
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Head:
    """The first rows of a large table.

    share: which part of all rows they are, about. left_out: columns that nobody asked for.
    """

    loaded: Loaded
    share: float
    left_out: Sequence[str] = ()


@dataclass(frozen=True)
class Parts:
    """A table that a format can read in parts: like `Loaded`, with a way to the records instead.

    schema: every column as it is read; those of a text file that were to be understood in the type
        agreed on for all of it.
    size: the bytes it would take in memory, about.
    sha256: of the file's bytes; for a folder, of the names and hashes of its files.
    understand: where files tell no types, what texts of all columns say, in those of the schema.
    """

    schema: pa.Schema
    rows: int
    size: int
    layout: Any
    sha256: str
    notes: list[str]
    read: Read = field(repr=False)
    understand: Callable[[Sequence[pa.Array]], list[pa.Array]] | None = None


@dataclass(frozen=True)
class Format:
    """A kind of file or database. What a format does not say itself holds as it is said here.

    A format that can be registered says `name`, `suffixes` (or `holds`), `read` and, for files,
    `write` or `open_writer`; one with `in_parts` says `open_parts`, `size_of` and `open_writer`.
    Layouts are its own: nobody else looks into them.

    name: what an `Origin` calls it.
    suffixes: those of its files, and which kind of file each asks for.
    only_read: suffixes of files that cannot be written, and what to write instead.
    is_file: whether an address is the path of a file.
    in_parts: whether tables can be read and written part by part.
    in_folders: whether a folder of its files is one table.
    tells_types: whether a file says of which type its columns are.
    """

    name: ClassVar[str] = "frame"
    suffixes: ClassVar[Mapping[str, str]] = {}
    only_read: ClassVar[Mapping[str, str]] = {}
    is_file: ClassVar[bool] = True
    in_parts: ClassVar[bool] = False
    in_folders: ClassVar[bool] = False
    tells_types: ClassVar[bool] = True

    def holds(self, address: str) -> bool:
        """Whether something at this address is of this format."""
        return suffix_of(address).lower() in self.suffixes

    def shown(self, address: str) -> str:
        """What to call an address in print: no folders, no passwords."""
        return Path(address).name

    def head(self, address: str, reading: Reading, wanted: Typed, most: int) -> Head | None:
        """The first rows of a table of more than so many bytes. wanted: columns, None for all."""
        return None

    def file_of(self, address: str) -> Path | None:
        """The file that an address means."""
        return None if address == STANDARD_STREAM else Path(address)

    def read(
        self, address: Source, reading: Reading, typed: Typed = None, advance: Advance = silent
    ) -> Loaded:
        """Read all of it. typed: the columns of a text file to understand, None for all."""
        raise NotImplementedError

    def read_back(
        self, path: Path, layout: Any, numbers: Mapping[str, pa.DataType], rows: int
    ) -> Loaded:
        """Read what was written with a layout, so many rows.

        numbers: the columns full of numbers, and their types; of a text file all others are text.
        """
        return self.read(path, *self.reading_back(layout, list(numbers)))

    def write(self, table: pa.Table, path: Path, layout: Any) -> None:
        """Write a file; equal tables give equal bytes. layout: as `layout_for` gives it."""
        with self.open_writer(path, table.schema, layout, table.num_rows) as put:
            put(table)

    def files_of(self, path: Path) -> list[Path]:
        """The files that a table at a path is made of."""
        return [path]

    def marks(self, path: Path) -> Marks:
        """What tells the files of a table from others, or from what they were before."""
        try:
            stats = [(file, file.stat()) for file in self.files_of(path)]
        except (OSError, InputError):
            return None
        return [(file, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for file, s in stats]

    def open_parts(
        self, path: Path, reading: Reading, typed: Typed = None, advance: Advance = silent
    ) -> Parts:
        """Look a table over that is to be read in parts; arguments as in `read`."""
        raise NotImplementedError

    def size_of(self, path: Path) -> int:
        """Bytes that the table at a path would take in memory, about, at the cost of a look."""
        raise NotImplementedError

    def open_writer(
        self, path: Path, schema: pa.Schema, layout: Any, rows: int
    ) -> AbstractContextManager[Put]:
        """Something that puts table after table into a file of so many rows in all."""
        raise NotImplementedError

    def layout_for(self, path: Path, layout: Any, source: Path | None) -> Any:
        """How a file is to be laid out.

        layout, source: those of an input of the same format, None without one.
        """
        return layout

    def described(self, layout: Any) -> dict[str, str]:
        """What was found out about how an input is written, in a word or two each."""
        return {}

    def labels(self, layout: Any) -> Mapping[str, Mapping[Any, str]]:
        """What codes stand for, by column."""
        return {}

    def layout_of_file(self, layout: Any) -> Any:
        """What of an input's layout tells nothing of its entries, None if nothing is left."""
        return None

    def released(self, layout: Any, table: pa.Table, recipe: Recipe) -> Any:
        """The layout that a release is written with: nothing in it tells more than the release.

        table: the release, without rows where it is made in parts.
        """
        return layout

    def stored(self, column: pa.ChunkedArray, name: str, layout: Any) -> pa.ChunkedArray:
        """A column as a file holds it."""
        return column

    def reading_back(self, layout: Any, numbers: Sequence[str]) -> tuple[Reading, Typed]:
        """How to read what was written with a layout, and the columns to understand.

        numbers: columns of numbers without gaps, as far as is known.
        """
        return Reading(), None

    def readable(self, array: pa.Array, reading: Reading, layout: Any) -> pa.Array:
        """A column that was left as it is in the file, to be read but not to be written."""
        return array

    def without_codes(self, column: Column, name: str, layout: Any) -> Column:
        """A column, missing also where it holds codes that its file declares to be missing."""
        return column

    def kind_of(self, name: str, layout: Any) -> str | None:
        """The kind that a file says its column is of, if it says so."""
        return None

    def exported(
        self, table: pa.Table, path: Path | None, reading: Reading, layout: Any
    ) -> pa.Table:
        """The table for a file, or a database if None, without what that would not understand."""
        return table


def spelt_out(
    schema: pa.Schema, which: Callable[[pa.DictionaryType], bool] = lambda _: True
) -> pa.Schema:
    """The columns with (some) dictionaries as the values they stand for."""

    def spelt(field: pa.Field) -> pa.Field:
        kind = field.type
        spells = pa.types.is_dictionary(kind) and which(kind)
        return field.with_type(kind.value_type) if spells else field

    return pa.schema([changed(field, spelt) for field in schema], schema.metadata)
