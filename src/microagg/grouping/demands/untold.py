"""Points without what confidential values tell of them, to look for groups that look like all.

Where a confidential column goes along with quasi-identifiers, neighbours have values alike, and no
group of neighbours looks like all records. Take from every point what is expected of a unit with
its values: what is left tells nothing of them, so neighbours by that are as good as drawn by lot,
and few of their groups fall short. They lose more, by as much as was taken. With a share of it they
lose less and fall short more often; which share is best is tried.

What is expected adds up over the columns: the mean of units whose values are in the same bin, of
what the other columns leave, again and again. O(n d) for each column.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.divide.reduce import find_axes, project

# Bins of a column that has more values, how many units each has at least, and how often columns are
# gone through, if there are several.
_BINS, _IN_A_BIN, _ROUNDS = 64, 16, 3
# Values that explain less of a coordinate are not worth looking at.
TELLING = 0.1


def expected(
    points: NDArray[np.float64], columns: Iterable[NDArray[np.integer]]
) -> NDArray[np.float64]:
    """By how much units with such values stand elsewhere than all do, on average, (n, d).

    columns: of confidential ones, the rank of each unit's value.
    """
    bins = [_bins(ranks) for ranks in columns]
    centred = points - points.mean(axis=0)
    found = np.zeros_like(centred)
    own = [np.zeros((int(each.max()) + 1, centred.shape[1])) for each in bins]
    for _ in range(_ROUNDS if len(bins) > 1 else 1):
        for each, means in zip(bins, own, strict=True):
            found -= means[each]
            counts = np.maximum(1, np.bincount(each, minlength=len(means)))
            for place, column in enumerate((centred - found).T):
                means[:, place] = np.bincount(each, column, len(means)) / counts
            found += means[each]
    return found


def telling(points: NDArray[np.float64], expectations: NDArray[np.float64]) -> bool:
    """Whether values explain much of the variance of a coordinate."""
    return bool((expectations.var(axis=0) > TELLING * points.var(axis=0)).any())


def directions(
    points: NDArray[np.float64], expectations: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Unit vectors, across each other, along which values explain much of the variance, (m, d)."""
    axes = find_axes(expectations)
    along = project(points, axes, points.shape[1])
    return axes.loadings[axes.variances > TELLING * along.var(axis=0)]


def _bins(ranks: NDArray[np.integer]) -> NDArray[np.int64]:
    """The bin of each rank: one for each value, or of many values as many units in each."""
    values, codes, counts = np.unique(ranks, return_inverse=True, return_counts=True)
    bins = max(2, min(_BINS, ranks.size // _IN_A_BIN))
    return (
        codes if values.size <= bins else ((np.cumsum(counts) - counts) * bins // ranks.size)[codes]
    )
