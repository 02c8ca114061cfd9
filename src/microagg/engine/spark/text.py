"""Text files for Spark: read as text, and understood by the same rules as everywhere."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from microagg.base.errors import InputError
from microagg.base.recipe import ReadingSettings
from microagg.engine.spark.tasks import KEY, TIE
from microagg.table.formats import format_of
from microagg.table.formats.format import Parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TABS = (".tsv", ".tab")


def read_texts(session: "SparkSession", address: str, reading: ReadingSettings) -> "DataFrame":
    """A text file that is not at hand, or a folder of them: all columns are text."""
    delimiter = reading.delimiter or ("\t" if Path(address).suffix.lower() in _TABS else ",")
    return _texts(session, address, delimiter, reading.encoding or "utf-8")


def read_file(
    session: "SparkSession", path: Path, reading: ReadingSettings, typed: tuple[str, ...]
) -> tuple["DataFrame", Parts]:
    """A text file on this machine: its columns by place, the numbers of its rows, and what it is.

    It is looked over here, which settles what the columns are that are to be understood. A record
    must stand in one line.
    """
    parts = format_of(str(path)).open_parts(path, reading.as_reading(), typed)
    frame = _texts(session, str(path), parts.layout.delimiter, parts.layout.encoding)
    if frame.columns != parts.schema.names:
        raise InputError(f"Spark reads other columns in {path.name} than stand in its first line")
    return _numbered(frame, parts), parts


def _texts(session: "SparkSession", address: str, delimiter: str, encoding: str) -> "DataFrame":
    reader = session.read.options(mode="FAILFAST", enforceSchema=False)
    return reader.csv(address, header=True, sep=delimiter, encoding=encoding, escape='"')


def _numbered(frame: "DataFrame", parts: Parts) -> "DataFrame":
    """The columns as what they say, and the number of each row: its place in the file."""
    from pyspark import TaskContext
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import from_arrow_schema

    counted = dict(map(tuple, frame.groupBy(f.spark_partition_id()).count().collect()))
    counts = [counted.get(part, 0) for part in range(max(counted, default=0) + 1)]
    starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
    inside = pa.schema(
        [
            *((f"c{place}", _of_spark(each.type)) for place, each in enumerate(parts.schema)),
            (KEY, pa.int64()),
            (TIE, pa.int64()),
        ]
    )
    understand: Any = parts.understand

    def number(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        assert task is not None
        row = starts[task.partitionId()]
        for batch in batches:
            # Spark reads an empty field as none at all.
            texts = [column.cast(pa.string()).fill_null("") for column in batch.columns]
            rows = np.arange(row, row + batch.num_rows)
            row += batch.num_rows
            columns = [*understand(texts), pa.array(rows), pa.array(np.zeros_like(rows))]
            yield pa.RecordBatch.from_arrays(columns, inside.names).cast(inside)

    return frame.mapInArrow(number, from_arrow_schema(inside))


def _of_spark(kind: pa.DataType) -> pa.DataType:
    """The type that Spark has for it: moments to the microsecond."""
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else kind
