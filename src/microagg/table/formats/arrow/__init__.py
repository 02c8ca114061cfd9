"""Parquet and Arrow files: Parquet, Arrow IPC (Feather) and the Arrow stream."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from microagg.base.errors import InputError
from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.table.checks import trimmed
from microagg.table.formats.arrow import streams
from microagg.table.formats.arrow.files import (
    SUFFIXES,
    Layout,
    codec_for,
    open_writer,
    schema_alike,
)
from microagg.table.formats.format import Format, Loaded, Parts, Put, Typed, spelt_out

# As many as a row group of a Parquet file usually has.
_ROWS = 1 << 20


@dataclass(frozen=True)
class Arrow(Format):
    """Parquet and Arrow files, and folders of Parquet files."""

    name = "arrow"
    suffixes = SUFFIXES
    in_parts = True
    in_folders = True

    limits: streams.Limits = field(default_factory=streams.Limits)

    def read(
        self, address: str | Path, reading: Reading, typed: Typed = None, advance: Advance = silent
    ) -> Loaded:
        """Read a file, or the Parquet files of a folder as one table.

        Types, units of moments, dictionaries and missing values come as the file has them, but for
        views (see `without_views`).
        """
        # A window on a file would be a danger for as long as the table lives.
        parts = streams.open_parts(Path(address), replace(self.limits, large=sys.maxsize))
        names, batches, rows = parts.schema.names, [], 0
        for batch in parts.read(names, _ROWS):
            # Which columns may have gaps, and what is noted of them, differs from file to file.
            batches.append(batch.select(names).cast(parts.schema))
            rows += batch.num_rows
            advance(rows / parts.rows)
        table = pa.Table.from_batches(batches)
        return Loaded(table, parts.layout, parts.sha256, parts.notes)

    def write(self, table: pa.Table, path: Path, layout: Layout | None) -> None:
        """Write the table so that reading it gives equal types and values.

        Parquet keeps the codec of the layout, zstd without one; .feather is written with lz4 and
        .arrow plain, as most programs do. Metadata that speak of columns which are gone or changed
        are dropped (see `schema_alike`), and so are values in dictionaries that no record has.
        """
        table = trimmed(table)
        full = {name for name in table.column_names if not table[name].null_count}
        schema = schema_alike(table.schema, layout, full, table.num_rows)
        with open_writer(path, schema, codec_for(layout)) as put:
            put(pa.table(table.columns, schema=schema))

    def files_of(self, path: Path) -> list[Path]:
        """The file there, or the Parquet files in a folder, by name."""
        return streams.listed(path)

    def open_parts(
        self, path: Path, reading: Reading, typed: Typed = None, advance: Advance = silent
    ) -> Parts:
        """Look a file or a folder over (see `streams.open_parts`)."""
        return streams.open_parts(path, self.limits)

    def size_of(self, path: Path) -> int:
        """By the footers of Parquet files; of others, and of damaged ones, the bytes they have."""
        return streams.size_of(path, self.limits)

    @contextmanager
    def open_writer(
        self, path: Path, schema: pa.Schema, layout: Layout | None, rows: int
    ) -> Iterator[Put]:
        """Something that puts table after table into a file like that of the layout.

        A column that may have gaps must be nullable in the schema. Values in dictionaries that no
        record has do not get into the file. Dictionaries stay where they can change from part to
        part: in all but Arrow files. Ordered ones do not, since readers put together what the parts
        have in the order of their coming.
        """
        replaceable = SUFFIXES[path.suffix.lower()] != "arrow"
        schema = spelt_out(schema, lambda kind: kind.ordered or not replaceable)
        full = [each.name for each in schema if not each.nullable]
        target = schema_alike(schema, layout, full, rows)
        with open_writer(path, target, codec_for(layout)) as put:
            yield lambda table: put(_in_schema(table, target))


def _in_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    for each in schema:
        if not each.nullable and table[each.name].null_count:
            raise InputError(
                f"column {each.name!r} has missing values, but the file to write requires it full"
            )
    return trimmed(table).cast(schema)
