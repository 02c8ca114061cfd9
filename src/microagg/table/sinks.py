"""A table on its way out part by part: Parquet, Arrow and CSV files that look like the input."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from microagg.base.errors import InputError, OptionError
from microagg.table import formats
from microagg.table.checks import trimmed
from microagg.table.exporting import layout_for
from microagg.table.formats.arrow import files as arrow_files
from microagg.table.formats.csv import text as csv_text
from microagg.table.opening import Origin

# What is gathered before it is written. A Parquet file of many small row groups is slow to read.
_ROWS = 1 << 18
_BYTES = 1 << 26


class Sink:
    """Where batches go: gathered to pieces of some size, each written at once."""

    def __init__(self, put: Callable[[pa.Table], None], schema: pa.Schema):
        self._put = put
        self._schema = schema
        self._gathered: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Take the next rows."""
        self._gathered.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _ROWS or self._bytes >= _BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered."""
        if self._rows:
            self._put(pa.Table.from_batches(self._gathered, self._schema))
        self._gathered, self._rows, self._bytes = [], 0, 0


def written_schema(path: Path, schema: pa.Schema) -> pa.Schema:
    """The columns as a file of this suffix, written in parts, holds them.

    Dictionaries stay where they can change from part to part: in Parquet files and Arrow streams.
    Ordered ones do not, since readers put together what the parts have in the order of their
    coming; and a text file has none.
    """
    form = _form_in_parts(path)
    replaceable = form == "arrow" and arrow_files.kind_wanted(path) != "arrow"
    for place, field in enumerate(schema):
        kind = field.type
        if pa.types.is_dictionary(kind) and (kind.ordered or not replaceable):
            schema = schema.set(place, field.with_type(kind.value_type))
    return schema


@contextmanager
def open_sink(path: Path, schema: pa.Schema, origin: Origin, rows: int) -> Iterator[Sink]:
    """Something to write batches of this schema to, which end up in a file at a path.

    The file looks like the input if it is of the same format. A column that may have gaps must be
    nullable in the schema. Values in dictionaries that no record has do not get into the file.

    rows: how many will be written in all.
    """
    layout = layout_for(path, origin)
    target = written_schema(path, schema)
    if formats.form_of(str(path)) == "csv":
        with csv_text.open_writer(path, target, layout) as put:
            sink = Sink(put, schema)
            yield sink
            sink.flush()
        return
    full = [field.name for field in target if not field.nullable]
    target = arrow_files.schema_alike(target, layout, full, rows)
    kind, codec = arrow_files.kind_wanted(path), arrow_files.codec_for(layout)
    with arrow_files.open_writer(path, target, kind, codec) as put:
        sink = Sink(lambda table: put(_as_written(table, target)), schema)
        yield sink
        sink.flush()


def _as_written(table: pa.Table, schema: pa.Schema) -> pa.Table:
    for field in schema:
        if not field.nullable and table[field.name].null_count:
            raise InputError(
                f"column {field.name!r} has missing values, but the file to write requires it full"
            )
    return trimmed(table).cast(schema)


def _form_in_parts(path: Path) -> str:
    form = formats.form_of(str(path))
    if form not in ("arrow", "csv"):
        raise OptionError(
            f"{path.suffix} files cannot be written in parts, only Parquet, Arrow and CSV files can"
        )
    return form
