"""Records that share their keys, and households, of a table of Spark: see `engine/alike.py`."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.engine.alike import HOUSEHOLD, ROW, WEIGHT, Alike, Coding, Homes, T
from microagg.engine.spark import tasks
from microagg.measure.risk.individual import individual_risk, log_safe
from microagg.table.checks import plain
from microagg.table.classes import not_comparable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SIZE, _SUM, _ROWS, _SAFE = "size", "sum", "rows", "safe"


def compared(frame: "DataFrame", coding: Coding, names: tasks.Names) -> "DataFrame":
    """Every record as it is compared: keys as bytes, its weight, household and place in the sample.

    names: the columns of the frame, before the number of each row.
    """
    keys = [f"{place} binary" for place in _places(coding, coding.keys)]

    def compare(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            part = coding.coded(tasks.named(batch, names), tasks.numbers(batch, tasks.KEY))
            columns = [_bytes(name, part.column(name)) for name in coding.keys]
            there = part.schema.names
            weight = part.column(WEIGHT) if WEIGHT in there else pa.nulls(len(part), pa.float64())
            homes = pa.nulls(len(part), pa.binary())
            if coding.household is not None:
                homes = _bytes(coding.household, part.column(HOUSEHOLD))
            columns += [weight, homes, part.column(ROW)]
            yield pa.RecordBatch.from_arrays(columns, [*_places(coding, coding.keys), *_BESIDE])

    schema = ", ".join([*keys, "weight double", "home binary", "row long"])
    return frame.mapInArrow(compare, schema)


_BESIDE = ("weight", "home", "row")


def _places(coding: Coding, names: Sequence[str]) -> list[str]:
    """Keys by their places, as names may be anything."""
    return [f"k{coding.keys.index(name)}" for name in names]


def _bytes(name: str, column: pa.Array) -> pa.Array:
    """A column as bytes, equal where its values are."""
    column = plain(column)
    try:
        if pa.types.is_floating(column.type):
            column = pc.add(column.cast(pa.float64()), 0.0)  # there is one zero, not two
        if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)):
            column = column.cast(pa.string())
        return column.cast(pa.binary())
    except pa.ArrowNotImplementedError:
        raise not_comparable(name, column.type) from None


def alike(
    records: "DataFrame", coding: Coding, by: Sequence[str], told: Callable[[Alike], T]
) -> list[T]:
    """What is told of all combinations; workers hold those of a batch."""
    from pyspark.sql import functions as f

    summed = f.sum("weight").alias(_SUM)
    sampled = f.collect_list("row").alias(_ROWS)
    grouped = records.groupBy(*_places(coding, by)).agg(f.count("*").alias(_SIZE), summed, sampled)

    def tell(batches: Iterator[pa.RecordBatch]) -> Any:
        for batch in batches:
            if len(batch):
                yield tasks.one(pickle.dumps(told(_alike_in(batch))))

    answers = grouped.select(_SIZE, _SUM, _ROWS).mapInArrow(tell, tasks.ANSWER).collect()
    return [pickle.loads(part) for (part,) in answers]


def _alike_in(batch: pa.RecordBatch) -> Alike:
    sizes = batch.column(_SIZE).to_numpy()
    weights = pc.coalesce(batch.column(_SUM), batch.column(_SIZE).cast(pa.float64())).to_numpy()
    return Alike(sizes, weights, *_listed(batch.column(_ROWS)))


def _listed(lists: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The entries of all lists, and which list each is in."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    return lists.flatten().to_numpy(), np.repeat(np.arange(len(lists)), lengths)


def households(records: "DataFrame", coding: Coding) -> list[Homes]:
    """The risk of all households: every record beside those alike, then by household."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    those_alike = Window.partitionBy(*_places(coding, coding.keys))
    beside = records.select(
        "home",
        "row",
        f.count("*").over(those_alike).alias(_SIZE),
        f.sum("weight").over(those_alike).alias(_SUM),
    )

    def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sizes = batch.column(_SIZE).to_numpy()
            sums = pc.coalesce(batch.column(_SUM), batch.column(_SIZE).cast(pa.float64()))
            safe = log_safe(individual_risk(sizes, sums.to_numpy() * coding.times))
            columns = [batch.column("home"), batch.column("row"), pa.array(safe)]
            yield pa.RecordBatch.from_arrays(columns, ["home", "row", _SAFE])

    judged = beside.mapInArrow(judge, f"home binary, row long, {_SAFE} double")
    # Who has no household is one: each record by itself.
    alone = judged.where(f.col("home").isNull()).select(
        f.lit(1).cast("long").alias(_SIZE),
        f.col(_SAFE),
        f.when(f.col("row").isNull(), f.array().cast("array<long>"))
        .otherwise(f.array("row"))
        .alias(_ROWS),
    )
    homes = judged.where(f.col("home").isNotNull()).groupBy("home")
    members = homes.agg(
        f.count("*").alias(_SIZE), f.sum(_SAFE).alias(_SAFE), f.collect_list("row").alias(_ROWS)
    )

    def tell(batches: Iterator[pa.RecordBatch]) -> Any:
        for batch in batches:
            if len(batch):
                yield tasks.one(pickle.dumps(_homes_in(batch)))

    both = members.select(_SIZE, _SAFE, _ROWS).unionAll(alone)
    return [pickle.loads(part) for (part,) in both.mapInArrow(tell, tasks.ANSWER).collect()]


def _homes_in(batch: pa.RecordBatch) -> Homes:
    risks = -np.expm1(batch.column(_SAFE).to_numpy())
    rows, labels = _listed(batch.column(_ROWS))
    return Homes(float((risks * batch.column(_SIZE).to_numpy()).sum()), rows, risks[labels])
