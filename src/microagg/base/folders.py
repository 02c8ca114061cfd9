"""A folder for one user and one run: made for nobody else, never reached by a link, and locked."""

import os
import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from microagg.base.errors import InputError

_LOCK = "lock"
# A link in place of the lock is not followed, where systems know how not to.
_NO_LINKS: int = getattr(os, "O_NOFOLLOW", 0)


class OwnFolder:
    """A folder that is locked as long as it is used: a run that ends, however it does, lets it go.

    So whatever is in a folder that can be locked was left by a run that is dead. Of this, and of
    what it makes itself, only what has a known name is ever removed.
    """

    def __init__(self, path: Path, known: str, busy: str) -> None:
        """known: a pattern of the names of what is made in it; busy: said if another run has it."""
        self.path, self._known = path, re.compile(known)
        self._lock, self._process = _locked(path, busy), os.getpid()

    def clear(self) -> None:
        """Remove what was made in it."""
        for path in self.path.iterdir():
            if self._known.fullmatch(path.name):
                remove(path)

    def remove(self) -> None:
        """Remove it, unless there is something in it that nobody here made."""
        # What a process forks has its folders too, but did not make them.
        if not self._lock.closed and self._process == os.getpid():
            with suppress(OSError):
                self.clear()
                if os.name == "nt":  # where nothing is removed that is open
                    self._lock.close()
                (self.path / _LOCK).unlink()
                self.path.rmdir()
        self.let_go()

    def let_go(self) -> None:
        """Leave it as it is, to whoever comes next."""
        self._lock.close()

    def refuse_links(self) -> None:
        """Refuse to go on with files that are somewhere else too."""
        for path in self.path.iterdir():
            found = path.lstat()
            alone = stat.S_ISDIR(found.st_mode) or (
                stat.S_ISREG(found.st_mode) and found.st_nlink == 1
            )
            if not alone:
                raise InputError(
                    f"there are links in {self.path.name}, which no run leaves there; remove it"
                )


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with all that is in it; links are not followed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


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


def _locked(folder: Path, busy: str) -> IO[bytes]:
    """The lock of a folder, which is made if it is not there."""
    path = folder / _LOCK
    while True:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        with suppress(FileNotFoundError):  # whoever had it has just removed it
            _refuse_shared(folder)
            try:
                handle = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o600)
            except OSError:
                with suppress(OSError):  # there may be more in it
                    folder.rmdir()
                raise
            stream = os.fdopen(handle, "r+b")
            try:
                if not lock(stream, wait=False):
                    raise InputError(busy)
                if os.path.samestat(os.fstat(handle), path.lstat()):
                    return stream
            except BaseException:
                stream.close()
                raise
            stream.close()


def _refuse_shared(folder: Path) -> None:
    """Refuse a folder that others made or may look into; where files have owners and rights."""
    found, lock_there = folder.lstat(), folder / _LOCK
    mine = stat.S_ISDIR(found.st_mode) and not lock_there.is_symlink()
    if mine and hasattr(os, "getuid"):
        mine = found.st_uid == os.getuid() and not found.st_mode & 0o077
    if not mine:
        raise InputError(
            f"{folder.name} in {folder.parent.name} was made by somebody else, or is open to "
            "others; remove it, or name another place"
        )
