"""Rows put in another order, in no more memory than a range of them takes.

Places are spread evenly from 0 to 2^63, so rows whose places begin alike go to one file, as they
come; each file is then put in order on its own.
"""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.table.formats.format import spelt_out
from microagg.table.ordering import encoded

_PLACE = "place"
_PLACES = 2.0**63


def in_order(
    parts: Iterable[tuple[NDArray[np.int64], pa.Table]], folder: Path, files: int
) -> Iterator[pa.RecordBatch]:
    """The rows of all parts by their places, equal ones as they came.

    folder: where they wait, in so many files; it is there only meanwhile.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    schema = waiting = pa.schema([])
    for places, table in parts:
        schema = table.schema
        # Each piece of a dictionary column would bring all of its dictionary.
        waiting = spelt_out(schema.remove_metadata())
        _put(table.cast(waiting), places, folder, files)
    waiting = waiting.insert(0, pa.field(_PLACE, pa.int64()))
    for number in range(files):
        path = folder / str(number)
        if path.exists():
            held = _taken(path, waiting)
            path.unlink()
            order = np.argsort(held.column(0).to_numpy(), kind="stable")
            rows = held.remove_column(0).take(pa.array(order)).combine_chunks()
            yield from encoded(rows, schema).to_batches()
    folder.rmdir()


def _put(table: pa.Table, places: NDArray[np.int64], folder: Path, files: int) -> None:
    """Add rows to the files that they belong to."""
    homes = (places / _PLACES * files).astype(np.int64).clip(0, files - 1)
    order = pa.array(np.argsort(homes, kind="stable"))
    ends = np.cumsum(np.bincount(homes, minlength=files)).tolist()
    ordered = table.add_column(0, _PLACE, pa.array(places)).take(order).combine_chunks()
    for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        if start < end:
            with (folder / str(number)).open("ab") as stream:
                for batch in ordered.slice(start, end - start).to_batches():
                    stream.write(batch.serialize())


def _taken(path: Path, schema: pa.Schema) -> pa.Table:
    """What was put into a file."""
    with pa.OSFile(str(path)) as file:
        messages = pa.ipc.MessageReader.open_stream(file)
        batches = [pa.ipc.read_record_batch(message, schema) for message in messages]
    return pa.Table.from_batches(batches, schema)
