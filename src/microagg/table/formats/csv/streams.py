"""CSV files in parts: one pass agrees on the type of every column, all later ones keep to it."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from microagg.base.progress import Report
from microagg.base.reading import Reading
from microagg.table.formats.csv.blocks import blocks
from microagg.table.formats.csv.columns import Sketch, columns_of, layout_of
from microagg.table.formats.csv.layout import outline
from microagg.table.parts import Parts


def open_parts(
    path: Path, reading: Reading, typed: Collection[str] | None, report: Report
) -> Parts:
    """Look a CSV file over, two passes, and agree on types and layout as `csv_files.read` does."""
    plan = outline(path, reading)
    columns, decimal, rows = columns_of(path, plan, reading, typed, Sketch, report)
    for column in columns:
        column.finish()
    known = {column.name: column for column in columns}

    def read(names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:  # noqa: ARG001
        # Blocks are cut as they were in the first pass, whichever columns are asked for: what was
        # agreed on holds for each of them.
        for block in blocks(path, plan, names):
            values = [known[name].values(block.column(name)) for name in names]
            yield pa.record_batch(values, list(names))

    def understand(texts: Sequence[pa.Array]) -> list[pa.Array]:
        return [column.values(text) for column, text in zip(columns, texts, strict=True)]

    schema = pa.schema([(column.name, column.type) for column in columns])
    size = path.stat().st_size
    layout = layout_of(plan, columns, decimal)
    return Parts(schema, rows, size, layout, plan.sha256, plan.notes, read, understand)
