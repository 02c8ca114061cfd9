"""Where records stand before and after, in the space that the originals give."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from microagg.base.arrays import centred
from microagg.columns.coded import Coded
from microagg.columns.points import stand
from microagg.measure.compared import Compared
from microagg.measure.linkage import Records


def in_one_space(pairs: Sequence[tuple[Coded, Coded]]) -> Records:
    """Columns before and after as points: categories, dates and gaps as well as numbers.

    The space is that in which records are grouped, with every column weighing the same: it is known
    to anybody who has the originals.
    """
    sides: list[list[NDArray[np.float64]]] = [[], []]
    for before, after in pairs:
        place, n = before.place(), before.values.size
        gaps = before.missing is not None or after.missing is not None
        share = before.present.size / n if gaps else None
        for columns, column in zip(sides, (before, after), strict=True):
            columns.append(np.empty((n, place.width + gaps)))
            stand(place, share, column.values, column.missing, columns[-1])
    original, released = map(np.hstack, sides)
    return Records(original, released, np.ones(original.shape[1]))


def compared(before: Coded, after: Coded) -> Compared:
    """A column before and after, for attacks and models; both were coded together."""
    categories = 0 if after.categories is None else len(after.categories)
    sides = [_held(column) for column in (before, after)]
    if not categories:
        both = centred(np.concatenate(sides))
        sides = [both[: sides[0].size], both[sides[0].size :]]
    original, released = (side.astype(np.float64) for side in sides)
    return Compared(
        after.name, original, released, after.numeric, categories, before.missing, after.missing
    )


def _held(column: Coded) -> NDArray:
    """The values; where missing, one that there is, which is no farther from others than these."""
    if column.missing is None or column.present.size == 0:
        return column.values
    return np.where(column.missing, column.present[0], column.values)
