"""Quasi-identifiers of any kind as one matrix in which distances mean something.

Numbers, ranks and dates become z-scores. Of categories, any two that differ are one standard
deviation apart. Where a value is missing the column stands at its mean, and a column of its own
says whether there is a value: having one or not is one standard deviation too.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from microagg.base.arrays import centred
from microagg.columns.coded import Coded

# Up to here categories get a coordinate each. Beyond, random signs keep differing categories
# nearly one apart (Johnson and Lindenstrauss) in as many coordinates.
_MOST_INDICATORS = 64


def as_matrix(columns: Sequence[Coded], weights: Mapping[str, float]) -> NDArray[np.float64]:
    """The records as points, (n, m); m is the number of columns where all are numbers.

    weights: what a difference in a column is multiplied by, 1 where nothing is said.
    """
    widths = [_width(column) for column in columns]
    points = np.empty((columns[0].values.size, sum(widths)))
    place = 0
    for column, width in zip(columns, widths, strict=True):
        part = points[:, place : place + width]
        _fill(column, part)
        part *= weights.get(column.name, 1.0)
        place += width
    return points


def _width(column: Coded) -> int:
    return _width_of_values(column) + (column.missing is not None)


def _width_of_values(column: Coded) -> int:
    if column.numeric or column.categories is None:
        return 1
    return width_of_corners(len(column.categories))


def _fill(column: Coded, part: NDArray[np.float64]) -> None:
    if column.numeric:
        part[:, 0] = _scores(column)
    else:
        _place_categories(column, part[:, : _width_of_values(column)])
    if column.missing is not None:
        part[:, -1] = column.missing
        part[column.missing, :-1] = 0.0


def _scores(column: Coded) -> NDArray[np.float64]:
    values = column.values if column.missing is None else column.values[~column.missing]
    if values.size == 0:
        return np.zeros(column.values.size)
    scores = centred(values)
    scores -= scores.mean()
    deviation = float(scores.std())
    if deviation > 0.0:
        scores /= deviation
    if column.missing is None:
        return scores
    everywhere = np.zeros(column.values.size)
    everywhere[~column.missing] = scores
    return everywhere


def _place_categories(column: Coded, part: NDArray[np.float64]) -> None:
    kinds = 0 if column.categories is None else len(column.categories)
    part[:] = corners_of(kinds)[column.values]
    # The mean of all is where a record without a value stands.
    present = part if column.missing is None else part[~column.missing]
    if present.size:
        part -= present.mean(axis=0)


def width_of_corners(kinds: int) -> int:
    """How many coordinates so many categories have."""
    return 1 if kinds <= 2 else min(kinds, _MOST_INDICATORS)


def corners_of(kinds: int) -> NDArray[np.float64]:
    """Where so many categories stand, (kinds, width): any two are one apart, or nearly so."""
    width = width_of_corners(kinds)
    if width == 1:
        return np.arange(max(kinds, 1.0))[:, np.newaxis]
    if kinds == width:
        # Two categories differ in two coordinates: each counts half of a squared distance of one.
        return np.eye(kinds) * np.sqrt(0.5)
    signs = np.random.default_rng(kinds).choice([-1.0, 1.0], (kinds, width))
    return signs * np.sqrt(0.5 / width)
