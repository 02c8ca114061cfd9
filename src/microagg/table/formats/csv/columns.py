"""The records of a CSV file, block by block: as text, and what the columns turn out to be.

A column is numbers as soon as its first block is read, so its text need never be held whole; one
that changes its mind later is text after all.
"""

import codecs
import io
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from microagg.base.errors import InputError
from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.kernels.ahead import read_ahead
from microagg.kernels.threads import run_each, thread_count
from microagg.table.formats.csv.layout import (
    ColumnLayout,
    Converter,
    CsvLayout,
    Outline,
    as_it_is,
    common_type,
    open_bytes,
    understand,
    without_missing,
)
from microagg.table.formats.format import Piped

_END = "end"
_NUMBERS = (pa.int64(), pa.float64())
# So many blocks are understood at a time.
_AT_ONCE = 8
# Seconds in which a thread that reads ahead gets its turn.
_READ_AHEAD = 0.02


def blocks(
    path: Path | Piped,
    plan: Outline,
    names: Sequence[str],
    advance: Advance = silent,
    numbers: Mapping[str, pa.DataType] = MappingProxyType({}),
) -> Iterator[pa.RecordBatch]:
    """The named columns as text, batch by batch; the file's faults become one sentence each.

    numbers: columns that are known to hold nothing else, and their types.
    """
    threads = thread_count() > 1
    parts = _blocks(path, plan, names, advance, numbers, threads)
    try:
        yield from read_ahead(parts) if threads else parts
    except _FaultError:
        if not threads:
            raise
        # With threads nobody knows the number of a row, which who mends the file wants to be told.
        for _ in _blocks(path, plan, names, silent, numbers, False):
            pass
        raise


class _FaultError(InputError):
    """Something is wrong with the file, and the words may lack a number."""


def _blocks(
    path: Path | Piped,
    plan: Outline,
    names: Sequence[str],
    advance: Advance,
    numbers: Mapping[str, pa.DataType],
    threads: bool,
) -> Iterator[pa.RecordBatch]:
    delimiter = plan.layout.delimiter
    ends = {name: 0 if name in numbers else _END for name in plan.names}
    end = delimiter.join(map(str, ends.values()))
    fault = (
        f"{plan.name} has a record longer than {plan.block / 2**20:.1f} MB; a quote may never be "
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

    with open_bytes(path) as file:
        stream = _Utf8Stream(file, plan, f"\n{end}\n".encode())
        try:
            reader = arrow_csv.open_csv(
                stream,
                read_options=arrow_csv.ReadOptions(block_size=plan.block, use_threads=threads),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=delimiter,
                    newlines_in_values=True,
                    # A blank line is a missing value if there is one column, and nothing otherwise.
                    ignore_empty_lines=len(plan.names) > 1,
                    invalid_row_handler=refuse,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types={name: numbers.get(name, pa.string()) for name in names},
                    include_columns=list(names),
                    null_values=[],
                    decimal_point=plan.layout.decimal,
                ),
            )
            held = None
            for batch in reader:
                if held is not None:
                    yield held
                held = batch
                advance(1.0 - stream.left / plan.length)
        except pa.ArrowException as failure:
            # Arrow reads ahead in a thread of its own, which ends the program if it asks for more
            # while Python shuts down: let it ask now, and get nothing.
            stream.left = 0
            time.sleep(_READ_AHEAD)
            if isinstance(failure, MemoryError):
                raise
            raise _FaultError(fault) from None
        last = {} if held is None else held.slice(held.num_rows - 1).to_pylist()[0]
        if held is None or any(value != ends[name] for name, value in last.items()):
            raise InputError(f"{plan.name} opens a quote that is never closed")
        yield held.slice(0, held.num_rows - 1)


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


