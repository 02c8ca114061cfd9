"""How a release goes out: a draft that takes its name once it is checked; never over the input."""

import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from microagg.base.errors import OptionError
from microagg.base.files import whole_path
from microagg.engine.protocol import Place
from microagg.table.formats import check_writable, format_of
from microagg.table.formats.database import same_table
from microagg.table.opening import STANDARD_STREAM, Origin


def certificate_path(path: Path) -> Path:
    """Where the certificate of a release stands."""
    return path.with_name(path.name + ".certificate.json")


def record_path(path: Path) -> Path:
    """Where the owner's record of a release stands."""
    return record_beside(certificate_path(path))


def record_beside(certificate: Path) -> Path:
    """Where the record stands that belongs to a certificate: x.record.json, whatever x is."""
    name = certificate.name.removesuffix(".json").removesuffix(".certificate")
    return certificate.with_name(f"{name}.record.json")


@contextmanager
def open_place(
    target: str | os.PathLike[str],
    origin: Origin,
    force: bool,
    *,
    folder: bool = False,
    has_record: bool = True,
    certificate: Path | None = None,
) -> Iterator[Place]:
    """A place for a draft, which takes the name of the target when the block ends well.

    target: a path, the URL of a database table, or "-" for standard output.
    origin: what the release was made from, which is never written over.
    force: replace what is there; folder: the release is a folder of files.
    has_record: a record for the owner stands beside it. certificate: where that goes, and the
    record beside it; without, there are none of a database table or of standard output.

    Otherwise nothing is left of it, and what had the name before still has it.
    """
    address = os.fspath(target)
    refuse_target(
        address, origin.path, origin.address, force, folder=folder, certificate=certificate
    )
    beside = _statements(address, certificate, folder)
    # The release takes its name first, then record and certificate, once all are on the disk.
    with ExitStack() as drafts:
        stated = drafts.enter_context(whole_path(beside[0])) if beside else None
        owned = beside and has_record and drafts.enter_context(whole_path(beside[1], 0o600))
        draft = drafts.enter_context(_draft(address, folder))
        yield Place(address, draft, force, stated, owned or None)
        # Those of an earlier release must never stand beside this one.
        for path in beside:
            path.unlink(missing_ok=True)


def _statements(address: str, certificate: Path | None, folder: bool) -> tuple[Path, ...]:
    """Where certificate and record go, if anywhere."""
    is_file = address != STANDARD_STREAM and (folder or format_of(address).is_file)
    if certificate is None and is_file:
        certificate = certificate_path(Path(address))
    return () if certificate is None else (certificate, record_beside(certificate))


@contextmanager
def _draft(address: str, folder: bool) -> Iterator[Path | None]:
    """Where a release is written before it goes out; None in a database, which has its own way."""
    if address == STANDARD_STREAM:
        with tempfile.TemporaryDirectory(prefix="microagg-") as room:
            path = Path(room) / "release.csv"
            yield path
            with path.open("rb") as stream:
                shutil.copyfileobj(stream, sys.stdout.buffer)
            sys.stdout.buffer.flush()
    elif folder or format_of(address).is_file:
        with (_whole_folder if folder else whole_path)(Path(address)) as path:
            yield path
    else:
        yield None


def refuse_target(
    target: str,
    source: Path | None,
    source_address: str | None,
    force: bool,
    others: Sequence[Path] = (),
    *,
    folder: bool = False,
    certificate: Path | None = None,
) -> None:
    """Refuse what would be refused at the end anyway, before any work is done.

    source, source_address: the path or the database URL of the input; others: further files that
        will be written.
    """
    paths = [*others]
    if folder and (target == STANDARD_STREAM or "://" in target):
        raise OptionError(
            "Spark writes a folder of files: give it a path that all machines share, such as "
            "release.parquet"
        )
    if not folder and not format_of(target).is_file:
        refuse_same_table(target, source_address, force)
    elif target != STANDARD_STREAM:
        if not folder:
            check_writable(target)
        paths.append(Path(target))
    paths += _statements(target, certificate, folder)
    for path in paths:
        refuse_overwriting(path, source, force, folder=folder and path == Path(target))
    wanted = [path.absolute() for path in paths]
    if len(set(wanted)) < len(wanted):
        raise OptionError("two outputs have the same name; give each a name of its own")


def refuse_same_table(target: str, source: str | None, force: bool) -> None:
    """Refuse to replace the database table that the input is, or may be a query on."""
    if force and source is not None and same_table(target, source):
        raise OptionError(
            f"{format_of(target).shown(target)} is the input, which is never written over; "
            "name another"
        )


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
