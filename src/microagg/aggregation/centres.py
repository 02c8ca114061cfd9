"""The one value a group publishes of an attribute: mean, nearest integer, median or mode.

Each function takes the values and labels of the records that have a value, and gives one value a
group; groups are 0 to g - 1 and none is empty. Weights are of records; None counts each once.
"""

import numpy as np
from numpy.typing import NDArray

from microagg.aggregation.values import group_mean_values, group_whole_values
from microagg.kernels.group_passes import group_weighted_means

Weights = NDArray[np.float64] | None


def means(values: NDArray, labels: NDArray[np.int64], groups: int, weights: Weights) -> NDArray:
    """The mean of each group; with weights, the one that keeps the weighted total."""
    if weights is None:
        return group_mean_values(values, labels, groups)
    return group_weighted_means(values.astype(np.float64), weights, labels, groups)


def integers(values: NDArray, labels: NDArray[np.int64], groups: int, weights: Weights) -> NDArray:
    """The integer nearest to each group's mean, halves away from zero."""
    if weights is None:
        return group_whole_values(values, labels, groups)
    # Offsets from the group's least keep their digits in a float, and always fit into 64 bits.
    least = np.full(groups, np.iinfo(values.dtype).max, values.dtype)
    np.minimum.at(least, labels, values)
    offsets = values.astype(np.uint64) - least.astype(np.uint64)[labels]
    centres = group_weighted_means(offsets.astype(np.float64), weights, labels, groups)
    whole = np.minimum(np.floor(centres), np.nextafter(2.0**64, 0.0))
    floors = least + whole.astype(np.uint64).astype(values.dtype)
    rest = centres - whole
    return floors + ((rest > 0.5) | ((rest == 0.5) & (floors >= 0))).astype(values.dtype)


def medians(codes: NDArray, labels: NDArray[np.int64], groups: int, weights: Weights) -> NDArray:
    """The lower (weighted) median rank of each group: always a rank that a member has."""
    weights = _usable(weights, labels, groups)
    # One sum runs over all groups: heavy ones must not swallow the digits of light ones.
    scales = np.frexp(np.bincount(labels, weights, groups))[1]
    weights = np.ldexp(weights, -scales[labels])
    order = np.lexsort((codes, labels))
    sizes = np.bincount(labels, minlength=groups)
    last = np.cumsum(sizes) - 1
    reached = np.cumsum(weights[order])
    before = np.concatenate([[0.0], reached[last[:-1]]])
    halves = before + (reached[last] - before) / 2
    places = np.searchsorted(reached, halves)
    return codes[order][np.clip(places, last - sizes + 1, last)]


def modes(codes: NDArray, labels: NDArray[np.int64], groups: int, weights: Weights) -> NDArray:
    """The most frequent code of each group; of equals the one more frequent in all, then lower."""
    weights = _usable(weights, labels, groups)
    kinds = int(codes.max()) + 1
    overall = np.bincount(codes, weights, kinds)
    pairs, places = np.unique(labels * kinds + codes, return_inverse=True)
    counts = np.bincount(places, weights)
    group, code = pairs // kinds, pairs % kinds
    ranked = np.lexsort((code, -overall[code], -counts, group))
    first = np.searchsorted(group[ranked], np.arange(groups))
    return code[ranked][first]


def _usable(weights: Weights, labels: NDArray[np.int64], groups: int) -> NDArray[np.float64]:
    """Weights of which no group has only zeros: such a group counts each record once."""
    if weights is None:
        return np.ones(labels.size)
    totals = np.bincount(labels, weights, groups)
    return np.where(totals[labels] > 0.0, weights, 1.0)
