"""What every door asks of a table, whatever kind of file or database it came from."""

import hashlib
import importlib
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microagg.base.errors import InputError, OptionError
from microagg.table.metadata import changed
from microagg.table.nesting import rebuilt

_DAY_ZERO = "1970-01-01T"
# Days since then of the first and the last that Python, and most formats, can write.
_FIRST_DAY, _LAST_DAY = -719162, 2932896

Column = TypeVar("Column", pa.Array, pa.ChunkedArray)
Table = TypeVar("Table", pa.Table, pa.RecordBatch)


def require(module: str, doing: str, extra: str) -> Any:
    """Import an optional package, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.split(".")[0].replace("_", "-")
        raise OptionError(
            f'{doing} needs the package {package}: pip install "microagg[{extra}]"'
        ) from None


def check_names(names: list[str], what: str) -> None:
    """Refuse a table without columns, with nameless columns or with one name twice."""
    if not names:
        raise InputError(f"{what} has no columns: a table with named columns is needed")
    if not all(names):
        place = names.index("") + 1
        raise InputError(f"{what}: column {place} has no name; every column needs one")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{what} has more than one column {name!r}: rename or drop the others")
        seen.add(name)


def check_rows(rows: int, what: str) -> None:
    """Refuse a table without rows."""
    if rows == 0:
        raise InputError(f"{what} has no rows: there is nothing to group")


def sha256_of(path: Path) -> str:
    """The hash of a file's bytes; a file that cannot be opened is an InputError."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as problem:
        reason = problem.strerror or "it cannot be opened"
        raise InputError(f"{path} cannot be read: {reason}") from None


def fingerprint(table: pa.Table) -> str:
    """sha256 over the names, types and values of a table, however it is cut into chunks.

    Values are hashed as they are: two zeros of different sign differ, what lies under a null does
    not count, and a dictionary column counts as the values it stands for.
    """
    digest = hashlib.sha256()

    def add(part: bytes | memoryview) -> None:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)

    for field, column in zip(table.schema, table.columns, strict=True):
        column = plain(column)
        add(field.name.encode())
        add(str(column.type).encode())
        add(len(column).to_bytes(8, "little"))
        for part in _canonical(column):
            add(part)
    return digest.hexdigest()


def _canonical(column: pa.ChunkedArray) -> list[bytes | memoryview]:
    """Validity and values as bytes that do not depend on chunks or on what nulls hide."""
    valid = np.packbits(column.is_valid().to_numpy()).tobytes()
    column = bare(column)
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        full = column.fill_null(b"")
        return [valid, lengths_of(full), b"".join(map(characters, full.chunks))]
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return [valid, column.fill_null(0).to_numpy().tobytes()]
    return [valid, repr(column.to_pylist()).encode()]


def bare(column: Column) -> Column:
    """Texts as bytes, truth values and moments as integers, all else as it is."""
    kind = column.type
    if kind in (pa.string_view(), pa.string(), pa.large_string()):
        return column.cast(pa.large_string()).cast(pa.large_binary())
    if pa.types.is_boolean(kind):
        return column.cast(pa.uint8())
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    return column


def lengths_of(full: pa.Array | pa.ChunkedArray) -> bytes:
    """How long each entry of a column of bytes is."""
    lengths: bytes = pc.binary_length(full).cast(pa.int64()).to_numpy().tobytes()
    return lengths


def characters(full: pa.Array) -> pa.Buffer:
    """The bytes of all entries in a row, of texts or of bytes."""
    full = full.cast(pa.large_binary())
    _validity, offsets, data = full.buffers()
    if data is None or not len(full):
        return pa.py_buffer(b"")
    bounds = memoryview(offsets).cast("q")
    begin, end = bounds[full.offset], bounds[full.offset + len(full)]
    return data.slice(begin, end - begin)


def plain(column: Column) -> Column:
    """The values that a dictionary column stands for."""
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column


def without_runs(table: Table) -> Table:
    """The table with runs, also inside of columns, as the values these stand for: few functions
    know runs."""
    for place, field in enumerate(table.schema):
        plain_field = changed(field, without_run)
        if plain_field.type != field.type:
            column = table.column(place)
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            chunks = [rebuilt(chunk, plain_field.type, _run_out) for chunk in chunks]
            whole = pa.chunked_array(chunks, plain_field.type)
            one = whole if isinstance(column, pa.ChunkedArray) else chunks[0]
            table = table.set_column(place, plain_field, one)
    return table


def without_run(field: pa.Field) -> pa.Field:
    """A field of runs as one of the values these stand for."""
    runs = pa.types.is_run_end_encoded(field.type)
    return field.with_type(field.type.value_type) if runs else field


