"""Folders of files that Spark writes: by the workers, with the same writers as everywhere."""

import hashlib
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from microagg.base.errors import PromiseError
from microagg.engine.spark import tasks
from microagg.table.checks import sha256_of
from microagg.table.formats import format_in_parts
from microagg.table.opening import Origin

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def suffix_for(address: str, origin: Origin) -> str:
    """The suffix of the files of a release: what its name says, or else that of the source."""
    suffix = Path(address).suffix.lower() or (".csv" if origin.form == "csv" else ".parquet")
    format_in_parts(f"part{suffix}", "written")
    return suffix


def write_parts(
    data: "DataFrame", names: tasks.Names, room: Path, suffix: str, origin: Origin
) -> dict[str, tasks.Part]:
    """Write a file for each part into a folder that is there; what was meant, file by file.

    Nothing else is left in the folder, where workers that were lost may have left something.
    """
    folder = str(room)

    def write(batches: Iterator[pa.RecordBatch]) -> Any:
        return tasks.write(batches, names, folder, suffix, origin)

    inside = data.toDF(*(f"c{place}" for place in range(len(names))))
    written = inside.mapInArrow(write, tasks.ANSWER).collect()
    parts = [pickle.loads(part) for (part,) in written if part]
    meant = {part.name: part for part in parts}
    for path in room.iterdir():
        if path.name not in meant:
            path.unlink()
    return meant


def digests_of(
    session: "SparkSession", room: Path, meant: dict[str, tasks.Part], origin: Origin
) -> dict[str, tasks.Part]:
    """What the files hold, read back, file by file."""

    def read(batches: Iterator[pa.RecordBatch]) -> Any:
        return tasks.read_digests(batches, meant, origin)

    answers = _listed(session, room, meant).mapInArrow(read, tasks.ANSWER).collect()
    return {part.name: part for part in (pickle.loads(answer) for (answer,) in answers)}


def read_columns(
    session: "SparkSession",
    room: Path,
    meant: dict[str, tasks.Part],
    names: Sequence[str],
    origin: Origin,
) -> "DataFrame":
    """Some columns as they stand in the files, c0, c1, ...; texts of text files."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = tasks.columns_read(next(iter(meant.values())), names)
    spark_schema = from_arrow_schema(schema, prefer_timestamp_ntz=True)

    def read(batches: Iterator[pa.RecordBatch]) -> Any:
        return tasks.read_columns(batches, meant, names, origin)

    return _listed(session, room, meant).mapInArrow(read, spark_schema)


def _listed(session: "SparkSession", room: Path, meant: dict[str, tasks.Part]) -> "DataFrame":
    paths = [str(room / name) for name in sorted(meant)]
    if not paths or not all(Path(path).exists() for path in paths):
        raise PromiseError("the release is not where it was written; do all machines share it?")
    return session.createDataFrame(pa.table({"path": paths})).repartition(len(paths))


def sha256_of_files(room: Path) -> str:
    """Of the names and hashes of the files in a folder, as for a folder that is read."""
    content = "".join(f"{path.name}\0{sha256_of(path)}\n" for path in sorted(room.iterdir()))
    return hashlib.sha256(content.encode()).hexdigest()
