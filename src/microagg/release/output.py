"""How a release goes out: a draft that takes its name once it is checked; never over the input."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from microagg.base.addresses import without_password
from microagg.base.errors import OptionError
from microagg.base.files import whole_paths
from microagg.engine.protocol import Place
from microagg.table.formats import check_writable, format_of
from microagg.table.formats.database import Tables, certificate_address, refuse_replacing
from microagg.table.opening import STANDARD_STREAM, Origin


def certificate_path(path: Path) -> Path:
    """Where the certificate of a release stands."""
    return path.with_name(path.name + ".certificate.json")


def certificate_place(address: str, folder: bool = False) -> Path | str | None:
    """Where the certificate of a release stands if nothing else is said, to be shown.

    folder: the release is a folder of files. None of standard output.
    """
    if address == STANDARD_STREAM:
        return None
    if folder or format_of(address).is_file:
        return certificate_path(Path(address))
    return without_password(certificate_address(address))


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
    record beside it; without, a database table has its certificate in a table beside it and no
    record, and standard output has neither.

    Otherwise nothing is left of it, and what had the name before still has it.
    """
    address = os.fspath(target)
    given = (address, origin.path, origin.tables, force)
    refuse_target(*given, folder=folder, certificate=certificate)
    beside = _statements(address, certificate, folder)
    with _drafts(address, beside, folder, certificate is None) as (draft, stated, owned):
        # Before nobody else was kept from writing there, and others still are not.
        refuse_target(*given, folder=folder, certificate=certificate)
        yield Place(address, draft, force, stated, owned if has_record else None)
        # A table of a database has its name by now.
        if draft is not None:
            refuse_target(*given, folder=folder, certificate=certificate)


def _statements(address: str, certificate: Path | None, folder: bool) -> tuple[Path, ...]:
    """Where certificate and record go, if anywhere."""
    is_file = address != STANDARD_STREAM and (folder or format_of(address).is_file)
    if certificate is None and is_file:
        certificate = certificate_path(Path(address))
    return () if certificate is None else (certificate, record_beside(certificate))


@contextmanager
def _drafts(
    address: str, beside: Sequence[Path], folder: bool, together: bool
) -> Iterator[tuple[Path | None, Path | None, Path | None]]:
    """Drafts of a release, its certificate and its record; the release takes its name first and the
    certificate last, once all are on the disk.

    together: certificate and record stand beside the release. None for the table of a database,
    which has its own way and takes its certificate along, and where there are no such files.
    """
    is_file = address != STANDARD_STREAM and (folder or format_of(address).is_file)
    statements = [(path, mode) for path, mode in zip(beside[::-1], (0o600, 0o666), strict=False)]
    released = [(Path(address), 0o666)] if is_file else []
    with ExitStack() as drafts:
        owned = stated = draft = None
        if is_file and together:
            paths = drafts.enter_context(whole_paths(*released, *statements))
            draft, owned, stated = paths
        else:
            if statements:
                owned, stated = drafts.enter_context(whole_paths(*statements))
            if is_file:
                (draft,) = drafts.enter_context(whole_paths(*released))
            elif address == STANDARD_STREAM:
                draft = drafts.enter_context(_piped())
            elif stated is None:
                stated = drafts.enter_context(_room()) / "certificate.json"
        if folder and draft is not None:
            draft.mkdir()
        yield draft, stated, owned


@contextmanager
def _room() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="microagg-") as folder:
        yield Path(folder)


@contextmanager
def _piped() -> Iterator[Path]:
    """A file that goes to standard output."""
    with _room() as room:
        path = room / "release.csv"
        yield path
        with path.open("rb") as stream:
            shutil.copyfileobj(stream, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def refuse_target(
    target: str,
    source: Path | None,
    tables: Tables,
    force: bool,
    others: Sequence[Path] = (),
    *,
    folder: bool = False,
    certificate: Path | None = None,
) -> None:
    """Refuse what would be refused at the end anyway, before any work is done.

    source, tables: the file of the input, or the database tables that it is read from; others:
        further files that will be written.
    """
    paths, database = [*others], []
    if target == STANDARD_STREAM and sys.stdout is None:
        raise OptionError("-o - writes to standard output, which is closed; name a file")
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
        paths.append(Path(target))
    paths += _statements(target, certificate, folder)
    for path in paths:
        refuse_overwriting(path, source, force, folder=folder and path == Path(target))
    wanted = [os.path.normcase(path.resolve()) for path in [*paths, *database]]
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
    # A link that leads nowhere is somebody's too.
    if not os.path.lexists(path):
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
