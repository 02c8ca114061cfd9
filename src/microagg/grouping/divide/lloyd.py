"""Cells around centres: by Lloyd's iterations, or as coarse groups of MDAV."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.sequence.kmeans import kmeans, measure
from microagg.kernels.columns import squared_distances
from microagg.kernels.compiling import kernel
from microagg.kernels.threads import run_blocks

# Enough records a cell to place its centre.
_SAMPLE = 1000
_ROWS_AT_ONCE = 1 << 12


def lloyd_cells(
    records: NDArray[np.float64], cells: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The cell of each record: that of the nearest centre, the first of equally near ones.

    At most so many cells: fewer different records have fewer. Centres settle on a random sample of
    1,000 records a cell (the paper takes all): they need not be exact, for they never show.
    O(n cells d) time.
    """
    sample = draw_sample(records, cells, rng)
    found = np.unique(kmeans(sample, cells, rng), return_inverse=True)[1]
    if len(sample) == len(records):
        return found
    centres = np.array([part.mean(axis=0) for part in by_cell(sample, found)])
    return nearest_centres(records, centres)


def by_cell(records: NDArray[np.float64], cell_of: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """The records of each cell, in the order of rows."""
    order = np.argsort(cell_of, kind="stable")
    return np.split(records[order], np.cumsum(np.bincount(cell_of))[:-1])


def draw_sample(
    records: NDArray[np.float64], cells: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Records to place cells by, in the order of rows."""
    n = len(records)
    if n <= _SAMPLE * cells:
        return records
    return records[np.sort(rng.choice(n, _SAMPLE * cells, replace=False, shuffle=False))]


def nearest_centres(
    records: NDArray[np.float64], centres: NDArray[np.float64]
) -> NDArray[np.int64]:
    """The nearest centre of each record."""
    nearest = np.empty(len(records), np.int64)
    columns = np.ascontiguousarray(centres.T)
    run_blocks(partial(_nearest_centres, records, columns, nearest), len(records), _ROWS_AT_ONCE)
    return nearest


def coarse_cells(records: NDArray[np.float64], cells: int) -> NDArray[np.int64]:
    """The groups of n / cells records that MDAV makes, as cells.

    The same groups as `mdav`; they are selected instead of sorted in, which large groups ask for.
    O(n cells d) time.
    """
    n = len(records)
    size = n // cells
    cell_of = np.empty(n, np.int64)
    rows, left = np.arange(n), records
    cell = 0
    while rows.size >= 2 * size:
        point = left.mean(axis=0)
        for _ in range(2 if rows.size >= 3 * size else 1):
            squares = np.empty(rows.size)
            squared_distances(left, point, squares)
            point = left[np.argmax(squares)]
            squared_distances(left, point, squares)
            taken = _least(squares, size)
            cell_of[rows[taken]] = cell
            rows, left = rows[~taken], left[~taken]
            cell += 1
    cell_of[rows] = cell
    return cell_of


def _least(values: NDArray[np.float64], wanted: int) -> NDArray[np.bool_]:
    """Which are the `wanted` least, the first of equals."""
    bound = np.partition(values, wanted - 1)[wanted - 1]
    chosen = values < bound
    ties = np.flatnonzero(values == bound)
    chosen[ties[: wanted - np.count_nonzero(chosen)]] = True
    return chosen


@kernel
def _nearest_centres(records, columns, nearest, first, last):
    squares = np.empty(columns.shape[1])
    for i in range(first, last):
        measure(columns, records[i], squares)
        best = 0
        for c in range(1, squares.size):
            if squares[c] < squares[best]:
                best = c
        nearest[i] = best
