"""Files that appear whole or not at all."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TextIO

# What suffixes mean that stand behind that of the file that was compressed.
COMPRESSED = {".gz": "gzip", ".zst": "zstd"}


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The suffix that tells a format: the last one, with the one before of a compressed file."""
    *_, before, last = ("", "", *Path(path).suffixes)
    return before + last if last.lower() in COMPRESSED else last


@contextmanager
def whole_path(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """A path to write to, beside the one wanted and of the same suffix.

    The file takes its name once everything is in it and on the disk. After a failure nothing is
    left of it, and a file that had the name before still has it.

    mode: who may read and write it, as far as the user's mask lets them.
    """
    prefix = f".{path.name[:40]}."
    try:
        with _temporary(path, prefix, mode) as temporary:
            yield temporary
    except OSError as failure:
        # Neither the name of the temporary file nor the words of a library would tell anything.
        about = failure.filename is None or Path(failure.filename).name.startswith(prefix)
        if failure.errno is None or not about:
            raise
        raise OSError(failure.errno, os.strerror(failure.errno), str(path)) from None


@contextmanager
def _temporary(path: Path, prefix: str, mode: int) -> Iterator[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix, suffix=suffix_of(path))
    temporary = Path(name)
    try:
        os.close(handle)
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        # mkstemp makes files for one user only; a release is as public as its folder says.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(mode & ~mask)
        temporary.replace(path)
        _sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


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


def lock(stream: IO[Any], *, wait: bool) -> bool:
    """Lock an open file until it is closed, also by the end of the process; whether it could be.

    wait: until nobody else has it.
    """
    try:
        import fcntl
    except ImportError:
        return _lock_on_windows(stream, wait)
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _lock_on_windows(stream: IO[Any], wait: bool) -> bool:
    import msvcrt

    ways: Any = msvcrt
    while True:
        stream.seek(0)
        try:
            ways.locking(stream.fileno(), ways.LK_LOCK if wait else ways.LK_NBLCK, 1)
        except OSError:
            # Waiting ends after ten seconds there.
            if not wait:
                return False
        else:
            return True
