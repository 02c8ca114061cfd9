"""A table on its way out part by part, to a file that looks like the input; and what it then holds.

Whether the file holds what was meant is told by a running hash of every column.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microagg.base.errors import InputError
from microagg.table.checks import (
    bare,
    cast_like,
    characters,
    lengths_of,
    plain,
    refuse_far_moments,
)
from microagg.table.formats import format_in_parts, format_of
from microagg.table.formats.format import Format, Put, spelt_out
from microagg.table.opening import Origin
from microagg.table.streams import Stream, open_stream

_NUMBERS = (pa.int64(), pa.float64())


class Sink:
    """Where batches go: gathered to pieces of some size, each written at once.

    A Parquet file of many small row groups is slow to read.

    digests: of what was taken.
    """

    def __init__(
        self, put: Put, schema: pa.Schema, digests: "Digests", most_rows: int, most_bytes: int
    ):
        self.digests = digests
        self._put = put
        self._schema = schema
        self._most = (most_rows, most_bytes)
        self._gathered: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Take the next rows."""
        self.digests.add(batch)
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

        def put_checked(table: pa.Table) -> None:
            if target.name != "arrow":
                refuse_far_moments(table, f"a {path.suffix} file")
            put(table)

        sink = Sink(put_checked, schema, digests_for(path, origin), most_rows, most_bytes)
        yield sink
        sink.flush()


class Digests:
    """A hash of every column of a table that comes in batches, however it is cut into them.

    What lies under a null does not count, nor how wide numbers are, nor whether a dictionary says
    the values.

    known, layout: the format and layout of a file; columns count as they stand in such a file.
    """

    def __init__(self, known: Format | None = None, layout: Any = None):
        self._known, self._layout = known or Format(), layout
        # Validity, lengths and values of a column apart, so that no cut shows.
        self._hashes: defaultdict[str, list[Any]] = defaultdict(
            lambda: [hashlib.sha256() for _ in range(3)]
        )

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the next rows."""
        for name, array in zip(batch.schema.names, batch.columns, strict=True):
            stored = self._known.stored(pa.chunked_array([array]), name, self._layout)
            column = plain(stored.chunk(0))
            valid = column.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8)
            parts = [valid.tobytes(), *_lengths_and_values(column)]
            for running, part in zip(self._hashes[name], parts, strict=True):
                running.update(part)

    def of(self) -> dict[str, str]:
        """By column, the hash of what came so far."""
        return {
            name: hashlib.sha256(b"".join(each.digest() for each in hashes)).hexdigest()
            for name, hashes in self._hashes.items()
        }


def _lengths_and_values(array: pa.Array) -> tuple[bytes, bytes | pa.Buffer]:
    if pa.types.is_decimal(array.type):
        array = pc.cast(array, pa.large_string())
    array = bare(array)
    kind = array.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        wide = pa.float64() if pa.types.is_floating(kind) else pa.int64()
        numbers = array.drop_null().cast(kind if kind == pa.uint64() else wide)
        return b"", numbers.to_numpy().tobytes()
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        entries = (repr(entry).encode() for entry in array.to_pylist() if entry is not None)
        array = pa.array(list(entries), pa.large_binary())
    full = array.drop_null()
    return lengths_of(full), characters(full)


def digests_for(path: Path, origin: Origin) -> Digests:
    """Digests in which what goes into the file at a path and what is read back from it agree."""
    return Digests(format_of(str(path)), origin.layout_for(path))


def read_back_stream(path: Path, expected: pa.Schema, origin: Origin) -> Stream:
    """What was written in parts, to be read again, in the types expected.

    From a text file columns of numbers come back as such, unless the text for a missing value
    stands among them; all others are text. `digests_for` takes both. Dictionaries come back as the
    values they stand for.
    """
    known, layout = format_of(str(path)), origin.layout_for(path)
    numbers = [field.name for field in expected if field.type in _NUMBERS]
    stream = open_stream(path, *known.reading_back(layout, numbers))
    if stream.schema.names != expected.names:
        raise InputError("the columns that were read back are not the columns that were written")
    if not known.tells_types:
        return stream
    schema = spelt_out(expected.remove_metadata())

    def read(columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        wanted = pa.schema([schema.field(name) for name in columns])
        for batch in stream.read(columns, rows):
            table = pa.Table.from_batches([batch.select(list(columns))])
            yield from cast_like(table, wanted).to_batches()

    return replace(stream, schema=schema, read=read)
