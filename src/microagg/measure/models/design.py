"""Columns of any kind as what models take: numbers in deviations, a step for each category."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.measure.compared import Compared

# Of categories the commonest have a step of their own; all others are one.
MOST_CATEGORIES = 20
_FARTHEST = 1e6


class Design(NamedTuple):
    """What models learn from, before and after: (n, p) each, and the column that each line is of.

    Numbers are in deviations from the mean of the originals, so that coefficients compare; where
    one is missing it counts as the mean, and a step says so. Categories are steps away from the
    commonest. What does not vary among the originals is left out.
    """

    original: NDArray[np.float64]
    released: NDArray[np.float64]
    names: tuple[str, ...]
    numbers: NDArray[np.bool_]  # (p,) whether a line is a number in deviations, not a step


def design(columns: Sequence[Compared], rows: int) -> Design:
    """The columns as what models take. O(n p) time."""
    sides: tuple[list[NDArray], list[NDArray]] = ([], [])
    names, numbers = [], []
    for column in columns:
        for one, other, number in _lines(column):
            if (one != one[0]).any():
                sides[0].append(one)
                sides[1].append(other)
                names.append(column.name)
                numbers.append(number)
    empty = np.empty((rows, 0))
    original, released = (np.column_stack(side) if side else empty for side in sides)
    return Design(original, released, tuple(names), np.array(numbers, bool))


def _lines(column: Compared) -> list[tuple[NDArray[np.float64], NDArray[np.float64], bool]]:
    if column.numeric:
        gaps = [~column.there, ~column.shown]
        one, other = scores(column)
        lines = [(one, other, True)]
        if gaps[0].any() or gaps[1].any():
            lines.append((gaps[0].astype(np.float64), gaps[1].astype(np.float64), False))
        return lines
    before, after = coded(column)
    return [
        ((before == code).astype(np.float64), (after == code).astype(np.float64), False)
        for code in range(1, int(max(before.max(), after.max())) + 1)
    ]


def scores(column: Compared) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Numbers before and after, in deviations of the originals; 0 where missing."""
    there = column.there
    if column.deviation == 0.0:
        return np.zeros(there.size), np.zeros(there.size)
    origin = column.original[there][0]
    mean = float((column.original[there] - origin).mean())
    sides = []
    for values, held in ((column.original, there), (column.released, column.shown)):
        with np.errstate(over="ignore"):
            away = (values - origin - mean) / column.deviation
        sides.append(np.where(held, np.clip(away, -_FARTHEST, _FARTHEST), 0.0))
    return sides[0], sides[1]


def coded(column: Compared) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Categories before and after by how common they are among the originals, the commonest 0.

    No value is a category; all beyond the commonest are one.
    """
    gap = max(column.categories, 1)
    before, after = (
        np.where(held, values, gap).astype(np.int64)
        for values, held in ((column.original, column.there), (column.released, column.shown))
    )
    counts = np.bincount(before, minlength=gap + 1)
    ranks = np.empty(counts.size, np.int64)
    ranks[np.argsort(-counts, kind="stable")] = np.arange(counts.size)
    return np.minimum(ranks[before], MOST_CATEGORIES), np.minimum(ranks[after], MOST_CATEGORIES)


def is_number(target: Compared) -> bool:
    """Whether a target is told as a number: not categories, nor a column of two values."""
    if not target.numeric or target.categories:
        return False
    values = target.original
    return values.size == 0 or bool(((values != values.min()) & (values != values.max())).any())


def categories_of(target: Compared) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A target before and after as a few categories, the commonest 0.

    Numbers of which the originals have but two, are the one or the other by the middle.
    """
    if target.categories:
        return coded(target)
    low, high = target.original.min(), target.original.max()
    middle = low + (high - low) / 2.0
    return (target.original > middle).astype(np.int64), (target.released > middle).astype(np.int64)