def _run_out(array: pa.Array, _kind: pa.DataType) -> pa.Array:
    return pc.run_end_decode(array) if pa.types.is_run_end_encoded(array.type) else array


def refuse_far_moments(table: pa.Table | pa.RecordBatch, form: str) -> None:
    """Refuse dates outside of the years 1 to 9999, which most formats have no way to write."""
    for field, column in zip(table.schema, table.columns, strict=True):
        kind = field.type
        if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
            continue
        unit = {pa.date32(): "D", pa.date64(): "ms"}.get(kind) or kind.unit
        ends = pc.min_max(bare(column)).values()
        first, last = (end.as_py() for end in ends)
        days = 1 if unit == "D" else 86400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
        if first is not None and not _FIRST_DAY <= first // days <= last // days <= _LAST_DAY:
            raise InputError(
                f"column {field.name!r} has dates outside of the years 1 to 9999, which {form} "
                "cannot hold; write Parquet or Arrow instead"
            )


def decoded(table: pa.Table) -> pa.Table:
    """The same table with dictionary columns as the plain values they stand for."""
    columns = [plain(column) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def trimmed(table: pa.Table) -> pa.Table:
    """The same table in one chunk, and nothing but what it shows.

    A dictionary keeps values nobody has any more, such as those of before a release; a gap may have
    a value beneath it; a slice keeps what it was cut from. A file would carry them along unseen.
    Order and index types stay, and so it is with all that columns are made of.
    """
    table = table.unify_dictionaries().combine_chunks()
    if not table.num_columns:
        return table
    schema, columns = table.schema, table.columns
    # What was copied is let go column by column, and no table is made anew for each.
    del table
    for place, field in enumerate(schema):
        chunks = [rebuilt(chunk, field.type, _trimmed) for chunk in columns[place].chunks]
        columns[place] = pa.chunked_array(chunks, field.type)
    return pa.Table.from_arrays(columns, schema=schema)


def _trimmed(array: pa.Array, kind: pa.DataType) -> pa.Array:
    array = _own(array)
    return only_shown(array) if pa.types.is_dictionary(kind) else array


def _own(array: pa.Array) -> pa.Array:
    """The array, copied if its memory holds more than its values."""
    buffers = [buffer for buffer in array.buffers() if buffer is not None]
    more = array.null_count or array.offset or array.get_total_buffer_size() > array.nbytes
    if not (more or any(buffer.parent is not None for buffer in buffers)):
        return array
    try:
        return array.take(pa.array(np.arange(len(array))))
    except pa.ArrowNotImplementedError:
        return array


def only_shown(array: pa.DictionaryArray, *, as_they_come: bool = False) -> pa.DictionaryArray:
    """A dictionary column whose dictionary has what the column shows, in its order.

    as_they_come: in the order in which the column shows them, where the dictionary has none.
    """
    codes, kind = array.indices.unique().drop_null(), array.type
    if not as_they_come or kind.ordered:
        if len(codes) == len(array.dictionary):
            return array
        codes = codes.sort()
    places = pc.index_in(array.indices, value_set=codes).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(
        places, array.dictionary.take(codes), ordered=kind.ordered
    )


def cast_like(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of a read-back table in the types they were written from.

    Formats with few types give booleans back as 0 and 1, and moments as text; a value that does
    not fit the type is an InputError naming the column.
    """
    if table.column_names != schema.names:
        raise InputError("the columns that were read back are not the columns that were written")
    columns = []
    for field, column in zip(schema, table.columns, strict=True):
        try:
            columns.append(_cast(plain(column), field.type))
        except pa.ArrowException:
            raise InputError(
                f"column {field.name!r} came back as {column.type}, which cannot be read as "
                f"the {field.type} that was written"
            ) from None
    return pa.table(columns, schema=schema)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), kind)])
    if pa.types.is_dictionary(kind):
        coded = _cast(column, kind.value_type).combine_chunks().dictionary_encode()
        codes = coded.indices.cast(kind.index_type)
        return pa.chunked_array(
            [pa.DictionaryArray.from_arrays(codes, coded.dictionary, ordered=kind.ordered)]
        )
    if pa.types.is_string(column.type):
        if pa.types.is_time(kind):
            column = pc.binary_join_element_wise(_DAY_ZERO, column, "")
            return column.cast(pa.timestamp(kind.unit)).cast(kind)
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            return column.cast(pa.timestamp(kind.unit)).cast(kind)
    if pa.types.is_decimal(kind) and pa.types.is_floating(column.type):
        return pc.round(column, kind.scale).cast(kind, safe=False)
    return column.cast(kind)
