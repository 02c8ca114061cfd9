"""Who asks the program to end waits a moment where things must stay together."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_held = 0
_asked: list[BaseException] = []


@contextmanager
def uninterrupted() -> Iterator[None]:
    """What is done within is done as a whole: a folder is made, and it is known who removes it."""
    global _held
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _held += 1
    try:
        yield
    finally:
        _held -= 1
        if not _held and _asked:
            raise _asked.pop()


def interrupt(request: BaseException) -> None:
    """Raise it in the first thread, once that may be: for handlers of signals."""
    if not _held:
        raise request
    _asked[:] = [request]
