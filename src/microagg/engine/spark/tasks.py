"""What Spark's workers run: batches of Arrow in, batches of Arrow out.

Each depends on its rows and the plan alone, not on their order or on who else is at work, so that
a part that was lost with its worker is made again as it was.
"""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.base.recipe import Recipe
from microagg.columns.coded import decode
from microagg.columns.households import Households
from microagg.columns.published import to_digits
from microagg.columns.secrets import Secret
from microagg.engine.block import group_cell
from microagg.engine.counting import Counting
from microagg.engine.demanded import SeenDemanded, Values
from microagg.engine.lacking import Lacking
from microagg.engine.plan import DROPPED, Plan
from microagg.engine.profile import Profile
from microagg.engine.sample import Sample, row_hashes
from microagg.engine.survey import Survey, households_of, piece, weights_of
from microagg.kernels.shuffling import shuffled_places
from microagg.table.classes import Classes
from microagg.table.formats import format_of
from microagg.table.opening import Origin
from microagg.table.sinks import digests_for, open_sink, read_back_stream

# Beside the columns, which stand first: the number of a row, and what tells apart rows that share
# one; later the cell, or the place of a row in the release, and the figures of a cell in the first
# of its rows.
KEY, TIE, CELL, PLACE, FIGURES = "key", "tie", "cell", "place", "figures"
# And whose record it is, where k counts households.
HOUSEHOLD = "household"
# What a task answers that does not answer in rows.
ANSWER = "answer binary"

Batches = Iterator[pa.RecordBatch]
# Columns in order, and the unit of their moments in the input: what groups publish is as fine.
Names = Mapping[str, str]


class Seen:
    """What a worker has seen of a part of the rows, to be put together on the driver.

    digest: sums over hashes of the rows, which tell this table from another.
    """

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.digest = np.zeros(2, np.uint64)

    def add(self, part: pa.RecordBatch, keys: NDArray[np.int64], ties: NDArray[np.int64]) -> None:
        """Take the next part."""
        self.survey.add(part, keys)
        self.digest += row_hashes(ties).sum(), row_hashes(keys ^ ties).sum()

    def merge(self, other: "Seen") -> None:
        """Take what another worker has seen, the sample excepted."""
        self.survey.merge(other.survey)
        self.digest += other.digest


def look(
    batches: Batches,
    recipe: Recipe,
    names: Names,
    origin: Origin,
    sampled: int,
    limit: int | None,
) -> Batches:
    """Look at every row of a part, once; sample those whose hashes are below the limit."""
    seen = None
    for batch in batches:
        part = _with_weights(named(batch, names), recipe, origin)
        if seen is None:
            seen = Seen(Survey(recipe, part.schema, origin=origin, held=recipe.k))
            seen.survey.sample = Sample(sampled, limit)
        seen.add(part, numbers(batch, KEY), numbers(batch, TIE))
    if seen is not None:
        yield one(pickle.dumps(seen))


def see(batches: Batches, plan_text: str, names: Names, seen: SeenDemanded) -> Batches:
    """The different values of demanded columns, of rows that stay, and how often each occurs."""
    plan = _parsed(plan_text)
    for batch in batches:
        part = named(batch, names)
        yield one(pickle.dumps(seen.counted(part, plan.stays(part))))


def count(
    batches: Batches,
    plan_text: str,
    names: Names,
    origin: Origin,
    values: Values | None,
    lacking: Lacking | None,
) -> Batches:
    """Which households each leaf has in a part, no more than k of them, how many rows, and what is
    counted of leaves for demands."""
    plan = _parsed(plan_text)
    widths = () if lacking is None else lacking.tables
    counts, households = np.zeros(plan.leaves, np.int64), Households(plan.recipe.k)
    tables = [np.zeros((plan.leaves, width), np.int64) for width in widths]
    for batch in batches:
        part = named(batch, names)
        columns = plan.code(part)
        leaves = plan.leaf_of(plan.place(columns), plan.strata_of(part))
        stays = leaves != DROPPED
        counts += np.bincount(leaves[stays], minlength=plan.leaves)
        codes = households_of(plan.recipe, part, origin)
        if codes is not None:
            households.add(leaves[stays], codes[stays])
        if values is not None and lacking is not None:
            ranks = values.ranks(part, stays)
            weights = _weights(part, plan.recipe, origin)
            found = lacking.counted(leaves, plan.leaves, ranks, columns, weights)
            for table, more in zip(tables, found, strict=True):
                table += more
    yield one(pickle.dumps((households, [counts, *tables])))


