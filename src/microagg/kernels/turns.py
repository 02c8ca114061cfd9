"""Taking turns: what one process compiles, others wait for and load from the cache."""

import os
import threading
import time
from functools import cache
from pathlib import Path
from zlib import crc32

try:
    import fcntl
except ImportError:  # not on this system: everybody compiles for themselves
    fcntl = None  # type: ignore[assignment]

# Whoever holds a turn for longer has been stopped, not ended; it is not waited for.
_PATIENCE = 120.0
_PAUSE = 0.05


class Turn:
    """The right to compile one kernel: a byte of a file in the cache's folder that is locked.

    The system lets go of it when a process ends. Within a process the compiler has a lock of its
    own, and kernels are waited for in the order of calls, so nobody waits in a circle.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._byte = crc32(name.encode())
        self._held = False

    def take(self) -> bool:
        """Wait for the turn; whether somebody else had it meanwhile."""
        stream = None if self._held else _lock_file(self._folder, os.getpid())
        if stream is None:
            return False
        waited, until = False, time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            try:
                fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._byte)
                self._held = True
                return waited
            except BlockingIOError:
                waited = True
                time.sleep(_PAUSE)
            except OSError:  # a file system without locks
                return False
        return waited

    def give_back(self) -> None:
        if self._held:
            self._held = False
            stream = _lock_file(self._folder, os.getpid())
            if stream is not None:
                fcntl.lockf(stream, fcntl.LOCK_UN, 1, self._byte)


_opening = threading.Lock()


def _lock_file(folder: Path, process: int) -> int | None:
    """The file whose bytes are locked, open as long as the process lives: closing it would let go
    of all. A forked process opens its own."""
    with _opening:
        return _open_lock_file(folder, process)


@cache
def _open_lock_file(folder: Path, _process: int) -> int | None:
    if fcntl is None:
        return None
    try:
        return os.open(
            folder / "compiling.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
    except OSError:
        return None
