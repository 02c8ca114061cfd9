"""Columns of any kind as coordinates in which distances mean something.

A column weighs as much here as in the loss that is reported, where all that vary count the same:
its squared distances from the mean, in all coordinates together, add up to the number of records.
Numbers, ranks and dates become z-scores. Of categories, any two that differ are equally far apart,
the farther the rarer it is that two records differ. Where a value is missing the column stands at
its mean, which is what losing a value counts as; the values of the others are stretched to make up
for it, and a small step in a coordinate of its own tells the two apart.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.exact_sums import Moments, power_of, root

# Up to here categories get a coordinate each. Beyond, random signs keep differing categories
# nearly one apart (Johnson and Lindenstrauss) in as many coordinates.
_MOST_INDICATORS = 64
_AT_ONCE = 1 << 16
# What having no value adds: the loss does not count it, so it decides among equals only.
_GAP = 0.1


@dataclass(frozen=True)
class Scores:
    """Numbers and ranks as z-scores.

    origin, rest: their sum is the mean; whole numbers have a whole origin.
    unit: a power of two that numbers are multiplied by first, lest they overflow or lose digits;
        rest and deviation are multiplied by it already.
    """

    origin: int | float = 0
    rest: float = 0.0
    unit: float = 1.0
    deviation: float = 0.0
    width: ClassVar[int] = 1
    crowded: ClassVar[bool] = False

    @classmethod
    def of_moments(cls, moments: Moments, whole: bool, step: int = 1) -> Self:
        """Of numbers of which so many steps were added up."""
        mean, variance = moments.mean, moments.variance
        if step != 1:
            mean, variance = mean / step, variance / step**2
        if variance == 0:
            return cls(round(mean) if whole else float(mean))
        unit = 2.0 ** -min(max(power_of(variance) // 2, -1000), 1000)
        exact = Fraction(unit)
        origin = round(mean) if whole else float(mean)
        rest = float((mean - Fraction(origin)) * exact)
        return cls(origin, rest, unit, root(variance * exact**2))

    @classmethod
    def of_counts(cls, counts: NDArray[np.int64]) -> Self:
        """Of ranks, each of which appears so often."""
        total = squares = 0
        for rank, count in enumerate(counts.tolist()):
            total += rank * count
            squares += rank * rank * count
        return cls.of_moments(
            Moments(int(counts.sum()), Fraction(total), Fraction(squares)), whole=True
        )

    @property
    def varies(self) -> bool:
        """Whether two values differ."""
        return self.deviation > 0.0

    def fill(self, values: NDArray, points: NDArray[np.float64]) -> None:
        """Write the scores of numbers, (n, 1)."""
        offsets = self._offsets(values)
        offsets -= self.rest
        offsets *= 1.0 / self.deviation if self.varies else 0.0
        points[:, 0] = offsets

    def _offsets(self, values: NDArray) -> NDArray[np.float64]:
        """Distances from the origin; those of whole numbers are exact until they become floats."""
        if values.dtype.kind == "f":
            offsets = values * self.unit
            offsets -= self.origin * self.unit
            return offsets
        start = values.dtype.type(self.origin)
        above = (values - start).astype(np.uint64).astype(np.float64)
        below = (start - values).astype(np.uint64).astype(np.float64)
        return np.where(values >= start, above, -below) * self.unit


@dataclass(frozen=True)
class Corners:
    """Categories as the corners of a simplex around their mean, or nearly so.

    home: the mean of the corners of all records. height: what a step is worth.
    others: how many records are not of the commonest category: what there is to lose.
    """

    kinds: int = 0
    home: list[float] = field(default_factory=lambda: [0.0])
    height: float = 0.0
    others: int = 0
    origin: ClassVar[int] = 0

    @classmethod
    def of_counts(cls, counts: NDArray[np.int64]) -> Self:
        """Of categories, each of which appears so often."""
        n = int(counts.sum())
        differing = n * n - sum(count * count for count in counts.tolist())
        if differing == 0:
            return cls(counts.size, [0.0] * _width(counts.size))
        total = np.zeros(_width(counts.size))
        for start in range(0, counts.size, _AT_ONCE):
            some = counts[start : start + _AT_ONCE]
            total += some @ _steps(np.arange(start, start + some.size), counts.size)
        # The variance is half the mean squared distance of two records, so this makes it one.
        height = root(Fraction(2 * n * n, differing) / _squared_steps(counts.size))
        others = n - int(counts.max())
        return cls(counts.size, (total * height / n).tolist(), height, others)

    @property
    def varies(self) -> bool:
        """Whether two records differ."""
        return self.height > 0.0

    @property
    def width(self) -> int:
        """How many coordinates they have."""
        return _width(self.kinds)

    @property
    def crowded(self) -> bool:
        """Whether there are more categories than coordinates: nobody is near, all are about as far.

        No index can leave anything out then, and whoever looks for neighbours looks at everybody.
        """
        return self.kinds > _MOST_INDICATORS

    def fill(self, values: NDArray[np.int64], points: NDArray[np.float64]) -> None:
        """Write where codes stand, (n, width)."""
        np.multiply(_steps(values, self.kinds), self.height, out=points)
        points -= self.home


def stand(
    place: Scores | Corners,
    share: float | None,
    values: NDArray,
    missing: NDArray[np.bool_] | None,
    points: NDArray[np.float64],
) -> None:
    """Write where records stand: (n, width), and one coordinate more if some have no value.

    share: how many of the original records have a value; None where there are no gaps at all.
    """
    if share is None:
        place.fill(values, points)
        return
    own = points[:, : place.width]
    place.fill(values, own)
    own *= 1.0 / np.sqrt(share) if share else 0.0
    points[:, -1] = 0.0
    if missing is not None:
        own[missing], points[missing, -1] = 0.0, _GAP


def _width(kinds: int) -> int:
    return 1 if kinds <= 2 else min(kinds, _MOST_INDICATORS)


def _squared_steps(kinds: int) -> int:
    """How far two categories are apart in steps, squared; of very many about."""
    if kinds <= 2:
        return 1
    # They differ in two coordinates, or by two in half of them.
    return 2 if kinds <= _MOST_INDICATORS else 2 * _MOST_INDICATORS


def _steps(codes: NDArray[np.int64], kinds: int) -> NDArray:
    """Where categories stand, in whole steps from zero, (n, width)."""
    if kinds <= 2:
        return codes[:, np.newaxis]
    if kinds <= _MOST_INDICATORS:
        return np.equal(codes[:, np.newaxis], np.arange(kinds)).astype(np.int8)
    lots = np.random.default_rng(kinds).integers(2**64, size=kinds, dtype=np.uint64)
    bits = np.unpackbits(lots.astype("<u8")[codes].view(np.uint8).reshape(-1, 8), axis=1)
    return 2 * bits.view(np.int8) - 1
