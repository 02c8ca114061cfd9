"""Memory: a table of any kind that fits, held once as it came and once as it goes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.aggregation.values import find_aggregate
from microagg.base.errors import InputError
from microagg.base.groups import Partition
from microagg.base.progress import Advance
from microagg.base.recipe import Recipe
from microagg.columns.coded import Coded, decode, encode
from microagg.columns.households import Households
from microagg.columns.published import Kept, Proximity, centres_of, kept_distances, to_digits
from microagg.columns.secrets import Secret
from microagg.engine.block import Block, Demanded, Given, group_cell
from microagg.engine.cells import rows_by_cell
from microagg.engine.counting import Counting, Counts, Wanted
from microagg.engine.demanded import values_at_once
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
from microagg.grouping.constraints import check_entities_within, entity_points
from microagg.kernels.shuffling import shuffled_order
from microagg.kernels.threads import run_all
from microagg.table.classes import Classes, class_of, classes_by
from microagg.table.frames import Frame, as_arrow, give_back_memory
from microagg.table.opening import Opened, Origin, check_columns
from microagg.table.ordering import reordered
from microagg.table.writing import ReadBack, draft_in_database, write_file

_PLACED_AT_ONCE = 1 << 17
_More = tuple[NDArray | None, NDArray | None, NDArray | None, NDArray | None]


@dataclass(eq=False)
class _Released:
    """What is left once records were published; nothing of the original.

    owners: whose record each is, where k counts entities or households.
    stays: which rows are left, None for all. shuffled: data are in the order that is written.
    """

    data: Any
    partition: Partition
    counted: tuple[str, ...]
    owners: NDArray[np.int64] | None
    stays: NDArray[np.bool_] | None
    shuffled: bool = False


class Memory:
    """A table in memory; see `Engine`."""

    name = "memory"
    writes_folders = False
    memory = None

    def __init__(
        self, source: Opened, recipe: Recipe, *, shares: bool = False, given: Given = None
    ) -> None:
        """shares: several plans will be tried, so what serves another k too is kept.

        given: what makes the groups, where somebody brings them along.
        """
        check_columns(recipe.columns(), source.frame.names)
        self.origin, self.sha256, self.notes = source.origin, source.sha256, tuple(source.notes)
        self.rows = source.frame.rows
        self.columns = tuple(name for name in source.frame.names if name not in recipe.identifiers)
        self._recipe, self._shares, self._given = recipe, shares, given
        self._original: _Original | None = _Original(source, recipe)
        self._released: _Released | None = None
        self._order: bytes | None = None

    @property
    def data(self) -> Any:
        """The protected table, of the kind that came in."""
        released = self._released
        assert released is not None
        if released.shuffled:
            released.data = reordered(released.data, np.argsort(self._shuffled))
            released.shuffled = False
        return released.data

    @property
    def partition(self) -> Partition:
        """Who was grouped with whom, in the order of the rows."""
        assert self._released is not None
        return self._released.partition

    def survey(self, advance: Advance) -> Survey:
        """One look at every record."""
        original = self._held
        seen, frame = original.seen, original.source.frame
        columns = dict(zip(seen.schema.names, seen.columns, strict=True))
        for name in surveyed_columns(self._recipe, frame.names)[len(columns) :]:
            # What Arrow has no type for is not looked at.
            with suppress(InputError):
                columns[name] = frame.column(name)
        part = pa.record_batch(columns)
        survey = Survey(self._recipe, part.schema, origin=self.origin)
        survey.add(part, np.arange(self.rows), original.first_rows)
        give_back_memory()
        advance(1.0)
        return survey

    def count(
        self, plan: Plan, advance: Advance, secrets: Sequence[Secret] = ()
    ) -> tuple[NDArray[np.int64], Judge | None]:
        """How many units each leaf has."""
        original = self._held
        original.leaves = leaves = original.leaf_of(plan, advance)
        judge = original.judged(plan, secrets)
        if leaves is None:
            count = self.rows if original.first_rows is None else original.first_rows.size
            return np.array([count]), judge
        units = leaves if original.first_rows is None else leaves[original.first_rows]
        stays = units != DROPPED
        counts = np.bincount(units[stays], minlength=plan.leaves)
        if original.households is None:
            return counts, judge
        households = Households()
        households.add(units[stays], original.households[stays])
        return households.where_enough(counts, plan.recipe.k), judge

    def publish(
        self, plan: Plan, profile: Profile, advance: Advance, order: bytes | None = None
    ) -> None:
        """Group the records of every cell and publish."""
        original, self._order = self._held, order
        give_back_memory()
        rows_of = original.rows_of_cells(plan)
        counts = np.array([rows.size for rows in rows_of])
        blocks: list[Block | None] = [None] * counts.size
        profiles = [profile.begin() for _ in counts]
        moved = find_aggregate(self._recipe.aggregate, "aggregate").all_at_once

        def group(cell: int, advance_cell: Advance) -> None:
            rows = rows_of[cell]
            before, more = original.part(plan, rows)
            orders = original.orders_of(rows) if self._shares else None
            demanded = original.demanded_of(rows)
            block = group_cell(
                plan, cell, before, *more, advance_cell, orders, self._given, demanded
            )
            blocks[cell] = block
            if not moved:
                profiles[cell].add(plan, rows, before, block)

        run_all(group, counts, advance)
        made = [block for block in blocks if block is not None]
        blocks.clear()
        if moved:
            made, kept = _moved(plan, original, rows_of, made)
            profile.keep_distances(kept)
            for cell, rows in enumerate(rows_of):
                profiles[cell].add(plan, rows, original.part(plan, rows)[0], made[cell])
        for each in profiles:
            profile.merge(each)
        # The profile has counted what records contribute to means, which takes as much as these.
        made = [replace(block, shares=[]) for block in made]
        give_back_memory()
        self._released = original.released(plan, rows_of, made)

    def points(self, plan: Plan) -> NDArray[np.float64]:
        """Where the records stand."""
        return plan.place(self._held.columns(plan))

    def forget(self) -> None:
        """Let go of the original, and of who made the groups, who may hold it too."""
        self._original = self._given = None
        self.origin = self.origin.released(self.data, self._recipe)
        give_back_memory()

    @contextmanager
    def write(self, place: Place, advance: Advance) -> Iterator[ReadBack]:
        """Write the release whole, and read it back."""
        with draft_of(self._in_order(), place, self.origin) as back:
            advance(1.0)
            yield back

    def recount(self, draft: ReadBack | None, wanted: Wanted, advance: Advance) -> Recount:
        """Count the classes of what was read back."""
        released = self._released
        assert released is not None
        give_back_memory()
        if draft is None:
            frame = Frame(self.data)
            names = dict.fromkeys([*released.counted, *(each.name for each in wanted.columns)])
            table = pa.table([frame.column(name) for name in names], list(names))
            classes, counts = _counted(table, released.counted, released.owners, wanted)
            return Recount(classes, counts=counts)
        if not draft.complete:
            return Recount(None, False, draft.same, draft.sha256)
        owners = released.owners
        if owners is not None and self._order is not None:
            owners = owners[self._shuffled]
        classes, counts = _counted(draft.table, released.counted, owners, wanted)
        advance(1.0)
        return Recount(classes, True, draft.same, draft.sha256, counts)

    def close(self) -> None:
        """There is nothing to let go of: what was written stays, what is in memory goes with it."""

    def _in_order(self) -> pa.Table:
        """The release as it is written; one of Arrow is held so from then on, and not twice."""
        released = self._released
        assert released is not None
        if self._order is None or released.shuffled:
            return as_arrow(released.data)
        give_back_memory()
        ordered = reordered(as_arrow(released.data), self._shuffled)
        if isinstance(released.data, pa.Table):
            released.data, released.shuffled = ordered, True
            give_back_memory()
        return ordered

    @property
    def _shuffled(self) -> NDArray[np.int64]:
        """Which row is written first, second, ..."""
        released = self._released
        assert released is not None
        assert self._order is not None
        stays = np.ones(self.rows, bool) if released.stays is None else released.stays
        return shuffled_order(self._order, np.flatnonzero(stays))

    @property
    def _held(self) -> "_Original":
        assert self._original is not None
        return self._original


def _counted(
    table: pa.Table, names: Sequence[str], owners: NDArray[np.int64] | None, wanted: Wanted
) -> tuple[Classes, Counts]:
    counting = Counting(wanted)
    return classes_by(counting.whole(table, names), owners), counting.found


@contextmanager
def draft_of(table: pa.Table, place: Place, origin: Origin) -> Iterator[ReadBack]:
    """A whole table, written at a place and read back; in a database good once the block ends."""
    if place.path is not None:
        yield write_file(table, place.path, origin)
        return
    with draft_in_database(table, place.address, origin, place.force, place.certificate) as back:
        yield back


class _Original:
    """The table that came in, until its release is made."""

    def __init__(self, source: Opened, recipe: Recipe) -> None:
        self.source, self.recipe = source, recipe
        self.seen = _seen(source, recipe)
        self.entities = _entities(source, recipe)
        self.households = households_of(recipe, self.seen, source.origin)
        self.first_rows = None
        self.leaves: NDArray[np.int64] | None = None
        self._columns: list[Coded] | None = None
        self._weights = None if recipe.weights is None else weights_of(recipe, self.seen)
        self._orders: dict[str, NDArray[np.int32]] = {}
        self._strata: NDArray[np.int64] | None = None
        self._demanded: Demanded = None
        if self.entities is not None:
            self.first_rows = np.unique(self.entities, return_index=True)[1]
            if recipe.within:
                strata = class_of(pa.Table.from_batches([self.seen]), recipe.within)
                name = " and ".join(repr(each) for each in recipe.within)
                check_entities_within(strata, self.entities, name)

    def columns(self, plan: Plan) -> list[Coded]:
        """The quasi-identifiers as numbers; the same for every plan of one survey."""
        if self._columns is None:
            self._columns = plan.code(self.seen)
        return self._columns

    def rows_of_cells(self, plan: Plan) -> Sequence[NDArray[np.int64]]:
        """The rows of each cell, in order."""
        numbers = np.arange(self.seen.num_rows)
        if plan.n_cells == 1 and self.leaves is None:
            return [numbers]
        leaves = np.zeros_like(numbers) if self.leaves is None else self.leaves
        # An entity is dealt as a whole.
        if self.entities is not None and self.first_rows is not None:
            numbers = self.first_rows[self.entities]
        return rows_by_cell(plan.cells_of(leaves, numbers), plan.n_cells)

    def judged(self, plan: Plan, secrets: Sequence[Secret]) -> Judge | None:
        """Who judges whether leaves can keep demands, all values ranked; None without demands."""
        self._demanded = None
        if not plan.demanding:
            return None
        leaves = self.leaves
        if leaves is None:
            leaves = np.zeros(self.seen.num_rows, np.int64)
        values, ranks = values_at_once(plan.recipe, secrets, self.seen, leaves != DROPPED)
        self._demanded = values, ranks
        lacking = Lacking(values, plan.means)
        columns = self.columns(plan) if plan.means else ()
        return lacking.judge(
            lacking.counted(leaves, plan.leaves, ranks, columns, self._weights, self.entities)
        )

    def demanded_of(self, rows: NDArray[np.int64]) -> Demanded:
        """What is demanded of some records."""
        if self._demanded is None:
            return None
        values, ranks = self._demanded
        return values, ranks[rows]

    def leaf_of(self, plan: Plan, advance: Advance) -> NDArray[np.int64] | None:
        """The leaf of every record, those of an entity in one; None where there is one leaf."""
        self._strata = plan.strata_of(self.seen)
        rows = self.seen.num_rows
        if not plan.divides:
            merged = plan.merged(self._strata)
            if merged is None or plan.strata_leaf is None:
                return None
            return np.where(merged == DROPPED, DROPPED, plan.strata_leaf[merged])
        columns = self.columns(plan)
        if self.entities is not None:
            points = entity_points(plan.place(columns), self.entities)
            strata = None if self._strata is None else self._strata[self.first_rows]
            return plan.leaf_of(points, strata)[self.entities]
        leaves = np.empty(rows, np.int64)
        for start in range(0, rows, _PLACED_AT_ONCE):
            part = slice(start, start + _PLACED_AT_ONCE)
            points = plan.place([column.rows(part) for column in columns])
            strata = None if self._strata is None else self._strata[part]
            leaves[part] = plan.leaf_of(points, strata)
            advance(min(1.0, (start + _PLACED_AT_ONCE) / rows))
        return leaves

    def part(self, plan: Plan, rows: NDArray[np.int64]) -> tuple[list[Coded], _More]:
        """Some records: their columns; their strata, weights, entities and households."""
        columns = self.columns(plan)
        if rows.size < self.seen.num_rows:
            columns = [column.rows(rows) for column in columns]
        more = (self._strata, self._weights, self.entities, self.households)
        strata, weights, *owners = (None if each is None else each[rows] for each in more)
        return columns, (strata, weights, owners[0], owners[1])

    def orders_of(self, rows: NDArray[np.int64]) -> dict[str, NDArray[np.int32]] | None:
        """The lines that methods have put all records in; None for some of them."""
        return self._orders if rows.size == self.seen.num_rows else None

    def proximity(self, name: str, rows: NDArray[np.int64]) -> Proximity:
        """How far what some records publish in a column is to be from the originals."""
        recipe = self.recipe

        def asked(setting: str) -> float | NDArray[np.float64]:
            value = getattr(recipe, setting)
            if isinstance(value, Mapping):
                value = value.get(name, Recipe.model_fields[setting].default)
            if not isinstance(value, str):
                return float(value)
            column = encode(value, self.source.looked_at(value), "continuous")
            if column.missing is not None or (column.values < 0.0).any():
                raise InputError(
                    f"column {value!r} holds everybody's preference, which must be numbers of 0 or "
                    "more, none missing"
                )
            return column.values[rows]

        return Proximity(
            asked("distance"),
            asked("importance"),
            recipe.alpha,
            recipe.solution,
            recipe.relative,
            (recipe.seed, recipe.quasi_identifiers.index(name)),
        )

    def released(
        self,
        plan: Plan,
        rows_of: Sequence[NDArray[np.int64]],
        blocks: Sequence[Block],
    ) -> _Released:
        """The table as it is published, in the order of its rows."""
        labels = _labels(rows_of, blocks, self.seen.num_rows)
        stays = None if plan.dropped == 0 else labels != DROPPED
        if stays is not None:
            labels = labels[stays]
        taken = pa.array(labels)
        replaced = {}
        for place, coding in enumerate(plan.codings):
            centres = np.concatenate([block.centres[place] for block in blocks])
            empty = np.concatenate([block.empty[place] for block in blocks])
            entries = decode(coding.as_coded(centres, None), centres, empty)
            replaced[coding.name] = entries.take(taken)
        if plan.crossed:
            spoken = [rows[block.speakers] for rows, block in zip(rows_of, blocks, strict=True)]
            speakers = pa.array(np.concatenate(spoken)[labels])
            for name in self.recipe.within:
                replaced[name] = self.source.frame.column(name).take(speakers)
        for name in self.recipe.rounded:
            column = to_digits(self.source.frame.column(name), self.recipe.weight_digits)
            replaced[name] = column if stays is None else column.filter(pa.array(stays))
        owners = self.entities
        if self.households is not None:
            owners = np.unique(self.households, return_inverse=True)[1]
        return _Released(
            self.source.frame.rebuild(replaced, stays, self.recipe),
            Partition(labels, self.recipe.k, plan.called),
            plan.counted,
            owners if owners is None or stays is None else owners[stays],
            stays,
        )


def _labels(
    rows_of: Sequence[NDArray[np.int64]], blocks: Sequence[Block], rows: int
) -> NDArray[np.int64]:
    """The group of each row, those of all cells numbered on; `DROPPED` where it is in none."""
    if len(blocks) == 1 and rows_of[0].size == rows:
        return blocks[0].groups.labels
    labels = np.full(rows, DROPPED)
    groups = 0
    for of_cell, block in zip(rows_of, blocks, strict=True):
        labels[of_cell] = block.groups.labels + groups
        groups += block.groups.n_groups
    return labels


def _seen(source: Opened, recipe: Recipe) -> pa.RecordBatch:
    """The columns that are looked at, and missing where the file says so."""
    arrays, protected = {}, {*recipe.quasi_identifiers}
    for name in grouped_columns(recipe):
        if name == recipe.weights:
            arrays[name] = source.looked_at(name)
        else:
            known = name in protected
            arrays[name] = source.without_codes(name) if known else source.frame.column(name)
    return pa.RecordBatch.from_arrays(list(arrays.values()), list(arrays))


def _entities(source: Opened, recipe: Recipe) -> NDArray[np.int64] | None:
    if recipe.entity is None:
        return None
    missing = source.looked_at(recipe.entity).null_count
    if missing:
        raise InputError(
            f"column {recipe.entity!r} says to whom a row belongs, but {missing} rows have no "
            "value there; drop those rows or give each an entity of its own"
        )
    names = [recipe.entity]
    return class_of(pa.table([source.frame.column(recipe.entity)], names), names)


def _moved(
    plan: Plan,
    original: _Original,
    rows_of: Sequence[NDArray[np.int64]],
    blocks: Sequence[Block],
) -> tuple[list[Block], list[Kept]]:
    """The same groups with centroids that keep their distance, over all cells at once."""
    rows = np.concatenate(list(rows_of))
    starts = np.cumsum([0, *(block.groups.n_groups for block in blocks)])
    labels = [block.groups.labels + start for block, start in zip(blocks, starts[:-1], strict=True)]
    groups = Partition(np.concatenate(labels), plan.recipe.k, plan.called)
    columns, (_, weights, _, _) = original.part(plan, rows)
    centres, empty, kept = [], [], []
    for column in columns:
        proximity = original.proximity(column.name, rows)
        found, none = centres_of(column, groups, weights, plan.recipe.decimals, proximity)
        centres.append(np.split(found, starts[1:-1]))
        empty.append(np.split(none, starts[1:-1]))
        if column.categories is None:
            kept.append(kept_distances(column, found[groups.labels], proximity))
    made = [
        replace(
            block, centres=[part[cell] for part in centres], empty=[part[cell] for part in empty]
        )
        for cell, block in enumerate(blocks)
    ]
    return made, kept
