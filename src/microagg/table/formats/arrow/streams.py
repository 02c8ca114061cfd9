"""Parquet and Arrow files in parts, and folders of Parquet files as one table."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from microagg.base.errors import InputError
from microagg.table.checks import check_names, check_rows, sha256_of
from microagg.table.formats.arrow.files import (
    SUFFIXES,
    Layout,
    codec_of,
    damaged,
    kind_inside,
    without_views,
)
from microagg.table.formats.format import Parts

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_OFFSET = 32


@dataclass(frozen=True)
class Limits:
    """How much is read at a time.

    buffer: bytes of each column of a Parquet file, whose row groups may be larger than memory.
    large: an Arrow batch of more bytes than this is not read as a whole.
    """

    buffer: int = 1 << 18
    large: int = 1 << 28


@dataclass(frozen=True)
class _File:
    """One file of a table.

    size: bytes in memory, about: what is stored uncompressed, or what full columns of these types
        take, where repetition has made the file much smaller.
    """

    path: Path
    kind: str
    layout: Layout
    rows: int
    size: int


def listed(path: Path) -> list[Path]:
    """The files of a table: the one there, or the Parquet files in a folder, by name."""
    if not path.is_dir():
        return [path]
    files = [
        entry
        for entry in _entries(path)
        if entry.is_file() and SUFFIXES.get(entry.suffix.lower()) == "parquet"
    ]
    if not files:
        raise InputError(f"there are no Parquet files in the folder {path}")
    return files


def open_parts(path: Path, limits: Limits = Limits()) -> Parts:
    """Look a table over: footers, or the batches of an Arrow file, and every byte for the hash.

    Read in parts, a Parquet file takes the memory of a batch and, for every column asked for, of a
    page and a dictionary, usually 1 MB each. (Pages below 16 KB stay where they are, compressed,
    until the end of their row group.) An Arrow file takes that of a batch as it was written, unless
    that is very large and not compressed.
    """
    paths = listed(path)
    notes = []
    if path.is_dir():
        hashes = "".join(f"{file.name}\0{sha256_of(file)}\n" for file in paths)
        sha256 = hashlib.sha256(hashes.encode()).hexdigest()
        if any(entry.is_dir() for entry in _entries(path)):
            notes.append(f"folders inside {path.name} were not read")
    else:
        sha256 = sha256_of(path)
    files = [_outline(file, limits) for file in paths]
    schema = _common_schema(files)
    total = sum(file.rows for file in files)
    check_rows(total, str(path))

    def read(columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        for file in files:
            yield from _read(file, columns, rows, limits)

    layout = Layout(schema, files[0].layout.compression)
    return Parts(schema, total, sum(file.size for file in files), layout, sha256, notes, read)


def size_of(path: Path, limits: Limits = Limits()) -> int:
    """Bytes that the table would take in memory, about; of a damaged file, those it has."""
    total = 0
    for file in listed(path):
        try:
            footer = kind_inside(file) == "parquet"
            total += _outline(file, limits).size if footer else file.stat().st_size
        except InputError:
            total += file.stat().st_size
    return total


def _entries(folder: Path) -> list[Path]:
    """What is in a folder by name, but for what is hidden or set aside as programs do."""
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "_")))


def _outline(path: Path, limits: Limits) -> _File:
    kind = kind_inside(path)
    with _readable(path, kind):
        if kind == "parquet":
            with _parquet(path, limits) as parquet:
                schema, metadata = parquet.schema_arrow, parquet.metadata
            check_names(schema.names, str(path))
            groups = (metadata.row_group(place) for place in range(metadata.num_row_groups))
            stored = sum(group.total_byte_size for group in groups)
            rows, compression = metadata.num_rows, codec_of(metadata)
        else:
            schema, stored, compression = _ipc_schema(path, kind), path.stat().st_size, None
            check_names(schema.names, str(path))
            rows = sum(batch.num_rows for batch in _ipc_batches(path, kind, [0], limits))
    size = max(stored, rows * sum(_width(field.type) for field in schema) // 8)
    return _File(path, kind, Layout(without_views(schema), compression), rows, size)


def _width(kind: pa.DataType) -> int:
    """Bits of one entry, without the letters of texts."""
    if pa.types.is_dictionary(kind):
        return int(kind.index_type.bit_width)
    try:
        return int(kind.bit_width)
    except ValueError:
        return _OFFSET


def _common_schema(files: Sequence[_File]) -> pa.Schema:
    """The schema of all files; a column is required if it is so in each of them."""
    schema = files[0].layout.schema
    for file in files[1:]:
        other = file.layout.schema
        if other.names != schema.names or other.types != schema.types:
            raise InputError(
                f"{file.path} has other columns than {files[0].path.name} beside it: "
                f"{_difference(schema, other)}; all files of a folder must have the same"
            )
    for place, field in enumerate(schema):
        if any(file.layout.schema.field(place).nullable for file in files):
            schema = schema.set(place, field.with_nullable(True))
    return schema


def _difference(schema: pa.Schema, other: pa.Schema) -> str:
    for here, there in zip(schema, other, strict=False):
        if here.name != there.name:
            return f"{there.name!r} where {here.name!r} is expected"
        if here.type != there.type:
            return f"{here.name!r} is of type {there.type}, not {here.type}"
    return f"there are {len(other)} of them, not {len(schema)}"


def _read(
    file: _File, columns: Sequence[str], rows: int, limits: Limits
) -> Iterator[pa.RecordBatch]:
    with _readable(file.path, file.kind):
        if file.kind != "parquet":
            places = [file.layout.schema.get_field_index(name) for name in columns]
            for batch in _ipc_batches(file.path, file.kind, places, limits):
                for begin in range(0, batch.num_rows, rows):
                    part = batch.slice(begin, rows)
                    # Bytes come as they are in the file: only this shows whether they make sense.
                    part.validate(full=True)
                    yield part
            return
        with _parquet(file.path, limits) as parquet:
            count = parquet.num_row_groups
            for group in range(count):
                # One by one, so that a damaged one can be named.
                with _readable(file.path, file.kind, f"row group {group + 1} of {count} "):
                    yield from parquet.iter_batches(rows, row_groups=[group], columns=list(columns))


@contextmanager
def _parquet(path: Path, limits: Limits) -> Iterator["pq.ParquetFile"]:
    import pyarrow.parquet as pq

    with (
        pa.OSFile(str(path)) as file,
        pq.ParquetFile(file, buffer_size=limits.buffer, pre_buffer=False) as parquet,
    ):
        yield parquet


def _ipc_schema(path: Path, kind: str) -> pa.Schema:
    with pa.OSFile(str(path)) as file:
        return (pa.ipc.open_file if kind == "arrow" else pa.ipc.open_stream)(file).schema


def _ipc_batches(
    path: Path, kind: str, places: list[int], limits: Limits
) -> Iterator[pa.RecordBatch]:
    """The batches of a file with the columns at some places at least, one at a time in memory."""
    options = pa.ipc.IpcReadOptions(included_fields=places)
    with pa.OSFile(str(path)) as file:
        if kind == "stream":
            yield from pa.ipc.open_stream(file, options=options)
            return
        arrow = pa.ipc.open_file(file, options=options)
        count = arrow.num_record_batches
        if file.size() <= count * limits.large:
            yield from map(arrow.get_batch, range(count))
            return
    # A window on the file takes no memory, but who cuts the file off meanwhile ends the program.
    with pa.memory_map(str(path)) as window:
        yield from map(pa.ipc.open_file(window).get_batch, range(count))


@contextmanager
def _readable(path: Path, kind: str, where: str = "") -> Iterator[None]:
    """Whatever goes wrong is damage, said in our words: those of the libraries may quote values."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception:
        raise damaged(path, kind, where) from None
