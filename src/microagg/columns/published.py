"""What the groups publish: one value of each quasi-identifier, and what that costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.aggregation.proximity import proximity_centroids
from microagg.base.groups import Partition
from microagg.columns.coded import Coded, decode
from microagg.measure.change import share_changed
from microagg.measure.interval import satisfaction


@dataclass(frozen=True, eq=False)
class Published:
    """A column as the groups publish it: a value a group, and the loss in percent.

    empty: the groups that publish no value.
    satisfied: the importance of the records whose distance is kept, and that of all; None where
        nobody asked for a distance.
    """

    original: Coded
    groups: Partition
    centres: NDArray
    empty: NDArray[np.bool_]
    loss: float
    changed: float
    satisfied: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """Of the column."""
        return self.original.name

    @property
    def column(self) -> Coded:
        """The column as it is published, record by record; made anew each time, for it is long."""
        labels = self.groups.labels
        blank = self.empty[labels] if self.empty.any() else None
        return replace(self.original, values=self.centres[labels], missing=blank)

    @property
    def by_group(self) -> Coded:
        """The column as it is published, group by group."""
        blank = self.empty if self.empty.any() else None
        return replace(self.original, values=self.centres, missing=blank)

    @property
    def entries(self) -> pa.Array:
        """What each record publishes, in the column's own type."""
        return decode(self.original, self.centres, self.empty).take(pa.array(self.groups.labels))


@dataclass(frozen=True, eq=False)
class Proximity:
    """How far published numbers are to be from the originals; numbers for all, or one a record."""

    distance: float | NDArray[np.float64]
    importance: float | NDArray[np.float64]
    alpha: float
    solution: str
    relative: bool


def publish(
    column: Coded,
    groups: Partition,
    weights: NDArray[np.float64] | None = None,
    decimals: int | None = None,
    proximity: Proximity | None = None,
) -> Published:
    """One value a group of one column: over the records that have one, missing where none has.

    Numbers keep their distance where `proximity` asks for it; categories and ranks never do.
    """
    centres, empty = centres_of(column, groups, weights, decimals, proximity)
    after = centres[groups.labels]
    blank = empty[groups.labels] if empty.any() else None
    loss = column.traits.loss(column.values, after, column.missing, blank)
    changed = share_changed(column.values, after, column.missing, blank)
    satisfied = None
    if proximity is not None and column.categories is None:
        satisfied = _satisfied(column, after, proximity)
    return Published(column, groups, centres, empty, loss, changed, satisfied)


def centres_of(
    column: Coded,
    groups: Partition,
    weights: NDArray[np.float64] | None = None,
    decimals: int | None = None,
    proximity: Proximity | None = None,
) -> tuple[NDArray, NDArray[np.bool_]]:
    """What each group publishes, and which groups publish no value."""
    centres, empty = _centres(column, groups, weights, proximity)
    if not column.whole:
        centres = centres if decimals is None else _rounded(centres, decimals)
        centres = centres + 0.0  # there is one zero, not two
    return centres, empty


def _centres(
    column: Coded,
    groups: Partition,
    weights: NDArray[np.float64] | None,
    proximity: Proximity | None,
) -> tuple[NDArray, NDArray[np.bool_]]:
    values, labels, count = column.values, groups.labels, groups.n_groups
    empty = np.zeros(count, bool)
    present: NDArray[np.bool_] | None = None
    if column.missing is not None:
        present = ~column.missing
        values, labels = values[present], labels[present]
        weights = None if weights is None else weights[present]
        filled, labels = np.unique(labels, return_inverse=True)
        empty[:] = True
        empty[filled] = False
    centres = np.zeros(count, values.dtype)
    if proximity is not None and column.categories is None and values.size:
        centres[~empty] = _moved(column, values, labels, present, proximity)
    elif values.size:
        centres[~empty] = column.traits.centre(
            np.ascontiguousarray(values), labels, int((~empty).sum()), weights
        )
    return centres, empty


def _moved(
    column: Coded,
    values: NDArray,
    labels: NDArray[np.int64],
    present: NDArray[np.bool_] | None,
    proximity: Proximity,
) -> NDArray:
    """Centroids that keep their distance; whole ones are rounded and stay in the column's range."""

    def of_those(preference: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
        alone = present is None or isinstance(preference, float)
        return preference if alone else preference[present]  # type: ignore[index]

    least = values.min()
    if column.whole:
        # Offsets from the least keep their digits in a float, and always fit into 64 bits.
        offsets = (values.astype(np.uint64) - least.astype(np.uint64)).astype(np.float64)
    else:
        offsets = values
    moved = proximity_centroids(
        offsets,
        labels,
        distance=of_those(proximity.distance),
        importance=of_those(proximity.importance),
        alpha=proximity.alpha,
        solution=proximity.solution,
        relative=proximity.relative,
    ).values
    centres = np.empty(int(labels.max()) + 1)
    centres[labels] = moved
    if not column.whole:
        return centres
    highest = min(float(offsets.max()), np.nextafter(2.0**64, 0.0))
    return least + np.rint(centres).clip(0.0, highest).astype(np.uint64).astype(values.dtype)


def _satisfied(column: Coded, after: NDArray, proximity: Proximity) -> tuple[float, float]:
    present = slice(None) if column.missing is None else ~column.missing
    if column.values[present].size == 0:
        return 0.0, 0.0
    shape = column.values.shape
    importance = np.broadcast_to(proximity.importance, shape)[present]
    distance = np.broadcast_to(proximity.distance, shape)[present]
    percent = satisfaction(
        column.values[present],
        after[present],
        distance[:, np.newaxis],
        importance[:, np.newaxis],
        relative=proximity.relative,
    )
    total = float(importance.sum())
    return percent / 100.0 * total, total


def satisfaction_level(published: Sequence[Published]) -> float | None:
    """The share of values as far from the original as asked, by importance, in percent."""
    asked = [each.satisfied for each in published if each.satisfied is not None]
    total = sum(importance for _, importance in asked)
    if not asked:
        return None
    return 100.0 * sum(kept for kept, _ in asked) / total if total > 0.0 else 100.0


def _rounded(centres: NDArray[np.float64], decimals: int) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        rounded = np.round(centres, decimals)
    # Numbers that overflow on the way are too large to have such places.
    return np.where(np.isfinite(rounded), rounded, centres)


def decimals_of(setting: int | Mapping[str, int] | None, name: str) -> int | None:
    """How many places a column is rounded to."""
    return setting.get(name) if isinstance(setting, Mapping) else setting


def total_loss(published: Sequence[Published]) -> float:
    """The mean of the columns' losses: each column counts the same, constant ones do not."""
    losses = [column.loss for column in published if column.original.varies]
    return float(np.mean(losses)) if losses else 0.0
