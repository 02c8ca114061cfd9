"""How many groups have how many values of a confidential column, and how far they are from all."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from microagg.measure.anonymity import Disclosure, WithinClasses

# Groups of so many different values, or more, are counted together; and distances in so many bins,
# whose borders are what is mostly asked for.
MOST_VALUES, BINS = 50, 100


@dataclass(frozen=True, eq=False)
class Exposure:
    """Counts of groups: few numbers, however many groups there are.

    distinct: by the number of different values; distance: by bins from 0 to 1. gaps: whether some
    records have no value, which counts as a value of its own.
    """

    distinct: NDArray[np.int64]
    distance: NDArray[np.int64]
    gaps: bool = False

    @classmethod
    def of(cls, within: WithinClasses) -> Self:
        """Of some whole groups."""
        distances = np.round(within.distance(), 6)
        found = cls._counted(within.distinct(), distances, np.ones(within.sizes.size, np.int64))
        return replace(found, gaps=within.among_all.gaps)

    @classmethod
    def of_classes(cls, disclosed: Disclosure) -> Self:
        """Of what was counted on the classes of a release."""
        one, other = disclosed.distinct, disclosed.distance
        return cls._counted(one.figures.astype(np.int64), other.figures, one.times, other.times)

    @classmethod
    def _counted(
        cls,
        distinct: NDArray[np.int64],
        distance: NDArray[np.float64],
        times: NDArray[np.int64],
        more: NDArray[np.int64] | None = None,
    ) -> Self:
        values = np.zeros(MOST_VALUES + 1, np.int64)
        np.add.at(values, np.minimum(distinct, MOST_VALUES), times)
        bins = np.zeros(BINS, np.int64)
        places = np.minimum((distance * BINS).astype(np.int64), BINS - 1)
        np.add.at(bins, places, times if more is None else more)
        return cls(values, bins)

    def merge(self, other: Self) -> Self:
        """With other groups."""
        return type(self)(
            self.distinct + other.distinct,
            self.distance + other.distance,
            self.gaps or other.gaps,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "distinct": self.distinct.tolist(),
            "distance": self.distance.tolist(),
            "gaps": self.gaps,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """From what `to_dict` gave."""
        distinct, distance = (np.array(plain[name], np.int64) for name in ("distinct", "distance"))
        return cls(distinct, distance, plain["gaps"])


def merged(one: dict[str, Exposure], other: Mapping[str, Exposure]) -> dict[str, Exposure]:
    """Those of several columns, of two lots of groups."""
    return {
        name: one[name].merge(other[name]) if name in one and name in other else found
        for name, found in {**one, **other}.items()
    }
