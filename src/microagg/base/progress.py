"""Progress of long work, shown to a person and to nobody else."""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from microagg.kernels import watching
from microagg.kernels.watching import in_notebook, is_watched

# Steps, never values, for whoever listens: logging.getLogger("microagg").
_log = logging.getLogger("microagg")

# Seconds between two lines of a notebook.
_EVERY = 0.2

# Called with the share of the work that is done, 0 to 1.
Advance = Callable[[float], None]

# Called with what is being done and the share of it that is done.
Listener = Callable[[str, float], None]

# What to call with words about the work under way: one for each bar that is shown.
_told: list[Callable[[str], None]] = []
# Who hears of all work, in the place of a bar.
_listeners: list[Listener] = []


def silent(_share: float) -> None:
    """Tell nobody."""


def tell(words: str) -> None:
    """Write a few words beside the bar, if one is shown: how far work has come in its own terms."""
    if _told:
        _told[-1](words)


watching.told = tell


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Tell somebody of all work that is done within, in the place of showing bars."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def watch(title: str, show: bool | None = None) -> Iterator[Advance]:
    """A function to call with the share done, 0 to 1; it draws a bar on standard error.

    show: True always, False never, None when a terminal or a notebook watches. Done, the bar goes.
    The step is logged in any case.
    """
    _log.info("%s", title)
    started = time.perf_counter()
    with _bar(title, show) as advance:
        yield advance
    _log.debug("%s: done in %.3f s", title, time.perf_counter() - started)


@contextmanager
def _bar(title: str, show: bool | None) -> Iterator[Advance]:
    if _listeners:
        with _heard(title, _listeners[-1]) as advance:
            yield advance
        return
    if show is None:
        show = is_watched()
    if not show:
        yield silent
        return
    if in_notebook():
        with _line(title) as advance:
            yield advance
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    # In a log file there is nothing to wipe out again: there the finished bar is written once.
    with Progress(*columns, console=console, transient=console.is_terminal) as bar:
        task = bar.add_task(title, total=1.0)
        _told.append(lambda words: bar.update(task, description=_beside(title, words)))
        try:
            yield lambda share: bar.update(task, completed=share)
        finally:
            _told.pop()


def _beside(title: str, words: str) -> str:
    return f"{title}, {words}" if words else title


@contextmanager
def _line(title: str) -> Iterator[Advance]:
    """A line that is written anew, for a notebook: its bars want more packages."""
    told, last, words = 0.0, 0.0, ""

    def write(text: str) -> None:
        print(f"\r{text:<79}", end="", file=sys.stderr, flush=True)

    def advance(share: float) -> None:
        nonlocal told, last
        if time.monotonic() - told >= _EVERY:
            told, last = time.monotonic(), share
            write(f"{title}{words}: {100 * share:.0f} %")

    def say(more: str) -> None:
        nonlocal words
        words = _beside("", more)
        advance(last)

    _told.append(say)
    try:
        yield advance
    finally:
        _told.pop()
        if told:
            print(f"\r{'':<79}\r", end="", file=sys.stderr, flush=True)


@contextmanager
def _heard(title: str, listener: Listener) -> Iterator[Advance]:
    words, done = title, 0.0

    def say(more: str) -> None:
        nonlocal words
        words = _beside(title, more)
        listener(words, done)

    def advance(share: float) -> None:
        nonlocal done
        done = share
        listener(words, done)

    advance(0.0)
    _told.append(say)
    try:
        yield advance
    finally:
        _told.pop()


@contextmanager
def library_prints_to_stderr() -> Iterator[None]:
    """Keep standard output for results: a solver beneath prints there what it should not."""
    if sys.stdout is not None:
        sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:
        yield
        return
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
