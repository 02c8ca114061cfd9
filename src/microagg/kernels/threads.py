"""Two things at once. Kernels release the interpreter lock, so plain threads are enough."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

import numba
import numpy as np
from numpy.typing import NDArray


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


def run_halves(job: Callable[[int, int], None], first: int, last: int, least: int = 2) -> None:
    """Run a job on both halves of first..last, or at once where that is less than `least`."""
    if last - first < least:
        job(first, last)
    else:
        middle = (first + last) // 2
        run_both(partial(job, first, middle), partial(job, middle, last))


def run_all(
    job: Callable[[int, Callable[[float], None]], None],
    sizes: NDArray[np.int64],
    advance: Callable[[float], None],
) -> None:
    """Run a job for every number with a size, two at a time.

    The largest come first, so that nobody waits for one at the end. The job is given its number,
    and whom to tell how much of it is done.
    """
    waiting = [number for number in np.argsort(sizes, kind="stable").tolist() if sizes[number] > 0]
    total = int(sizes.sum())
    shares = np.zeros(sizes.size)
    turn = threading.Lock()

    def next_number() -> int | None:
        with turn:
            return waiting.pop() if waiting else None

    def run() -> None:
        try:
            while (number := next_number()) is not None:

                def tell(share: float, number: int = number) -> None:
                    with turn:
                        shares[number] = share * sizes[number] / total
                        advance(float(shares.sum()))

                # Two jobs at a time are two threads; a single one may have both.
                with one_thread() if len(shares) > 1 else nullcontext():
                    job(number, tell)
                tell(1.0)
        except BaseException:
            waiting.clear()
            raise

    if len(waiting) == 1:
        run()
    else:
        run_both(run, run)


@contextmanager
def one_thread() -> Iterator[None]:
    """What this thread does meanwhile it does alone: the other is busy with work of its own."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)
