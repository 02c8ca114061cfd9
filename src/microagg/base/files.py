"""Files that appear whole or not at all, also several at once."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from microagg.base.errors import InputError
from microagg.base.folders import OwnFolder, remove
from microagg.base.interruptions import uninterrupted

# Which names drafts are to take; once it is there, nothing but taking them is left to do.
_NAMES = "names.json"
_MADE = r"\.?draft-\d.*|old-\d|names\.json"
_LONGEST = 150

# What suffixes mean that stand behind that of the file that was compressed.
COMPRESSED = {".gz": "gzip", ".zst": "zstd"}


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The suffix that tells a format: the last one, with the one before of a compressed file."""
    *_, before, last = ("", "", *Path(path).suffixes)
    return before + last if last.lower() in COMPRESSED else last


def content_of(path: str | os.PathLike[str]) -> bytes:
    """All that a small file holds; who waits for a pipe may wait for ever."""
    found = Path(path)
    if found.exists() and not (found.is_file() or found.is_dir()):
        raise InputError(f"{found.name!r} is a pipe or a device, not a file; name a file")
    return found.read_bytes()


@contextmanager
def whole_path(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """A path to write to that has the same suffix; see `whole_paths`."""
    with whole_paths((path, mode)) as (draft,):
        yield draft


@contextmanager
def whole_paths(*wanted: tuple[Path, int]) -> Iterator[list[Path]]:
    """Paths to write to, in a folder beside the first of those wanted that one run has at a time.

    Files (or folders) take their names once everything is in them and on the disk. After a failure
    nothing is left of them, and what had the names before still has them. What a run leaves that is
    killed goes when the next one writes there; if it was killed while names were taken, the next
    run goes on with that: the last of them says that all are there. A draft that nobody wrote
    takes its name from whatever has it.

    wanted: paths in one folder, and who may read and write each, as far as the user's mask lets.
    """
    path = wanted[0][0]
    home = _home(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        own = None
        try:
            with uninterrupted():
                own = _opened(path)
            drafts = [home / f"draft-{n}{suffix_of(each)}" for n, (each, _) in enumerate(wanted)]
            yield drafts
            for draft, (_, mode) in zip(drafts, wanted, strict=True):
                _settle(draft, mode)
            names = [each.name for each, _ in wanted]
            if len(names) > 1:
                with (home / _NAMES).open("w", encoding="utf-8") as stream:
                    json.dump(names, stream)
                    stream.flush()
                    os.fsync(stream.fileno())
                _sync_folder(home)
            with uninterrupted():
                _take_names(home, names)
        finally:
            with uninterrupted():
                if own is not None:
                    own.remove()
    except OSError as failure:
        # Neither the name of a draft nor the words of a library would tell anything.
        about = failure.filename is None or home in (
            Path(failure.filename),
            *Path(failure.filename).parents,
        )
        if failure.errno is None or not about:
            raise
        raise OSError(failure.errno, os.strerror(failure.errno), str(path)) from None


def recover(path: Path) -> None:
    """Finish what a run was killed at while files took their names; remove what else it left."""
    if os.path.lexists(_home(path)):
        with uninterrupted():
            _opened(path).remove()


def _home(path: Path) -> Path:
    """Where the drafts of a file are."""
    name = path.name
    if len(os.fsencode(name)) > _LONGEST:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return path.with_name(f".{name}.drafts")


def _opened(path: Path) -> OwnFolder:
    """The folder of drafts, without those of a run that is dead."""
    home = _home(path)
    busy = f"another run is writing {path.name} right now; wait for it, or name another"
    own = OwnFolder(home, _MADE, busy)
    try:
        with suppress(FileNotFoundError, ValueError):
            names = json.loads((home / _NAMES).read_text(encoding="utf-8"))
            if all(str(name).startswith(path.name) and Path(name).name == name for name in names):
                _take_names(home, names)
        own.clear()
    except BaseException:
        own.let_go()
        raise
    return own


def _settle(draft: Path, mode: int) -> None:
    """On the disk, and as public as its folder says."""
    if draft.is_file():
        with draft.open("r+b") as written:
            os.fsync(written.fileno())
        mask = os.umask(0)
        os.umask(mask)
        draft.chmod(mode & ~mask)


def _take_names(home: Path, names: Sequence[str]) -> None:
    """Let all drafts take their names; what was begun is finished, unless the disk refuses."""
    places = [(draft, home.parent / name) for draft, name in _drafts(home, names)]
    written = [os.path.lexists(draft) for draft, _ in places]
    try:
        _take(home, places)
    except OSError:
        for number, (draft, target) in enumerate(places):
            if written[number] and not os.path.lexists(draft):
                target.rename(draft)
            if os.path.lexists(home / f"old-{number}"):
                (home / f"old-{number}").rename(target)
        raise
    except BaseException:
        _take(home, places)
        raise


def _drafts(home: Path, names: Sequence[str]) -> Iterator[tuple[Path, str]]:
    return ((home / f"draft-{n}{suffix_of(name)}", name) for n, name in enumerate(names))


def _take(home: Path, places: Sequence[tuple[Path, Path]]) -> None:
    if os.path.lexists(places[0][0]):
        # What stood beside another file must never stand beside this one.
        for number, (draft, target) in enumerate(places):
            folder = target.is_dir() and not target.is_symlink()
            # A file cannot replace a folder, which a rename refuses by itself.
            if os.path.lexists(target) and (draft.is_dir() if folder else number):
                remove(home / f"old-{number}")
                target.rename(home / f"old-{number}")
            elif os.path.lexists(target) and not folder and len(places) > 1:
                # It keeps its name until another takes it, and can have it back.
                with suppress(OSError):
                    os.link(target, home / "old-0", follow_symlinks=False)
    for draft, target in places:
        if os.path.lexists(draft):
            draft.replace(target)
    _sync_folder(home.parent)


def _sync_folder(folder: Path) -> None:
    """A name is on the disk once its folder is, where a system lets folders be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def whole_file(path: Path, mode: int = 0o666) -> Iterator[TextIO]:
    """Open a text file for writing that takes its name only once everything is in it."""
    with (
        whole_path(path, mode) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as stream,
    ):
        yield stream


def write_json(path: Path, content: Any, mode: int = 0o666) -> None:
    """Write plain data as a JSON file that takes its name once everything is in it."""
    with whole_file(path, mode) as stream:
        json.dump(content, stream, indent=2, ensure_ascii=False)
        stream.write("\n")
