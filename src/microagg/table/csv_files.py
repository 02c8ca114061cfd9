"""CSV files in and out: what nobody asked to understand comes out byte for byte as it came in.

Records stream through in blocks. A column of numbers is numbers as soon as its block is read, so
its text is never held whole; a column that changes its mind later is read a second time as text.
"""

import codecs
import io
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from microagg.errors import InputError
from microagg.progress import Report, silent
from microagg.table.csv_layout import (
    ColumnLayout,
    Converter,
    CsvLayout,
    Outline,
    as_it_is,
    common_type,
    outline,
    reading_of,
    understand,
    zone_name,
)
from microagg.table.source import Loaded, Reading

__all__ = ["ColumnLayout", "CsvLayout", "as_texts", "read", "reading_of", "write"]

# Also the longest record that can be read. Dozens are read ahead, so bigger ones cost memory.
_BLOCK = 1 << 19
# Thousands of columns want bigger blocks: a block costs some time for each of them.
_BLOCK_PER_COLUMN = 1 << 12
_ROWS = 1 << 16
_CELLS = 1 << 22
_END = "end"
_WRITABLE = (
    pa.types.is_null,
    pa.types.is_primitive,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
)


def read(
    path: Path, reading: Reading, typed: Collection[str] | None = None, report: Report = silent
) -> Loaded:
    """Read a CSV file whose first line holds the column names.

    typed: the columns to understand, all of them if not given. Such a column becomes int64,
        float64, bool, date32 or timestamp if every field that is not missing is one, and text
        otherwise. Numbers with leading zeros or a plus sign and integers beyond 64 bits are text,
        and so is a column of integers and decimals of which float64 cannot hold one exactly.
        Spaces around a number do not matter. The other columns stay text as they are written.

    Two passes over the bytes, a third for columns that turn out to be text after all. Memory: the
    table and a few blocks.
    """
    plan = outline(path, reading)
    asked = set(plan.names if typed is None else typed)
    missing = pa.array(["", *reading.missing_values], pa.string())
    batches = _batches(path, plan, plan.names, report)
    first = next(batches)
    decimal = plan.layout.decimal
    if reading.decimal is None and plan.layout.delimiter != ",":
        decimal = _find_decimal(first.columns, missing)
    columns = [_Column(name, name in asked, decimal, missing) for name in plan.names]
    for batch in chain([first], batches):
        for column, text in zip(columns, batch.columns, strict=True):
            column.add(text)
    again = [column for column in columns if not column.finish()]
    if again:
        for batch in _batches(path, plan, [column.name for column in again]):
            for column, text in zip(again, batch.columns, strict=True):
                column.add(text)
        for column in again:
            column.finish()
    table = pa.table([pa.chunked_array(column.chunks) for column in columns], plan.names)
    if not table.num_rows:
        raise InputError(f"{path.name} has column names but no records")
    styles = {column.name: column.layout() for column in columns if column.typed}
    layout = replace(plan.layout, decimal=decimal, columns=styles)
    return Loaded(table, layout, plan.sha256, plan.notes)


