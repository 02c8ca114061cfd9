"""How much memory there is, and what the system lets this process have of it."""

import ctypes
import os
from contextlib import suppress
from pathlib import Path

from microagg.base.errors import InputError, OptionError

# Libraries take addresses when they are loaded, and more for every thread that they start. Where
# these are refused they do not say so: one of them waits for ever, others end the process.
_LEAST_ADDRESSES = 10**9
_ADDRESSES_OF_A_CORE = 300 * 10**6
# The number that malloc.h gives to how many heaps there may be, and how many are enough.
_M_ARENA_MAX, _HEAPS = -8, 2


def available_memory() -> int | None:
    """Bytes that a program could use now without anybody waiting; None where nothing tells."""
    found = [each for each in (_free_memory(), addresses_left()) if each is not None]
    return min(found, default=None)


def addresses_left() -> int | None:
    """Bytes this process may still ask for under its limits (ulimit -v, -d); None without any."""
    try:
        import resource
    except ImportError:  # where there are no such limits
        return None
    pages = _pages_used()
    left = [
        limit - used * resource.getpagesize()
        for limit, used in (
            (resource.getrlimit(resource.RLIMIT_AS)[0], pages[0]),
            (resource.getrlimit(resource.RLIMIT_DATA)[0], pages[5]),
        )
        if limit != resource.RLIM_INFINITY
    ]
    return max(0, min(left)) if left else None


def live_within_limits() -> None:
    """Under a limit take addresses as they are needed, before libraries take them ahead.

    Refused is a limit that does not even hold the libraries.
    """
    left, cores = addresses_left(), os.cpu_count() or 1
    if left is None:
        return
    needed = _LEAST_ADDRESSES + cores * _ADDRESSES_OF_A_CORE
    if left < needed:
        raise OptionError(
            f"this process may use {left / 1e9:.1f} GB of memory (ulimit -v or -d), but on a "
            f"machine of {cores} cores it needs {needed / 1e9:.1f} GB, whatever the size of the "
            "table; raise the limit"
        )
    # Arrow's own allocator takes a gigabyte at once, and a heap of the C library 64 MB.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    choose = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if choose is not None:
        choose(_M_ARENA_MAX, _HEAPS)


def keep_within(more: int) -> None:
    """This process gets so many bytes more and is then refused; nor does it make larger files.

    Where there are no limits, nothing is kept.
    """
    try:
        import resource
    except ImportError:
        return
    used = _pages_used()[5] * resource.getpagesize()
    for kind, most in ((resource.RLIMIT_DATA, used + more), (resource.RLIMIT_FSIZE, more)):
        lower, upper = resource.getrlimit(kind)
        limits = [each for each in (lower, upper) if each != resource.RLIM_INFINITY]
        # Some systems know them by name only.
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (min([most, *limits]), upper))


def _pages_used() -> list[int]:
    """Of all memory, and sixth of what is no file."""
    try:
        return [int(each) for each in Path("/proc/self/statm").read_text().split()]
    except (OSError, ValueError):
        return [0] * 6


class Arriving:
    """What is read whole, as it comes: refused once more has come than memory is left."""

    def __init__(self, what: str, look_after: int = 1 << 22) -> None:
        """what: arrives; look_after: so many bytes each time."""
        self._what, self._look_after = what, look_after
        self._arrived = self._looked = 0

    def add(self, size: int) -> None:
        """So many bytes more."""
        self._arrived += size
        if self._arrived < self._looked + self._look_after:
            return
        self._looked, left = self._arrived, available_memory()
        if left is not None and self._arrived > left:
            raise InputError(
                f"{self._what} is too large for memory: {self._arrived / 1e9:.1f} GB have come, "
                f"and {left / 1e9:.1f} GB are left; ask for less, or put it into a file, on which "
                "engine=disk works in parts"
            )


def _free_memory() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
