"""CSV files in and out: what nobody asked to understand comes out byte for byte as it came in."""

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa

from microagg.base.progress import Report, silent
from microagg.base.reading import Loaded, Reading
from microagg.table.formats.csv.blocks import blocks
from microagg.table.formats.csv.columns import Column, columns_of, layout_of
from microagg.table.formats.csv.layout import ColumnLayout, CsvLayout, outline, reading_of
from microagg.table.formats.csv.text import as_texts, open_writer

__all__ = ["ColumnLayout", "CsvLayout", "as_texts", "read", "reading_of", "write"]


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
    columns, decimal, _rows = columns_of(path, plan, reading, typed, Column, report)
    again = [column for column in columns if not column.finish()]
    if again:
        for batch in blocks(path, plan, [column.name for column in again]):
            for column, text in zip(again, batch.columns, strict=True):
                column.add(text)
        for column in again:
            column.finish()
    table = pa.table([pa.chunked_array(column.chunks) for column in columns], plan.names)
    return Loaded(table, layout_of(plan, columns, decimal), plan.sha256, plan.notes)


def write(table: pa.Table, path: Path, layout: CsvLayout | None) -> None:
    """Write a table as CSV, with quotes only where they are needed (see `open_writer`)."""
    with open_writer(path, table.schema, layout or CsvLayout()) as put:
        put(table)
