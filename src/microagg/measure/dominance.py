"""How much of what a group publishes is one record's doing."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from microagg.measure.change import Missing

# A record that makes up more of a mean is said to dominate it, unless the recipe says otherwise.
DOMINATES = 0.8


class Dominance:
    """In how many groups one record contributes more than a limit to a published mean.

    limits: by column, the share that may be contributed.
    groups: all there are; dominated: those with a column above its limit; by_column: how many are
        above in each; largest: the largest share in each.
    """

    def __init__(self, limits: Sequence[float]) -> None:
        self._limits = np.asarray(limits, np.float64)
        self.groups = self.dominated = 0
        self.by_column = np.zeros(self._limits.size, np.int64)
        self.largest = np.zeros(self._limits.size)

    def add(self, shares: Sequence[NDArray[np.float64] | None], groups: int) -> None:
        """Take groups with their largest shares, column by column; None for no means."""
        above = np.zeros(groups, bool)
        for place, share in enumerate(shares):
            if share is not None:
                over = share > self._limits[place]
                above |= over
                self.by_column[place] += int(over.sum())
                self.largest[place] = max(self.largest[place], share.max(initial=0.0))
        self.groups += groups
        self.dominated += int(above.sum())

    def merge(self, other: Self) -> None:
        """Take what another saw of other groups."""
        self.groups += other.groups
        self.dominated += other.dominated
        self.by_column += other.by_column
        self.largest = np.maximum(self.largest, other.largest)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "limits": self._limits.tolist(),
            "groups": self.groups,
            "dominated": self.dominated,
            "by_column": self.by_column.tolist(),
            "largest": self.largest.tolist(),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """From what `to_dict` gave."""
        found = cls(plain["limits"])
        found.groups, found.dominated = plain["groups"], plain["dominated"]
        found.by_column = np.array(plain["by_column"], np.int64)
        found.largest = np.array(plain["largest"], np.float64)
        return found

    @property
    def percent(self) -> float:
        """The share of groups with a dominated mean, 0 to 100."""
        return 100.0 * self.dominated / max(1, self.groups)


def largest_shares(
    amounts: NDArray | None,
    labels: NDArray[np.int64],
    groups: int,
    weights: NDArray[np.float64] | None = None,
    entities: NDArray[np.int64] | None = None,
    missing: Missing = None,
) -> NDArray[np.float64]:
    """The largest share of a group's published mean that one record, or one entity, contributes.

    amounts: the values of a column; None where they have no zero, such as dates, so that only
        weights tell. missing: where there is none.

    With weights w a record of value x contributes w |x| to its group's sum of these, and w to that
    of the weights: the larger of the two shares counts, for who carries nearly all of the weight is
    published nearly as he is, whatever the values. A group whose weights are all zero counts each
    record once, as its mean does. A group without a value has a share of 0.

    O(n) time and memory, O(n log n) with entities.
    """
    heavy: NDArray[np.float64] | float = 1.0
    if weights is None and entities is None and missing is None:
        counts = np.bincount(labels, minlength=groups)
        shares = np.divide(1.0, counts, out=np.zeros(groups), where=counts > 0)
    else:
        heavy = _heavy(labels, groups, weights, missing)
        shares = _largest(heavy, labels, groups, entities)
    if amounts is None:
        return shares
    sizes = np.abs(amounts.astype(np.float64))
    # Sums of the largest numbers there are must not overflow.
    sizes = np.ldexp(sizes, -int(np.frexp(sizes.max(initial=0.0))[1]))
    return np.maximum(shares, _largest(heavy * sizes, labels, groups, entities))


def _heavy(
    labels: NDArray[np.int64],
    groups: int,
    weights: NDArray[np.float64] | None,
    missing: Missing,
) -> NDArray[np.float64]:
    """What each record weighs in the mean of its group."""
    present = np.ones(labels.size) if missing is None else (~missing).astype(np.float64)
    heavy = present if weights is None else present * weights
    empty = np.bincount(labels, heavy, groups) == 0.0
    return np.where(empty[labels], present, heavy)


def _largest(
    parts: NDArray[np.float64],
    labels: NDArray[np.int64],
    groups: int,
    entities: NDArray[np.int64] | None,
) -> NDArray[np.float64]:
    if entities is not None:
        units, places = np.unique(
            labels * (int(entities.max(initial=0)) + 1) + entities, return_inverse=True
        )
        parts = np.bincount(places, parts).astype(np.float64)
        labels = units // (int(entities.max(initial=0)) + 1)
    totals = np.bincount(labels, parts, groups)
    largest = np.zeros(groups)
    np.maximum.at(largest, labels, parts)
    return np.divide(largest, totals, out=np.zeros(groups), where=totals > 0.0)
