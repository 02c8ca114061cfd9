"""What the columns of a CSV file are: agreed on block by block, with or without keeping the values.

A column is numbers as soon as its first block is read, so its text need never be held whole; one
that changes its mind later is text after all.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from microagg.base.errors import InputError
from microagg.base.progress import Advance
from microagg.base.reading import Reading
from microagg.table.formats.csv.blocks import blocks
from microagg.table.formats.csv.layout import (
    ColumnLayout,
    Converter,
    CsvLayout,
    Outline,
    as_it_is,
    common_type,
    understand,
    without_missing,
)


class Column:
    """One column as it comes in, block by block.

    Untyped, it keeps the text. Typed, the first block with a value in it says what the column is;
    after a block that disagrees it is text, of which nothing is there yet.
    """

    def __init__(
        self,
        name: str,
        typed: bool,
        decimal: str,
        missing_values: Sequence[str],
        keeps: bool = False,
    ):
        self.name = name
        self.typed = typed
        self.type = pa.string()
        self.chunks: list[pa.Array] = []
        # One for each type that blocks were of, with the extremes where a wider type may not hold
        # them: so much it takes to agree on a type.
        self.seen: list[pa.Array] = []
        self._keeps = keeps
        self._decimal = decimal
        self._missing_values = missing_values
        self._missing: Counter[str] = Counter()
        self._layout = ColumnLayout()
        self._convert: Converter | None = None
        self._failed = False

    def add(self, text: pa.Array) -> None:
        """Take the next block."""
        values = self._understood(text) if self.typed else text
        if self._keeps and not self._failed:
            self.chunks.append(values)

    def _understood(self, text: pa.Array) -> pa.Array | None:
        present = without_missing(text, self._missing_values)
        self._count(text, present)
        if self._failed:
            return None
        values = pa.nulls(len(present))
        try:
            if present.null_count < len(present) and self._convert is None:
                self._convert, self._layout, values = understand(present, self._decimal)
            elif present.null_count < len(present) and self._convert is not None:
                values = self._convert(present)
        except pa.ArrowInvalid:
            self._failed = True
            return None
        self._see(values)
        return values

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

    def _count(self, text: pa.Array, present: pa.Array) -> None:
        if present.null_count:
            for found in pc.value_counts(text.filter(present.is_null())).to_pylist():
                self._missing[found["values"]] += found["counts"]


def columns_of(
    path: Path,
    plan: Outline,
    reading: Reading,
    typed: Collection[str] | None,
    keeps: bool,
    advance: Advance,
) -> tuple[list[Column], str, int]:
    """The columns after one pass, not finished yet; the decimal sign; how many records there are.

    typed: the columns to understand, None for all; keeps: they hold on to what blocks say.
    """
    asked = set(plan.names if typed is None else typed)
    missing = reading.missing_values
    parts = blocks(path, plan, plan.names, advance)
    first = next(parts)
    decimal = plan.layout.decimal
    if reading.decimal is None and plan.layout.delimiter != ",":
        decimal = _find_decimal(first.columns, missing)
    columns = [Column(name, name in asked, decimal, missing, keeps) for name in plan.names]
    rows = 0
    for batch in chain([first], parts):
        rows += batch.num_rows
        for column, text in zip(columns, batch.columns, strict=True):
            column.add(text)
    if not rows:
        raise InputError(f"{path.name} has column names but no records")
    return columns, decimal, rows


def layout_of(plan: Outline, columns: list[Column], decimal: str) -> CsvLayout:
    """How the file is written, all in all."""
    styles = {column.name: column.layout() for column in columns if column.typed}
    return replace(plan.layout, decimal=decimal, columns=styles)


def _extremes(values: pa.Array) -> pa.Array:
    return pa.concat_arrays(pa.array([pc.min_max(values)]).flatten())


def _find_decimal(columns: list[pa.Array], missing: Sequence[str]) -> str:
    """A comma if there are columns of decimals with it but none that a point would make such."""
    found = set()
    for text in columns:
        kinds = set()
        for decimal in ".,":
            column = Column("", True, decimal, missing)
            column.add(text)
            if column.seen[0].type == pa.float64():
                kinds.add(decimal)
        if len(kinds) == 1:
            found |= kinds
    return "," if found == {","} else "."
