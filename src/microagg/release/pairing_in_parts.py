"""The original and a release that do not fit into memory: whole classes of it, and what is counted
on all."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import OptionError
from microagg.base.progress import Advance
from microagg.base.reading import Reading
from microagg.base.record import Record
from microagg.columns.secrets import ObservedSecret, Room, Secret
from microagg.engine.choosing import in_memory_already
from microagg.engine.counting import Counting, Counts, Wanted
from microagg.engine.sample import SAMPLED, row_hashes
from microagg.measure.anonymity import disclosure
from microagg.release.pairing import Tables, not_countable, paired_rows
from microagg.table.classes import Classes
from microagg.table.classes_in_parts import class_hashes, classes_in_parts, classes_of
from microagg.table.frames import Frame
from microagg.table.opening import Opened, check_columns
from microagg.table.streams import Stream, open_stream


@dataclass(frozen=True, eq=False)
class Streams:
    """The original and the release on disk, as far as whole classes of some columns.

    tables: all records of classes that were chosen by lot, about as many records as are held.
    rows: of the original and of the release.
    """

    tables: Tables
    rows: tuple[int, int]
    _released: Stream

    @property
    def notes(self) -> list[str]:
        """What is of a sample, and how large that is; nothing where that is the whole."""
        sampled, rows = self.tables.after.frame.rows, self.rows[1]
        if sampled == rows:
            return []
        return [
            f"Classes and confidential columns are counted on all {rows:,} records of the release; "
            f"everything else is of {sampled:,} of them, all of the classes chosen by lot, among "
            "which everybody is easier to find."
        ]

    def counted(self, names: Sequence[str], confidential: Sequence[str]) -> tuple[Classes, Counts]:
        """All classes of the release, and what they give away of confidential columns."""
        stream = self._released
        named = list(dict.fromkeys([*names, *confidential]))
        with TemporaryDirectory(prefix="microagg-") as place:
            room = Path(place)
            wanted = Wanted(self._secrets(confidential), tuple(map(disclosure, confidential)))
            counting = Counting(wanted, Room(room))
            batches = counting.coded(stream.batches(named), names)
            parts = classes_in_parts(batches, names, counting.values, stream.rows, room)
            return classes_of(counting.through(parts)), counting.found

    def _secrets(self, confidential: Sequence[str]) -> tuple[Secret, ...]:
        if not confidential:
            return ()
        stream, found = self._released, []
        schema, origin = stream.schema, stream.origin
        seen = [ObservedSecret(name, schema.field(name).type, origin) for name in confidential]
        for batch in stream.batches(list(confidential)):
            for each in seen:
                each.add(batch.column(each.name))
        for each in seen:
            secret = each.secret(origin)
            if secret is None:
                raise not_countable(each.name)
            found.append(secret)
        return tuple(found)


def open_streams(
    original: Any,
    released: Any,
    names: Sequence[str] | None,
    reading: Reading,
    key: str | None,
    record: Record | str | os.PathLike[str] | None,
    stated: Sequence[dict[str, Any]],
    advance: Advance,
    most: int = SAMPLED,
) -> Streams:
    """Open both on disk, and choose whole classes by the columns named, about so many records.

    Memory for these, and for a number or a key of every record.
    """
    if not all(isinstance(each, str | os.PathLike) for each in (original, released)):
        raise in_memory_already()
    if not names:
        raise OptionError(
            "of tables on disk the columns to judge must be known; name them: quasi_identifiers"
        )
    before, after = (open_stream(each, reading) for each in (original, released))
    check_columns([*names, *([] if key is None else [key])], after.schema.names)
    few = [key or names[0]]
    whose = paired_rows(_narrow(before, few), _narrow(after, few), key, record, stated)
    advance(0.3)
    chosen = _whole_classes(after, names, most)
    advance(0.5)
    rows = chosen if whose is None else whose[chosen]
    tables = Tables(
        _taken(before, rows, lambda share: advance(0.5 + share / 4)),
        _taken(after, chosen, lambda share: advance(0.75 + share / 4)),
        None,
    )
    return Streams(tables, (before.rows, after.rows), after)


def _narrow(stream: Stream, names: Sequence[str]) -> Opened:
    """A table as if it were opened, with few columns."""
    check_columns(names, stream.schema.names)
    schema = pa.schema([stream.schema.field(name) for name in names])
    table = pa.Table.from_batches(stream.batches(names), schema)
    return Opened(Frame(table), stream.origin, stream.sha256)


def _whole_classes(stream: Stream, names: Sequence[str], most: int) -> NDArray[np.int64]:
    """The rows of the classes whose hashes are least: so many, and what their classes lack."""
    kept, numbers, limit = np.empty(0, np.uint64), np.empty(0, np.int64), np.uint64(2**64 - 1)
    start = 0
    for hashes in class_hashes(stream.batches(names), names):
        mixed = row_hashes(hashes.view(np.int64))
        chosen = np.flatnonzero(mixed <= limit)
        kept = np.concatenate([kept, mixed[chosen]])
        numbers = np.concatenate([numbers, start + chosen])
        start += hashes.size
        if kept.size > 2 * most:
            limit, kept, numbers = _least(kept, numbers, most)
    return _least(kept, numbers, most)[2] if kept.size > most else numbers


def _least(
    hashes: NDArray[np.uint64], rows: NDArray[np.int64], most: int
) -> tuple[np.uint64, NDArray[np.uint64], NDArray[np.int64]]:
    limit = np.partition(hashes, most - 1)[most - 1]
    there = hashes <= limit
    return limit, hashes[there], rows[there]


def _taken(stream: Stream, rows: NDArray[np.int64], advance: Advance) -> Opened:
    """Some rows of a table, by their numbers, in this order."""
    order = np.argsort(rows, kind="stable")
    ascending = rows[order]

    def pieces() -> Iterator[pa.RecordBatch]:
        start = 0
        for batch in stream.batches(advance=advance):
            first, last = np.searchsorted(ascending, [start, start + batch.num_rows])
            yield batch.take(pa.array(ascending[first:last] - start))
            start += batch.num_rows

    table = pa.Table.from_batches(pieces(), stream.schema)
    back = np.empty(rows.size, np.int64)
    back[order] = np.arange(rows.size)
    taken = table.take(pa.array(back))
    return Opened(Frame(taken), stream.origin, stream.sha256, list(stream.notes))
