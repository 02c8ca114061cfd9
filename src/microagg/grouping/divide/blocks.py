"""Any method in each of many cells, side by side."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance
from microagg.grouping.method import Groups, Task
from microagg.kernels.compiling import kernel
from microagg.kernels.threads import run_all

Group = Callable[[Task], Groups]

# From here on a point repeated again and again is worth looking for: methods that search among
# equal records take n^2 time.
_LARGE = 4096


def group_blocks(task: Task, cell_of: NDArray[np.int64], group: Group) -> Groups:
    """Group the records of each cell by themselves, and put all groups in one line.

    cell_of: the cell, 0 to cells - 1, of each record. Cells with fewer than k are joined with the
    nearest. The largest cells come first; each has a generator of its own, so the result
    is the same whatever the threads.
    """
    cell_of = join_small(task.records, cell_of, task.k)
    counts = np.bincount(cell_of)
    edges = np.concatenate([[0], np.cumsum(counts)])
    # Short numbers are sorted by their digits, in linear time.
    short = cell_of.astype(np.uint16) if counts.size <= 1 << 16 else cell_of
    order = np.argsort(short, kind="stable")
    lots = task.rng.spawn(counts.size)
    found: dict[int, Groups] = {}

    def group_cell(cell: int, advance: Advance) -> None:
        rows = order[edges[cell] : edges[cell + 1]]
        block = replace(_part(task, rows), rng=lots[cell], advance=advance)
        within, sizes = group_block(block, group)
        found[cell] = rows[within], sizes

    run_all(group_cell, counts, task.advance)
    orders, sizes = zip(*(found[cell] for cell in range(counts.size)), strict=True)
    return np.concatenate(orders), np.concatenate(sizes)


def group_block(task: Task, group: Group) -> Groups:
    """Group the records of one cell, k or more, as they come from wherever cells are kept.

    Fewer than 2k are one group. Equal records are grouped without measuring any distance, and so is
    a point that makes up more than half of a large cell: such groups lose nothing, and most methods
    take long to find them.
    """
    records, k = task.records, task.k
    n = len(records)
    if n < 2 * k:
        return np.arange(n), np.array([n])
    if (records == records[0]).all():
        return np.arange(n), even_sizes(n, k)
    if n > _LARGE:
        same = (records == records[_find_majority(records)]).all(axis=1)
        if 2 * np.count_nonzero(same) > n:
            others, equals = np.flatnonzero(~same), np.flatnonzero(same)
            # What differs needs company where it is less than k.
            lent = max(0, k - others.size)
            rest = np.concatenate([others, equals[:lent]])
            order, sizes = group_block(_part(task, rest), group)
            return (
                np.concatenate([rest[order], equals[lent:]]),
                np.concatenate([sizes, even_sizes(equals.size - lent, k)]),
            )
    return group(task)


def even_sizes(n: int, k: int) -> NDArray[np.int64]:
    """Groups of k, the last with what is left over."""
    sizes = np.full(n // k, k)
    sizes[-1] += n % k
    return sizes


def join_small(
    records: NDArray[np.float64], cell_of: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """Join every cell of fewer than k records, the smallest first, with the one nearest to it.

    Distances are between the means of cells. Cells are numbered anew, in the same order, without
    gaps.
    """
    counts = np.bincount(cell_of)
    if counts.min() >= k:
        return cell_of
    sums = [np.bincount(cell_of, column, counts.size) for column in records.T]
    means = np.column_stack(sums) / np.maximum(counts, 1)[:, None]
    home = np.arange(counts.size)
    alive = join_smallest(np.flatnonzero(counts), counts.astype(float), means, home, k)
    return np.searchsorted(alive, home[cell_of])


def join_smallest(
    alive: NDArray[np.int64],
    sizes: NDArray[np.float64],
    middles: NDArray[np.float64],
    home: NDArray[np.int64],
    k: int,
) -> NDArray[np.int64]:
    """Join the smallest of these cells with the nearest until all have k, or one is left.

    alive: ascending. Sizes, middles and the home of each cell are brought up to date; returns the
    cells left. Of equally small or near ones the lowest number is taken.
    """
    while alive.size > 1:
        small = alive[np.argmin(sizes[alive])]
        if sizes[small] >= k:
            break
        alive = alive[alive != small]
        nearest = alive[np.argmin(((middles[alive] - middles[small]) ** 2).sum(axis=1))]
        join(small, nearest, sizes, middles, home)
    return alive


def join(
    cell: int,
    other: int,
    sizes: NDArray[np.float64],
    middles: NDArray[np.float64],
    home: NDArray[np.int64],
) -> None:
    """Make a cell part of another, whose size, middle and home are brought up to date."""
    total = sizes[other] + sizes[cell]
    if total > 0:
        middles[other] += (middles[cell] - middles[other]) * (sizes[cell] / total)
    sizes[other] = total
    home[home == cell] = other


def _part(task: Task, rows: NDArray[np.integer]) -> Task:
    whole = None if task.whole is None else task.whole[rows]
    mixed = None if task.mixed is None else task.mixed.of(rows)
    demands = None if task.demands is None else task.demands.rows(rows)
    part = replace(task, records=task.records[rows], whole=whole, orders={})
    return replace(part, mixed=mixed, demands=demands)


@kernel
def _find_majority(records):
    """A row that more than half of all equal, if there is one: Boyer and Moore's vote."""
    n, d = records.shape
    row = 0
    votes = 0
    for i in range(n):
        if votes == 0:
            row = i
        same = True
        for a in range(d):
            if records[i, a] != records[row, a]:
                same = False
                break
        votes += 1 if same else -1
    return row
