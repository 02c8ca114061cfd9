"""Spark: the same plan and the same blocks, on as many machines as there are.

Three looks at the table. Workers look at every row, and the driver plans from what they add up and
a sample; they count the rows of each leaf, which settles the cells; they send every row to its cell
and publish the cells. Rows move between machines in the last, and once more when they are written,
in an order of which neither cells nor the input show. The driver holds the sample, the plan and
counts, never the table.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError, OptionError, PromiseError
from microagg.base.groups import Partition
from microagg.base.progress import Advance
from microagg.base.recipe import Recipe
from microagg.columns.coded import decode
from microagg.columns.households import Households
from microagg.columns.secrets import Secret
from microagg.engine.alike import Alike, Coding, Homes, T
from microagg.engine.choosing import bytes_of
from microagg.engine.counting import Wanted
from microagg.engine.demanded import SeenDemanded, Values
from microagg.engine.lacking import Judge, Lacking
from microagg.engine.plan import Plan
from microagg.engine.profile import Profile
from microagg.engine.protocol import Place, Recount
from microagg.engine.sample import SAMPLED, Sample, enough
from microagg.engine.spark import alike, files, tasks
from microagg.engine.spark.counting import counted
from microagg.engine.spark.session import plainly, session_for
from microagg.engine.spark.sources import column, open_source
from microagg.engine.spark.text import understood
from microagg.engine.survey import Survey, grouped_columns, surveyed_columns
from microagg.table.classes import Classes
from microagg.table.formats import format_of
from microagg.table.opening import Origin, check_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Cells are dealt out to so many tasks at most.
_MOST_TASKS = 4096
# Spark's own default.
_EXECUTOR_MEMORY = "1g"


@dataclass(frozen=True, eq=False)
class _Draft:
    """A folder of files without a name yet, and what these are to hold."""

    room: Path
    meant: dict[str, tasks.Part]


class Spark:
    """A table that Spark reads; see `Engine`."""

    name = "spark"
    writes_folders = True

    def __init__(
        self,
        table: Any,
        recipe: Recipe,
        master: str | None = None,
        session: Any = None,
        *,
        sampled: int = SAMPLED,
    ) -> None:
        """sampled: how many rows the plan and the report are made from."""
        self._recipe, self._sampled = recipe, sampled
        self._plan: Plan | None = None
        self._release: DataFrame | None = None
        self._values: Values | None = None
        self._session, self._ours = session_for(session, master)
        try:
            with plainly("read the table"):
                self._source = source = open_source(
                    table, recipe.reading, recipe.understood, self._session
                )
            check_columns(recipe.columns(), source.names)
            if recipe.row_order == "kept" and not source.ordered:
                raise OptionError(
                    'row_order="kept" needs rows that have numbers, which those of Parquet files '
                    "and of a CSV file on this machine have; leave it out, or write the table as "
                    "Parquet"
                )
        except BaseException:
            self.close()
            raise
        stream, reading = source.stream, recipe.reading
        plain = Origin(source.name, source.form, reading, path=source.path)
        self.notes = () if stream is None else tuple(stream.notes)
        self.rows = source.rows
        self.columns = tuple(name for name in source.names if name not in recipe.identifiers)
        # The layout of Parquet files is their schema, which Spark tells in its own types.
        self.origin = plain
        if stream is not None and not stream.origin.format.tells_types:
            empty = stream.schema.empty_table().select(self.columns)
            self.origin = stream.origin.released(empty, recipe)
        self.sha256 = ""

    @property
    def memory(self) -> int | None:
        """What a worker has for a cell, by the settings of the cluster; unknown on one machine."""
        settings = self._session.conf
        if str(settings.get("spark.master", "")).startswith("local"):
            return None
        size = settings.get("spark.executor.pyspark.memory", None)
        size = str(size or settings.get("spark.executor.memory", None) or _EXECUTOR_MEMORY)
        # Spark takes a bare number for mebibytes.
        return bytes_of(f"{size}m" if size.isdigit() else size)

    @property
    def data(self) -> "DataFrame":
        """The protected table, whose rows Spark holds until the release is closed."""
        from pyspark.sql import functions as f

        rows, count = self._held, self._tasks
        if self._recipe.row_order == "kept" or not hasattr(rows, "repartitionById"):
            return self._named(rows.orderBy(tasks.PLACE))
        # Places are spread evenly, so that nobody need look at rows to divide them into files.
        home = f.least(f.floor(f.col(tasks.PLACE) / 2.0**63 * count), f.lit(count - 1))
        there = rows.repartitionById(count, home.cast("int"))
        return self._named(there.sortWithinPartitions(tasks.PLACE))

    @property
    def partition(self) -> Partition:
        """Who was grouped with whom is known cell by cell only."""
        raise OptionError(
            "who was grouped with whom is not held for a release made on Spark; say engine=memory"
        )

    def survey(self, advance: Advance) -> Survey:
        """One look at every record, by the workers."""
        with plainly("look at the table"):
            seen = self._seen(enough(self._sampled, self.rows))
            # Where rows have no numbers, equal ones have equal hashes, and a limit may miss many.
            if seen.survey.sample.held < min(self._sampled, self.rows):
                seen = self._seen(None)
        if seen.survey.rows != self.rows:
            raise InputError("the table was changed while it was looked at; start again")
        self.sha256 = self._source.sha256_with(seen.digest)
        advance(1.0)
        return seen.survey

    def alike(
        self, coding: Coding, by: Sequence[str], told: Callable[[Alike], T], advance: Advance
    ) -> Iterator[T]:
        """What is told of all combinations of some keys, by the workers."""
        with plainly("count the records that are alike"):
            found = alike.alike(self._compared(coding), coding, by, told)
        self._source.check()
        advance(1.0)
        return iter(found)

    def households(self, coding: Coding, advance: Advance) -> Iterator[Homes]:
        """The risk of all households, by the workers."""
        with plainly("count the households"):
            found = alike.households(self._compared(coding), coding)
        self._source.check()
        advance(1.0)
        return iter(found)

    def _compared(self, coding: Coding) -> "DataFrame":
        names = coding.names
        return alike.compared(self._source.columns(names), coding, self._source.with_units(names))

    def count(
        self, plan: Plan, advance: Advance, secrets: Sequence[Secret] = ()
    ) -> tuple[NDArray[np.int64], Judge | None]:
        """How many rows each leaf has."""
        names, text = grouped_columns(self._recipe), plan.to_json()
        units, origin = self._source.with_units(names), self.origin
        self._values, lacking = None, None
        if plan.demanding:
            self._values = self._seen_values(plan, secrets)
            lacking = Lacking(self._values, plan.means)
        values = self._values

        def count(batches: Iterator[pa.RecordBatch]) -> Any:
            return tasks.count(batches, text, units, origin, values, lacking)

        with plainly("count the cells"):
            answers = self._source.columns(names).mapInArrow(count, tasks.ANSWER).collect()
        self._source.check()
        parts = [pickle.loads(part) for (part,) in answers]
        households = Households(plan.recipe.k)
        for theirs, _ in parts:
            households.merge(theirs)
        counts, *tables = (
            np.asarray(sum(each)) for each in zip(*(found for _, found in parts), strict=True)
        )
        if int(counts.sum()) + plan.dropped != plan.rows:
            raise PromiseError("not every row found its cell; the table may have been changed")
        advance(1.0)
        judge = None if lacking is None else lacking.judge(tables)
        if plan.recipe.household is None:
            return counts, judge
        return households.where_enough(counts, plan.recipe.k), judge

    def _seen_values(self, plan: Plan, secrets: Sequence[Secret]) -> Values:
        """Every value of the columns that something is demanded of, of the rows that stay."""
        recipe, text = self._recipe, plan.to_json()
        seen, begun = (SeenDemanded(recipe, secrets) for _ in range(2))
        if recipe.demanded:
            names = list(dict.fromkeys([*recipe.demanded, *recipe.within]))
            units = self._source.with_units(names)

            def see(batches: Iterator[pa.RecordBatch]) -> Any:
                return tasks.see(batches, text, units, begun)

            with plainly("look at confidential columns"):
                answers = self._source.columns(names).mapInArrow(see, tasks.ANSWER)
                for (part,) in answers.toLocalIterator():
                    seen.add(pickle.loads(part))
        return seen.values()

    def publish(
        self, plan: Plan, profile: Profile, advance: Advance, order: bytes | None = None
    ) -> None:
        """Every row that stays, cell by cell, as it is published."""
        from pyspark.sql import functions as f

        self._plan = plan
        with plainly("group the cells"):
            self._release = self._published(plan, profile, order).persist()
            first_rows = self._release.where(f.col(tasks.FIGURES).isNotNull())
            parts = first_rows.select(tasks.FIGURES).collect()
        self._source.check()
        by_cell = sorted((pickle.loads(part) for (part,) in parts), key=lambda each: each[0])
        for _, theirs in by_cell:
            profile.merge(theirs)
        advance(1.0)

    def forget(self) -> None:
        """The original stays where it is."""

    @contextmanager
    def write(self, place: Place, advance: Advance) -> Iterator[_Draft]:
        """Write a folder of files."""
        assert place.path is not None
        # Workers are in folders of their own.
        room = place.path.absolute()
        suffix = files.suffix_for(place.address, self.origin)
        units = self._source.with_units(self.columns)
        with plainly("write the release"):
            data = self.data
            known = self.origin.format
            if not known.tells_types and known != format_of(f"part{suffix}"):
                data = understood(data, self.origin, self._recipe.understood)
            meant = files.write_parts(data, units, room, suffix, self.origin)
        advance(1.0)
        yield _Draft(room, meant)

    def recount(self, draft: _Draft | None, wanted: Wanted, advance: Advance) -> Recount:
        """Count the classes of what was written, and compare its contents with what was meant."""
        plan = self._plan
        assert plan is not None
        names = [*plan.counted, *(each.name for each in wanted.columns)]
        if draft is None:
            with plainly("count the release"):
                columns = self._named(self._held).select(*(column(name) for name in names))
                classes, counts = counted(columns, len(plan.counted), wanted)
                return Recount(self._by_household(classes), counts=counts)
        session, room, meant = self._session, draft.room, draft.meant
        try:
            with plainly("read the release back"):
                found = files.digests_of(session, room, meant, self.origin)
                once = list(dict.fromkeys(names))
                read = files.read_columns(session, room, meant, once, self.origin)
                columns = read.select(*(f"c{once.index(name)}" for name in names))
                classes, counts = counted(columns, len(plan.counted), wanted)
                classes = self._by_household(classes)
        except InputError:
            raise PromiseError(
                "the written release cannot be read back, so it was not published"
            ) from None
        rows = sum(part.rows for part in found.values())
        same = {
            name: all(found[part].digests.get(name) == meant[part].digests[name] for part in meant)
            for name in self.columns
        }
        advance(1.0)
        there = {path.name for path in room.iterdir()}
        complete = rows == plan.rows - plan.dropped and there == meant.keys()
        return Recount(classes, complete, same, files.sha256_of_files(room), counts)

    def close(self) -> None:
        """Let Spark forget the rows; a session that was started for them ends."""
        # One that was ended by others holds nothing.
        with suppress(InputError), plainly("end"):
            if self._ours:
                self._session.stop()
            elif self._release is not None:
                self._release.unpersist()
        self._release, self._ours = None, False

    def _by_household(self, classes: Classes) -> Classes:
        """The same classes, of which k counts the households, where it does.

        These are not in what is written, but in the rows that Spark holds, which that is compared
        with, column by column.
        """
        from pyspark.sql import functions as f

        plan = self._plan
        if plan is None or plan.recipe.household is None:
            return classes
        known = [f"c{self.columns.index(name)}" for name in plan.counted]
        found = self._held.groupBy(*known).agg(f.countDistinct(tasks.HOUSEHOLD).alias("found"))
        return replace(classes, k=int(found.agg(f.min("found")).first()[0]))  # type: ignore[index]

    @property
    def _held(self) -> "DataFrame":
        if self._release is None:
            raise OptionError("the release was closed, and Spark has forgotten its rows")
        return self._release

    @property
    def _tasks(self) -> int:
        assert self._plan is not None
        return min(self._plan.n_cells, _MOST_TASKS)

    def _named(self, rows: "DataFrame") -> "DataFrame":
        """The columns of the release by their names."""
        from pyspark.sql import functions as f

        return rows.select(
            *(f.col(f"c{place}").alias(name) for place, name in enumerate(self.columns))
        )

    def _seen(self, limit: int | None) -> tasks.Seen:
        """What the workers saw of the table, put together, with a sample."""
        recipe, size = self._recipe, self._sampled
        names = surveyed_columns(recipe, self._source.names)
        origin, units = self.origin, self._source.with_units(names)

        def look(batches: Iterator[pa.RecordBatch]) -> Any:
            return tasks.look(batches, recipe, units, origin, size, limit)

        answers = self._source.columns(names).mapInArrow(look, tasks.ANSWER)
        seen: tasks.Seen | None = None
        sample = Sample(size)
        # Without a limit parts come one at a time: each may bring as many rows as are wanted.
        for (part,) in answers.collect() if limit is not None else answers.toLocalIterator():
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

    def _published(self, plan: Plan, profile: Profile, order_key: bytes | None) -> "DataFrame":
        from pyspark.sql import functions as f
        from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

        source, recipe, origin = self._source, plan.recipe, self.origin
        needed = {*grouped_columns(recipe), *self.columns}
        names = [name for name in source.names if name in needed]
        fields = [source.fields[source.names.index(name)] for name in names]
        inside = [
            StructField(f"c{place}", _bare(each.dataType)) for place, each in enumerate(fields)
        ]
        marks = [StructField(tasks.KEY, LongType()), StructField(tasks.TIE, LongType())]
        text, begun, values = plan.to_json(), pickle.dumps(profile.begin()), self._values
        units = source.with_units(names)

        def send(batches: Iterator[pa.RecordBatch]) -> Any:
            return tasks.send(batches, text, units)

        def publish(key: Any, rows: pa.Table) -> pa.Table:
            return tasks.publish(
                key[0].as_py(), rows, text, begun, units, origin, order_key, values
            )

        frame = source.columns(names).toDF(*(each.name for each in inside), tasks.KEY, tasks.TIE)
        cell = StructField(tasks.CELL, IntegerType())
        sent = frame.mapInArrow(send, StructType([*inside, *marks, cell]))
        count = self._tasks
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
        marks = [] if recipe.household is None else [StructField(tasks.HOUSEHOLD, LongType())]
        marks += [StructField(tasks.PLACE, LongType()), StructField(tasks.FIGURES, BinaryType())]
        made = dealt.groupBy(tasks.CELL).applyInArrow(publish, StructType([*published, *marks]))
        order = [f"c{names.index(name)}" for name in self.columns]
        beside = [mark.name for mark in marks]
        return made.select(*order, *beside).toDF(
            *(f"c{place}" for place in range(len(order))), *beside
        )


def _bare(kind: Any) -> Any:
    """A type whose fields have no metadata."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if isinstance(kind, StructType):
        return StructType(
            [StructField(each.name, _bare(each.dataType), each.nullable) for each in kind]
        )
    if isinstance(kind, ArrayType):
        return ArrayType(_bare(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(_bare(kind.keyType), _bare(kind.valueType), kind.valueContainsNull)
    return kind


def _published_type(plan: Plan, name: str, given: Any) -> Any:
    """The type a column is published in: its own, but for whole numbers declared continuous."""
    from pyspark.sql.types import DoubleType

    for coding in plan.codings:
        if coding.name == name:
            empty = coding.code(pa.array([], coding.type))
            entries = decode(empty, empty.values, np.zeros(0, bool))
            return given if entries.type == coding.type else DoubleType()
    return given
