"""Cells that principal components suit: records go where they are represented best."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.divide.lloyd import draw_sample, lloyd_cells
from microagg.grouping.divide.reduce import Reduction, count_kept, find_axes
from microagg.kernels.compiling import kernel
from microagg.kernels.threads import run_both

_ROUNDS = 25
_SETTLED = 1e-3


class Flats(NamedTuple):
    """A flat a cell: its mean, the directions it leaves out, and what a distance in it costs."""

    means: NDArray[np.float64]  # (cells, d)
    left_out: NDArray[np.float64]  # (cells, d, d) unit vectors, zeros beyond those left out
    counts: NDArray[np.int64]  # (cells,) how many are left out
    prices: NDArray[np.float64]  # (cells,) 0 to 1


def lloyd_pca_cells(
    records: NDArray[np.float64],
    k: int,
    cells: int,
    reduction: Reduction,
    rng: np.random.Generator,
    *,
    price: float | None = None,
) -> NDArray[np.int64]:
    """The cell of each record, by what it would lose there.

    Lloyd's cells first, and the principal components of each. Then each record goes where it costs
    least, the components are found anew, and so on until the total falls by less than a thousandth.

    Casanova, "Computational methods for large-scale microdata anonymization" (2015), section 4.5,
    left unfinished there. Its cost is the squared distance from the flat that the kept components
    span. But flats have no end: cells reach across the whole data along their flats, and groups in
    them lose more than the better representation gains. So a distance along the flat costs too, at
    the `price` of the share of variance that groups of k leave of m dimensions, about
    (groups)^(-2/m). At a price of 0 it is the paper's cost, at 1 Lloyd's. How many components a
    cell keeps is settled in the first round; from then on neither step ever raises the total.
    Settles on a sample, as Lloyd's cells do. O(n cells d^2) time at worst, less the more is kept.
    """
    sample = draw_sample(records, cells, rng)
    cell_of = lloyd_cells(sample, cells, rng)
    cells = int(cell_of.max()) + 1
    groups = max(2.0, len(records) / cells / k)
    flats, kept = _start(sample, cell_of, cells, groups, reduction, price)
    before = np.inf
    for _ in range(_ROUNDS):
        total = _assign(sample, flats, cell_of)
        if not total < before * (1.0 - _SETTLED):
            break
        before = total
        for cell in range(cells):
            _fit(sample[cell_of == cell], flats, kept, cell)
    if len(sample) == len(records):
        return cell_of
    cell_of = np.empty(len(records), np.int64)
    _assign(records, flats, cell_of)
    return cell_of


def _start(sample, cell_of, cells, groups, reduction, price):
    d = sample.shape[1]
    flats = Flats(
        np.zeros((cells, d)), np.zeros((cells, d, d)), np.zeros(cells, np.int64), np.zeros(cells)
    )
    kept = np.full(cells, d)
    for cell in range(cells):
        members = sample[cell_of == cell]
        kept[cell] = count_kept(find_axes(members).variances, reduction)
        _fit(members, flats, kept, cell)
        flats.prices[cell] = groups ** (-2.0 / kept[cell]) if price is None else price
    return flats, kept


def _fit(members, flats, kept, cell):
    """The best flat for these records; where they are too few to tell, the old one stays."""
    if len(members) <= kept[cell]:
        return
    axes = find_axes(members)
    rest = axes.loadings[kept[cell] :]
    flats.means[cell] = axes.mean
    flats.left_out[cell, : len(rest)] = rest
    flats.counts[cell] = len(rest)


def _assign(records, flats, cell_of):
    """Put each record in the cell where it costs least; the mean cost."""
    n = len(records)
    costs = np.empty(n)
    middle = n // 2
    run_both(
        lambda: _cheapest(records[:middle], *flats, cell_of[:middle], costs[:middle]),
        lambda: _cheapest(records[middle:], *flats, cell_of[middle:], costs[middle:]),
    )
    return costs.mean()


@kernel
def _cheapest(records, means, left_out, counts, prices, cell_of, costs):
    n, d = records.shape
    away = np.empty(d)
    for i in range(n):
        least = np.inf
        best = 0
        for c in range(counts.size):
            square = 0.0
            for a in range(d):
                x = records[i, a] - means[c, a]
                away[a] = x
                square += x * x
            cost = prices[c] * square
            for j in range(counts[c]):
                if cost >= least:
                    break
                score = 0.0
                for a in range(d):
                    score += left_out[c, j, a] * away[a]
                cost += (1.0 - prices[c]) * score * score
            if cost < least:
                least = cost
                best = c
        cell_of[i] = best
        costs[i] = least
