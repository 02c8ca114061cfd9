"""A table that is looked at where it is, and not protected: on disk in parts, or by Spark.

What adds up is counted on all records. Everything else is measured on rows that are brought here: a
sample, or all records of classes that are chosen by lot.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.columns.secrets import ObservedSecret, Secret
from microagg.engine.counting import Counts
from microagg.engine.sample import row_hashes
from microagg.table.checks import plain
from microagg.table.classes import Classes
from microagg.table.classes_in_parts import class_hashes
from microagg.table.keys import as_key
from microagg.table.opening import Origin

# Which rows of a part are wanted; the numbers of its rows stand beside it.
Chosen = Callable[[pa.RecordBatch, NDArray[np.int64]], NDArray[np.bool_]]


class Taken(NamedTuple):
    """Some rows of a table, and the number of each."""

    table: pa.Table
    numbers: NDArray[np.int64]


class Looked(Protocol):
    """A table that is not held.

    in_order: whether the numbers of rows are their places; if not, they are hashes of the rows.
    """

    name: str
    rows: int
    names: list[str]
    origin: Origin
    sha256: str
    notes: list[str]
    in_order: bool

    def sample(self, advance: Advance) -> pa.Table:
        """Some rows, chosen at random."""

    def lot(self, names: Sequence[str], most: int) -> np.uint64:
        """Up to where classes are drawn, so that they have about so many records; see `lots`."""

    def where(
        self, chosen: Chosen, names: Sequence[str] | None = None, advance: Advance = silent
    ) -> Taken:
        """The rows that are wanted, in the order of their numbers; names: columns, None for all."""

    def counted(self, names: Sequence[str], confidential: Sequence[str]) -> tuple[Classes, Counts]:
        """All classes by some columns, and what they give away of confidential columns."""

    def check_keys(self, released: Any, key: str, *, all_there: bool) -> None:
        """Refuse a key that does not tell records apart, here or there; see `rows_by_key`.

        released: a table that is looked at in the same way.
        """

    def close(self) -> None:
        """Let go of what it takes."""


def look_at(table: Any, engine: str, reading: Reading, advance: Advance = silent) -> Looked:
    """Open a table to be looked at by disk or spark."""
    if engine == "spark":
        from microagg.engine.spark.looking import OnSpark

        return OnSpark(table, reading)
    from microagg.engine.disk.looking import OnDisk

    return OnDisk(table, reading, advance)


def lots(part: pa.RecordBatch, names: Sequence[str]) -> NDArray[np.uint64]:
    """A number for each record that looks random, the same for all records of a class."""
    return row_hashes(class_hashes(part, names).view(np.int64))


def whole_classes(
    table: Looked, names: Sequence[str], most: int, advance: Advance = silent
) -> Taken:
    """All records of classes by the columns named, chosen by lot: about so many records."""
    limit = table.lot(names, most)
    return table.where(lambda part, _: lots(part, names) <= limit, None, advance)


def rows_at(table: Looked, numbers: NDArray[np.int64], advance: Advance = silent) -> Taken:
    """The rows that have these numbers, in this order."""
    wanted = np.unique(numbers)
    found = table.where(lambda _, given: _among(given, wanted), None, advance)
    places = pa.array(np.searchsorted(found.numbers, numbers))
    return Taken(found.table.take(places), numbers)


def rows_with(
    table: Looked, key: str, values: pa.Array, advance: Advance = silent
) -> tuple[Taken, NDArray[np.int64]]:
    """The rows that have some values of a key; and for each value which of them, -1 for none."""

    def has(part: pa.RecordBatch, _: NDArray[np.int64]) -> NDArray[np.bool_]:
        found = pc.is_in(as_key(part.column(key)), value_set=values)
        return np.asarray(found.to_numpy(zero_copy_only=False), bool)

    found = table.where(has, None, advance)
    there = as_key(found.table[key].combine_chunks())
    places = pc.index_in(values, value_set=there).fill_null(-1)
    return found, np.asarray(places.to_numpy(), np.int64)


def _among(numbers: NDArray[np.int64], ascending: NDArray[np.int64]) -> NDArray[np.bool_]:
    at = np.searchsorted(ascending, numbers).clip(max=ascending.size - 1)
    return np.asarray(ascending[at] == numbers, bool)


def like_any(
    table: Looked, of: pa.Table, names: Sequence[str], marks: pa.Table, beside: Sequence[str]
) -> pa.Table:
    """Rows of the classes, by the columns named, that some of its rows are in: each kind once.

    beside: columns that come along. marks: of what rows must agree with in these, where types
    agree; those that agree with none are left out.
    """
    classes = _lots_of(of, names)
    comparable = [
        name
        for name in beside
        if plain(of[name].combine_chunks()).type == plain(marks[name].combine_chunks()).type
    ]
    known = _lots_of(marks, comparable) if comparable else None
    wanted = list(dict.fromkeys([*names, *beside]))

    def alike(part: pa.RecordBatch, _: NDArray[np.int64]) -> NDArray[np.bool_]:
        there = np.isin(lots(part, names), classes)
        if known is not None:
            there &= np.isin(lots(part, comparable), known)
        rows = np.flatnonzero(there)
        kinds = lots(part.take(pa.array(rows)), wanted)
        there[np.delete(rows, np.unique(kinds, return_index=True)[1])] = False
        return there

    return table.where(alike, wanted).table


def _lots_of(table: pa.Table, names: Sequence[str]) -> NDArray[np.uint64]:
    parts = [lots(part, names) for part in table.select(names).to_batches()]
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *parts]))


class Secrets:
    """What confidential columns can be read as, seen part by part."""

    def __init__(self, names: Sequence[str], schema: pa.Schema, origin: Origin) -> None:
        self._seen = [ObservedSecret(name, schema.field(name).type, origin) for name in names]

    def add(self, part: pa.RecordBatch) -> None:
        """Take the next part."""
        for each in self._seen:
            each.add(part.column(each.name))

    def merge(self, other: "Secrets") -> None:
        """Take what somebody else saw of other parts."""
        for mine, theirs in zip(self._seen, other._seen, strict=True):
            mine.merge(theirs)

    def read(self, origin: Origin) -> tuple[Secret, ...]:
        """How each is read; refuse one of which nothing can be counted."""
        found = []
        for each in self._seen:
            secret = each.secret(origin)
            if secret is None:
                raise not_countable(each.name)
            found.append(secret)
        return tuple(found)


def not_countable(name: str) -> InputError:
    """What is wrong with a column of which nothing can be counted."""
    return InputError(f"column {name!r} cannot be compared; leave it out of confidential")
