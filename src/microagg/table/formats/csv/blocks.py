"""The records of a CSV file as text, block by block, whatever its encoding."""

import codecs
import io
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.csv as arrow_csv

from microagg.base.errors import InputError
from microagg.base.progress import Advance, silent
from microagg.table.formats.csv.layout import Outline

_END = "end"
# Seconds in which a thread that reads ahead gets its turn.
_READ_AHEAD = 0.02


def blocks(
    path: Path, plan: Outline, names: Sequence[str], advance: Advance = silent
) -> Iterator[pa.RecordBatch]:
    """The named columns as text, batch by batch; the file's faults become one sentence each."""
    width, delimiter = len(plan.names), plan.layout.delimiter
    end = delimiter.join([_END] * width)
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

    with path.open("rb") as file:
        stream = _Utf8Stream(file, plan, f"\n{end}\n".encode())
        try:
            reader = arrow_csv.open_csv(
                stream,
                # Without threads rows are numbered, and nothing is slower by more than a third.
                read_options=arrow_csv.ReadOptions(block_size=plan.block, use_threads=False),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=delimiter,
                    newlines_in_values=True,
                    # A blank line is a missing value if there is one column, and nothing otherwise.
                    ignore_empty_lines=width > 1,
                    invalid_row_handler=refuse,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=list(names),
                    strings_can_be_null=False,
                ),
            )
            held = None
            for batch in reader:
                if held is not None:
                    yield held
                held = batch
                advance(1.0 - stream.left / plan.length)
        except pa.ArrowException:
            # Arrow reads ahead in a thread of its own, which ends the program if it asks for more
            # while Python shuts down: let it ask now, and get nothing.
            stream.left = 0
            time.sleep(_READ_AHEAD)
            raise InputError(fault) from None
        if held is None or any(column[-1].as_py() != _END for column in held.columns):
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
