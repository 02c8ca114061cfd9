"""Any table on disk that can be read in parts, as often as asked: Parquet, Arrow and CSV."""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from microagg.base.errors import InputError, OptionError
from microagg.base.progress import Report, silent
from microagg.base.reading import Reading
from microagg.table import formats
from microagg.table.formats.arrow import streams as arrow_streams
from microagg.table.formats.csv import streams as csv_streams
from microagg.table.opening import STANDARD_STREAM, Origin, check_columns
from microagg.table.parts import Parts, Read, Seal

_ROWS = 1 << 17


@dataclass(frozen=True, eq=False)
class Stream:
    """A table on disk, read in parts as often as asked: always the same rows in the same order.

    schema: every column as it is read; those of a text file that were to be understood in the type
        agreed on for all of it.
    size: bytes it would take in memory, about.
    sha256: of the file's bytes; for a folder, of the names and hashes of its files.
    """

    origin: Origin
    schema: pa.Schema
    rows: int
    size: int
    sha256: str
    notes: list[str]
    _read: Read = field(repr=False)
    _seal: Seal = field(repr=False)

    def batches(
        self, columns: Sequence[str] | None = None, rows: int = _ROWS, report: Report = silent
    ) -> Iterator[pa.RecordBatch]:
        """The rows in batches of at most `rows`, with these columns in this order.

        A file that was changed since it was opened, or that turns out to be damaged, is an
        InputError, which may come after the last batch.
        """
        names = self.schema.names if columns is None else list(columns)
        check_columns(names, self.schema.names)
        if not names:
            raise OptionError("a table read in parts needs at least one column to be asked for")
        return self._batches(names, rows, report)

    def _batches(self, names: list[str], rows: int, report: Report) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([self.schema.field(name) for name in names], self.schema.metadata)
        came, damage = 0, None
        self._seal.check()
        try:
            for read in self._read(names, rows):
                batch = read.select(names).cast(schema)
                for begin in range(0, batch.num_rows, rows):
                    yield batch.slice(begin, rows)
                came += batch.num_rows
                report(min(1.0, came / self.rows))
        except InputError as found:
            damage = found
        # What looks like damage may be what somebody is writing just now.
        self._seal.check()
        if damage is not None:
            raise damage
        if came != self.rows:
            raise InputError(
                f"{self.origin.name} is damaged: {came:,} rows came where {self.rows:,} should be"
            )


def open_stream(
    address: str | os.PathLike[str],
    reading: Reading,
    typed: Collection[str] | None = None,
    report: Report = silent,
) -> Stream:
    """Open the file at a path, or a folder of Parquet files, to be read in parts.

    typed: the columns of a text file to understand; others stay text as they are. None is all. Two
    passes over a text file, one over others.
    """
    place = os.fspath(address)
    form = _form_in_parts(place)
    if form is None:
        raise OptionError(
            f"{formats.shown_name(place)} cannot be read in parts, only Parquet, Arrow and CSV "
            "files can; convert it to Parquet first"
        )
    path = Path(place).absolute()
    seal = Seal.on(path.name, lambda: arrow_streams.listed(path))
    parts: Parts = (
        csv_streams.open_parts(path, reading, typed, report)
        if form == "csv"
        else arrow_streams.open_parts(path)
    )
    seal.check()
    origin = Origin(path.name, form, reading, parts.layout, path)
    return Stream(
        origin, parts.schema, parts.rows, parts.size, parts.sha256, parts.notes, parts.read, seal
    )


def estimated_size(address: str | os.PathLike[str]) -> int | None:
    """Bytes that the table at a path would take in memory, about, at the cost of a look.

    None for what cannot be read in parts, or is not there.
    """
    place = os.fspath(address)
    path = Path(place)
    try:
        form = _form_in_parts(place)
        if form is None:
            return None
        return path.stat().st_size if form == "csv" else arrow_streams.size_of(path)
    except (OSError, InputError, OptionError):
        return None


def _form_in_parts(place: str) -> str | None:
    """The form of what can be read in parts; a folder holds Parquet files."""
    if place == STANDARD_STREAM:
        return None
    if Path(place).is_dir():
        return "arrow"
    form = formats.form_of(place)
    return form if form in ("arrow", "csv") else None
