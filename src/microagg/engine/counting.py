"""What is counted of confidential columns on the classes of a release, wherever that is.

First the values of all records are seen, then whole classes, of which the counts are made.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.columns.secrets import Room, Secret, SeenValues, counted_at_once
from microagg.kernels.threads import run_each
from microagg.measure.anonymity import AmongAll, ClassCount, WithinClasses
from microagg.table.classes import class_of
from microagg.table.classes_in_parts import WholeClasses
from microagg.table.frames import in_one_piece

# What was counted, by the name and the column of a count.
Counts = dict[tuple[str, str], Any]


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is to be counted, and how the columns are read; those that cannot be are left out."""

    secrets: tuple[Secret, ...] = ()
    counts: tuple[ClassCount, ...] = ()

    @property
    def columns(self) -> list[Secret]:
        """The columns that are counted."""
        named = {count.column for count in self.counts}
        return [secret for secret in self.secrets if secret.name in named]


class Counting:
    """One count of a release.

    values: the names under which `coded` adds the columns.
    """

    def __init__(self, wanted: Wanted, room: Room | None = None) -> None:
        """room: where many different numbers are held, if not in memory."""
        self._wanted = wanted
        self.seen = [SeenValues(secret, room or Room()) for secret in wanted.columns]
        self.values = [f"\0{values.secret.name}" for values in self.seen]
        self.found: Counts = {}
        self._among_all: list[AmongAll] | None = None

    def coded(
        self, batches: Iterable[pa.RecordBatch], names: Sequence[str], beside: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Some columns as they are, and the values to count as whole numbers; others behind."""
        for batch in batches:
            columns = [batch.column(name) for name in names]
            for values in self.seen:
                entries = values.secret.entries(batch.column(values.secret.name))
                missing = entries.is_null().to_numpy(zero_copy_only=False)
                columns.append(pa.array(values.add(entries), mask=missing))
            columns += [batch.column(name) for name in beside]
            yield pa.RecordBatch.from_arrays(columns, [*names, *self.values, *beside])

    def through(self, parts: Iterable[WholeClasses]) -> Iterator[WholeClasses]:
        """Count classes on their way; the first comes when all values were seen."""
        for part in parts:
            for place in range(len(self.seen)):
                codes, missing = part.values[:, place], part.missing[:, place]
                self.add(place, part.labels, codes, missing, part.weights)
            yield part

    def whole(self, table: pa.Table, names: Sequence[str]) -> NDArray[np.int64]:
        """Count a whole table; the class of each record, by the columns named."""
        found: list[NDArray[np.int64]] = []
        ranked: list[tuple[AmongAll, NDArray[np.int64]]] = []

        def rank() -> None:
            for secret in self._wanted.columns:
                entries = secret.entries(in_one_piece(table[secret.name]))
                ranked.append(counted_at_once(secret, entries))

        run_each([lambda: found.append(class_of(table, names)), rank])
        for place, (among_all, ranks) in enumerate(ranked):
            self._count(place, WithinClasses(among_all, found[0], ranks))
        return found[0]

    def add(
        self,
        place: int,
        labels: NDArray[np.int64],
        codes: NDArray[np.int64],
        missing: NDArray[np.bool_],
        weights: NDArray[np.int64] | None,
    ) -> None:
        """Count a column of some whole classes, once all values were seen."""
        if self._among_all is None:
            self._among_all = [values.among_all() for values in self.seen]
        ranks = self.seen[place].ranks(codes, missing)
        self._count(place, WithinClasses(self._among_all[place], labels, ranks, weights))

    def merge(self, counts: Counts) -> None:
        """Take what somebody else counted on other classes."""
        for count in self._wanted.counts:
            if count.key in counts:
                self._take(count, counts[count.key])

    def _count(self, place: int, within: WithinClasses) -> None:
        for count in self._wanted.counts:
            if count.column == self.seen[place].secret.name:
                self._take(count, count.of(within))

    def _take(self, count: ClassCount, found: Any) -> None:
        known = self.found.get(count.key)
        self.found[count.key] = found if known is None else count.merge(known, found)
