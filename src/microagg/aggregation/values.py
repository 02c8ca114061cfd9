"""The value that stands for each record once it is one of a group."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from microagg.aggregation.proximity import proximity_centroids
from microagg.base.arrays import as_labels, as_numbers, as_whole_numbers
from microagg.base.errors import OptionError
from microagg.base.groups import Partition
from microagg.base.progress import Advance, watch
from microagg.kernels.group_passes import group_integers, group_means


@dataclass(frozen=True)
class Aggregate:
    """What groups may publish.

    publish: what each record publishes, from numbers (n, d), the group of each record, the number
        of groups, whom to tell the share done, and the options.
    options: what it can be told; whole: it is for integers.
    of_tables: columns of any kind can be so published; weighted: sampling weights count.
    all_at_once: it weighs all groups of a column against each other, so that all records of a
        table must be in one place.
    done: what the report says was done, beside replacing values by one for the group.
    """

    name: str
    publish: Callable[..., NDArray]
    options: tuple[str, ...] = ()
    whole: bool = False
    of_tables: bool = True
    weighted: bool = True
    all_at_once: bool = False
    done: str = ""

    def check(self, options: Iterable[str]) -> None:
        """Refuse options that it does not have."""
        for name in options:
            if name not in self.options:
                known = f"there are {', '.join(self.options)}" if self.options else "it has none"
                raise OptionError(f"how={self.name!r} has no option {name!r}; {known}")


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
        standard deviations, importance=0.001, alpha=0.5, solution="global", relative=False, seed=0.

    The shape is that of X and the rows keep their order. O(n d) time.
    """
    numbers = as_numbers(X, "X", (1, 2))
    groups_of, groups = as_labels(labels, numbers.shape[0])
    chosen = find_aggregate(how)
    chosen.check(options)
    if chosen.whole:
        numbers = as_whole_numbers(numbers, "X")
    with watch(f"publishing by {how}", progress) as advance:
        return chosen.publish(numbers, groups_of, groups, advance, **options)


def find_aggregate(name: str, setting: str = "how") -> Aggregate:
    """What groups publish by this name; setting: where it was said."""
    known = [each for each in AGGREGATES.values() if setting == "how" or each.of_tables]
    for each in known:
        if each.name == name:
            return each
    names = ", ".join(each.name for each in known)
    raise OptionError(f"{setting} must be one of {names}, but it is {name!r}")


def _by_column(centres_of: Callable[..., NDArray]) -> Callable[..., NDArray]:
    def publish(
        numbers: NDArray, labels: NDArray[np.int64], groups: int, _advance: Advance
    ) -> NDArray:
        columns = numbers.reshape(len(numbers), -1).T
        published = [centres_of(column, labels, groups)[labels] for column in columns]
        return np.column_stack(published).reshape(numbers.shape)

    return publish


def _moved(
    numbers: NDArray, labels: NDArray[np.int64], _groups: int, advance: Advance, **options: Any
) -> NDArray:
    return proximity_centroids(numbers, labels, **options, advance=advance).values


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


AGGREGATES = {
    each.name: each
    for each in (
        Aggregate("mean", _by_column(group_mean_values)),
        Aggregate("integer", _by_column(group_whole_values), whole=True, of_tables=False),
        Aggregate(
            "proximity",
            _moved,
            options=("distance", "importance", "alpha", "solution", "relative", "seed"),
            weighted=False,
            all_at_once=True,
            done="Moved the published numbers away from the originals as far as was asked, keeping "
            "the mean and the variance of each column.",
        ),
    )
}
