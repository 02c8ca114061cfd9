"""A folder for one user and one run: made for nobody else, never reached by a link, and locked."""

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from microagg.base.errors import InputError

_LOCK = "lock"
# A link in place of the lock is not followed, where systems know how not to.
_NO_LINKS: int = getattr(os, "O_NOFOLLOW", 0)
_BY_HANDLE = {os.open, os.mkdir, os.unlink, os.rmdir, os.stat} <= os.supports_dir_fd


class OwnFolder:
    """A folder that is locked as long as it is used: a run that ends, however it does, lets it go.

    So whatever is in a folder that can be locked was left by a run that is dead. Of this, and of
    what it makes itself, only what has a known name is ever removed.
    """

    def __init__(self, path: Path, known: str, busy: str, *, linked: bool = True) -> None:
        """known: a pattern of the names of what is made in it; busy: said if another run has it.

        linked: whether the folder that it is in may be a link.
        """
        self.path, self._known = path, re.compile(known)
        self._place = Handle(path.parent, 0 if linked else _NO_LINKS)
        try:
            self._folder, self._lock = _locked(self._place, path, busy)
        except BaseException:
            self._place.close()
            raise
        self._process = os.getpid()

    @property
    def inside(self) -> Path:
        """A path that leads into it whatever has its name by now, where systems have such paths."""
        return self._folder.inside

    def clear(self) -> None:
        """Remove what was made in it."""
        for name in self._folder.names():
            if self._known.fullmatch(name):
                self._folder.remove(name)

    def remove(self, *, with_place: bool = False) -> None:
        """Remove it, unless there is something in it that nobody here made.

        with_place: and the folder that it is in, unless there is more in it.
        """
        # What a process forks has its folders too, but did not make them.
        if not self._lock.closed and self._process == os.getpid():
            with suppress(OSError):
                self.clear()
                if os.name == "nt":  # where nothing is removed that is open
                    self._lock.close()
                self._folder.remove(_LOCK)
                self._place.remove_empty(self.path.name)
                if with_place and self._place.has_its_name():
                    self.path.parent.rmdir()
        self.let_go()

    def let_go(self) -> None:
        """Leave it as it is, to whoever comes next."""
        self._lock.close()
        self._folder.close()
        self._place.close()

    def refuse_links(self) -> None:
        """Refuse to go on with files that are somewhere else too."""
        for name in self._folder.names():
            found = self._folder.found(name)
            alone = stat.S_ISDIR(found.st_mode) or (
                stat.S_ISREG(found.st_mode) and found.st_nlink == 1
            )
            if not alone:
                raise InputError(
                    f"there are links in {self.path.name}, which no run leaves there; remove it"
                )


class Handle:
    """A folder that stays the same one while it is open, whatever takes its name or its parent's.

    Where a system has no such handles, it is what its path leads to.
    """

    def __init__(self, path: Path, flags: int = 0, *, within: "Handle | None" = None) -> None:
        """flags: for opening it; within: the folder that it is in, where its name is no link."""
        self._path = path
        self._number: int | None = None
        if _BY_HANDLE:
            name, place = (path, None) if within is None else (Path(path.name), within._number)
            flags |= os.O_RDONLY | os.O_DIRECTORY | (_NO_LINKS if within is not None else 0)
            with _failures_named(path):
                self._number = os.open(name, flags, dir_fd=place)

    @property
    def inside(self) -> Path:
        """The folder as the system names what is open, or its path."""
        if self._number is not None:
            opened = Path(f"/proc/self/fd/{self._number}")
            if opened.exists():
                return opened
        return self._path

    def names(self) -> list[str]:
        """Of what is in it."""
        return os.listdir(self._path if self._number is None else self._number)  # noqa: PTH208

    def has_its_name(self) -> bool:
        """Whether its path still leads to it."""
        return os.path.samestat(self.found(), self._path.stat())

    def found(self, name: str | None = None) -> os.stat_result:
        """What something in it is, or it itself; links are not followed."""
        if name is None:
            return self._path.lstat() if self._number is None else os.fstat(self._number)
        found: os.stat_result = self._do(os.stat, name, follow_symlinks=False)
        return found

    def make(self, name: str) -> None:
        """A folder in it, for one user."""
        self._do(os.mkdir, name, mode=0o700)

    def open(self, name: str) -> IO[bytes]:
        """Open a file in it to be read and written, which is made if it is not there; no link."""
        flags = os.O_RDWR | os.O_CREAT | _NO_LINKS
        return os.fdopen(self._do(os.open, name, flags=flags, mode=0o600), "r+b")

    def remove(self, name: str) -> None:
        """Remove a file, a link or a folder with all that is in it; links are not followed."""
        is_folder = stat.S_ISDIR(self.found(name).st_mode)
        self._do(shutil.rmtree if is_folder else os.unlink, name)

    def remove_empty(self, name: str) -> None:
        """Remove a folder in it that has nothing in it."""
        self._do(os.rmdir, name)

    def close(self) -> None:
        """Let it go; from now on it is what its path leads to."""
        if self._number is not None:
            os.close(self._number)
            self._number = None

    def _do(self, action: Callable[..., Any], name: str, **options: Any) -> Any:
        """Something to what has a name in it; a failure tells the path."""
        path = self._path / name
        with _failures_named(path):
            return action(
                name if self._number is not None else path, dir_fd=self._number, **options
            )


@contextmanager
def _failures_named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        raise OSError(failure.errno, failure.strerror, str(path)) from None


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


def _locked(place: Handle, path: Path, busy: str) -> tuple[Handle, IO[bytes]]:
    """A folder in a place, which is made if it is not there, and its lock."""
    while True:
        with suppress(FileExistsError):
            place.make(path.name)
        with suppress(FileNotFoundError):  # whoever had it has just removed it
            folder = _own(place, path)
            try:
                stream = _locked_file(folder, place, path.name, busy)
            except BaseException:
                folder.close()
                raise
            if stream is not None:
                return folder, stream
            folder.close()


def _own(place: Handle, path: Path) -> Handle:
    """The folder, unless others made it or may look into it; where files have owners and rights."""
    found = place.found(path.name)
    if stat.S_ISDIR(found.st_mode):
        folder = Handle(path, within=place)
        found = folder.found()
        mine = not hasattr(os, "getuid") or (
            found.st_uid == os.getuid() and not found.st_mode & 0o077
        )
        with suppress(FileNotFoundError):
            mine = mine and not stat.S_ISLNK(folder.found(_LOCK).st_mode)
        if mine:
            return folder
        folder.close()
    raise InputError(
        f"{path} was made by somebody else, or is open to others; remove it, or name another place"
    )


def _locked_file(folder: Handle, place: Handle, name: str, busy: str) -> IO[bytes] | None:
    """The lock; None if the folder was removed in the same moment."""
    try:
        stream = folder.open(_LOCK)
    except OSError:
        with suppress(OSError):  # there may be more in it
            place.remove_empty(name)
        raise
    try:
        if not lock(stream, wait=False):
            raise InputError(busy)
        if os.path.samestat(os.fstat(stream.fileno()), folder.found(_LOCK)):
            return stream
    except BaseException:
        stream.close()
        raise
    stream.close()
    return None
