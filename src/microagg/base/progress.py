"""Progress of long work, shown to a person and to nobody else."""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Steps, never values, for whoever listens: logging.getLogger("microagg").
_log = logging.getLogger("microagg")

# Called with the share of the work that is done, 0 to 1.
Advance = Callable[[float], None]

# What to call with words about the work under way: one for each bar that is shown.
_told: list[Callable[[str], None]] = []


def silent(_share: float) -> None:
    """Tell nobody."""


def tell(words: str) -> None:
    """Write a few words beside the bar, if one is shown: how far work has come in its own terms."""
    if _told:
        _told[-1](words)


@contextmanager
def watch(title: str, show: bool | None = None) -> Iterator[Advance]:
    """A function to call with the share done, 0 to 1; it draws a bar on standard error.

    show: True always, False never, None when a terminal watches. Done, the bar goes. The step is
    logged in any case.
    """
    _log.info("%s", title)
    started = time.perf_counter()
    with _bar(title, show) as advance:
        yield advance
    _log.debug("%s: done in %.3f s", title, time.perf_counter() - started)


@contextmanager
def _bar(title: str, show: bool | None) -> Iterator[Advance]:
    if show is None:
        show = sys.stderr is not None and sys.stderr.isatty()
    if not show:
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    # In a log file there is nothing to wipe out again: there the finished bar is written once.
    with Progress(*columns, console=console, transient=console.is_terminal) as bar:
        task = bar.add_task(title, total=1.0)
        _told.append(lambda words: bar.update(task, description=f"{title}, {words}"))
        try:
            yield lambda share: bar.update(task, completed=share)
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
