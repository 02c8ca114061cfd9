"""What a person is told while kernels are compiled, and who else hears of it."""

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from numba.core import event

from microagg.kernels import watching

# So many kernels a plain `protect` of few records calls from Python; a test counts them.
OF_A_JOURNEY = 14
_AFTER_SECONDS = 1.0
_HINT = (
    "nothing can be kept here, so that every start compiles again: set NUMBA_CACHE_DIR to a folder "
    "that only you can write to, and see microagg warm-up"
)


def seconds_compiling() -> float:
    """How long this process has waited for the compiler so far, its own or that of another."""
    return announcement.spent


def waited(seconds: float) -> None:
    """Another process compiled meanwhile."""
    announcement.spent += seconds


def nothing_is_kept() -> None:
    """There is no folder to cache kernels in."""
    announcement.kept = False


class Announcement(event.Listener):
    """Tell a person at a terminal or a notebook why the first call takes long.

    beside: is called once, when it is known that there is something to compile.
    """

    def __init__(self, after_seconds: float = _AFTER_SECONDS) -> None:
        self.after_seconds = after_seconds
        self.lock = threading.Lock()
        self.depth = self.count = 0
        self.spent = self.started = 0.0
        self.told = False
        self.kept = True
        self.timer: threading.Timer | None = None
        self.beside: Callable[[], object] | None = None

    def on_start(self, event: Any) -> None:
        if not _is_ours(event):
            return
        with self.lock:
            self.depth += 1
            if self.depth > 1:
                return
            self.count += 1
            self.started = time.monotonic()
            beside, self.beside = self.beside, None
            if not self.told:
                # Many short compilations feel like one long one: waiting adds up.
                patience = max(0.0, self.after_seconds - self.spent)
                self.timer = threading.Timer(patience, self.tell)
                self.timer.daemon = True
                self.timer.start()
        if beside is not None:
            beside()
        watching.told(self.sentence())

    def on_end(self, event: Any) -> None:
        if not _is_ours(event):
            return
        with self.lock:
            self.depth -= 1
            if self.depth > 0:
                return
            self.spent += time.monotonic() - self.started
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
        watching.told("")

    def sentence(self) -> str:
        """How far compiling has come: a plain journey needs so many kernels, others more."""
        return f"compiling {self.count} of {max(self.count, OF_A_JOURNEY)}, first run only"

    def tell(self) -> None:
        with self.lock:
            if self.told:
                return
            self.told = True
        if watching.is_watched():
            text = self.sentence() if self.kept else f"compiling kernels; {_HINT}"
            print(f"microagg: {text}", file=sys.stderr, flush=True)


def _is_ours(event: Any) -> bool:
    function = event.data["dispatcher"].py_func
    return bool(function.__module__.startswith("microagg."))


announcement = Announcement()
event.register("numba:compile", announcement)