def send(batches: Batches, plan_text: str, names: Names) -> Batches:
    """The same rows with the cell of each, without those that are left out."""
    plan = _parsed(plan_text)
    for batch in batches:
        leaves = _leaves(plan, named(batch, names))
        kept = leaves != DROPPED
        cells = plan.cells_of(leaves, numbers(batch, KEY)).astype(np.int32)
        sent = batch.append_column(CELL, pa.array(cells))
        yield sent if kept.all() else sent.filter(pa.array(kept))


def publish(
    cell: int,
    rows: pa.Table,
    plan_text: str,
    begun: bytes,
    names: Names,
    origin: Origin,
    order_key: bytes | None,
    values: Values | None = None,
) -> pa.Table:
    """The rows of one cell as they are published, in order, without identifiers.

    order_key: what rows are shuffled by; None keeps them in the order of their numbers. values:
    all that demanded columns have.
    """
    plan = _parsed(plan_text)
    order = np.lexsort((numbers(rows, TIE), numbers(rows, KEY)))
    rows = rows.take(pa.array(order)).combine_chunks()
    part = named(rows, names)
    recipe = plan.recipe
    if part.num_rows < recipe.k:
        raise InputError("a cell has fewer records than were counted; the input was changed")
    before = plan.code(part)
    weights = _weights(part, recipe, origin)
    demanded = None
    if values is not None:
        demanded = values, values.ranks(part, np.ones(part.num_rows, bool))
    strata, households = plan.strata_of(part), households_of(recipe, part, origin)
    block = group_cell(plan, cell, before, strata, weights, None, households, demanded=demanded)
    labels = pa.array(block.groups.labels)
    columns = dict(zip(names, part.columns, strict=True))
    for place, column in enumerate(before):
        entries = decode(column, block.centres[place], block.empty[place])
        columns[column.name] = entries.take(labels)
    if block.speakers is not None:
        speakers = pa.array(block.speakers[block.groups.labels])
        columns |= {name: columns[name].take(speakers) for name in recipe.within}
    for name in recipe.rounded:
        columns[name] = to_digits(columns[name], recipe.weight_digits)
    profile: Profile = pickle.loads(begun)
    profile.add(plan, numbers(rows, KEY), before, block)
    figures = pa.array([pickle.dumps((cell, profile))], pa.binary())
    return pa.table(
        {
            **{
                f"c{place}": to_microseconds(columns[name])
                for place, name in enumerate(names)
                if name not in recipe.identifiers
            },
            **({} if households is None else {HOUSEHOLD: households}),
            PLACE: _places(rows, order_key),
            FIGURES: pa.concat_arrays([figures, pa.nulls(part.num_rows - 1, pa.binary())]),
        }
    )


def _places(rows: pa.Table, order_key: bytes | None) -> NDArray[np.int64]:
    """Where rows that are sorted by number and tie stand in the release."""
    keys, ties = numbers(rows, KEY), numbers(rows, TIE)
    if order_key is None:
        return keys
    # Rows that have no numbers of their own and are alike must not stand side by side.
    first = np.append(True, (np.diff(keys) != 0) | (np.diff(ties) != 0))
    since = np.arange(keys.size)
    since -= np.maximum.accumulate(np.where(first, since, 0))
    return shuffled_places(order_key, keys, ties + since)


@dataclass(frozen=True)
class Part:
    """A file of a release: its name, its columns, and hashes of what they hold or are to hold."""

    name: str
    rows: int
    schema: pa.Schema
    digests: dict[str, str]


def write(batches: Batches, names: Names, folder: str, suffix: str, origin: Origin) -> Batches:
    """Write the rows of a part to a file named after it, to the byte the same whoever does it."""
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    parts = [named(batch, names) for batch in batches]
    rows = sum(part.num_rows for part in parts)
    if not rows:
        yield one(b"")
        return
    home = Path(folder) / f"part-{task.partitionId():05}{suffix}"
    # The same part may be written twice at the same time, if Spark takes a worker for lost.
    temporary = home.with_name(f".{task.taskAttemptId()}.{home.name}")
    schema = parts[0].schema
    with open_sink(temporary, schema, origin, rows) as sink:
        for part in parts:
            sink.write(part)
    temporary.replace(home)
    yield one(pickle.dumps(Part(home.name, rows, schema, sink.digests.of())))


