"""Any table on disk that can be read in parts, as often as asked."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from microagg.base.errors import InputError, OptionError
from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.table.formats import format_in_parts
from microagg.table.formats.format import Marks, Parts, Typed
from microagg.table.opening import Origin, changed_meanwhile, check_columns, unchanged

_ROWS = 1 << 17


@dataclass(frozen=True, eq=False, kw_only=True)
class Stream(Parts):
    """A table on disk, read in parts as often as asked: always the same rows in the same order."""

    origin: Origin
    _path: Path = field(repr=False)
    _marks: Marks = field(repr=False)

    def batches(
        self, columns: Sequence[str] | None = None, rows: int = _ROWS, advance: Advance = silent
    ) -> Iterator[pa.RecordBatch]:
        """The rows in batches of at most `rows`, with these columns in this order.

        A file that was changed since it was opened, or that turns out to be damaged, is an
        InputError, which may come after the last batch.
        """
        names = self.schema.names if columns is None else list(columns)
        check_columns(names, self.schema.names)
        if not names:
            raise OptionError("a table read in parts needs at least one column to be asked for")
        return self._batches(names, rows, advance)

    def check_unchanged(self) -> None:
        """Refuse to go on if a file is not the one that was opened."""
        if self.origin.format.marks(self._path) != self._marks:
            raise changed_meanwhile(self.origin.name)

    def _batches(self, names: list[str], rows: int, advance: Advance) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([self.schema.field(name) for name in names], self.schema.metadata)
        came, damage = 0, None
        self.check_unchanged()
        try:
            for part in self.read(names, rows):
                batch = part.select(names).cast(schema)
                for begin in range(0, batch.num_rows, rows):
                    yield batch.slice(begin, rows)
                came += batch.num_rows
                advance(min(1.0, came / self.rows))
        except InputError as problem:
            damage = problem
        # What looks like damage may be what somebody is writing just now.
        self.check_unchanged()
        if damage is not None:
            raise damage
        if came != self.rows:
            raise InputError(
                f"{self.origin.name} is damaged: {came:,} rows came where {self.rows:,} should be"
            )


def open_stream(
    address: str | os.PathLike[str],
    reading: Reading,
    typed: Typed = None,
    advance: Advance = silent,
) -> Stream:
    """Open the file at a path, or a folder of Parquet files, to be read in parts.

    typed: the columns of a text file to understand; others stay text as they are. None is all. Two
    passes over a text file, one over others.
    """
    known = format_in_parts(os.fspath(address), "read")
    path = Path(address).absolute()
    try:
        with unchanged(known, path) as marks:
            parts = known.open_parts(path, reading, typed, advance)
    except OSError as problem:
        reason = problem.strerror or "it cannot be opened"
        raise InputError(f"{path.name} cannot be read: {reason}") from None
    origin = Origin(path.name, known.name, reading, parts.layout, path)
    return Stream(**vars(parts), origin=origin, _path=path, _marks=marks)


def estimated_size(address: str | os.PathLike[str]) -> int | None:
    """Bytes that the table at a path would take in memory, about, at the cost of a look.

    None for what cannot be read in parts, or is not there.
    """
    try:
        return format_in_parts(os.fspath(address), "read").size_of(Path(address))
    except (OSError, InputError, OptionError):
        return None
