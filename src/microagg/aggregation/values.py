"""The value that stands for each record once it is one of a group."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from microagg.arrays import as_labels, as_numbers, as_whole_numbers
from microagg.errors import OptionError
from microagg.groups import Partition
from microagg.kernels.group_passes import group_integers, group_means

HOWS = ("mean", "integer")


def aggregate(X: ArrayLike, labels: ArrayLike | Partition, how: str = "mean") -> NDArray:
    """What each record publishes: its group's mean, or the nearest integers to it.

    X: numbers, (n,) or (n, d), without missing or infinite values.
    labels: the group, 0 to g - 1, of each record; a Partition will do.
    how: "mean" gives float64; "integer" gives the integers nearest to the means, halves away from
        zero, exactly: int64, or uint64 for uint64 input.

    The shape is that of X and the rows keep their order. O(n d) time.
    """
    numbers = as_numbers(X, "X", (1, 2))
    groups_of, groups = as_labels(labels, numbers.shape[0])
    if how not in HOWS:
        raise OptionError(f"how must be one of {', '.join(HOWS)}, but it is {how!r}")
    centres_of = _means if how == "mean" else _integers
    if how == "integer":
        numbers = as_whole_numbers(numbers, "X")
    if numbers.ndim == 1:
        return centres_of(numbers, groups_of, groups)[groups_of]
    published = np.empty(numbers.shape, np.float64 if how == "mean" else numbers.dtype)
    for column in range(numbers.shape[1]):
        published[:, column] = centres_of(numbers[:, column], groups_of, groups)[groups_of]
    return published


def _means(column: NDArray, labels: NDArray[np.int64], groups: int) -> NDArray[np.float64]:
    if column.dtype.kind == "f":
        return group_means(np.ascontiguousarray(column), labels, groups)
    # Integers are summed as distances from the first: a float holds those of most columns exactly.
    origin, below = column[0], column < column[0]
    bits = np.ascontiguousarray(column).view(np.uint64)
    distances = np.where(below, bits[0] - bits, bits - bits[0]).astype(np.float64)
    distances[below] *= -1.0
    return float(origin) + group_means(distances, labels, groups)


def _integers(column: NDArray, labels: NDArray[np.int64], groups: int) -> NDArray:
    if column.dtype == np.int64:
        return group_integers(np.ascontiguousarray(column), labels, groups, 0)
    # uint64 moved down by 2^63 is int64 with its zero at the very bottom.
    top = np.uint64(1 << 63)
    centres = group_integers((column ^ top).view(np.int64), labels, groups, -(2**63))
    return centres.view(np.uint64) ^ top
