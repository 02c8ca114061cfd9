"""Orders of multivariate records, to be cut into groups by `split_sequence`.

Two projections to one number, which cost little more than a sort (Nin, Herranz and Torra 2008), and
the walk that always goes on to the nearest record left (Domingo-Ferrer et al. 2006), as reviewed by
Mortazavi, "Improved Univariate Microaggregation for Integer Values", section 2.2. The fourth order
of that section, a short tour, is in `tour`. And the halves of a tree, which keep near records
together in every direction.

Every sum runs in one fixed order, whatever the number of threads, so every order is reproducible.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.grouping.sequence.sorting import sort_stably
from microagg.grouping.sequence.split import by_order
from microagg.kernels.columns import squared_distances, sum_products
from microagg.kernels.compiling import kernel
from microagg.kernels.threads import run_blocks
from microagg.kernels.trees.nearest import hide, make_space, nearest
from microagg.kernels.trees.planting import LEAF, NONE, plant

_ROWS_AT_ONCE = 1 << 15
# Rows whose covariances are summed by themselves before they join the total.
_BLOCK = 1 << 12


def order_by_zscore(records: NDArray[np.float64]) -> NDArray[np.int32]:
    """Ascending by the sum of a record's attributes, which are z-scores; ties by row number.

    O(n (d + log n)) time.
    """
    return sort_stably(_project(records, np.ones(records.shape[1])))[0]


def order_by_principal_component(records: NDArray[np.float64]) -> NDArray[np.int32]:
    """Ascending along the direction of greatest variance; ties by row number.

    The loading greatest in absolute value is positive. Where several directions vary equally, which
    of them is taken is arbitrary but always the same. O(n (d^2 + log n)) time.
    """
    return sort_stably(_project(records, _first_component(records)))[0]


def order_by_nearest_next(
    records: NDArray[np.float64], advance: Advance = silent, *, steps_at_once: int = 1 << 14
) -> NDArray[np.int32]:
    """From the record farthest from the centroid, always on to the nearest one left (NPN).

    Ties go to the lowest row number. Exact. A tree over the records left makes it about O(n log n)
    where near neighbours are few, and O(n^2 d) at the worst, with many uncorrelated attributes;
    O(n d) memory.
    """
    n = len(records)
    order = np.empty(n, np.int32)
    order[0] = farthest_from_centroid(records)
    left = np.arange(n, dtype=np.int32)
    done = 1
    while done < n:
        tree = plant(records, left)
        # Half empty, the tree is searched in vain too often: then a new one pays.
        until = min(n, done + max(steps_at_once, (n - done) // 2))
        while done < until:
            pause = min(until, done + steps_at_once)
            _walk_on(tree, records, order, done, pause)
            done = pause
            advance(done / n)
        there = tree.rows[tree.slots[left]] == left
        left = left[there | (left == order[done - 1])]
    return order


def order_by_halves(records: NDArray[np.float64]) -> NDArray[np.int32]:
    """Lower halves before upper ones, at the median of the attribute in which they lie widest.

    Down to 16 records, in any order but always the same: the cuts of Mondrian (LeFevre et al.
    2006), along which neighbours stay together. O(n d log n) time.
    """
    rows = plant(records).rows
    return rows[rows != NONE]


def farthest_from_centroid(records: NDArray[np.float64]) -> int:
    """The row of the record farthest from the centroid, the first of equals."""
    squares = np.empty(len(records))
    squared_distances(records, _centroid(records), squares)
    return int(np.argmax(squares))


def _centroid(records):
    sums = np.zeros((-(-len(records) // _BLOCK), records.shape[1]))
    _sum_rows(records, sums)
    return records[0] + sums.sum(axis=0) / len(records)


def _project(records, loadings):
    scores = np.empty(len(records))
    run_blocks(partial(_dot, records, loadings, scores), len(records), _ROWS_AT_ONCE)
    return scores


def _first_component(records):
    """Loadings of the first principal component."""
    n, d = records.shape
    centroid = _centroid(records)
    products = np.zeros((-(-n // _BLOCK), d, d))

    def add(first: int, last: int) -> None:
        sum_products(records, centroid, products[first // _BLOCK], first, last)

    run_blocks(add, n, _BLOCK)
    covariances = products.sum(axis=0) / n
    loadings = np.linalg.eigh(covariances, UPLO="U")[1][:, -1]
    sizes = np.abs(loadings)
    # The first of those that rounding alone may have put in another order.
    greatest = int(np.argmax(sizes >= sizes.max() * (1.0 - 1e-9)))
    return np.ascontiguousarray(loadings * np.sign(loadings[greatest]))


@kernel
def _walk_on(tree, records, order, first, last):
    """Fill order[first:last], always with the record of the tree nearest to the one before.

    What is visited vanishes from the tree. Ties go to the lowest row number.
    """
    space = make_space(1, np.empty(0, np.int64))
    for place in range(first, last):
        current = order[place - 1]
        hide(tree, np.int64(current))
        leaf = tree.slots[current] // LEAF
        nearest(tree, records[current], leaf, NONE, np.inf, space)
        order[place] = space.rows[0]


@kernel
def _dot(records, loadings, scores, first, last):
    d = records.shape[1]
    for i in range(first, last):
        score = 0.0
        for a in range(d):
            score += records[i, a] * loadings[a]
        scores[i] = score


@kernel
def _sum_rows(records, sums):
    """Column sums of each block, relative to the first record."""
    n, d = records.shape
    for i in range(n):
        total = sums[i // _BLOCK]
        for a in range(d):
            total[a] += records[i, a] - records[0, a]


METHODS = (
    by_order(
        "zscore",
        "records in order of the sum of their z-scores",
        "O(n log n + k n d)",
        lambda task: order_by_zscore(task.records),
    ),
    by_order(
        "pca",
        "records in order of their first principal component",
        "O(n log n + n d^2 + k n d)",
        lambda task: order_by_principal_component(task.records),
    ),
    by_order(
        "halves",
        "records halved at the median of their widest attribute, again and again",
        "O(n d log n + k n d)",
        lambda task: order_by_halves(task.records),
        "the cuts of LeFevre, DeWitt and Ramakrishnan 2006",
    ),
    by_order(
        "npn",
        "always on to the nearest record left",
        "O(n^2) at worst",
        lambda task: order_by_nearest_next(task.records, task.advance),
    ),
)
