"""A table of Spark that is looked at: see `engine/looking.py`.

Workers look at every row. The driver holds the rows that are wanted and sums, never the table.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from microagg.base.errors import InputError
from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.columns.secrets import Secret
from microagg.engine.counting import Counts, Wanted
from microagg.engine.looking import Chosen, Secrets, Taken, lots
from microagg.engine.sample import SAMPLED, Sample, enough
from microagg.engine.spark import tasks
from microagg.engine.spark.counting import counted
from microagg.engine.spark.session import plainly, session_for
from microagg.engine.spark.sources import open_source
from microagg.measure.anonymity import disclosure
from microagg.table.classes import Classes
from microagg.table.keys import as_key, no_key, not_there
from microagg.table.opening import Origin, check_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SIGN = np.uint64(1 << 63)


class OnSpark:
    """A table that Spark reads."""

    name = "spark"

    def __init__(
        self, table: Any, reading: Reading, session: Any = None, *, sampled: int = SAMPLED
    ) -> None:
        """sampled: how many rows a sample has."""
        self._sampled = sampled
        self._session, self._ours = session_for(session)
        try:
            with plainly("read the table"):
                self._source = source = open_source(table, reading, None, self._session)
        except BaseException:
            self.close()
            raise
        stream = source.stream
        self.rows, self.names, self.in_order = source.rows, source.names, source.in_place
        self.origin = Origin(source.name, source.form, reading, path=source.path)
        if stream is not None and not stream.origin.format.tells_types:
            self.origin = stream.origin
        self.sha256 = "" if stream is None else stream.sha256
        self.notes = [] if stream is None else list(stream.notes)

    def sample(self, advance: Advance) -> pa.Table:
        """The rows that a sample of all is made of, as on disk where they have the same numbers."""
        size = min(self._sampled, self.rows)
        with plainly("look at the table"):
            sample = self._sample(enough(self._sampled, self.rows))
            # Where rows have no numbers, equal ones have equal hashes, and a limit may miss many.
            if sample.held < size:
                sample = self._sample(None)
        self._source.check()
        advance(1.0)
        return sample.result()[0]

    def lot(self, names: Sequence[str], most: int) -> np.uint64:
        """Up to where classes are drawn: they are counted by the workers."""
        from pyspark.sql import functions as f

        if self.rows <= most:
            return np.uint64(2**64 - 1)

        def draw(part: pa.RecordBatch) -> pa.Array:
            # As Spark sorts whole numbers, which have a sign.
            return pa.array((lots(part, names) ^ _SIGN).view(np.int64))

        with plainly("count the classes"):
            sizes = self._mapped(names, draw, "long").groupBy("value").agg(f.count("*").alias("n"))
            found = sizes.orderBy("value").limit(most).toArrow()
        self._source.check()
        drawn, counts = (column.to_numpy() for column in found.columns)
        last = np.argmax(np.cumsum(counts) >= most)
        return np.uint64(drawn[last : last + 1].view(np.uint64)[0] ^ _SIGN)

    def where(
        self, chosen: Chosen, names: Sequence[str] | None = None, advance: Advance = silent
    ) -> Taken:
        """The workers choose, each among its rows."""
        wanted = self.names if names is None else list(names)
        units = self._source.with_units(wanted)

        def take(batches: Iterator[pa.RecordBatch]) -> Any:
            for batch in batches:
                part = tasks.named(batch, units)
                numbers, ties = (tasks.numbers(batch, each) for each in (tasks.KEY, tasks.TIE))
                rows = np.flatnonzero(chosen(part, numbers))
                taken = part.take(pa.array(rows)), numbers[rows], ties[rows]
                yield tasks.one(pickle.dumps(taken))

        with plainly("look at the table"):
            frame = self._source.columns(wanted)
            found = list(self._answers(frame.mapInArrow(take, tasks.ANSWER)))
        self._source.check()
        advance(1.0)
        parts, *marks = zip(*found, strict=True)
        numbers, ties = map(np.concatenate, marks)
        order = np.lexsort((ties, numbers))
        table = pa.Table.from_batches(parts).take(pa.array(order))
        return Taken(table.combine_chunks(), numbers[order])

    def counted(self, names: Sequence[str], confidential: Sequence[str]) -> tuple[Classes, Counts]:
        """As the classes of a release are counted."""
        check_columns([*names, *confidential], self.names)
        with plainly("count the classes"):
            wanted = Wanted(self._secrets(confidential), tuple(map(disclosure, confidential)))
            places = [self.names.index(name) for name in (*names, *confidential)]
            columns = self._source.frame.select(*(f"c{place}" for place in places))
            found = counted(columns, len(names), wanted)
        self._source.check()
        return found

    def check_keys(self, released: "OnSpark", key: str, *, all_there: bool) -> None:
        """Keys are counted and joined by the workers."""
        from pyspark.sql import functions as f

        with plainly("compare the keys"):
            mine, theirs = (
                each._mapped([key], lambda part: as_key(part.column(0)), "string")
                for each in (self, released)
            )
            for keys, what in ((mine, "original"), (theirs, "release")):
                counts = keys.groupBy("value").count()
                bad = counts.where(f.col("value").isNull() | (f.col("count") > 1))
                if not bad.isEmpty():
                    raise no_key(key, what)
            missing = theirs.join(mine, "value", "left_anti").count() if all_there else 0
        if missing:
            raise not_there(key, missing)

    def close(self) -> None:
        """A session that was started for it ends."""
        with suppress(InputError), plainly("end"):
            if self._ours:
                self._session.stop()
        self._ours = False

    def _secrets(self, confidential: Sequence[str]) -> tuple[Secret, ...]:
        if not confidential:
            return ()
        names, origin = list(confidential), self.origin
        units = self._source.with_units(names)

        def see(batches: Iterator[pa.RecordBatch]) -> Any:
            seen = None
            for batch in batches:
                part = tasks.named(batch, units)
                seen = seen or Secrets(names, part.schema, origin)
                seen.add(part)
            if seen is not None:
                yield tasks.one(pickle.dumps(seen))

        first, *others = self._answers(self._source.columns(names).mapInArrow(see, tasks.ANSWER))
        for other in others:
            first.merge(other)
        return tuple(first.read(origin))

    def _sample(self, limit: int | None) -> Sample:
        units, size = self._source.with_units(self.names), self._sampled

        def look(batches: Iterator[pa.RecordBatch]) -> Any:
            theirs = Sample(size, limit)
            for batch in batches:
                part = pa.Table.from_batches([tasks.named(batch, units)])
                theirs.add(part, tasks.numbers(batch, tasks.KEY))
            if theirs.held:
                yield tasks.one(pickle.dumps(theirs))

        sample = Sample(size)
        frame = self._source.columns(self.names).mapInArrow(look, tasks.ANSWER)
        # Without a limit parts come one at a time: each may bring as many rows as are wanted.
        for theirs in self._answers(frame, at_once=limit is not None):
            sample.merge(theirs)
        return sample

    def _mapped(
        self, names: Sequence[str], told: Callable[[pa.RecordBatch], pa.Array], kind: str
    ) -> "DataFrame":
        """A column of one value for each record."""
        units = self._source.with_units(names)

        def tell(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                values = told(tasks.named(batch, units))
                yield pa.RecordBatch.from_arrays([values], ["value"])

        return self._source.columns(names).mapInArrow(tell, f"value {kind}")

    @staticmethod
    def _answers(frame: "DataFrame", *, at_once: bool = True) -> Iterator[Any]:
        for (part,) in frame.collect() if at_once else frame.toLocalIterator():
            yield pickle.loads(part)