def read_digests(batches: Batches, meant: Mapping[str, Part], origin: Origin) -> Batches:
    """What the files at some paths hold."""
    for path in _paths(batches):
        part = meant[path.name]
        back = read_back_stream(path, part.schema, origin)
        digests = digests_for(path, origin)
        for batch in back.batches():
            digests.add(batch)
        yield one(pickle.dumps(replace(part, rows=back.rows, digests=digests.of())))


def read_columns(
    batches: Batches, meant: Mapping[str, Part], names: Sequence[str], origin: Origin
) -> Batches:
    """Some columns of the files at some paths, as `columns_read` says."""
    for path in _paths(batches):
        part = meant[path.name]
        schema = columns_read(part, names)
        for batch in read_back_stream(path, part.schema, origin).batches(list(names)):
            arrays = [
                column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema.names)


def code(batches: Batches, counted: int, secrets: Sequence[Secret]) -> Batches:
    """The columns that are counted, and confidential ones as what is equal where values are."""
    for batch in batches:
        columns = batch.columns[:counted]
        for column, secret in zip(batch.columns[counted:], secrets, strict=True):
            entries = secret.entries(column)
            columns.append(entries if secret.is_number else entries.cast(pa.binary()))
        yield pa.RecordBatch.from_arrays(columns, [f"c{place}" for place in range(len(columns))])


def count_within(batches: Batches, counting: Counting) -> Batches:
    """How large classes are, and what is counted of them; of each a list: values and how often."""
    classes = Classes.of(np.zeros(0, np.int64))
    for batch in batches:
        lists = batch.column(0)
        labels = np.repeat(np.arange(len(lists)), lists.value_lengths().to_numpy())
        *columns, weights = lists.flatten().flatten()
        for place, (column, values) in enumerate(zip(columns, counting.seen, strict=True)):
            missing = column.is_null().to_numpy(zero_copy_only=False)
            codes = values.coded(column if values.secret.is_number else column.cast("large_binary"))
            counting.add(place, labels, codes, missing, weights.to_numpy())
        sizes = np.bincount(labels, weights=weights.to_numpy()).astype(np.int64)
        classes = classes.merge(Classes.of(sizes))
    yield one(pickle.dumps((classes, counting.found)))


def columns_read(part: Part, names: Sequence[str]) -> pa.Schema:
    """Columns by place; of text files as text, for parts of a column may be numbers in one only."""
    typed = format_of(part.name).tells_types
    kinds = [part.schema.field(name).type if typed else pa.string() for name in names]
    empty = [to_microseconds(pa.array([], kind)) for kind in kinds]
    return pa.schema([(f"c{place}", each.type) for place, each in enumerate(empty)])


def _paths(batches: Batches) -> Iterator[Path]:
    for batch in batches:
        yield from map(Path, batch.column(0).to_pylist())


def _leaves(plan: Plan, part: pa.RecordBatch) -> NDArray[np.int64]:
    return plan.leaf_of(plan.place(plan.code(part)), plan.strata_of(part))


def named(rows: pa.RecordBatch | pa.Table, names: Names) -> Any:
    """The columns of the table by their names; moments in the zone and unit of the input."""
    columns = [
        _in_unit(column, unit) for column, unit in zip(rows.columns, names.values(), strict=False)
    ]
    return type(rows).from_arrays(columns, list(names))


def to_microseconds(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Moments as Spark has them."""
    kind = column.type
    return column.cast(pa.timestamp("us", kind.tz)) if pa.types.is_timestamp(kind) else column


def _with_weights(part: Any, recipe: Recipe, origin: Origin) -> Any:
    """Some rows with their weights as numbers, where a text file holds them as text."""
    if recipe.weights is None:
        return part
    place = part.schema.get_field_index(recipe.weights)
    weights = origin.readable(piece(part, recipe.weights))
    return part.set_column(place, recipe.weights, weights)


def _weights(part: Any, recipe: Recipe, origin: Origin) -> NDArray[np.float64] | None:
    if recipe.weights is None:
        return None
    return weights_of(recipe, _with_weights(part, recipe, origin))


def _in_unit(column: pa.Array | pa.ChunkedArray, unit: str) -> pa.Array | pa.ChunkedArray:
    if not pa.types.is_timestamp(column.type):
        return column
    return column.cast(pa.timestamp(unit, None if column.type.tz is None else "UTC"))


def numbers(rows: pa.RecordBatch | pa.Table, name: str) -> NDArray[np.int64]:
    return rows.column(name).to_numpy()


def one(entry: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([entry], pa.binary())], ["answer"])


@lru_cache(maxsize=1)
def _parsed(plan_text: str) -> Plan:
    """A worker does many parts of the same plan."""
    return Plan.from_json(plan_text)
