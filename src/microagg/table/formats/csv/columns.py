"""What the columns of a CSV file are: agreed on block by block, with or without keeping the values.

A column is numbers as soon as its first block is read, so its text need never be held whole; one
that changes its mind later is text after all.
"""

from collections import Counter
from collections.abc import Collection
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
)


class Column:
    """One column as it comes in, block by block.

    Untyped, it keeps the text. Typed, the first block with a value in it says what the column is;
    after a block that disagrees it is text, of which nothing is there yet.
    """

    def __init__(self, name: str, typed: bool, decimal: str, missing_values: pa.Array):
        self.name = name
        self.typed = typed
        self.type = pa.string()
        self.chunks: list[pa.Array] = []
        self._decimal = decimal
        self._missing_values = missing_values
        self._missing: Counter[str] = Counter()
        self._layout = ColumnLayout()
        self._convert: Converter | None = None
        self._failed = False

    def add(self, text: pa.Array) -> None:
        """Take the next block."""
        if not self.typed:
            self.keep(text)
            return
        present = self._without_missing(text)
        self._count(text, present)
        if self._failed:
            return
        if present.null_count == len(present):
            self.keep(pa.nulls(len(present)))
            return
        try:
            if self._convert is None:
                self._convert, self._layout, values = understand(present, self._decimal)
            else:
                values = self._convert(present)
            self.keep(values)
        except pa.ArrowInvalid:
            self._failed = True

    def keep(self, values: pa.Array) -> None:
        """Hold on to what a block says."""
        self.chunks.append(values)

    def finish(self) -> bool:
        """Agree on one type; False if the column has to be read again, as text."""
        if self.typed and not self._failed:
            self.type = common_type({chunk.type for chunk in self.chunks})
            try:
                self.chunks = [pc.cast(chunk, self.type) for chunk in self.chunks]
            except pa.ArrowInvalid:
                self._failed = True
        if not self._failed:
            return True
        self.type = pa.string()
        self._convert, self._layout = as_it_is, ColumnLayout()
        self.chunks, self._failed = [], False
        return False

    def values(self, text: pa.Array) -> pa.Array:
        """What a block says once the type is agreed on."""
        if not self.typed:
            return text
        present = self._without_missing(text)
        if self._convert is None or present.null_count == len(present):
            return pa.nulls(len(present), self.type)
        return pc.cast(self._convert(present), self.type)

    def layout(self) -> ColumnLayout:
        """How it was written. A column that was read twice has counted everything twice."""
        commonest = self._missing.most_common(1)
        return replace(self._layout, missing=commonest[0][0] if commonest else "")

    def _without_missing(self, text: pa.Array) -> pa.Array:
        missing = pc.is_in(text, value_set=self._missing_values)
        if not pc.any(missing).as_py():
            return text
        return pc.if_else(missing, pa.scalar(None, pa.string()), text)

    def _count(self, text: pa.Array, present: pa.Array) -> None:
        if present.null_count:
            for found in pc.value_counts(text.filter(present.is_null())).to_pylist():
                self._missing[found["values"]] += found["counts"]


class Sketch(Column):
    """One column of which only so much is kept as it takes to agree on a type."""

    def keep(self, values: pa.Array) -> None:
        """Hold on to the types, and to the extremes where a wider type may not hold them."""
        if not self.typed:
            return
        kind = values.type
        known = [chunk for chunk in self.chunks if chunk.type == kind]
        if not (pa.types.is_integer(kind) or pa.types.is_timestamp(kind)):
            self.chunks += [] if known else [values[:0]]
            return
        others = [chunk for chunk in self.chunks if chunk.type != kind]
        self.chunks = [*others, _extremes(pa.concat_arrays([*known, _extremes(values)]))]


def columns_of(
    path: Path,
    plan: Outline,
    reading: Reading,
    typed: Collection[str] | None,
    make: type[Column],
    advance: Advance,
) -> tuple[list[Column], str, int]:
    """The columns after one pass, not finished yet; the decimal sign; how many records there are.

    typed: the columns to understand, None for all.
    """
    asked = set(plan.names if typed is None else typed)
    missing = pa.array(["", *reading.missing_values], pa.string())
    parts = blocks(path, plan, plan.names, advance)
    first = next(parts)
    decimal = plan.layout.decimal
    if reading.decimal is None and plan.layout.delimiter != ",":
        decimal = _find_decimal(first.columns, missing)
    columns = [make(name, name in asked, decimal, missing) for name in plan.names]
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


def _find_decimal(columns: list[pa.Array], missing: pa.Array) -> str:
    """A comma if there are columns of decimals with it but none that a point would make such."""
    found = set()
    for text in columns:
        kinds = set()
        for decimal in ".,":
            column = Column("", True, decimal, missing)
            column.add(text)
            if column.chunks[0].type == pa.float64():
                kinds.add(decimal)
        if len(kinds) == 1:
            found |= kinds
    return "," if found == {","} else "."
