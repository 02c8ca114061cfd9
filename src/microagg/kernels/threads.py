"""Work on every core. Kernels release the interpreter lock, so plain threads are enough.

Work is dealt out in jobs that follow from the work alone, and no job touches the output of another:
so the result is the same whatever the number of threads.
"""

import _thread
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
from numpy.typing import NDArray

_limits = threading.local()


def thread_count() -> int:
    """How many threads this one may work with, itself among them.

    What the environment variable MICROAGG_THREADS says, or all cores that this process may use; a
    thread that works beside others has its share of them.
    """
    limit: int | None = getattr(_limits, "count", None)
    if limit is not None:
        return limit
    text = os.environ.get("MICROAGG_THREADS", "").strip()
    if not text:
        try:
            return len(os.sched_getaffinity(0))
        except AttributeError:
            return os.cpu_count() or 1
    if not text.isdecimal() or int(text) == 0:
        raise ValueError(
            f"MICROAGG_THREADS must be a whole number, 1 or more, but it is {text!r:.30}; "
            "leave it out to use every core"
        )
    return int(text)


@contextmanager
def limited(count: int) -> Iterator[None]:
    """Have this thread work with so many threads meanwhile."""
    before = getattr(_limits, "count", None)
    _limits.count = count
    try:
        yield
    finally:
        _limits.count = before


def run_each(jobs: Sequence[Callable[[], None]], at_once: int | None = None) -> None:
    """Run independent jobs, the first ones first, no more than so many at once.

    Fewer jobs than threads share these among them. Nothing is left running: after a failure or an
    interruption, jobs that have begun are waited for and the others left out. Of several failures
    that of the first job is told: whatever the threads, it is the same.
    """
    threads = thread_count()
    workers = min(len(jobs), threads, at_once or threads)
    if workers < 2:
        for job in jobs:
            job()
        return
    waiting = list(enumerate(jobs))[::-1]
    failures: dict[int, BaseException] = {}

    def work() -> None:
        with limited(threads // workers):
            while True:
                try:
                    number, job = waiting.pop()
                except IndexError:
                    return
                try:
                    job()
                except BaseException as failure:
                    failures[number] = failure
                    waiting.clear()

    helping: list[None] = []
    left = threading.Condition()

    def help_out() -> None:
        with left:
            if not waiting:
                return
            helping.append(None)
        try:
            work()
        finally:
            with left:
                helping.pop()
                left.notify()

    def wait() -> None:
        with left:
            left.wait_for(lambda: not helping)

    try:
        for _ in range(workers - 1):
            # A helper that waits for a busy core is not waited for, neither here nor at the end.
            _thread.start_new_thread(help_out, ())
        work()
        wait()
    except BaseException:
        waiting.clear()
        wait()
        raise
    if failures:
        raise failures[min(failures)]


def run_all(
    job: Callable[[int, Callable[[float], None]], None],
    sizes: NDArray[np.int64],
    advance: Callable[[float], None],
    at_once: int | None = None,
) -> None:
    """Run a job for every number with a size, no more than so many at once.

    The largest come first, so that nobody waits for one at the end. The job is given its number,
    and whom to tell how much of it is done.
    """
    total = int(sizes.sum())
    shares = np.zeros(sizes.size)
    turn = threading.Lock()

    def run(number: int) -> None:
        def tell(share: float) -> None:
            with turn:
                shares[number] = share * sizes[number] / total
                advance(float(shares.sum()))

        job(number, tell)
        tell(1.0)

    largest_first = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]
    run_each([partial(run, number) for number in largest_first.tolist()], at_once)


def run_blocks(
    job: Callable[[int, int], None],
    total: int,
    size: int,
    advance: Callable[[float], None] = lambda _share: None,
) -> None:
    """Run a job for all of 0 to `total`, from a first to a last, in blocks of this size."""

    def run(number: int, _tell: Callable[[float], None]) -> None:
        job(number * size, min(total, (number + 1) * size))

    run_all(run, np.minimum(size, total - np.arange(0, total, size)), advance)
