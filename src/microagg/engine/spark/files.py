"""Folders of files that Spark writes: they appear whole or not at all, the same in every run."""

import hashlib
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from microagg.base.errors import OptionError, PromiseError
from microagg.engine.spark import tasks
from microagg.engine.spark.session import plainly
from microagg.engine.spark.sources import form_of, local_path
from microagg.table.checks import sha256_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TABS = (".tsv", ".tab")


def target_of(target: str | PathLike[str], source_form: str) -> tuple[Path, str]:
    """Where a release goes, and in which format: that of the suffix, or else that of the source."""
    address = fspath(target)
    path = local_path(address)
    if path is None:
        raise OptionError(
            "a release is written to a path that all machines share; for other places write "
            "release.data with Spark, and release.certificate beside it"
        )
    form = form_of(address) if path.suffix else source_form
    return path, form if form == "csv" else "parquet"


def refuse_overwriting(path: Path, source: Path | None, force: bool) -> None:
    """Refuse to write over the input or into it, ever, or over anything else unless told to."""
    if source is not None:
        here, there = path.resolve(), source.resolve()
        if there in (here, *here.parents) or here in there.parents:
            raise OptionError(
                f"{path.name} is the input, in it or around it, which is never written over; name "
                "another"
            )
    if path.exists() and not force:
        raise OptionError(f"{path.name} exists; say force (--force) to replace it, or name another")


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder beside the one wanted, which takes its name once everything is in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mark = f".{path.name[:40]}.{uuid.uuid4().hex[:8]}"
    room, old = path.with_name(mark), path.with_name(f"{mark}.old")
    room.mkdir()
    try:
        yield room
        if path.exists():
            path.rename(old)
        try:
            room.rename(path)
        except OSError:
            if old.exists():
                old.rename(path)
            raise
    finally:
        shutil.rmtree(room, ignore_errors=True)
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)


def write_parquet(data: "DataFrame", room: Path) -> "DataFrame":
    """Write a file for each part into a folder that is there; what they hold, read back.

    Java writes the footers of Parquet in an order that changes from process to process; so the
    workers' Python does it.
    """
    names, folder = data.columns, str(room)

    def write(batches: Iterator[pa.RecordBatch]) -> Any:
        return tasks.write(batches, names, folder)

    inside = data.toDF(*(f"c{place}" for place in range(len(names))))
    with plainly("write the release"):
        inside.mapInArrow(write, "found binary").collect()
        return data.sparkSession.read.parquet(*_written(room))


def write_csv(data: "DataFrame", room: Path, delimiter: str) -> "DataFrame":
    """Write a file for each part into a folder that is there; what they hold, read back."""
    inside = room / "written"
    with plainly("write the release"):
        data.write.csv(str(inside), header=True, sep=delimiter, escape='"')
        for number, part in enumerate(sorted(inside.glob("part-*"))):
            part.rename(room / f"part-{number:05}.csv")
        shutil.rmtree(inside, ignore_errors=True)
        read = data.sparkSession.read.option("mode", "FAILFAST")
        return read.csv(_written(room), header=True, sep=delimiter, escape='"')


def _written(room: Path) -> list[str]:
    parts = [str(path) for path in sorted(room.glob("part-*"))]
    if not parts:
        raise PromiseError("the release is not where it was written; do all machines share it?")
    return parts


def delimiter_for(path: Path, given: str) -> str:
    """A suffix that promises tabs holds for the files that have it."""
    if path.suffix.lower() in _TABS:
        return "\t"
    return "," if given == "\t" else given


def sha256_of_files(room: Path) -> str:
    """Of the names and hashes of the files in a folder, as for a folder that is read."""
    told = "".join(f"{path.name}\0{sha256_of(path)}\n" for path in sorted(room.iterdir()))
    return hashlib.sha256(told.encode()).hexdigest()
