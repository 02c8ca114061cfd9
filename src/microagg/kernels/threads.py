"""Two things at once. Kernels release the interpreter lock, so plain threads are enough."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numba


def run_both(first: Callable[[], None], second: Callable[[], None]) -> None:
    """Run two independent jobs, side by side where Numba may use more than one thread.

    The jobs must not touch each other's output: then the result is the same either way.
    """
    if numba.get_num_threads() < 2:
        first()
        second()
        return
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            second()
        except BaseException as failure:
            failures.append(failure)

    helper = threading.Thread(target=guarded)
    helper.start()
    try:
        first()
    finally:
        helper.join()
    if failures:
        raise failures[0]


@contextmanager
def one_thread() -> Iterator[None]:
    """What this thread does meanwhile it does alone: the other is busy with work of its own."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)
