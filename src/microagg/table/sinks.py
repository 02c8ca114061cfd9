"""A table on its way out part by part, to a file that looks like the input."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from microagg.table.formats import format_in_parts
from microagg.table.formats.format import Put
from microagg.table.opening import Origin


class Sink:
    """Where batches go: gathered to pieces of some size, each written at once.

    A Parquet file of many small row groups is slow to read.
    """

    def __init__(self, put: Put, schema: pa.Schema, most_rows: int, most_bytes: int):
        self._put = put
        self._schema = schema
        self._most = (most_rows, most_bytes)
        self._gathered: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Take the next rows."""
        self._gathered.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= self._most[0] or self._bytes >= self._most[1]:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered."""
        if self._rows:
            self._put(pa.Table.from_batches(self._gathered, self._schema))
        self._gathered, self._rows, self._bytes = [], 0, 0


@contextmanager
def open_sink(
    path: Path,
    schema: pa.Schema,
    origin: Origin,
    rows: int,
    *,
    most_rows: int = 1 << 18,
    most_bytes: int = 1 << 26,
) -> Iterator[Sink]:
    """Something to write batches of this schema to, which end up in a file at a path.

    The file looks like the input if it is of the same format. A column that may have gaps must be
    nullable in the schema. Values in dictionaries that no record has do not get into the file.

    rows: how many will be written in all. most_rows, most_bytes: what is gathered before it is
    written.
    """
    target = format_in_parts(str(path), "written")
    with target.open_writer(path, schema, origin.layout_for(path), rows) as put:
        sink = Sink(put, schema, most_rows, most_bytes)
        yield sink
        sink.flush()
