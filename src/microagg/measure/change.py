"""What publishing groups did to one attribute: the loss, and how many records changed."""

import numpy as np
from numpy.typing import NDArray

from microagg.base.arrays import centred

Missing = NDArray[np.bool_] | None


def numeric_loss(
    before: NDArray, after: NDArray, gone: Missing = None, blank: Missing = None
) -> float:
    """100 * sum of squared changes / sum of squared distances to the mean, in percent.

    gone: where the original has no value, which cannot be lost; blank: where the release has none,
    which loses as much as publishing the mean of all. 0 is no change, 100 is the mean for all; more
    is worse than that. A constant attribute has nothing to lose.
    """
    if gone is not None:
        before, after = before[~gone], after[~gone]
        blank = None if blank is None else blank[~gone]
    if before.size == 0:
        return 0.0
    if blank is not None:
        after = np.where(blank, before, after)
    # Together, so that both move by the same offset; whole numbers stay whole while they do.
    both = centred(np.concatenate([before, after]))
    original, released = both[: before.size], both[before.size :]
    away = original - original.mean()
    total = float((away * away).sum())
    if total == 0.0:
        return 0.0
    change = original - released
    if blank is not None:
        change = np.where(blank, away, change)
    return 100.0 * float((change * change).sum()) / total


def category_loss(
    before: NDArray, after: NDArray, gone: Missing = None, blank: Missing = None
) -> float:
    """100 * records whose category changed / records not of the commonest category, in percent.

    0 is no change, 100 is the commonest category for all. An attribute of one category has nothing
    to lose.
    """
    changed = before != after
    if blank is not None:
        changed = changed | blank
    if gone is not None:
        before, changed = before[~gone], changed[~gone]
    if before.size == 0:
        return 0.0
    others = before.size - int(np.bincount(before).max())
    return 100.0 * int(changed.sum()) / others if others else 0.0


def share_changed(
    before: NDArray, after: NDArray, gone: Missing = None, blank: Missing = None
) -> float:
    """The percentage of records that show another value than before, or none, or one at last."""
    no_value = np.zeros(before.size, bool)
    gone = no_value if gone is None else gone
    blank = no_value if blank is None else blank
    changed = (gone != blank) | (~gone & ~blank & (before != after))
    return 100.0 * float(changed.mean())
