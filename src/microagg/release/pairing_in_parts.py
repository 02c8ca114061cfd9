"""The original and a release that are not held: whole classes of it beside their originals, and
what is counted on all."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError, OptionError
from microagg.base.progress import Advance
from microagg.base.reading import Reading
from microagg.engine.counting import Counts
from microagg.engine.looking import (
    Looked,
    Taken,
    like_any,
    look_at,
    rows_at,
    rows_with,
    whole_classes,
)
from microagg.engine.sample import SAMPLED
from microagg.measure.attacks.attack import Earlier
from microagg.release.earlier import beside_earlier, in_both, nobody_there
from microagg.release.pairing import Paired, Tables, rows_in_order
from microagg.table.classes import Classes, class_of
from microagg.table.frames import Frame
from microagg.table.keys import as_key
from microagg.table.opening import Opened, check_columns


@dataclass(frozen=True, eq=False)
class PairInParts:
    """The original and the release where they are, as far as whole classes of some columns.

    tables: all records of classes that were chosen by lot, about as many records as are held.
    rows: of the original and of the release.
    """

    tables: Tables
    rows: tuple[int, int]
    _before: Looked
    _after: Looked
    _numbers: NDArray[np.int64]
    _originals: NDArray[np.int64]
    _key: str | None

    @property
    def notes(self) -> list[str]:
        """What is of a sample, and how large that is; nothing where that is the whole."""
        sampled, rows = self.tables.after.rows, self.rows[1]
        if sampled == rows:
            return []
        return [
            f"Classes and confidential columns are counted on all {rows:,} records of the release; "
            f"everything else is of {sampled:,} of them, all of the classes chosen by lot, among "
            "which everybody is easier to find."
        ]

    def counted(self, names: Sequence[str], confidential: Sequence[str]) -> tuple[Classes, Counts]:
        """All classes of the release, and what they give away of confidential columns."""
        return self._after.counted(names, confidential)

    def earlier(
        self,
        also: Any,
        names: Sequence[str],
        protected: Sequence[str],
        reading: Reading,
        how: Paired,
    ) -> Earlier:
        """An earlier release: the classes of it that people of this sample are in, whole.

        protected: the columns that its classes are told by; how: what pairs its rows. Of rows that
        show the same in all that is compared one is enough.
        """
        with closing(look_at(also, self._after.name, reading)) as old:
            check_columns(protected, old.names)
            own, rows = self._of_same_people(old, how)
            if (rows < 0).all():
                raise nobody_there()
            if self._in_one_order(old, own, rows):
                # Rows in one order can be paired by their number.
                return Earlier(class_of(own.table, protected), rows, rows, rows)
            after = self.tables.after
            kept = in_both(after.frame, Frame(own.table), [*names, *protected])
            marks = pa.table({name: after.frame.column(name) for name in kept})
            others = like_any(old, own.table, protected, marks, kept)
            # First those of the people themselves, so that rows say where.
            table = pa.concat_tables([own.table.select(others.column_names), others])
            opened = Opened(Frame(table.combine_chunks()), old.origin, old.sha256)
            return beside_earlier(after, opened, names, protected, rows)

    def close(self) -> None:
        """Let go of both."""
        self._after.close()
        self._before.close()

    def _of_same_people(self, old: Looked, how: Paired) -> tuple[Taken, NDArray[np.int64]]:
        """Rows of an earlier release, and which of them each record of the sample has; -1 none."""
        if self._key is not None:
            how.refuse_record()
            self._before.check_keys(old, self._key, all_there=False)
            return rows_with(old, self._key, as_key(self.tables.before.frame.column(self._key)))
        order = rows_in_order(self._before, old, how)
        numbers = self._originals
        if order is not None:
            places = np.empty_like(order)
            places[order] = np.arange(order.size)
            numbers = places[numbers]
        return rows_at(old, numbers), np.arange(numbers.size)

    def _in_one_order(self, old: Looked, own: Taken, rows: NDArray[np.int64]) -> bool:
        if not (old.in_order and self._after.in_order) or old.rows != self._after.rows:
            return False
        return bool((rows >= 0).all()) and np.array_equal(own.numbers[rows], self._numbers)


def open_pair(
    original: Any,
    released: Any,
    engine: str,
    names: Sequence[str] | None,
    reading: Reading,
    key: str | None,
    how: Paired,
    advance: Advance,
    most: int = SAMPLED,
) -> PairInParts:
    """Look at both where they are, and choose whole classes by the columns named, about so many
    records.

    Memory for these, and for a number of every record whose rows were shuffled; on disk for every
    key.
    """
    if not names:
        raise OptionError(
            f"of tables on {engine.capitalize() if engine == 'spark' else engine} the columns to "
            "judge must be known; name them: quasi_identifiers"
        )
    before = look_at(original, engine, reading)
    try:
        after = look_at(released, engine, reading)
        try:
            for table in (before, after):
                check_columns([*names, *([] if key is None else [key])], table.names)
            order = None
            if key is None:
                order = rows_in_order(before, after, how)
            else:
                how.refuse_record()
                before.check_keys(after, key, all_there=True)
            advance(0.3)
            chosen = whole_classes(after, names, most, lambda share: advance(0.3 + share / 3))
            theirs = _originals(before, chosen, key, order)
        except BaseException:
            after.close()
            raise
    except BaseException:
        before.close()
        raise
    advance(1.0)
    tables = Tables(_opened(before, theirs.table), _opened(after, chosen.table), None)
    rows = before.rows, after.rows
    return PairInParts(tables, rows, before, after, chosen.numbers, theirs.numbers, key)


def _originals(
    before: Looked, chosen: Taken, key: str | None, order: NDArray[np.int64] | None
) -> Taken:
    """The rows of the same people in the original, in the same order."""
    if key is None:
        return rows_at(before, chosen.numbers if order is None else order[chosen.numbers])
    found, places = rows_with(before, key, as_key(chosen.table[key].combine_chunks()))
    if (places < 0).any():
        raise InputError("the tables were changed while they were looked at; start again")
    return Taken(found.table.take(pa.array(places)), found.numbers[places])


def _opened(table: Looked, rows: pa.Table) -> Opened:
    return Opened(Frame(rows), table.origin, table.sha256, list(table.notes))
