"""Parquet and Arrow files: Parquet, Arrow IPC (Feather) and the Arrow stream."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from microagg.errors import InputError, OptionError
from microagg.progress import Report, silent
from microagg.table.checks import check_names, check_table, sha256_of, trimmed
from microagg.table.source import Loaded, Reading

KINDS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".arrows": "stream",
}
_NAMES = {"parquet": "Parquet file", "arrow": "Arrow file", "stream": "Arrow stream"}
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Layout:
    """What a file of the same kind needs to look alike.

    compression: of a Parquet file, the codec of its first column; None where it is not known.
    schema: names, types, which columns may be empty, and all metadata.
    """

    schema: pa.Schema
    compression: str | None = None


def read(path: Path, reading: Reading, report: Report = silent) -> Loaded:  # noqa: ARG001
    """Read a Parquet file, an Arrow (Feather) file or an Arrow stream; its first bytes say which.

    Types, units of moments, dictionaries and missing values come as the file has them.
    """
    sha256 = sha256_of(path)
    kind = _kind_inside(path)
    try:
        with pa.OSFile(str(path)) as file:
            table, layout = _READERS[kind](file, path, report)
        # Only now is every page decoded: a damaged one shows here.
        table.validate()
    except InputError:
        raise
    # The libraries beneath report damage in many ways; none of their texts is safe to repeat.
    except Exception:
        raise InputError(
            f"{path} is damaged or cut off: it begins like a {_NAMES[kind]} but cannot be read"
        ) from None
    check_table(table, str(path))
    return Loaded(table, layout, sha256)


def _kind_inside(path: Path) -> str:
    with path.open("rb") as stream:
        start = stream.read(8)
    if start[:4] == b"PAR1":
        return "parquet"
    if start[:6] == b"ARROW1":
        return "arrow"
    if start[:4] == b"\xff\xff\xff\xff":
        return "stream"
    wanted = _NAMES[KINDS.get(path.suffix.lower(), "parquet")]
    found = "it is empty" if not start else "it does not begin like one"
    raise InputError(f"{path} is not a {wanted}: {found}; check which program wrote it")


def _read_parquet(file: Any, path: Path, report: Report) -> tuple[pa.Table, Layout]:
    with pq.ParquetFile(file) as parquet:
        schema = parquet.schema_arrow
        check_names(schema.names, str(path))
        groups = parquet.num_row_groups
        parts = []
        for group in range(groups):
            parts.append(parquet.read_row_group(group))
            report((group + 1) / groups)
        compression = None
        if groups and parquet.metadata.num_columns:
            compression = parquet.metadata.row_group(0).column(0).compression.lower()
    table = pa.concat_tables(parts) if parts else schema.empty_table()
    return table, Layout(schema, compression)


def _read_batches(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> tuple[pa.Table, Layout]:
    return pa.Table.from_batches(list(batches), schema), Layout(schema)


def _read_arrow(file: Any, path: Path, report: Report) -> tuple[pa.Table, Layout]:
    arrow = pa.ipc.open_file(file)
    check_names(arrow.schema.names, str(path))
    count = arrow.num_record_batches

    def batches() -> Iterator[pa.RecordBatch]:
        for place in range(count):
            yield arrow.get_batch(place)
            report((place + 1) / count)

    return _read_batches(batches(), arrow.schema)


def _read_stream(file: Any, path: Path, report: Report) -> tuple[pa.Table, Layout]:
    stream = pa.ipc.open_stream(file)
    check_names(stream.schema.names, str(path))
    size = max(1, file.size())

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in stream:
            yield batch
            report(min(1.0, file.tell() / size))

    return _read_batches(batches(), stream.schema)


_READERS = {"parquet": _read_parquet, "arrow": _read_arrow, "stream": _read_stream}


def write(table: pa.Table, path: Path, layout: Layout | None) -> None:
    """Write the table so that reading it gives equal types and values; the suffix says the kind.

    Parquet keeps the codec of the layout, zstd without one; .feather is written with lz4 and .arrow
    plain, as most programs do. Metadata that speak of columns which are gone or changed are
    dropped (see `_with_metadata`), and so are values in dictionaries that no record has.
    """
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise OptionError(
            f"{path.suffix or 'no suffix'!r} is not the suffix of a Parquet or Arrow file; "
            f"allowed are {', '.join(KINDS)}"
        )
    table = _with_metadata(trimmed(table), layout)
    compression = (layout and layout.compression) or "zstd"
    try:
        _put(table, path, kind, compression)
    except pa.ArrowNotImplementedError:
        raise InputError(
            f"a {_NAMES[kind]} cannot hold the type of one of the columns: "
            + ", ".join(f"{field.name!r} is {field.type}" for field in table.schema)
        ) from None


def _put(table: pa.Table, path: Path, kind: str, compression: str) -> None:
    if kind == "parquet":
        codec = "none" if compression == "uncompressed" else compression
        # Lists keep the name of their items, whatever the standard would call them.
        pq.write_table(table, path, compression=codec, use_compliant_nested_type=False)
        return
    lz4 = path.suffix.lower() == ".feather"
    options = pa.ipc.IpcWriteOptions(compression="lz4" if lz4 else None)
    make = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
    with pa.OSFile(str(path), "wb") as file, make(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=_ROWS_AT_ONCE)


def _with_metadata(table: pa.Table, layout: Layout | None) -> pa.Table:
    """Give the columns what the layout says of them, as far as it is still true.

    A column of the same name and type keeps its metadata, and stays required where it has no gap.
    Metadata of the whole table stay as they are when all columns do; otherwise only the part of
    pandas stays, without the columns that left: what other programs keep there may be anything,
    and may describe what a release has removed.
    """
    if layout is None:
        return table.replace_schema_metadata(None)
    before = {field.name: field for field in layout.schema}
    fields = []
    for field, column in zip(table.schema, table.columns, strict=True):
        old = before.get(field.name)
        if old is not None and old.type == field.type:
            required = not old.nullable and column.null_count == 0
            field = field.with_metadata(old.metadata).with_nullable(not required)
        else:
            field = field.remove_metadata().with_nullable(True)
        fields.append(field)
    metadata = dict(layout.schema.metadata or {})
    same = {field.name for field in fields if before.get(field.name) == field}
    if table.schema.names != layout.schema.names or len(same) < len(fields):
        metadata = {key: value for key, value in metadata.items() if key == b"pandas"}
    if b"pandas" in metadata:
        metadata |= _pandas_metadata(metadata.pop(b"pandas"), same, table.num_rows)
    schema = pa.schema(fields, metadata or None)
    return pa.table(table.columns, schema=schema)


def _pandas_metadata(text: bytes, same: set[str], rows: int) -> dict[bytes, bytes]:
    """What pandas noted, only of columns that are as they were; nothing if it is not legible."""
    try:
        noted = json.loads(text)
        noted["columns"] = [
            column for column in noted["columns"] if (column["field_name"] or "") in same
        ]
        noted["index_columns"] = [
            index for index in noted["index_columns"] if _still_index(index, same, rows)
        ]
    except (ValueError, KeyError, TypeError):
        return {}
    return {b"pandas": json.dumps(noted).encode()}


def _still_index(index: Any, same: set[str], rows: int) -> bool:
    if isinstance(index, str):
        return index in same
    return len(range(index["start"], index["stop"], index["step"])) == rows
