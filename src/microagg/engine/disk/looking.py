"""A table on disk that is looked at: see `engine/looking.py`."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.columns.secrets import Room, Secret
from microagg.engine.choosing import in_memory_already
from microagg.engine.counting import Counting, Counts, Wanted
from microagg.engine.looking import Chosen, Secrets, Taken, lots
from microagg.engine.sample import SAMPLED, Sample
from microagg.measure.anonymity import disclosure
from microagg.table.classes import Classes
from microagg.table.classes_in_parts import classes_in_parts, classes_of
from microagg.table.keys import as_key, rows_by_key
from microagg.table.streams import open_stream


class OnDisk:
    """A table that is read in parts, as often as asked."""

    name = "disk"
    in_order = True

    def __init__(
        self,
        table: Any,
        reading: Reading,
        advance: Advance = silent,
        *,
        sampled: int = SAMPLED,
    ) -> None:
        """sampled: how many rows a sample has."""
        if not isinstance(table, str | os.PathLike):
            raise in_memory_already()
        self._sampled = sampled
        self._stream = stream = open_stream(table, reading, advance=advance)
        self.rows, self.names = stream.rows, stream.schema.names
        self.origin, self.sha256, self.notes = stream.origin, stream.sha256, list(stream.notes)

    def sample(self, advance: Advance) -> pa.Table:
        """The rows that a sample of all is made of; see `Sample`."""
        sample = Sample(self._sampled)
        for batch, numbers in self._numbered(None, advance):
            sample.add(pa.Table.from_batches([batch]), numbers)
        return sample.result()[0]

    def lot(self, names: Sequence[str], most: int) -> np.uint64:
        """Up to where classes are drawn; memory for twice as many numbers as records are wanted."""
        least, limit = np.empty(0, np.uint64), np.uint64(2**64 - 1)
        if self.rows <= most:
            return limit
        for batch in self._stream.batches(names):
            found = lots(batch, names)
            least = np.concatenate([least, found[found <= limit]])
            if least.size > 2 * most:
                least = np.partition(least, most - 1)[:most]
                limit = least[most - 1]
        return np.uint64(np.partition(least, most - 1)[most - 1])

    def where(
        self, chosen: Chosen, names: Sequence[str] | None = None, advance: Advance = silent
    ) -> Taken:
        """One look at all rows."""
        parts, numbers = [], [np.empty(0, np.int64)]
        for batch, given in self._numbered(names, advance):
            rows = np.flatnonzero(chosen(batch, given))
            parts.append(batch.take(pa.array(rows)))
            numbers.append(given[rows])
        return Taken(pa.Table.from_batches(parts), np.concatenate(numbers))

    def counted(self, names: Sequence[str], confidential: Sequence[str]) -> tuple[Classes, Counts]:
        """Two looks at all rows, one where nothing is confidential."""
        stream = self._stream
        named = list(dict.fromkeys([*names, *confidential]))
        with TemporaryDirectory(prefix="microagg-") as place:
            room = Path(place)
            wanted = Wanted(self._secrets(confidential), tuple(map(disclosure, confidential)))
            counting = Counting(wanted, Room(room))
            batches = counting.coded(stream.batches(named), names)
            parts = classes_in_parts(batches, names, counting.values, stream.rows, room)
            return classes_of(counting.through(parts)), counting.found

    def check_keys(self, released: "OnDisk", key: str, *, all_there: bool) -> None:
        """Memory for all keys."""
        rows_by_key(self._keys(key), released._keys(key), key, all_there=all_there)

    def close(self) -> None:
        """Nothing is held."""

    def _keys(self, key: str) -> pa.Array:
        parts = [as_key(batch.column(0)) for batch in self._stream.batches([key])]
        return pa.concat_arrays(parts)

    def _secrets(self, confidential: Sequence[str]) -> tuple[Secret, ...]:
        if not confidential:
            return ()
        secrets = Secrets(confidential, self._stream.schema, self.origin)
        for batch in self._stream.batches(list(confidential)):
            secrets.add(batch)
        return secrets.read(self.origin)

    def _numbered(
        self, names: Sequence[str] | None, advance: Advance
    ) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        start = 0
        for batch in self._stream.batches(names, advance=advance):
            yield batch, np.arange(start, start + batch.num_rows)
            start += batch.num_rows