def write(table: pa.Table, path: Path, layout: CsvLayout | None) -> None:
    """Write a table as CSV, with quotes only where they are needed.

    Every float64 gets the shortest text that reads back as the same number. Missing values and NaN
    get the text the layout has for the column. Durations are counts of their unit. O(cells) time,
    memory for a few blocks of rows.
    """
    layout = layout or CsvLayout()
    if not table.num_columns:
        raise InputError("a table without columns cannot be written as CSV")
    for field in table.schema:
        _check_writable(field)
    alone = table.num_columns == 1
    styles = [layout.columns.get(name, ColumnLayout()) for name in table.column_names]
    rows = max(1, min(_ROWS, _CELLS // table.num_columns))
    with path.open("wb") as file:
        put = _encoded_into(file, layout)
        header = [pa.array([name], pa.large_string()) for name in table.column_names]
        put(_lines([_quoted(name, layout, alone) for name in header], layout))
        for batch in table.to_batches(max_chunksize=rows):
            texts = []
            for values, style in zip(batch.columns, styles, strict=True):
                texts.append(_quoted(_text(values, style, layout.decimal), layout, alone))
            put(_lines(texts, layout))


def as_texts(column: pa.ChunkedArray, name: str, layout: CsvLayout | None) -> pa.ChunkedArray:
    """A column as `write` writes it, quotes aside."""
    layout = layout or CsvLayout()
    style = layout.columns.get(name, ColumnLayout())
    texts = [_text(chunk, style, layout.decimal) for chunk in column.chunks]
    return pa.chunked_array([pc.cast(text, pa.string()) for text in texts], pa.string())


class _Utf8Stream(io.RawIOBase):
    """The bytes of a file as UTF-8, with one more record at the end.

    Whether that record arrives shows whether a quote was left open.
    """

    def __init__(self, file: IO[bytes], plan: Outline, end: bytes):
        self._file = file
        self.left = plan.length
        encoding = plan.layout.encoding
        self._decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)()
        self._ready = b""
        self._end = end

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        # Blocks must be full: a record may lie across one border, not across two.
        while len(self._ready) < size and self.left:
            raw = self._file.read(min(size, self.left))
            self.left = self.left - len(raw) if raw else 0
            if self._decoder is not None:
                raw = self._decoder.decode(raw, final=not self.left).encode()
            self._ready += raw
        if not self.left:
            self._ready += self._end
            self._end = b""
        block, self._ready = self._ready[:size], self._ready[size:]
        return block


def _batches(
    path: Path, plan: Outline, names: list[str], report: Report = silent
) -> Iterator[pa.RecordBatch]:
    """The named columns as text, batch by batch; the file's faults become one sentence each."""
    width, delimiter = len(plan.names), plan.layout.delimiter
    block = max(_BLOCK, _BLOCK_PER_COLUMN * width)
    end = delimiter.join([_END] * width)
    fault = (
        f"{plan.name} has a record longer than {block / 2**20:.1f} MB; a quote may never be "
        "closed, or the delimiter or the line ends may be unusual"
    )

    def refuse(row: arrow_csv.InvalidRow) -> str:
        nonlocal fault
        fault = (
            f"{plan.name} opens a quote that is never closed"
            if row.text.rstrip("\r\n").endswith("\n" + end)
            else f"row {row.number} of {plan.name} has {row.actual_columns} field(s), the header, "
            f"row 1, has {row.expected_columns}; is the delimiter {delimiter!r} right?"
        )
        return "error"

    with path.open("rb") as file:
        stream = _Utf8Stream(file, plan, f"\n{end}\n".encode())
        try:
            reader = arrow_csv.open_csv(
                stream,
                # Without threads rows are numbered, and nothing is slower by more than a third.
                read_options=arrow_csv.ReadOptions(block_size=block, use_threads=False),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=delimiter,
                    newlines_in_values=True,
                    # A blank line is a missing value if there is one column, and nothing otherwise.
                    ignore_empty_lines=width > 1,
                    invalid_row_handler=refuse,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=names,
                    strings_can_be_null=False,
                ),
            )
            held = None
            for batch in reader:
                if held is not None:
                    yield held
                held = batch
                report(1.0 - stream.left / plan.length)
        except pa.ArrowException:
            raise InputError(fault) from None
        if held is None or any(column[-1].as_py() != _END for column in held.columns):
            raise InputError(f"{plan.name} opens a quote that is never closed")
        yield held.slice(0, held.num_rows - 1)


