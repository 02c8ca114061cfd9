"""Spark: the same plan and the same blocks, on as many machines as there are.

Three looks at the table. Workers look at every row, and the driver plans from what they add up and
a sample; they count the rows of each leaf, which settles the cells; they send every row to its cell
and publish the cells. Rows move between machines once, in the last. The driver holds the sample,
the plan and counts, never the table.
"""

import math
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError, OptionError, PromiseError
from microagg.base.recipe import Recipe
from microagg.columns.coded import decode
from microagg.columns.profile import Tally
from microagg.engine.plan import Plan, make_plan
from microagg.engine.sample import SAMPLED, Sample
from microagg.engine.spark import tasks
from microagg.engine.spark.session import plainly
from microagg.engine.spark.sources import Source, column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FOUND = "found binary"
# In standard deviations: so many more rows are sampled at first than are wanted.
_MARGIN = 12
# Cells are dealt out to so many tasks at most.
_MOST_TASKS = 4096


@dataclass(frozen=True, eq=False)
class Protected:
    """What Spark made of a table.

    kept: the rows as they are published, which Spark holds, with what goes beside them.
    data: the rows alone, under their names, in order if that was asked for.
    sample: rows of the original; figures: what became of the quasi-identifiers.
    """

    kept: "DataFrame"
    data: "DataFrame"
    plan: Plan
    sample: pa.Table
    figures: Tally


def protect_source(
    opened: Source,
    recipe: Recipe,
    plan: Plan | None = None,
    ordered: bool = False,
    cell_rows: int | None = None,
) -> Protected:
    """Plan, if there is no plan yet, and publish."""
    if ordered and not opened.ordered:
        raise OptionError(
            "ordered needs rows that have numbers, and only those of Parquet files have; leave it "
            "out, or write the table as Parquet first"
        )
    with plainly("look at the table"):
        seen = _look(opened, recipe)
    told = opened.told(seen.digest)
    if plan is None:
        plan = make_plan(seen.survey, told, cell_rows)
    elif plan.source.get("sha256") != told["sha256"]:
        raise InputError("the plan was made for another table, or this one was changed since")
    sample, _ = seen.survey.sample.result()
    if plan.cell_of is None:
        with plainly("count the cells"):
            plan = plan.with_counts(_count(opened, plan))
    figures = Tally(plan.code(sample), [coding.origin for coding in plan.codings])
    with plainly("group the cells"):
        kept = _publish(opened, plan, figures).persist()
        try:
            _add_up(kept, figures)
            data = _under_names(kept, opened, recipe, ordered)
        except BaseException:
            kept.unpersist()
            raise
    return Protected(kept, data, plan, sample, figures)


