"""Disk: a table of any size on one machine, through a work folder.

Four passes. Look at every row and plan; send every row to the file of its leaf; group the cells,
two at a time; put what they publish into the rows of the input, and these into the order in which
they are written. Memory holds a few cells and a few batches, never a table.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import microagg
from microagg.base.errors import InputError, OptionError, PromiseError
from microagg.base.groups import Partition
from microagg.base.progress import Advance, silent
from microagg.base.recipe import Recipe
from microagg.columns.coded import Coded, decode
from microagg.columns.households import Households
from microagg.columns.published import to_digits
from microagg.columns.secrets import Room, Secret
from microagg.engine.alike import HOUSEHOLD, ROW, WEIGHT, Alike, Coding, Homes, T
from microagg.engine.block import group_cell
from microagg.engine.choosing import cells_at_once
from microagg.engine.counting import Counting, Counts, Wanted
from microagg.engine.demanded import SeenDemanded, Values
from microagg.engine.disk.alike import SAFE, alike_in, homes_in, members_in
from microagg.engine.disk.order import in_order
from microagg.engine.disk.work import Row, Work
from microagg.engine.lacking import Judge, Lacking
from microagg.engine.plan import DROPPED, Plan
from microagg.engine.profile import Profile
from microagg.engine.protocol import Place, Recount
from microagg.engine.survey import (
    Survey,
    grouped_columns,
    households_of,
    surveyed_columns,
    weights_of,
)
from microagg.kernels.ahead import read_ahead
from microagg.kernels.shuffling import shuffled_places
from microagg.kernels.threads import run_all
from microagg.table.checks import sha256_of
from microagg.table.classes import Classes
from microagg.table.classes_in_parts import WholeClasses, classes_in_parts, classes_of
from microagg.table.formats import format_of
from microagg.table.formats.arrow.files import SUFFIXES
from microagg.table.metadata import released_schema
from microagg.table.opening import Origin, changed_meanwhile, check_columns
from microagg.table.sinks import Digests, digests_for, open_sink, read_back_stream
from microagg.table.streams import Stream, open_stream

_RANGE_ROWS = 1 << 18
# Beside the columns of a table, which cannot be called so.
_HOUSEHOLD = "\0household"
# What Arrow calls the files that it can look into where they lie.
_DATASETS = {"parquet": "parquet", "arrow": "ipc"}


@dataclass(frozen=True, eq=False)
class _Draft:
    """A release that was written but has no name yet, and hashes of what was meant."""

    path: Path
    schema: pa.Schema
    meant: Digests


class Disk:
    """A table on disk, worked on in parts; see `Engine`."""

    name = "disk"
    writes_folders = False
    memory = None

    def __init__(
        self,
        stream: Stream,
        recipe: Recipe,
        work: Path | None = None,
        *,
        resume: bool = False,
        range_rows: int = _RANGE_ROWS,
        allowed: int | None = None,
    ) -> None:
        """work: the folder to work in; a temporary one otherwise.

        resume: go on where a run with the same input and recipe was cut off there.
        range_rows: how many rows are put together at a time.
        allowed: bytes of memory that may be used.
        """
        self._allowed = allowed
        check_columns(recipe.columns(), stream.schema.names)
        self.sha256, self.rows, self.notes = stream.sha256, stream.rows, tuple(stream.notes)
        self.columns = tuple(name for name in stream.schema.names if name not in recipe.identifiers)
        for name in self.columns:
            if pa.types.is_union(stream.schema.field(name).type):
                raise InputError(
                    f"column {name!r} has values of several types at once, which only "
                    "engine=memory can hold; say that, or name the column in identifiers, which "
                    "are dropped"
                )
        empty = pa.schema([stream.schema.field(name) for name in self.columns]).empty_table()
        self.origin = stream.origin.released(empty, recipe)
        self._stream, self._recipe = stream, recipe
        self._range_rows = range_rows
        self._borders = np.append(np.arange(0, stream.rows, range_rows), stream.rows)
        self._plan: Plan | None = None
        self._order: bytes | None = None
        self._values: Values | None = None
        self._written: Path | None = None
        _refuse_within_input(work, self.origin)
        identity = {
            "version": microagg.__version__,
            "recipe": recipe.sha256,
            "input": self.sha256,
            "rows": self.rows,
            "range_rows": range_rows,
        }
        self._work = Work(work, identity, resume=resume)

    @property
    def data(self) -> Any:
        """What was written, as an Arrow dataset."""
        if self._written is None:
            raise OptionError(
                "a release made on disk is not held in memory: write it first, then `data` is an "
                "Arrow dataset over what was written"
            )
        from pyarrow import dataset

        kind = _DATASETS.get(SUFFIXES.get(self._written.suffix.lower(), ""))
        if kind is None:
            raise OptionError(
                f"`data` is an Arrow dataset over a Parquet or Arrow file, but {self._written.name}"
                " was written; read that, or write .parquet"
            )
        return dataset.dataset(self._written, format=kind)

    @property
    def partition(self) -> Partition:
        """Who was grouped with whom is known cell by cell only."""
        raise OptionError(
            "who was grouped with whom is not held for a release made on disk; say engine=memory"
        )

    def survey(self, advance: Advance) -> Survey:
        """One look at every record."""
        held = self._recipe.k
        survey = Survey(self._recipe, self._stream.schema, origin=self.origin, held=held)
        names = surveyed_columns(self._recipe, self._stream.schema.names)
        for start, part in self._parts(names, advance):
            survey.add(part, np.arange(start, start + part.num_rows))
        return survey

    def alike(
        self, coding: Coding, by: Sequence[str], told: Callable[[Alike], T], advance: Advance
    ) -> Iterator[T]:
        """What is told of all combinations of some keys, part by part."""
        values = [ROW] if coding.weights is None else [WEIGHT, ROW]
        parts = self._gathered(self._compared(coding, advance), by, values, advance)
        return (told(alike_in(part, coding)) for part in parts)

    def households(self, coding: Coding, advance: Advance) -> Iterator[Homes]:
        """The risk of all households, part by part: records by their keys, then by household."""
        values = [HOUSEHOLD, ROW] if coding.weights is None else [WEIGHT, HOUSEHOLD, ROW]
        batches = self._compared(coding, lambda share: advance(share / 2))
        parts = self._gathered(batches, coding.keys, values, silent)
        alone: list[Homes] = []
        members = (members_in(part, coding, alone) for part in parts)
        homes = self._gathered(members, [HOUSEHOLD], [SAFE, ROW], advance)
        yield from map(homes_in, homes)
        yield from alone

    def _compared(self, coding: Coding, advance: Advance) -> Iterator[pa.RecordBatch]:
        for start, part in self._parts(coding.names, lambda share: advance(share / 2)):
            yield coding.coded(part, np.arange(start, start + part.num_rows))

    def _gathered(
        self,
        batches: Iterator[pa.RecordBatch],
        by: Sequence[str],
        values: Sequence[str],
        advance: Advance,
    ) -> Iterator[WholeClasses]:
        """Records equal in columns, each class whole in one of the parts."""
        with self._work.failures_named():
            yield from classes_in_parts(batches, by, values, self.rows, self._work.folder, advance)

    def count(
        self, plan: Plan, advance: Advance, secrets: Sequence[Secret] = ()
    ) -> tuple[NDArray[np.int64], Judge | None]:
        """Send every row to the file of its leaf; how many each has. Not twice."""
        self._check_space(plan)
        state = self._work.state
        done = state.get("plan") == plan.sha256 and "counts" in state
        if not done:
            self._work.clear()
        self._values, lacking = None, None
        if plan.demanding:
            self._values = self._seen_values(plan, secrets, advance)
            lacking = Lacking(self._values, plan.means)
        if done:
            counts, enough = (np.array(state[each], np.int64) for each in ("counts", "enough"))
            tables = [np.array(table, np.int64) for table in state["tables"]]
        else:
            counts, enough, tables = self._routed(plan, lacking, advance)
        if int(counts.sum()) + plan.dropped != plan.rows:
            raise PromiseError("not every row found its cell; the input may have been changed")
        return enough, None if lacking is None else lacking.judge(tables)

    def _seen_values(self, plan: Plan, secrets: Sequence[Secret], advance: Advance) -> Values:
        """Every value of the columns that something is demanded of, of the rows that stay."""
        recipe, seen = self._recipe, SeenDemanded(self._recipe, secrets, Room(self._work.folder))
        if not recipe.demanded:
            return seen.values()
        names = list(dict.fromkeys([*recipe.demanded, *recipe.within]))
        with self._work.failures_named():
            for _, part in self._parts(names, lambda share: advance(share / 3)):
                seen.add(seen.counted(part, plan.stays(part)))
            return seen.values()

    def _routed(
        self, plan: Plan, lacking: Lacking | None, advance: Advance
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], list[NDArray[np.int64]]]:
        """Every row in the file of its leaf; how many each has, the same where these are of k
        households, and what else was counted of leaves."""
        counts, row = np.zeros(plan.leaves, np.int64), Row.of(plan)
        widths = () if lacking is None else lacking.tables
        tables = [np.zeros((plan.leaves, width), np.int64) for width in widths]
        households = Households(plan.recipe.k)
        with self._work.failures_named():
            for start, part in self._parts(grouped_columns(self._recipe), advance):
                columns, strata = plan.code(part), plan.strata_of(part)
                leaves = plan.leaf_of(plan.place(columns), strata)
                rows = np.arange(start, start + part.num_rows)
                packed = row.pack(rows, [(column.values, column.missing) for column in columns])
                if strata is not None:
                    packed[:, row.stratum] = strata
                codes = households_of(self._recipe, part, self.origin)
                if codes is not None:
                    packed[:, row.household] = codes
                    households.add(leaves[leaves != DROPPED], codes[leaves != DROPPED])
                weights = weights_of(self._recipe, part) if row.weights else None
                if weights is not None:
                    packed[:, row.weight] = weights.view(np.int64)
                if lacking is not None and self._values is not None:
                    ranks = self._values.ranks(part, leaves != DROPPED)
                    packed[:, row.ranks] = ranks
                    found = lacking.counted(leaves, plan.leaves, ranks, columns, weights)
                    for table, more in zip(tables, found, strict=True):
                        table += more
                counts += self._work.route(packed, leaves, plan.leaves)
            enough = households.where_enough(counts, plan.recipe.k) if row.households else counts
            told = [table.tolist() for table in tables]
            self._work.note(
                plan=plan.sha256, counts=counts.tolist(), enough=enough.tolist(), tables=told
            )
        return counts, enough, tables

    def publish(
        self, plan: Plan, profile: Profile, advance: Advance, order: bytes | None = None
    ) -> None:
        """Group every cell; of those that an earlier run has done, only count what became."""
        assert plan.cell_of is not None
        self._plan, self._order, row = plan, order, Row.of(plan)
        leaves: list[list[int]] = [[] for _ in range(plan.n_cells)]
        for leaf, cell in enumerate(plan.cell_of.tolist()):
            leaves[cell].append(leaf)
        with self._work.failures_named():
            counts = self._work.deal(plan, row.words)
        profiles = [profile.begin() for _ in counts]

        def group(cell: int, advance_cell: Advance) -> None:
            packed = self._work.cell(leaves[cell], row.words, int(counts[cell]), cell)
            before = row.coded(plan, packed)
            if self._work.is_done(cell):
                published = self._work.kept(cell, row.published, self._borders)
                after = row.coded(plan, published)
                told = self._work.told(cell)
                profiles[cell].add_records(plan, packed[:, 0], before, after, *told)
                return
            strata = packed[:, row.stratum] if row.strata else None
            weights = packed[:, row.weight].copy().view(np.float64) if row.weights else None
            households = packed[:, row.household] if row.households else None
            demanded = None if self._values is None else (self._values, packed[:, row.ranks])
            block = group_cell(
                plan,
                cell,
                before,
                strata,
                weights,
                None,
                households,
                advance=advance_cell,
                demanded=demanded,
            )
            profiles[cell].add(plan, packed[:, 0], before, block)
            values = [block.published(place) for place in range(len(before))]
            published = row.pack(packed[:, 0], values)[:, : row.published]
            if households is not None:
                published[:, row.household] = households
            if block.strata is not None:
                published[:, row.stratum] = block.strata[block.groups.labels]
            found = profiles[cell]
            self._work.keep(cell, published, self._borders, found.dominance, found.exposures)

        with self._work.failures_named():
            run_all(group, counts, advance, cells_at_once(plan, self._allowed))
        for each in profiles:
            profile.merge(each)
        # As many as records, in files that are counted as memory while they are looked into.
        self._values = None

    def forget(self) -> None:
        """The original stays where it is."""

    @contextmanager
    def write(self, place: Place, advance: Advance) -> Iterator[_Draft]:
        """Write the release part by part."""
        path, plan = place.path, self._plan
        if path is None:
            raise OptionError(
                "a release made on disk goes to a Parquet, Arrow or CSV file; write one of these, "
                "or say engine=memory"
            )
        assert plan is not None
        self._work.check_open()
        stream = self._stream_for(path)
        schema = _published_schema(stream.schema, plan)
        rows = plan.rows - plan.dropped
        with open_sink(path, schema, self.origin, rows) as sink, self._households() as households:
            names = [*schema.names, *self._beside]
            # While some rows are written the next ones are put in order.
            for batch in read_ahead(self._written_batches(stream, plan, names, advance)):
                if self._beside:
                    households.write(batch.column(_HOUSEHOLD).to_numpy().tobytes())
                    batch = batch.remove_column(len(schema.names))
                sink.write(batch)
        yield _Draft(path, schema, sink.digests)
        self._written = Path(place.address).absolute() if place.address != "-" else None

    def recount(self, draft: _Draft | None, wanted: Wanted, advance: Advance) -> Recount:
        """Read the release back, compare it with what was meant, and count its classes."""
        plan = self._plan
        assert plan is not None
        rows = plan.rows - plan.dropped
        if draft is None:
            self._work.check_open()
            names = [*plan.counted, *(each.name for each in wanted.columns), *self._beside]
            tables = self._ranges(self._stream, plan, list(dict.fromkeys(names)), advance)
            published = (batch for _, table in tables for batch in table.to_batches())
            classes, counts = self._counted(published, plan, wanted, advance)
            return Recount(classes, counts=counts)
        try:
            back = read_back_stream(draft.path, draft.schema, self.origin)
            there = digests_for(draft.path, self.origin)
            batches = self._with_households(read_ahead(_hashed(back.batches(), there)))
            classes, counts = self._counted(batches, plan, wanted, advance)
        except InputError:
            raise PromiseError(
                "the written release cannot be read back, so it was not published"
            ) from None
        meant, found = draft.meant.of(), there.of()
        return Recount(
            classes,
            complete=list(meant) == list(found) and back.rows == rows,
            same={name: found.get(name) == digest for name, digest in meant.items()},
            sha256=sha256_of(draft.path),
            counts=counts,
        )

    def close(self) -> None:
        """Remove the work folder."""
        self._work.close()

    def _counted(
        self, batches: Iterator[pa.RecordBatch], plan: Plan, wanted: Wanted, advance: Advance
    ) -> tuple[Classes, Counts]:
        counting, rows = Counting(wanted, Room(self._work.folder)), plan.rows - plan.dropped
        beside = self._beside
        with self._work.failures_named():
            parts = classes_in_parts(
                counting.coded(batches, plan.counted, beside),
                plan.counted,
                [*counting.values, *beside],
                rows,
                self._work.folder,
                advance,
            )
            return classes_of(counting.through(parts), bool(beside)), counting.found

    @property
    def _beside(self) -> list[str]:
        """What goes with the rows that are written, but is not."""
        return [] if self._recipe.household is None else [_HOUSEHOLD]

    def _households(self) -> AbstractContextManager[Any]:
        """The file for the households of the rows that are written, in their order."""
        return self._work["households"].open("wb") if self._beside else nullcontext()

    def _with_households(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows that were read back, with the households that they were written with."""
        if not self._beside:
            yield from batches
            return
        codes, start = np.memmap(self._work["households"], np.int64, "r"), 0
        for batch in batches:
            some = codes[start : start + batch.num_rows]
            start += batch.num_rows
            if some.size == batch.num_rows:
                yield batch.append_column(_HOUSEHOLD, pa.array(some))
        if start != codes.size:
            raise InputError("the release has another number of rows than were written")

    def _stream_for(self, path: Path) -> Stream:
        """The input as a file of another format wants it: with what texts say, not the texts."""
        origin = self.origin
        if origin.format.tells_types or origin.format == format_of(str(path)):
            return self._stream
        again = open_stream(origin.path or "", origin.reading)
        if again.sha256 != self.sha256:
            raise changed_meanwhile(origin.name)
        return again

    def _written_batches(
        self, stream: Stream, plan: Plan, names: Sequence[str], advance: Advance
    ) -> Iterator[pa.RecordBatch]:
        """The release in the order in which it is written."""
        key = self._order
        ranges = self._ranges(stream, plan, names, advance)
        if key is None:
            yield from (batch for _, table in ranges for batch in table.to_batches())
            return
        numbered = ((shuffled_places(key, rows), table) for rows, table in ranges)
        with self._work.failures_named():
            shuffled = in_order(numbered, self._work["rows"], len(self._borders) - 1)
            for table in _in_ranges(shuffled, self._range_rows):
                yield from table.to_batches()

    def _ranges(
        self, stream: Stream, plan: Plan, names: Sequence[str], advance: Advance
    ) -> Iterator[tuple[NDArray[np.int64], pa.Table]]:
        """Columns of the whole table in order, as they are published; every row read, once.

        With the numbers of the rows.
        """
        row, dropped = Row.of(plan), 0
        codings = {coding.name: place for place, coding in enumerate(plan.codings)}
        strata = _strata_in(stream, plan)
        # Rows are counted by what is read, so something has to be.
        untouched = [name for name in names if name not in codings and name != _HOUSEHOLD]
        wanted = untouched or [plan.codings[0].name]
        batches = stream.batches(wanted, advance=advance)
        for number, table in enumerate(_in_ranges(read_ahead(batches), self._range_rows)):
            words, there = self._work.published(plan.n_cells, row.published, self._borders, number)
            after = row.coded(plan, words)
            replaced = {name: _entries(after[codings[name]]) for name in names if name in codings}
            for name, values in strata.items():
                replaced[name] = values.take(pa.array(words[:, row.stratum]))
            if row.households:
                replaced[_HOUSEHOLD] = pa.array(words[:, row.household])
            for name in set(names).intersection(plan.recipe.rounded):
                replaced[name] = to_digits(table[name], plan.recipe.weight_digits)
            columns = [replaced[name] if name in replaced else table[name] for name in names]
            table = pa.table(columns, list(names))
            if not there.all():
                dropped += int((~there).sum())
                table = table.filter(pa.array(there))
            yield self._borders[number] + np.flatnonzero(there), table
        if dropped != plan.dropped:
            raise PromiseError(f"{dropped - plan.dropped} rows did not come out of any cell")

    def _parts(
        self, names: Sequence[str], advance: Advance
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Some columns to look at, in batches, each with the number of its first row."""
        recipe, start = self._recipe, 0
        for batch in read_ahead(self._stream.batches(names, advance=advance)):
            if recipe.weights in names:
                place = batch.schema.get_field_index(recipe.weights)
                weights = self.origin.readable(batch.column(place))
                batch = batch.set_column(place, recipe.weights, weights)
            yield start, batch
            start += batch.num_rows

    def _check_space(self, plan: Plan) -> None:
        """Refuse to begin what the disk cannot hold: rows before, after and on their way out."""
        needed, free = 2 * 8 * plan.rows * Row.of(plan).words, self._work.free_space
        needed += self._stream.size if self._recipe.row_order == "shuffled" else 0
        if free < needed:
            raise OptionError(
                f"work on disk needs about {needed / 1e9:.1f} GB in {self._work.place}, "
                f"but {free / 1e9:.1f} GB are free; say by work where there is more, or make room"
            )


def _refuse_within_input(work: Path | None, origin: Origin) -> None:
    """Refuse to work in a folder that is the input."""
    there = None if origin.path is None else origin.path.resolve()
    if work is None or there is None or not there.is_dir():
        return
    if there in (work.resolve(), *work.resolve().parents):
        raise OptionError(
            f"the work folder {work.name} is the input or in it, which is never written into; name "
            "another"
        )


def _published_schema(schema: pa.Schema, plan: Plan) -> pa.Schema:
    """The columns of the release and their types."""
    for coding in plan.codings:
        entries = _entries(coding.code(pa.nulls(0, coding.type)))
        place = schema.get_field_index(coding.name)
        schema = schema.set(place, schema.field(place).with_type(entries.type))
    names = [name for name in schema.names if name not in plan.recipe.identifiers]
    return released_schema(schema, names, plan.recipe)


def _strata_in(stream: Stream, plan: Plan) -> dict[str, pa.Array]:
    """What each stratum is called in the columns that publish it, in the types of a stream."""
    strata, names = plan.strata, stream.schema.names
    if strata is None or not plan.crossed:
        return {}
    values = {name: strata.column(name) for name in strata.names}
    if stream.understand is not None:
        blank = pa.array([""] * len(strata))
        texts = [values.get(name, blank).fill_null("") for name in names]
        values = dict(zip(names, stream.understand(texts), strict=True))
    return {name: values[name].cast(stream.schema.field(name).type) for name in strata.names}


def _entries(column: Coded) -> pa.Array:
    blank = np.zeros(column.values.size, bool) if column.missing is None else column.missing
    return decode(column, column.values, blank)


def _hashed(batches: Iterator[pa.RecordBatch], digests: Digests) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        digests.add(batch)
        yield batch


def _in_ranges(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """The same rows, so many at a time."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        while count + batch.num_rows >= rows:
            held.append(batch.slice(0, rows - count))
            batch = batch.slice(rows - count)
            yield pa.Table.from_batches(held)
            held, count = [], 0
        if batch.num_rows:
            held.append(batch)
            count += batch.num_rows
    if held:
        yield pa.Table.from_batches(held)
