"""Cells that principal components suit: records go where they are represented best."""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.divide.lloyd import by_cell, draw_sample, lloyd_cells
from microagg.grouping.divide.reduce import Reduction, count_kept, find_axes
from microagg.kernels.compiling import kernel
from microagg.kernels.threads import run_blocks

_SETTLED = 1e-3
_ROWS_AT_ONCE = 1 << 10


class Flats(NamedTuple):
    """A flat a cell, all of the same dimension: its mean, and the unit vectors across it."""

    means: NDArray[np.float64]  # (cells, d)
    across: NDArray[np.float64]  # (cells, d - dimension, d)


def lloyd_pca_cells(
    records: NDArray[np.float64],
    k: int,
    cells: int,
    reduction: Reduction,
    rng: np.random.Generator,
    *,
    price: float | None = None,
    rounds: int = 25,
) -> tuple[NDArray[np.int64], int]:
    """The cell of each record, by what it would lose there, and how many components to keep.

    Lloyd's cells first, and the principal components of each. Then each record goes where it costs
    least, the components are found anew, and so on until the total falls by less than a thousandth.

    Casanova, "Computational methods for large-scale microdata anonymization" (2015), section 4.5,
    left unfinished there. Its cost is the squared distance from the flat that the kept components
    span. But flats have no end: cells reach across the whole data along their flats, and groups in
    them lose more than the better representation gains. So a distance along the flat costs too, at
    the `price` of the share of variance that g groups leave of m dimensions, about g^(-2/m). At a
    price of 0 it is the paper's cost, at 1 Lloyd's. All flats have the dimension that keeps the
    wanted share of the variance within Lloyd's cells: so costs can be compared, neither step ever
    raises the total, and longer cells are no excuse to keep less. Settles on a sample, as Lloyd's
    cells do. O(n cells d (d - m)) time at worst.
    """
    sample = draw_sample(records, cells, rng)
    cell_of = lloyd_cells(sample, cells, rng)
    axes = [find_axes(part) for part in by_cell(sample, cell_of)]
    energies = np.bincount(cell_of) @ np.array([own.variances for own in axes])
    kept = count_kept(energies, reduction)
    flats = Flats(
        np.array([own.mean for own in axes]), np.array([own.loadings[kept:] for own in axes])
    )
    if price is None:
        price = max(2.0, len(records) / (len(axes) * k)) ** (-2.0 / kept)
    before = np.inf
    for _ in range(rounds):
        total = _assign(sample, flats, price, cell_of)
        if not total < before * (1.0 - _SETTLED):
            break
        before = total
        _fit(sample, cell_of, flats)
    if len(sample) < len(records):
        cell_of = np.empty(len(records), np.int64)
        _assign(records, flats, price, cell_of)
    return cell_of, kept


def _fit(sample, cell_of, flats):
    """The best flat for the records of each cell; where they are too few to tell, the old stays."""
    d = sample.shape[1]
    kept = d - flats.across.shape[1]
    for cell, members in enumerate(by_cell(sample, cell_of)):
        if len(members) > kept:
            axes = find_axes(members)
            flats.means[cell] = axes.mean
            flats.across[cell] = axes.loadings[kept:]


def _assign(records, flats, price, cell_of):
    """Put each record in the cell where it costs least; the mean cost."""
    costs = np.empty(len(records))
    cheapest = partial(_cheapest, records, *flats, price, cell_of, costs)
    run_blocks(cheapest, len(records), _ROWS_AT_ONCE)
    return costs.mean()


@kernel
def _cheapest(records, means, across, price, cell_of, costs, first, last):
    d = records.shape[1]
    away = np.empty(d)
    for i in range(first, last):
        least = np.inf
        best = 0
        for c in range(len(means)):
            square = 0.0
            for a in range(d):
                x = records[i, a] - means[c, a]
                away[a] = x
                square += x * x
            cost = price * square
            for j in range(across.shape[1]):
                if cost >= least:
                    break
                score = 0.0
                for a in range(d):
                    score += across[c, j, a] * away[a]
                cost += (1.0 - price) * score * score
            if cost < least:
                least = cost
                best = c
        cell_of[i] = best
        costs[i] = least
