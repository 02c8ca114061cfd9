"""Columns seen in parts, put together in any order."""

from itertools import pairwise

import numpy as np

from microagg.columns.coding import Observed


def observed(array, kind=None, order=None, cuts=(), turns=None, **limits):
    """What parts show that `array` is cut into; turns: which part is seen when."""
    borders = [0, *cuts, len(array)]
    parts = [array[start:end] for start, end in pairwise(borders)]
    whole = Observed("x", array.type, kind, order, **limits)
    for turn in range(len(parts)) if turns is None else turns:
        one = Observed("x", array.type, kind, order, **limits)
        one.add(parts[turn])
        whole.merge(one)
    return whole


def placed(array, kind=None, order=None, cuts=(), turns=None):
    """The coding, and where the records stand."""
    coding = observed(array, kind, order, cuts, turns).coding()
    points = np.full((len(array), coding.width), np.nan)
    borders = [0, *cuts, len(array)]
    for start, end in pairwise(borders):
        coding.fill(coding.code(array[start:end]), points[start:end])
    return coding, points
