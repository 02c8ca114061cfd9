"""What is counted on the classes of a table of Spark: see `engine/counting.py`."""

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microagg.engine.counting import Counting, Counts, Wanted
from microagg.engine.spark import tasks
from microagg.table.classes import Classes
from microagg.table.frames import in_one_piece

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def counted(data: "DataFrame", counted: int, wanted: Wanted) -> tuple[Classes, Counts]:
    """How many records share the first columns, and what is counted of the others, in such classes.

    Missing equals missing, NaN equals NaN. A worker holds the different values of each column, and
    those of a class; the driver holds the former.
    """
    from pyspark.sql import functions as f

    names = [f"c{place}" for place in range(len(data.columns))]
    if not wanted.columns:
        sizes = data.toDF(*names).groupBy(*names).count().select("count").toDF("size")
        counts = sorted(map(tuple, sizes.groupBy("size").count().collect()))
        size, times = np.array(counts, np.int64).reshape(-1, 2).T
        return Classes(size, times, int(size[0])), {}
    known, values = names[:counted], names[counted:]
    lines = _coded(data.toDF(*names), counted, wanted).groupBy(*names).count().persist()
    try:
        counting = Counting(wanted)
        for name, seen in zip(values, counting.seen, strict=True):
            found = lines.groupBy(name).agg(f.sum("count")).toArrow().combine_chunks()
            column, times = (in_one_piece(each) for each in found.columns)
            there = column.is_valid()
            missing = pc.sum(times.filter(pc.invert(there))).as_py() or 0
            seen.add_counts(column.filter(there), times.filter(there).to_numpy(), missing)
        listed = f.collect_list(f.struct(*values, "count")).alias("lines")
        classes = lines.groupBy(*known).agg(listed).select("lines")

        def count(batches: Iterator[pa.RecordBatch]) -> Any:
            return tasks.count_within(batches, counting)

        answers = classes.mapInArrow(count, tasks.ANSWER).collect()
    finally:
        lines.unpersist()
    whole, total = Classes.of(np.zeros(0, np.int64)), Counting(wanted)
    for part, theirs in (pickle.loads(answer) for (answer,) in answers):
        whole = whole.merge(part)
        total.merge(theirs)
    return whole, total.found


def _coded(data: "DataFrame", counted: int, wanted: Wanted) -> "DataFrame":
    """Confidential columns as whole numbers, or bytes."""
    from pyspark.sql.types import BinaryType, LongType, StructField, StructType

    secrets = wanted.columns
    kinds = [LongType() if each.is_number else BinaryType() for each in secrets]
    added = [StructField(f"c{counted + place}", kind) for place, kind in enumerate(kinds)]

    def code(batches: Iterator[pa.RecordBatch]) -> Any:
        return tasks.code(batches, counted, secrets)

    return data.mapInArrow(code, StructType([*data.schema.fields[:counted], *added]))
