"""Cells one by one, two at a time: the largest first, so that nobody waits for it at the end."""

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance
from microagg.kernels.threads import one_thread, run_both


def each_cell(
    counts: NDArray[np.int64], work: Callable[[int, Advance], None], advance: Advance
) -> None:
    """Do every cell that has records; counts: how many each has.

    work: is given the number of a cell, and whom to tell how much of it is done.
    """
    waiting = [cell for cell in np.argsort(counts, kind="stable").tolist() if counts[cell] > 0]
    total = int(counts.sum())
    shares = np.zeros(counts.size)
    turn = threading.Lock()

    def next_cell() -> int | None:
        with turn:
            return waiting.pop() if waiting else None

    def run() -> None:
        try:
            while (cell := next_cell()) is not None:

                def advance_cell(share: float, cell: int = cell) -> None:
                    with turn:
                        shares[cell] = share * counts[cell] / total
                        advance(float(shares.sum()))

                # Two cells at a time are two threads; the last one may have both.
                with one_thread() if len(shares) > 1 else nullcontext():
                    work(cell, advance_cell)
                advance_cell(1.0)
        except BaseException:
            waiting.clear()
            raise

    if len(waiting) == 1:
        run()
    else:
        run_both(run, run)


def rows_by_cell(cells: NDArray[np.int64], count: int) -> Sequence[NDArray[np.int64]]:
    """The rows of each of so many cells, in order; rows in no cell have a negative number."""
    order = np.argsort(cells, kind="stable")
    sizes = np.bincount(cells[cells >= 0], minlength=count)
    return np.split(order[order.size - int(sizes.sum()) :], np.cumsum(sizes)[:-1])