class _Column:
    """One column as it comes in, batch by batch.

    Untyped, it keeps the text. Typed, the first batch with a value in it says what the column is;
    after a batch that disagrees it waits for a second pass, as text.
    """

    def __init__(self, name: str, typed: bool, decimal: str, missing_values: pa.Array):
        self.name = name
        self.typed = typed
        self._decimal = decimal
        self._missing_values = missing_values
        self._missing: Counter[str] = Counter()
        self._layout = ColumnLayout()
        self._convert: Converter | None = None
        self._failed = False
        self.chunks: list[pa.Array] = []

    def add(self, text: pa.Array) -> None:
        """Take the next batch."""
        if self._failed:
            return
        if not self.typed:
            self.chunks.append(text)
            return
        text = self._without_missing(text)
        if text.null_count == len(text):
            self.chunks.append(pa.nulls(len(text)))
            return
        try:
            if self._convert is None:
                self._convert, self._layout, values = understand(text, self._decimal)
            else:
                values = self._convert(text)
            self.chunks.append(values)
        except pa.ArrowInvalid:
            self._failed = True

    def finish(self) -> bool:
        """Agree on one type; False if the column has to be read again, as text."""
        if self.typed and not self._failed:
            agreed = common_type({chunk.type for chunk in self.chunks})
            try:
                self.chunks = [pc.cast(chunk, agreed) for chunk in self.chunks]
            except pa.ArrowInvalid:
                self._failed = True
        if not self._failed:
            return True
        self._convert, self._layout = as_it_is, ColumnLayout()
        self.chunks, self._missing, self._failed = [], Counter(), False
        return False

    def layout(self) -> ColumnLayout:
        """How it was written."""
        commonest = self._missing.most_common(1)
        return replace(self._layout, missing=commonest[0][0] if commonest else "")

    def _without_missing(self, text: pa.Array) -> pa.Array:
        missing = pc.is_in(text, value_set=self._missing_values)
        if not pc.any(missing).as_py():
            return text
        for found in pc.value_counts(text.filter(missing)).to_pylist():
            self._missing[found["values"]] += found["counts"]
        return pc.if_else(missing, pa.scalar(None, pa.string()), text)


def _find_decimal(columns: list[pa.Array], missing: pa.Array) -> str:
    """A comma if there are columns of decimals with it but none that a point would make such."""
    found = set()
    for text in columns:
        kinds = set()
        for decimal in ".,":
            column = _Column("", True, decimal, missing)
            column.add(text)
            if column.chunks[0].type == pa.float64():
                kinds.add(decimal)
        if len(kinds) == 1:
            found |= kinds
    return "," if found == {","} else "."


def _check_writable(field: pa.Field) -> None:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_interval(kind) or not any(is_it(kind) for is_it in _WRITABLE):
        raise InputError(
            f"column {field.name!r} is of type {kind}, which CSV cannot hold; "
            "drop it, turn it into text, or write another format"
        )


def _text(values: pa.Array, style: ColumnLayout, decimal: str) -> pa.Array:
    """Values as they are written, quotes aside."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = values.type
    if pa.types.is_boolean(kind):
        text = pc.cast(pc.if_else(values, *style.booleans), pa.large_string())
    elif pa.types.is_timestamp(kind):
        text = _moment_text(values, style)
    elif pa.types.is_floating(kind):
        text = _float_text(values)
    else:
        text = pc.cast(values, pa.large_string())
    if decimal != "." and (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        text = pc.replace_substring(text, ".", decimal)
    return pc.fill_null(text, style.missing)


def _float_text(values: pa.Array) -> pa.Array:
    """The shortest text that reads back alike, with a point so that whole numbers stay floats."""
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
    data = _data(text).to_pybytes()
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
    return _data(_concatenated(*texts[:-1], last, between=layout.delimiter))


def _concatenated(*parts: pa.Array | str, between: str = "") -> pa.Array:
    """Row by row; a plain string goes into every row."""
    wide = [
        pa.scalar(part, pa.large_string()) if isinstance(part, str) else part
        for part in (*parts, between)
    ]
    return pc.binary_join_element_wise(*wide)


def _data(text: pa.Array) -> pa.Buffer:
    """The characters of all fields in a row."""
    _validity, offsets, data = text.buffers()
    if data is None or not len(text):
        return pa.py_buffer(b"")
    bounds = memoryview(offsets).cast("q")
    begin, end = bounds[text.offset], bounds[text.offset + len(text)]
    return data.slice(begin, end - begin)


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
