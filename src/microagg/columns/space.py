"""Where records stand before and after, in the space that the originals give."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from microagg.columns.coded import Coded
from microagg.columns.points import stand
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
