"""Values as the text of a CSV file, with quotes only where they are needed."""

import codecs
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from microagg.base.errors import InputError
from microagg.kernels.ahead import made_ahead
from microagg.table.checks import characters, plain
from microagg.table.formats.csv.dates import as_written
from microagg.table.formats.csv.layout import ColumnLayout, CsvLayout, compression_of, zone_name

_ROWS = 1 << 15
_CELLS = 1 << 22
_WRITABLE = (
    pa.types.is_null,
    pa.types.is_primitive,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
)


@contextmanager
def open_writer(
    path: Path, schema: pa.Schema, layout: CsvLayout
) -> Iterator[Callable[[pa.Table], None]]:
    """Something that puts table after table with these columns into a CSV file.

    Every float64 gets the shortest text that reads back as the same number. Missing values and NaN
    get the text the layout has for the column. Durations are counts of their unit. O(cells) time on
    every core, memory for a few blocks of rows.
    """
    if not len(schema):
        raise InputError("a table without columns cannot be written as CSV")
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_interval(kind) or not any(is_it(kind) for is_it in _WRITABLE):
            raise InputError(
                f"column {field.name!r} is of type {kind}, which CSV cannot hold; "
                "drop it, turn it into text, or write another format"
            )
    alone = len(schema) == 1
    styles = [layout.columns.get(name, ColumnLayout()) for name in schema.names]
    rows = max(1, min(_ROWS, _CELLS // len(schema)))
    packed = compression_of(path)
    with path.open("wb") if packed is None else pa.output_stream(path, packed) as file:
        put = _encoded_into(file, layout)
        header = [pa.array([name], pa.large_string()) for name in schema.names]
        put(_lines([_quoted(name, layout, alone) for name in header], layout))

        def lines_of(batch: pa.RecordBatch) -> pa.Buffer:
            texts = [
                _quoted(_text(values, style, layout.decimal), layout, alone)
                for values, style in zip(batch.columns, styles, strict=True)
            ]
            return _lines(texts, layout)

        def put_records(table: pa.Table) -> None:
            for lines in made_ahead(lines_of, table.to_batches(max_chunksize=rows)):
                put(lines)

        yield put_records


def as_texts(column: pa.ChunkedArray, name: str, layout: CsvLayout | None) -> pa.ChunkedArray:
    """A column as it is written, quotes aside."""
    layout = layout or CsvLayout()
    style = layout.columns.get(name, ColumnLayout())
    texts = [_text(chunk, style, layout.decimal) for chunk in column.chunks]
    return pa.chunked_array([pc.cast(text, pa.string()) for text in texts], pa.string())


def _text(values: pa.Array, style: ColumnLayout, decimal: str) -> pa.Array:
    """Values as they are written, quotes aside."""
    values = plain(values)
    kind = values.type
    if pa.types.is_boolean(kind):
        text = pc.cast(pc.if_else(values, *style.booleans), pa.large_string())
    elif pa.types.is_timestamp(kind):
        text = _moment_text(values, style)
    elif pa.types.is_floating(kind):
        text = _float_text(values)
    elif pa.types.is_date32(kind) and style.date:
        text = as_written(values, style.date, style.padded)
    else:
        text = pc.cast(values, pa.large_string())
    if decimal != "." and (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        text = pc.replace_substring(text, ".", decimal)
    return pc.fill_null(text, style.missing)


def _float_text(values: pa.Array) -> pa.Array:
    """The shortest text that reads back alike, with a point so that whole numbers stay floats."""
    if pa.types.is_float16(values.type):
        values = pc.cast(values, pa.float32())
    nothing = pc.is_nan(values)
    if pc.any(nothing).as_py():
        values = pc.if_else(nothing, pa.scalar(None, values.type), values)
    text = pc.cast(values, pa.large_string())
    whole = pc.fill_null(pc.equal(pc.trunc(values), values), False)
    if pc.any(whole).as_py():
        # Not those with an exponent.
        pointed = pc.replace_substring_regex(text.filter(whole), "^(-?[0-9]+)$", r"\1.0")
        text = pc.replace_with_mask(text, whole, pointed)
    return text


def _moment_text(values: pa.Array, style: ColumnLayout) -> pa.Array:
    # A zone such as +02:00 has several spellings: keep that of the file.
    zone = style.zone if style.zone and zone_name(style.zone) == values.type.tz else ""
    text = pc.cast(pc.local_timestamp(values) if zone else values, pa.large_string())
    text = pc.replace_substring(text, " ", style.separator, max_replacements=1)
    return _concatenated(text, zone) if zone else text


def _quoted(text: pa.Array, layout: CsvLayout, alone: bool) -> pa.Array:
    """Fields as they stand in the file; one that is alone in its row must not be an empty line."""
    data = characters(text).to_pybytes()
    needed = pc.equal(text, "") if alone else None
    if any(sign in data for sign in (b'"', b"\r", b"\n", layout.delimiter.encode())):
        special = pc.match_substring_regex(text, rf'["\r\n\x{ord(layout.delimiter):02x}]')
        needed = special if needed is None else pc.or_(needed, special)
    if needed is None or not pc.any(needed).as_py():
        return text
    doubled = pc.replace_substring(text.filter(needed), '"', '""')
    return pc.replace_with_mask(text, needed, _concatenated('"', doubled, '"'))


def _lines(texts: list[pa.Array], layout: CsvLayout) -> pa.Buffer:
    last = _concatenated(texts[-1], layout.line_end)
    return characters(_concatenated(*texts[:-1], last, between=layout.delimiter))


def _concatenated(*parts: pa.Array | str, between: str = "") -> pa.Array:
    """Row by row; a plain string goes into every row."""
    wide = [
        pa.scalar(part, pa.large_string()) if isinstance(part, str) else part
        for part in (*parts, between)
    ]
    return pc.binary_join_element_wise(*wide)


def _encoded_into(file: IO[bytes], layout: CsvLayout) -> Callable[[pa.Buffer], object]:
    encoder = codecs.getincrementalencoder(layout.encoding)()
    if layout.byte_order_mark:
        file.write(encoder.encode("\ufeff"))
    if layout.encoding == "utf-8":
        return file.write

    def put(data: pa.Buffer) -> None:
        try:
            file.write(encoder.encode(data.to_pybytes().decode()))
        except UnicodeEncodeError:
            raise InputError(
                f"the table has characters that {layout.encoding} cannot write; ask for utf-8"
            ) from None

    return put
