"""How a release goes out: a draft that takes its name once it is checked; never over the input."""

import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from microagg.base.errors import OptionError
from microagg.base.files import whole_path
from microagg.engine.protocol import Place
from microagg.table.formats import check_writable, format_of
from microagg.table.formats.database import Tables, refuse_replacing
from microagg.table.opening import STANDARD_STREAM, Origin


def certificate_path(path: Path) -> Path:
    """Where the certificate of a release stands."""
    return path.with_name(path.name + ".certificate.json")


def record_path(path: Path) -> Path:
    """Where the owner's record of a release stands."""
    return path.with_name(path.name + ".record.json")


@contextmanager
def open_place(
    target: str | os.PathLike[str],
    origin: Origin,
    force: bool,
    *,
    folder: bool = False,
    has_record: bool = True,
) -> Iterator[Place]:
    """A place for a draft, which takes the name of the target when the block ends well.

    target: a path, the URL of a database table, or "-" for standard output.
    origin: what the release was made from, which is never written over.
    force: replace what is there; folder: the release is a folder of files.
    has_record: a record for the owner stands beside it.

    Otherwise nothing is left of it, and what had the name before still has it.
    """
    address = os.fspath(target)
    refuse_target(address, origin.path, origin.tables, force, folder=folder)
    if address == STANDARD_STREAM:
        with tempfile.TemporaryDirectory(prefix="microagg-") as room:
            path = Path(room) / "release.csv"
            yield Place(address, path, force)
            with path.open("rb") as stream:
                shutil.copyfileobj(stream, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    if not folder and not format_of(address).is_file:
        yield Place(address, None, force)
        return
    path = Path(address)
    certificate, record = certificate_path(path), record_path(path)
    whole = _whole_folder if folder else whole_path
    # The release takes its name first, then record and certificate, once all are on the disk.
    with (
        whole_path(certificate) as beside,
        whole_path(record, 0o600) if has_record else nullcontext() as owners,
        whole(path) as temporary,
    ):
        yield Place(address, temporary, force, beside, owners)
        # Those of an earlier release must never stand beside this one.
        certificate.unlink(missing_ok=True)
        record.unlink(missing_ok=True)


def refuse_target(
    target: str,
    source: Path | None,
    tables: Tables,
    force: bool,
    others: Sequence[Path] = (),
    *,
    folder: bool = False,
) -> None:
    """Refuse what would be refused at the end anyway, before any work is done.

    source, tables: the file of the input, or the database tables that it is read from; others:
        further files that will be written.
    """
    paths, database = list(others), []
    if folder and (target == STANDARD_STREAM or "://" in target):
        raise OptionError(
            "Spark writes a folder of files: give it a path that all machines share, such as "
            "release.parquet"
        )
    if not folder and not format_of(target).is_file:
        refuse_replacing(target, tables, force)
        database = [file for file in [format_of(target).file_of(target)] if file is not None]
    elif target != STANDARD_STREAM:
        if not folder:
            check_writable(target)
        path = Path(target)
        paths += [path, certificate_path(path), record_path(path)]
    for path in paths:
        refuse_overwriting(path, source, force, folder=folder and path == Path(target))
    wanted = [path.absolute() for path in [*paths, *database]]
    if len(set(wanted)) < len(wanted):
        raise OptionError("two outputs have the same name; give each a name of its own")


def refuse_overwriting(
    path: Path, source: Path | None, force: bool, *, folder: bool = False
) -> None:
    """Refuse to write over the input or into it, ever, or over anything else unless told to."""
    if source is not None and source.exists():
        here, there = path.resolve(), source.resolve()
        same = path.exists() and path.samefile(source)
        within = there.is_dir() and there in here.parents
        if same or within or (here in there.parents and path.exists()):
            raise OptionError(
                f"{path.name} is the input, in it or around it, which is never written over; name "
                "another"
            )
    if not path.exists():
        _check_folder(path)
        return
    if path.is_dir() and not folder:
        raise OptionError(f"{path.name} is a folder; name a file")
    if not force:
        raise OptionError(f"{path.name} exists; say force (--force) to replace it, or name another")


def _check_folder(path: Path) -> None:
    """Refuse a path that no file can be written to; folders that are not there will be made."""
    folder = next(folder for folder in path.absolute().parents if folder.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise OptionError(f"{path.name} cannot be written: {folder} is no folder one may write to")


@contextmanager
def _whole_folder(path: Path) -> Iterator[Path]:
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
