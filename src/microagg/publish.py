"""What the groups publish: one value of each quasi-identifier, and what that costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.aggregation.centres import integers, means, medians, modes
from microagg.groups import Partition
from microagg.measure.change import category_loss, numeric_loss, share_changed
from microagg.table.columns import Coded, decode


@dataclass(frozen=True, eq=False)
class Published:
    """A column as the groups publish it: an entry a group, and the loss in percent.

    varies: the column has something to lose.
    """

    column: Coded
    entries: pa.Array
    loss: float
    changed: float
    varies: bool


def publish(
    column: Coded, groups: Partition, weights: NDArray[np.float64] | None, decimals: int | None
) -> Published:
    """One value a group of one column: over the records that have one, missing where none has."""
    centres, empty = _centres(column, groups, weights)
    if decimals is not None and not column.whole:
        centres = np.round(centres, decimals)
    if not column.whole:
        centres = centres + 0.0  # there is one zero, not two
    entries = decode(column, centres, empty)
    after = centres[groups.labels]
    blank = empty[groups.labels] if empty.any() else None
    measure = numeric_loss if column.numeric else category_loss
    loss = measure(column.values, after, column.missing, blank)
    changed = share_changed(column.values, after, column.missing, blank)
    varies = bool((column.values != column.values[0]).any())
    return Published(replace(column, values=after, missing=blank), entries, loss, changed, varies)


def _centres(
    column: Coded, groups: Partition, weights: NDArray[np.float64] | None
) -> tuple[NDArray, NDArray[np.bool_]]:
    values, labels, count = column.values, groups.labels, groups.n_groups
    empty = np.zeros(count, bool)
    if column.missing is not None:
        present = ~column.missing
        values, labels = values[present], labels[present]
        weights = None if weights is None else weights[present]
        filled, labels = np.unique(labels, return_inverse=True)
        empty[:] = True
        empty[filled] = False
    centres = np.zeros(count, values.dtype)
    if values.size:
        centres[~empty] = _CENTRE_OF[column.kind if not _decimal(column) else "integer"](
            np.ascontiguousarray(values), labels, int((~empty).sum()), weights
        )
    return centres, empty


def _decimal(column: Coded) -> bool:
    return column.whole and column.kind == "continuous"


def decimals_of(setting: int | Mapping[str, int] | None, name: str) -> int | None:
    """How many places a column is rounded to."""
    return setting.get(name) if isinstance(setting, Mapping) else setting


def total_loss(published: Sequence[Published]) -> float:
    """The mean of the columns' losses: each column counts the same, constant ones do not."""
    losses = [column.loss for column in published if column.varies]
    return float(np.mean(losses)) if losses else 0.0


_CENTRE_OF = {
    "continuous": means,
    "integer": integers,
    "date": integers,
    "ordinal": medians,
    "nominal": modes,
    "boolean": modes,
}
