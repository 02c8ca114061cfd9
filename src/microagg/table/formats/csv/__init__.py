"""CSV files in and out: what nobody asked to understand comes out byte for byte as it came in."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from microagg.base.errors import InputError
from microagg.base.files import COMPRESSED, suffix_of
from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.table.formats.csv.columns import blocks, columns_of, columns_of_known
from microagg.table.formats.csv.layout import (
    CsvLayout,
    Outline,
    compression_of,
    first_bytes,
    outline,
    understand,
    without_missing,
)
from microagg.table.formats.csv.text import as_texts, open_writer
from microagg.table.formats.format import (
    STANDARD_STREAM,
    Format,
    Head,
    Loaded,
    Parts,
    Piped,
    Put,
    Source,
    Typed,
)
from microagg.table.metadata import only

_TABS = "tabs"
# How many bytes of text are about one of a compressed file.
_SHRUNK = 5


@dataclass(frozen=True)
class Csv(Format):
    """Text files whose first line holds the column names.

    block: bytes read at a time, and the longest record that can be read; dozens are read ahead, so
        bigger ones cost memory.
    block_per_column: thousands of columns want bigger blocks, which cost time for each of them.
    """

    name = "csv"
    suffixes: ClassVar = {
        ".csv": "any", ".tsv": _TABS, ".tab": _TABS, ".txt": "any", ".dat": "any",
        **{f".csv{more}": "any" for more in COMPRESSED},
        **{f".tsv{more}": _TABS for more in COMPRESSED},
    }  # fmt: skip
    in_parts = True
    tells_types = False

    block: int = Outline.block
    block_per_column: int = 1 << 12

    def holds(self, address: str) -> bool:
        """Files of these suffixes, and what comes through standard input and output."""
        return address == STANDARD_STREAM or super().holds(address)

    def head(self, address: str, reading: Reading, wanted: Typed, most: int) -> Head | None:
        """The whole lines among the first bytes of a large file."""
        path = Path(address)
        first, share = first_bytes(path, most)
        if share == 1.0:
            return None
        lines = first.rpartition(b"\n")[0] + b"\n"
        loaded = self.read(Piped(lines, path.name), reading, wanted)
        return Head(loaded, share * len(lines) / len(first))

    def shown(self, address: str) -> str:
        """The name of the file."""
        return "standard input" if address == STANDARD_STREAM else super().shown(address)

    def read(
        self, address: Source, reading: Reading, typed: Typed = None, advance: Advance = silent
    ) -> Loaded:
        """Read a CSV file whose first line holds the column names.

        typed: the columns to understand, all of them if not given. Such a column becomes int64,
            float64, bool, date32 or timestamp if every field that is not missing is one, and text
            otherwise. Numbers with leading zeros or a plus sign and integers beyond 64 bits are
            text, and so is a column of integers and decimals of which float64 cannot hold one
            exactly. Spaces around a number do not matter. The other columns stay text as they are
            written.

        Two passes over the bytes, a third for columns that turn out to be text after all. Memory:
        the table and a few blocks.
        """
        path = address if isinstance(address, Piped) else Path(address)
        plan = self._outline(path, reading)
        columns, layout, _rows = columns_of(path, plan, reading, typed, True, advance)
        table = pa.table([pa.chunked_array(column.chunks) for column in columns], plan.names)
        return Loaded(table, layout, plan.sha256, plan.notes)

    def read_back(
        self, path: Path, layout: CsvLayout, numbers: Mapping[str, pa.DataType], rows: int
    ) -> Loaded:
        """Columns full of numbers as such, all others as the texts that stand there.

        One pass to look the file over, and one in which numbers are made as the bytes are cut up.
        Memory: the table and a few blocks.
        """
        reading, typed = self.reading_back(layout, list(numbers))
        plan = self._outline(path, reading)
        try:
            parts = blocks(path, plan, plan.names, numbers=numbers)
            columns = columns_of_known(parts, plan.names, numbers, rows)
        except InputError:
            # Something else stands there: which column it is shows where all else is text.
            return self.read(path, reading, typed)
        return Loaded(pa.table(columns, plan.names), layout, plan.sha256)

    def open_parts(
        self, path: Path, reading: Reading, typed: Typed = None, advance: Advance = silent
    ) -> Parts:
        """Look a file over, two passes, and agree on types and layout as `read` does.

        One pass agrees on the type of every column, and all later ones keep to it.
        """
        plan = self._outline(path, reading)
        columns, layout, rows = columns_of(path, plan, reading, typed, False, advance)
        known = {column.name: column for column in columns}

        def read(names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:  # noqa: ARG001
            # Blocks are cut as they were in the first pass, whichever columns are asked for: what
            # was agreed on holds for each of them.
            for block in blocks(path, plan, names):
                values = [known[name].values(block.column(name)) for name in names]
                yield pa.record_batch(values, list(names))

        def understand(texts: Sequence[pa.Array]) -> list[pa.Array]:
            return [column.values(text) for column, text in zip(columns, texts, strict=True)]

        schema = pa.schema([(column.name, column.type) for column in columns])
        size = self.size_of(path)
        return Parts(schema, rows, size, layout, plan.sha256, plan.notes, read, understand)

    def size_of(self, path: Path) -> int:
        """Text takes about as much in memory as on disk, where it is not compressed."""
        return path.stat().st_size * (1 if compression_of(path) is None else _SHRUNK)

    def open_writer(
        self, path: Path, schema: pa.Schema, layout: CsvLayout | None, rows: int
    ) -> AbstractContextManager[Put]:
        """Something that puts table after table into a file (see `text.open_writer`)."""
        return open_writer(path, schema, layout or CsvLayout())

    def layout_for(self, path: Path, layout: CsvLayout | None, source: Path | None) -> CsvLayout:
        """A suffix that promises tabs holds for the file that has it."""
        layout = layout or CsvLayout()
        if self._promises_tabs(path):
            return replace(layout, delimiter="\t")
        return replace(layout, delimiter=",") if self._promises_tabs(source) else layout

    def described(self, layout: CsvLayout) -> dict[str, str]:
        """Encoding, delimiter and decimal sign."""
        named = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
        delimiter, decimal = layout.delimiter, layout.decimal
        return {
            "encoding": layout.encoding,
            "delimiter": named.get(delimiter, delimiter),
            "decimal sign": {".": "point", ",": "comma"}.get(decimal, decimal),
        }

    def layout_of_file(self, layout: CsvLayout) -> CsvLayout:
        """Signs and line ends; the encoding only of files that begin with a mark of it."""
        encoding = layout.encoding if layout.byte_order_mark else CsvLayout.encoding
        return replace(layout, encoding=encoding, columns={})

    def released(self, layout: CsvLayout, table: pa.Table, recipe: Recipe) -> CsvLayout:
        """Of the columns that are there."""
        return replace(layout, columns=only(layout.columns, table.column_names))

    def stored(self, column: pa.ChunkedArray, name: str, layout: CsvLayout) -> pa.ChunkedArray:
        """The texts that stand in the file."""
        return as_texts(column, name, layout)

    def reading_back(
        self, layout: CsvLayout, numbers: Sequence[str]
    ) -> tuple[Reading, Sequence[str]]:
        """Numbers take a third of the memory that their texts would; all else stays text."""
        said = {name: getattr(layout, name) for name in ("delimiter", "encoding", "decimal")}
        return Reading(**said, missing_values=()), numbers

    def readable(self, array: pa.Array, reading: Reading, layout: CsvLayout) -> pa.Array:
        """Texts with decimal points, and missing where a text that stands for it says so."""
        if not pa.types.is_string(array.type):
            return array
        present = without_missing(array, reading.missing_values)
        return pc.replace_substring(present, ",", ".") if layout.decimal == "," else present

    def exported(
        self, table: pa.Table, path: Path | None, reading: Reading, layout: CsvLayout
    ) -> pa.Table:
        """What the texts of untouched columns say, by the same rules as those of protected ones."""
        if path is not None and self.holds(str(path)):
            return table
        columns = [
            _understood(column.combine_chunks(), reading, layout) for column in table.columns
        ]
        return pa.table(columns, table.column_names)

    def _outline(self, path: Path | Piped, reading: Reading) -> Outline:
        plan = outline(path, reading)
        return replace(plan, block=max(self.block, self.block_per_column * len(plan.names)))

    def _promises_tabs(self, path: Path | None) -> bool:
        return path is not None and self.suffixes.get(suffix_of(path).lower()) == _TABS


def _understood(array: pa.Array, reading: Reading, layout: CsvLayout) -> pa.Array:
    if not pa.types.is_string(array.type):
        return array
    present = without_missing(array, reading.missing_values)
    if present.null_count == len(present):
        return present
    return understand(present, layout.decimal, reading.date_format)[2]