def class_sizes(
    data: "DataFrame", names: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many records look alike: the sizes of classes, in order, and how many are of each.

    Counted anew on the rows themselves. Missing equals missing, NaN equals NaN.
    """
    with plainly("count the release"):
        columns = [column(name).alias(f"c{place}") for place, name in enumerate(names)]
        classes = data.select(*columns).groupBy(*(f"c{place}" for place in range(len(names))))
        sizes = classes.count().select("count").toDF("size")
        found = sizes.groupBy("size").count().collect()
    return tuple(np.array(sorted(map(tuple, found)), np.int64).reshape(-1, 2).T)  # type: ignore[return-value]


def _look(opened: Source, recipe: Recipe) -> tasks.Seen:
    """What the workers saw of the table, put together, with a sample."""
    wanted = SAMPLED + _MARGIN * math.isqrt(SAMPLED)
    limit = int(2**64 * min(1.0, wanted / opened.rows)) - 1
    seen = _seen(opened, recipe, limit)
    # Where rows have no numbers, equal ones have equal hashes, and a limit may miss too many.
    if seen.survey.sample.held < min(SAMPLED, opened.rows):
        seen = _seen(opened, recipe, None)
    if seen.survey.rows != opened.rows:
        raise InputError("the table was changed while it was looked at; start again")
    return seen


def _seen(opened: Source, recipe: Recipe, limit: int | None) -> tasks.Seen:
    names = _looked_at(recipe)

    def look(batches: Iterator[pa.RecordBatch]) -> Any:
        return tasks.look(batches, recipe, names, limit)

    found = opened.columns(names).mapInArrow(look, _FOUND)
    seen: tasks.Seen | None = None
    sample = Sample()
    # Without a limit parts come one at a time: each may bring as many rows as are wanted in all.
    for (part,) in found.collect() if limit is not None else found.toLocalIterator():
        theirs: tasks.Seen = pickle.loads(part)
        sample.merge(theirs.survey.sample)
        if seen is None:
            seen = theirs
        else:
            seen.merge(theirs)
    if seen is None:
        raise InputError("the table was changed while it was looked at; start again")
    seen.survey.sample = sample
    return seen


def _count(opened: Source, plan: Plan) -> NDArray[np.int64]:
    """How many rows each leaf has."""
    names, text = _looked_at(plan.recipe), plan.to_json()

    def count(batches: Iterator[pa.RecordBatch]) -> Any:
        return tasks.count(batches, text, names)

    parts = opened.columns(names).mapInArrow(count, _FOUND).collect()
    counts = sum(np.frombuffer(part, np.int64) for (part,) in parts)
    if int(np.sum(counts)) + plan.dropped != plan.rows:
        raise PromiseError("not every row found its cell; the table may have been changed")
    return np.asarray(counts)


def _publish(opened: Source, plan: Plan, figures: Tally) -> "DataFrame":
    """Every row that stays, cell by cell, as it is published."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

    recipe = plan.recipe
    needed = {*_looked_at(recipe), *(n for n in opened.names if n not in recipe.identifiers)}
    names = [name for name in opened.names if name in needed]
    fields = [opened.fields[opened.names.index(name)] for name in names]
    inside = [StructField(f"c{place}", each.dataType) for place, each in enumerate(fields)]
    marks = [StructField(tasks.KEY, LongType()), StructField(tasks.TIE, LongType())]
    text, tally = plan.to_json(), pickle.dumps(figures)

    def send(batches: Iterator[pa.RecordBatch]) -> Any:
        return tasks.send(batches, text, names)

    def publish(key: Any, rows: pa.Table) -> pa.Table:
        return tasks.publish(key[0].as_py(), rows, text, tally, names)

    frame = opened.columns(names).toDF(*(each.name for each in inside), tasks.KEY, tasks.TIE)
    cell = StructField(tasks.CELL, IntegerType())
    sent = frame.mapInArrow(send, StructType([*inside, *marks, cell]))
    count = min(plan.n_cells, _MOST_TASKS)
    # A fixed number of tasks, which Spark does not change on the way: one a cell, if it can.
    if hasattr(sent, "repartitionById"):
        dealt = sent.repartitionById(count, f.col(tasks.CELL))
    else:
        dealt = sent.repartition(count, tasks.CELL)
    published = [
        StructField(each.name, _published_type(plan, name, each.dataType))
        for name, each in zip(names, inside, strict=True)
        if name not in recipe.identifiers
    ]
    schema = StructType([*published, marks[0], StructField(tasks.FIGURES, BinaryType())])
    made = dealt.groupBy(tasks.CELL).applyInArrow(publish, schema)
    kept = [name for name in names if name not in recipe.identifiers]
    order = [f"c{names.index(name)}" for name in kept]
    return made.select(*order, tasks.KEY, tasks.FIGURES).toDF(
        *(f"c{place}" for place in range(len(kept))), tasks.KEY, tasks.FIGURES
    )


def _add_up(kept: "DataFrame", figures: Tally) -> None:
    """Put the figures of all cells together, always in the same order."""
    from pyspark.sql import functions as f

    told = kept.where(f.col(tasks.FIGURES).isNotNull()).select(tasks.KEY, tasks.FIGURES).collect()
    for _, part in sorted(tuple(row) for row in told):
        figures.merge(pickle.loads(part))


def _under_names(kept: "DataFrame", opened: Source, recipe: Recipe, ordered: bool) -> "DataFrame":
    from pyspark.sql import functions as f

    names = [name for name in opened.names if name not in recipe.identifiers]
    rows = kept.orderBy(tasks.KEY) if ordered else kept
    return rows.select(*(f.col(f"c{place}").alias(name) for place, name in enumerate(names)))


def _published_type(plan: Plan, name: str, given: Any) -> Any:
    """The type a column is published in: its own, but for whole numbers declared continuous."""
    from pyspark.sql.types import DoubleType

    for coding in plan.codings:
        if coding.name == name:
            empty = coding.code(pa.array([], coding.type))
            entries = decode(empty, empty.values, np.zeros(0, bool))
            return given if entries.type == coding.type else DoubleType()
    return given


def _looked_at(recipe: Recipe) -> list[str]:
    names = [*recipe.quasi_identifiers, *recipe.within, *recipe.confidential]
    names += [] if recipe.weights is None else [recipe.weights]
    return list(dict.fromkeys(names))
