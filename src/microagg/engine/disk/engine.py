"""Out of core: a table of any size on one machine, through a work folder on disk.

Four passes. Look at every row and plan; send every row to the file of its cell; group the cells,
two at a time; put what they publish into the rows of the input, in order. Memory holds a few cells
and a few batches, never a table.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import microagg
from microagg.base.errors import OptionError, PromiseError
from microagg.base.progress import Report
from microagg.base.recipe import Recipe
from microagg.columns.coded import Coded, decode
from microagg.engine.block import Block, group_piece
from microagg.engine.disk.ahead import read_ahead
from microagg.engine.disk.work import Row, Work
from microagg.engine.plan import Plan, make_plan
from microagg.engine.survey import Survey, weights_of
from microagg.kernels.threads import run_both
from microagg.table.opening import readable
from microagg.table.streams import Stream

Seen = Callable[[Block | None], None]

_RANGE_ROWS = 1 << 18


@dataclass(frozen=True, eq=False)
class Range:
    """Some rows of the table, one after the other, before and after.

    before, after: the quasi-identifiers; table: what is published, all columns.
    """

    before: list[Coded]
    after: list[Coded]
    table: pa.Table
    kept: NDArray[np.bool_] | None


class OutOfCore:
    """One table on its way through the work folder."""

    def __init__(self, stream: Stream, recipe: Recipe, work: Work) -> None:
        self.stream = stream
        self.recipe = recipe
        self.work = work
        self.borders = np.append(np.arange(0, stream.rows, _RANGE_ROWS), stream.rows)

    @property
    def identity(self) -> dict[str, Any]:
        """What must be the same for a run to be resumed."""
        return {
            "version": microagg.__version__,
            "recipe": self.recipe.sha256,
            "input": self.stream.sha256,
            "rows": self.stream.rows,
        }

    def plan(
        self, report: Report, cell_rows: int | None = None
    ) -> tuple[Plan, pa.Table, NDArray[np.int64]]:
        """Look at every row; the plan, the sample it was made from, and its rows. Not twice."""
        state = self.work.state
        if state and state.get("identity") != self.identity:
            raise OptionError(
                "the run that was cut off had another input, recipe or version; leave out --resume"
            )
        if "planned" in state:
            plan = Plan.from_json(self.work["plan.json"].read_text(encoding="utf-8"))
            with pa.OSFile(str(self.work["sample.arrow"])) as file:
                return plan, pa.ipc.open_file(file).read_all(), np.load(self.work["sample.npy"])
        self.work.note(identity=self.identity)
        survey = Survey(self.recipe, self.stream.schema)
        for start, part in self._parts(report):
            survey.add(part, np.arange(start, start + part.num_rows))
        source = {
            "name": self.stream.origin.name,
            "sha256": self.stream.sha256,
            "rows": self.stream.rows,
        }
        plan = make_plan(survey, source, cell_rows)
        sample, rows = survey.sample.result()
        np.save(self.work["sample.npy"], rows)
        with (
            pa.OSFile(str(self.work["sample.arrow"]), "wb") as file,
            pa.ipc.new_file(file, sample.schema) as writer,
        ):
            writer.write_table(sample)
        self.work["plan.json"].write_text(plan.to_json(), encoding="utf-8")
        self.work.note(planned=True)
        return plan, sample, rows

    def route(self, plan: Plan, report: Report) -> tuple[Plan, NDArray[np.int64]]:
        """Send every row to the file of its leaf; the plan with cells, and how many rows each has.

        Not twice.
        """
        state = self.work.state
        if "counts" in state:
            counts = np.array(state["counts"], np.int64)
        else:
            self.work.clear_leaves()
            counts = np.zeros(plan.leaves, np.int64)
            row = Row.of(plan)
            for start, part in self._parts(report):
                counts += self._route(plan, row, start, part)
            self.work.note(counts=counts.tolist())
        if int(counts.sum()) + plan.dropped != plan.rows:
            raise PromiseError("not every row found its cell; the input may have been changed")
        plan = plan.with_counts(counts)
        assert plan.cell_of is not None
        return plan, np.bincount(plan.cell_of, weights=counts).astype(np.int64)

    def _route(self, plan: Plan, row: Row, start: int, part: pa.RecordBatch) -> NDArray[np.int64]:
        columns = plan.code(part)
        strata = plan.strata_of(part)
        leaves = plan.leaf_of(plan.place(columns), strata)
        rows = np.arange(start, start + part.num_rows)
        packed = row.pack(rows, [(column.values, column.missing) for column in columns])
        place = row.published
        if strata is not None:
            packed[:, place] = strata
            place += 1
        if row.weights:
            packed[:, place] = weights_of(self.recipe, part).view(np.int64)
        return self.work.route(packed, leaves, plan.leaves)

    def group(self, plan: Plan, counts: NDArray[np.int64], report: Report, seen: Seen) -> None:
        """Group every cell, two at a time, the largest first; those done already are left alone.

        seen: called with what is made of each piece of a cell, and with None for cells left alone.
        """
        assert plan.cell_of is not None
        row = Row.of(plan)
        leaves: list[list[int]] = [[] for _ in counts]
        for leaf, cell in enumerate(plan.cell_of.tolist()):
            leaves[cell].append(leaf)
        waiting = [cell for cell in np.argsort(counts, kind="stable").tolist() if counts[cell] > 0]
        total, done = int(counts.sum()), 0
        turn = threading.Lock()

        def next_cell() -> int | None:
            with turn:
                return waiting.pop() if waiting else None

        def run() -> None:
            nonlocal done
            try:
                while (cell := next_cell()) is not None:
                    if self.work.is_done(cell):
                        seen(None)
                    else:
                        self._group(plan, row, cell, leaves[cell], int(counts[cell]), seen)
                    with turn:
                        done += int(counts[cell])
                        report(done / total)
            except BaseException:
                waiting.clear()
                raise

        run_both(run, run)

    def _group(
        self, plan: Plan, row: Row, cell: int, leaves: Sequence[int], count: int, seen: Seen
    ) -> None:
        packed = self.work.cell(leaves, row.words, count)
        for number, piece in enumerate(plan.pieces(count)):
            words = packed[piece]
            columns = [
                coding.as_coded(*told)
                for coding, told in zip(plan.codings, row.unpack(words), strict=True)
            ]
            strata = words[:, row.published] if row.strata else None
            weights = np.ascontiguousarray(words[:, -1]).view(np.float64) if row.weights else None
            block = group_piece(plan, (cell, number), columns, strata, weights)
            seen(block)
            published = [block.published(place) for place in range(len(columns))]
            words[:, : row.published] = row.pack(words[:, 0], published)[:, : row.published]
        self.work.keep(cell, packed[:, : row.published], self.borders, leaves)

    def ranges(self, plan: Plan, report: Report) -> Iterator[Range]:
        """The whole table in order, as it is published; every row that was read, once."""
        row = Row.of(plan)
        dropped = 0
        names = [name for name in self.stream.schema.names if name not in self.recipe.identifiers]
        wanted = list(dict.fromkeys([*names, *self.recipe.quasi_identifiers]))
        batches = self.stream.batches(wanted, advance=report)
        for number, table in enumerate(_in_ranges(read_ahead(batches), _RANGE_ROWS)):
            words, there = self.work.published(plan.n_cells, row.published, self.borders, number)
            before = plan.code(table)
            after = [
                coding.as_coded(*told)
                for coding, told in zip(plan.codings, row.unpack(words), strict=True)
            ]
            kept = None
            if not there.all():
                kept = there
                dropped += int((~there).sum())
                before = [column.rows(kept) for column in before]
                after = [column.rows(kept) for column in after]
                table = table.filter(pa.array(kept))
            yield Range(before, after, _replaced(table.select(names), after), kept)
        if dropped != plan.dropped:
            raise PromiseError(f"{dropped - plan.dropped} rows did not come out of any cell")

    def _parts(self, report: Report) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The columns that grouping looks at, in batches, each with the number of its first row."""
        recipe = self.recipe
        looked_at = [*recipe.quasi_identifiers, *recipe.within, *recipe.confidential]
        looked_at += [] if recipe.weights is None else [recipe.weights]
        names = list(dict.fromkeys(looked_at))
        start = 0
        for batch in read_ahead(self.stream.batches(names, advance=report)):
            if recipe.weights is not None:
                place = batch.schema.get_field_index(recipe.weights)
                weights = readable(batch.column(place), self.stream.origin)
                batch = batch.set_column(place, recipe.weights, weights)
            yield start, batch
            start += batch.num_rows


def published_schema(schema: pa.Schema, plan: Plan) -> pa.Schema:
    """The columns of the release and their types."""
    kept = [field for field in schema if field.name not in plan.recipe.identifiers]
    empty = pa.schema(kept, schema.metadata).empty_table()
    return _replaced(
        empty, [coding.code(pa.array([], coding.type)) for coding in plan.codings]
    ).schema


def _replaced(table: pa.Table, after: Sequence[Coded]) -> pa.Table:
    """The table with the columns that are published instead."""
    for column in after:
        blank = np.zeros(column.values.size, bool) if column.missing is None else column.missing
        entries = decode(column, column.values, blank)
        place = table.schema.get_field_index(column.name)
        field = table.schema.field(place)
        table = table.set_column(place, field.with_type(entries.type), entries)
    return table


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
