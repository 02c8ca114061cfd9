"""The kinds of files that Arrow knows, and how each is read and written."""

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.base.errors import InputError
from microagg.table.checks import without_run
from microagg.table.metadata import PANDAS, changed, pandas_notes

SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".arrows": "stream",
}
NAMES = {"parquet": "Parquet file", "arrow": "Arrow file", "stream": "Arrow stream"}
_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
_ROWS_AT_ONCE = {"parquet": 1 << 20, "arrow": 1 << 16, "stream": 1 << 16}


@dataclass(frozen=True)
class Layout:
    """What a file of the same kind needs to look alike.

    compression: of a Parquet file, the codec of its first column; None where it is not known.
    schema: names, types, which columns may be empty, and all metadata.
    """

    schema: pa.Schema
    compression: str | None = None


def kind_inside(path: Path) -> str:
    """Which kind of file this is by its first bytes, whatever its suffix says."""
    with path.open("rb") as stream:
        start = stream.read(8)
    if start[:4] == b"PAR1":
        return "parquet"
    if start[:6] == b"ARROW1":
        return "arrow"
    if start[:4] == b"\xff\xff\xff\xff":
        return "stream"
    wanted = NAMES[SUFFIXES.get(path.suffix.lower(), "parquet")]
    found = "it is empty" if not start else "it does not begin like one"
    raise InputError(f"{path} is not a {wanted}: {found}; check which program wrote it")


def without_views(schema: pa.Schema) -> pa.Schema:
    """The same columns without views and runs, which few functions know."""
    fields = []
    for field in schema:
        kind = changed(field, without_run).type
        if pa.types.is_dictionary(kind):
            values = _VIEWS.get(kind.value_type, kind.value_type)
            kind = pa.dictionary(kind.index_type, values, kind.ordered)
        fields.append(field.with_type(_VIEWS.get(kind, kind)))
    return pa.schema(fields, schema.metadata)


def codec_for(layout: Layout | None) -> str:
    """The codec of a Parquet file that is to look like another one."""
    return (layout and layout.compression) or "zstd"


@contextmanager
def open_writer(
    path: Path, schema: pa.Schema, compression: str
) -> Iterator[Callable[[pa.Table], None]]:
    """Something that puts table after table of this schema into a file; the suffix says the kind.

    What the kind of file cannot hold is an InputError.
    """
    kind = SUFFIXES[path.suffix.lower()]
    with ExitStack() as opened:
        with _storable(schema, kind):
            writer = opened.enter_context(_writer(path, schema, kind, compression))

        def put(table: pa.Table) -> None:
            with _storable(schema, kind):
                writer.write_table(table, _ROWS_AT_ONCE[kind])

        yield put


@contextmanager
def _storable(schema: pa.Schema, kind: str) -> Iterator[None]:
    try:
        yield
    except pa.ArrowNotImplementedError:
        raise InputError(
            f"a {NAMES[kind]} cannot hold the type of one of the columns: "
            + ", ".join(f"{field.name!r} is {field.type}" for field in schema)
        ) from None
    # The words of the library may quote a value.
    except pa.ArrowInvalid:
        raise InputError(
            f"a {NAMES[kind]} cannot hold all values of the table, such as moments far away or "
            "dictionaries inside of lists; change their type or write another format"
        ) from None


@contextmanager
def _writer(path: Path, schema: pa.Schema, kind: str, compression: str) -> Iterator[Any]:
    if kind == "parquet":
        import pyarrow.parquet as pq

        codec = "none" if compression == "uncompressed" else compression
        # Lists keep the name of their items, whatever the standard would call them.
        with pq.ParquetWriter(
            path, schema, compression=codec, use_compliant_nested_type=False
        ) as parquet:
            yield parquet
        return
    lz4 = path.suffix.lower() == ".feather"
    options = pa.ipc.IpcWriteOptions(compression="lz4" if lz4 else None)
    make = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
    with pa.OSFile(str(path), "wb") as file, make(file, schema, options=options) as writer:
        yield writer


def schema_alike(
    schema: pa.Schema, layout: Layout | None, full: Collection[str], rows: int
) -> pa.Schema:
    """Give the columns what the layout says of them, as far as it is still true.

    A column of the same name and type keeps its metadata, and stays required where it has no gap,
    being one of `full`. What pandas notes stays of columns that are as they were. Without a layout
    the schema stays as it is. Which metadata a release has at all, `released_schema` says.
    """
    if layout is None:
        return schema
    before = {field.name: field for field in layout.schema}
    fields = []
    for field in schema:
        old = before.get(field.name)
        if old is not None and old.type == field.type:
            required = not old.nullable and field.name in full
            field = field.with_metadata(old.metadata).with_nullable(not required)
        else:
            field = field.remove_metadata().with_nullable(True)
        fields.append(field)
    metadata = dict(layout.schema.metadata or {})
    same = {field.name for field in fields if field.name in before and field == before[field.name]}
    if PANDAS in metadata:
        metadata |= pandas_notes(metadata.pop(PANDAS), same, rows)
    return pa.schema(fields, metadata or None)
