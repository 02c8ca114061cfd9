"""The value that stands for each record once it is one of a group."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from microagg.aggregation.proximity import proximity_centroids
from microagg.base.arrays import as_labels, as_numbers, as_whole_numbers
from microagg.base.errors import OptionError
from microagg.base.groups import Partition
from microagg.base.progress import watch
from microagg.kernels.group_passes import group_integers, group_means

# What a group may publish, and the options of each.
HOWS: dict[str, tuple[str, ...]] = {
    "mean": (),
    "integer": (),
    "proximity": ("distance", "importance", "alpha", "solution", "relative"),
}


def aggregate(
    X: ArrayLike,
    labels: ArrayLike | Partition,
    how: str = "mean",
    *,
    progress: bool | None = None,
    **options: Any,
) -> NDArray:
    """What each record publishes: its group's mean, the nearest integers to it, or a moved centre.

    X: numbers, (n,) or (n, d), without missing or infinite values.
    labels: the group, 0 to g - 1, of each record; a Partition will do.
    how: "mean" gives float64; "integer" gives the integers nearest to the means, halves away from
        zero, exactly: int64, or uint64 for uint64 input; "proximity" gives centroids that keep a
        distance from their members, and the mean and variance of every column.
    progress: show a bar where it takes long: True always, False never, None when a terminal
        watches.
    options: of "proximity", see `aggregation.proximity.proximity_centroids`: distance=0.1 in
        standard deviations, importance=0.001, alpha=0.5, solution="global", relative=False.

    The shape is that of X and the rows keep their order. O(n d) time.
    """
    numbers = as_numbers(X, "X", (1, 2))
    groups_of, groups = as_labels(labels, numbers.shape[0])
    _check_options(how, options)
    if how == "proximity":
        with watch("moving centroids", progress) as advance:
            return proximity_centroids(numbers, groups_of, **options, advance=advance).values
    centres_of = group_mean_values
    if how == "integer":
        numbers, centres_of = as_whole_numbers(numbers, "X"), group_whole_values
    table = numbers.reshape(numbers.shape[0], -1)
    published = np.empty(table.shape, np.float64 if how == "mean" else table.dtype)
    for column in range(table.shape[1]):
        published[:, column] = centres_of(table[:, column], groups_of, groups)[groups_of]
    return published.reshape(numbers.shape)


def _check_options(how: str, options: dict[str, Any]) -> None:
    if how not in HOWS:
        raise OptionError(f"how must be one of {', '.join(HOWS)}, but it is {how!r}")
    for name in options:
        if name not in HOWS[how]:
            known = f"there are {', '.join(HOWS[how])}" if HOWS[how] else "it has none"
            raise OptionError(f"how={how!r} has no option {name!r}; {known}")


def group_mean_values(
    column: NDArray, labels: NDArray[np.int64], groups: int
) -> NDArray[np.float64]:
    """The mean of each group, of a column of float64, int64 or uint64."""
    if column.dtype.kind == "f":
        return group_means(np.ascontiguousarray(column), labels, groups)
    # Integers are summed as distances from the first: a float holds those of most columns exactly.
    origin, below = column[0], column < column[0]
    bits = np.ascontiguousarray(column).view(np.uint64)
    distances = np.where(below, bits[0] - bits, bits - bits[0]).astype(np.float64)
    distances[below] *= -1.0
    return float(origin) + group_means(distances, labels, groups)


def group_whole_values(column: NDArray, labels: NDArray[np.int64], groups: int) -> NDArray:
    """The integer nearest to the mean of each group, of a column of int64 or uint64."""
    if column.dtype == np.int64:
        return group_integers(np.ascontiguousarray(column), labels, groups, 0)
    # uint64 moved down by 2^63 is int64 with its zero at the very bottom.
    top = np.uint64(1 << 63)
    centres = group_integers((column ^ top).view(np.int64), labels, groups, -(2**63))
    return centres.view(np.uint64) ^ top
