"""Text files for Spark: read as text, and understood by the same rules as everywhere."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from microagg.base.errors import InputError
from microagg.base.reading import Reading
from microagg.engine.spark.tasks import KEY, TIE, to_microseconds
from microagg.table.formats import FORMATS
from microagg.table.formats.format import Parts, Typed
from microagg.table.opening import Origin
from microagg.table.streams import Stream, open_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CSV = FORMATS["csv"]


def read_texts(session: "SparkSession", address: str, reading: Reading) -> "DataFrame":
    """A text file that is not at hand, or a folder of them: all columns are text."""
    delimiter = reading.delimiter or _CSV.layout_for(Path(address), None, None).delimiter
    return _texts(session, address, delimiter, reading.encoding or "utf-8")


def read_file(
    session: "SparkSession", path: Path, reading: Reading, typed: Typed
) -> tuple["DataFrame", Stream]:
    """A text file on this machine: its columns by place, the numbers of its rows, and what it is.

    It is looked over here, which settles what the columns are that are to be understood. A record
    must stand in one line.
    """
    stream = open_stream(path, reading, typed)
    frame = _texts(session, str(path), stream.layout.delimiter, stream.layout.encoding)
    if frame.columns != stream.schema.names:
        raise InputError(f"Spark reads other columns in {path.name} than stand in its first line")
    return _numbered(frame, stream, path.name), stream


def understood(data: "DataFrame", origin: Origin, protected: Collection[str]) -> "DataFrame":
    """A release of a text file for files of another format: with what texts say, not the texts.

    protected: the columns that are understood already.
    """
    if origin.path is None or not origin.path.is_file():
        return data
    from pyspark.sql.types import StructField, StructType

    parts = _CSV.open_parts(origin.path, origin.reading)
    understand: Any = parts.understand
    order = parts.schema.names
    places = {name: place for place, name in enumerate(data.columns) if name not in protected}
    kinds = dict(zip(order, _of_spark(parts.schema), strict=True))
    schema = StructType(
        [
            StructField(f"c{place}", kinds[each.name] if each.name in places else each.dataType)
            for place, each in enumerate(data.schema.fields)
        ]
    )

    def convert(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            blank = pa.array([""] * batch.num_rows)
            texts = [batch.column(places[name]) if name in places else blank for name in order]
            values = dict(zip(order, understand(texts), strict=True))
            columns = list(batch.columns)
            for name, place in places.items():
                columns[place] = to_microseconds(values[name])
            yield pa.RecordBatch.from_arrays(columns, schema.names)

    inside = data.toDF(*schema.names)
    return inside.mapInArrow(convert, schema).toDF(*data.columns)


def _texts(session: "SparkSession", address: str, delimiter: str, encoding: str) -> "DataFrame":
    reader = session.read.options(mode="FAILFAST", enforceSchema=False)
    return reader.csv(address, header=True, sep=delimiter, encoding=encoding, escape='"')


def _numbered(frame: "DataFrame", parts: Parts, name: str) -> "DataFrame":
    """The columns as what they say, and the number of each row: its place in the file."""
    from pyspark import TaskContext
    from pyspark.sql import functions as f
    from pyspark.sql.types import LongType, StructField, StructType

    counted = dict(map(tuple, frame.groupBy(f.spark_partition_id()).count().collect()))
    counts = [counted.get(part, 0) for part in range(max(counted, default=0) + 1)]
    if sum(counts) != parts.rows:
        raise InputError(
            f"{name} has records that go over several lines, which Spark reads otherwise; write "
            "the table as Parquet, or say engine=disk"
        )
    starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
    kinds = [*_of_spark(parts.schema), LongType(), LongType()]
    names = [*(f"c{place}" for place in range(len(parts.schema))), KEY, TIE]
    schema = StructType([StructField(*each) for each in zip(names, kinds, strict=True)])
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
            columns = [*map(to_microseconds, understand(texts)), rows, np.zeros_like(rows)]
            yield pa.RecordBatch.from_arrays(list(map(pa.array, columns)), names)

    return frame.mapInArrow(number, schema)


def _of_spark(schema: pa.Schema) -> list[Any]:
    """The types that Spark has for columns; moments without a zone stay without one."""
    from pyspark.sql.pandas.types import from_arrow_type

    return [from_arrow_type(each.type, prefer_timestamp_ntz=True) for each in schema]
