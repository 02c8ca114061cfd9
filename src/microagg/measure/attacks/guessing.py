"""Guesses of values: how many come close enough to tell them, and how many would by chance."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel
from microagg.measure.compared import Compared


def told_by_member(
    column: Compared, asked: NDArray[np.int64], labels: NDArray[np.int64], reach: float
) -> NDArray[np.float64]:
    """For each record the chance that a member of a class tells its value, drawn by lot.

    asked: the class that each record is taken to be in, -1 for none; labels: the class of each
    released row. A released row tells a value if it is within reach of it; one without a value
    tells none, and nothing is to be told of an original without one. O(n log n) time.
    """
    shown, there = column.shown, column.there & (asked >= 0)
    values, groups = column.released[shown], labels[shown]
    ascending = np.sort(values)
    wide = ascending.size + 1
    keys = np.sort(groups * wide + np.searchsorted(ascending, values))
    lows = np.searchsorted(ascending, column.original - reach)
    highs = np.searchsorted(ascending, column.original + reach, side="right")
    first, last = (np.searchsorted(keys, asked * wide + each) for each in (lows, highs))
    sizes = np.bincount(labels)
    return np.where(there, (last - first) / sizes[np.maximum(asked, 0)], 0.0)


def told_by_best_guess(
    column: Compared, labels: NDArray[np.int64], reach: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For each record whether the best guess for its class tells its value; and if it is certain.

    The best guess is the middle of the densest stretch of the class's released values, as long as
    a guess tells from both sides, the lowest of equally dense ones: of categories the commonest. It
    is certain where the stretch holds all values of the class and all of its rows have one.
    O(n log n) time.
    """
    groups = int(labels.max()) + 1
    shown = np.flatnonzero(column.shown)
    order = shown[np.lexsort((column.released[shown], labels[shown]))]
    starts = np.searchsorted(labels[order], np.arange(groups + 1))
    guesses, counts = np.full(groups, np.nan), np.zeros(groups, np.int64)
    _densest(column.released[order], starts, 2.0 * reach, guesses, counts)
    # Half a stretch may be rounded, and then both its ends are a bit too far away.
    near = np.abs(column.original - guesses[labels]) <= reach * (1.0 + 1e-12)
    certain = counts == np.bincount(labels, minlength=groups)
    return near & column.there, certain[labels] & near & column.there


def for_everybody(column: Compared, reach: float) -> NDArray[np.bool_]:
    """For each record whether the best one guess for everybody tells its value."""
    return told_by_best_guess(column, np.zeros(column.original.size, np.int64), reach)[0]


def percent(told: Iterable[NDArray], columns: Iterable[Compared]) -> float:
    """The share of all values, of originals that have one, that are told."""
    cells = sum(int(column.there.sum()) for column in columns)
    return 100.0 * float(sum(each.sum() for each in told)) / cells if cells else 0.0


@kernel
def _densest(values, starts, width, guesses, counts):
    """The middle and the number of values of each class's densest stretch; values ascend in it."""
    for group in range(guesses.size):
        first = starts[group]
        for last in range(starts[group], starts[group + 1]):
            while values[last] - values[first] > width:
                first += 1
            if last - first + 1 > counts[group]:
                counts[group] = last - first + 1
                guesses[group] = values[first] + (values[last] - values[first]) / 2.0