class Column:
    """One column as it comes in, block by block.

    Untyped, it keeps the text. Typed, the first block with a value in it says what the column is;
    after a block that disagrees it is text, of which nothing is there yet.
    """

    def __init__(self, name: str, typed: bool, decimal: str, reading: Reading, keeps: bool):
        self.name = name
        self.typed = typed
        self.type = pa.string()
        self.chunks: list[pa.Array] = []
        # One for each type that blocks were of, with the extremes where a wider type may not hold
        # them: so much it takes to agree on a type.
        self.seen: list[pa.Array] = []
        self._keeps = keeps
        self._decimal = decimal
        self._missing_values, self._date_format = reading.missing_values, reading.date_format
        self._missing: Counter[str] = Counter()
        self._layout = ColumnLayout()
        self._convert: Converter | None = None
        # Numbers of which none was missing so far, where no text for missing could be one.
        self._full = False
        self._failed = False

    def add(self, text: pa.Array) -> None:
        """Take the next block."""
        values = self._understood(text) if self.typed else text
        if self._keeps and not self._failed:
            self.chunks.append(values)

    def _understood(self, text: pa.Array) -> pa.Array | None:
        # A block of no record, as the last one can be, is of no type.
        if self._full and self._convert is not None and len(text):
            try:
                values = self._convert(text)
            except pa.ArrowInvalid:
                self._full = False
            else:
                self._see(values)
                return values
        present = without_missing(text, self._missing_values)
        if present.null_count:
            for found in pc.value_counts(text.filter(present.is_null())).to_pylist():
                self._missing[found["values"]] += found["counts"]
        if self._failed:
            return None
        values = pa.nulls(len(present))
        try:
            if present.null_count < len(present) and self._convert is None:
                self._convert, self._layout, values = understand(
                    present, self._decimal, self._date_format
                )
                self._full = values.type in _NUMBERS and not any(
                    map(self._is_number, self._missing_values)
                )
            elif present.null_count < len(present) and self._convert is not None:
                values = self._convert(present)
        except pa.ArrowInvalid:
            self._failed = True
            return None
        self._see(values)
        return values

    def _is_number(self, text: str) -> bool:
        # A cast that fails is slow, and every column asks.
        if not any(map(str.isdigit, text)):
            return False
        assert self._convert is not None
        try:
            return bool(self._convert(pa.array([text])))
        except pa.ArrowInvalid:
            return False

    def _see(self, values: pa.Array) -> None:
        kind = values.type
        same = [each for each in self.seen if each.type == kind]
        if pa.types.is_integer(kind) or pa.types.is_timestamp(kind):
            others = [each for each in self.seen if each.type != kind]
            self.seen = [*others, _extremes(pa.concat_arrays([*same, _extremes(values)]))]
        elif not same:
            self.seen.append(values[:0])

    def finish(self) -> bool:
        """Agree on one type; False if the column has to be read again, as text."""
        if self.typed and not self._failed:
            self.type = common_type({each.type for each in self.seen})
            try:
                self.seen = [pc.cast(each, self.type) for each in self.seen]
                self.chunks = [pc.cast(chunk, self.type) for chunk in self.chunks]
            except pa.ArrowInvalid:
                self._failed = True
        if not self._failed:
            return True
        self.type = pa.string()
        self._convert, self._layout = as_it_is, ColumnLayout()
        self.chunks, self.seen, self._failed = [], [], False
        return False

    def values(self, text: pa.Array) -> pa.Array:
        """What a block says once the type is agreed on."""
        if not self.typed:
            return text
        present = without_missing(text, self._missing_values)
        if self._convert is None or present.null_count == len(present):
            return pa.nulls(len(present), self.type)
        return pc.cast(self._convert(present), self.type)

    def layout(self) -> ColumnLayout:
        """How it was written. A column that was read twice has counted everything twice."""
        commonest = self._missing.most_common(1)
        return replace(self._layout, missing=commonest[0][0] if commonest else "")


def columns_of(
    path: Path | Piped,
    plan: Outline,
    reading: Reading,
    typed: Collection[str] | None,
    keeps: bool,
    advance: Advance,
) -> tuple[list[Column], CsvLayout, int]:
    """The columns; how the file is written, all in all; how many records there are.

    typed: the columns to understand, None for all; keeps: they hold on to what blocks say, for
    which those that turn out to be text after all are read again.
    """
    asked = set(plan.names if typed is None else typed)
    parts = blocks(path, plan, plan.names, advance)
    first = next(parts)
    decimal = plan.layout.decimal
    if reading.decimal is None and plan.layout.delimiter != ",":
        decimal = _find_decimal(first.columns, reading.missing_values)
    columns = [Column(name, name in asked, decimal, reading, keeps) for name in plan.names]
    rows = 0
    for batches in _together(chain([first], parts)):
        rows += sum(batch.num_rows for batch in batches)
        _add(columns, batches)
    if not rows:
        raise InputError(f"{path.name} has column names but no records")
    again = [column for column in columns if not column.finish()]
    if again and keeps:
        for batches in _together(blocks(path, plan, [column.name for column in again])):
            _add(again, batches)
        for column in again:
            column.finish()
    styles = {column.name: column.layout() for column in columns if column.typed}
    return columns, replace(plan.layout, decimal=decimal, columns=styles), rows


def _together(parts: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """A few at a time: of a single one threads would have too little to do."""
    while batches := list(islice(parts, _AT_ONCE)):
        yield batches


def _add(columns: Sequence[Column], batches: Sequence[pa.RecordBatch]) -> None:
    """Have columns take their next blocks, side by side."""

    def add(place: int) -> None:
        for batch in batches:
            columns[place].add(batch.column(place))

    run_each([partial(add, place) for place in range(len(columns))])


def columns_of_known(
    parts: Iterator[pa.RecordBatch],
    names: Sequence[str],
    numbers: Mapping[str, pa.DataType],
    rows: int,
) -> list[pa.Array | pa.ChunkedArray]:
    """The columns of a file that has so many records, numbers each in one piece from the start."""
    pieces = {name: np.empty(rows, kind.to_pandas_dtype()) for name, kind in numbers.items()}
    texts: dict[str, list[pa.Array]] = {name: [] for name in names if name not in numbers}
    count = 0
    for batch in parts:
        begin, count = count, count + batch.num_rows
        if count > rows:
            raise InputError("there are more records than were written")
        for name, column in zip(names, batch.columns, strict=True):
            if name in numbers:
                pieces[name][begin:count] = column.to_numpy()
            else:
                texts[name].append(column)
    return [
        pa.array(pieces[name][:count])
        if name in numbers
        else pa.chunked_array(texts[name], pa.string())
        for name in names
    ]


def _extremes(values: pa.Array) -> pa.Array:
    return pa.concat_arrays(pa.array([pc.min_max(values)]).flatten())


def _find_decimal(columns: list[pa.Array], missing: Sequence[str]) -> str:
    """A comma if there are columns of decimals with it but none that a point would make such."""
    found = set()
    for text in columns:
        present = without_missing(text, missing)
        if present.null_count < len(present):
            read = {sign: understand(present, sign)[2].type for sign in ".,"}
            signs = {sign for sign, kind in read.items() if kind == pa.float64()}
            found |= signs if len(signs) == 1 else set()
    return "," if found == {","} else "."
