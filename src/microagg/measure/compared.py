"""A column before and after, whatever its kind: what attacks guess and models learn from."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from microagg.measure.change import Missing


@dataclass(frozen=True, eq=False)
class Compared:
    """A column before and after, row by row.

    original, released: numbers, both moved and scaled alike, or codes of categories.
    numeric: whether values have distances. categories: how many there are; 0 of numbers and dates.
    gone, blank: where the original has no value, and where the release has none; None if nowhere.
    """

    name: str
    original: NDArray[np.float64]
    released: NDArray[np.float64]
    numeric: bool = True
    categories: int = 0
    gone: Missing = None
    blank: Missing = None

    @property
    def there(self) -> NDArray[np.bool_]:
        """Where the original has a value: only that can be disclosed."""
        return np.ones(self.original.size, bool) if self.gone is None else ~self.gone

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Where the release has a value."""
        return np.ones(self.released.size, bool) if self.blank is None else ~self.blank

    @cached_property
    def deviation(self) -> float:
        """Of the originals; 0 of one that does not vary."""
        values = self.original[self.there]
        if values.size == 0 or values.min() == values.max():
            return 0.0
        return float(np.std(values - values[0]))

    def reach(self, sd: float) -> float:
        """How far a guess may be off and still tell the value: so many percent of a deviation.

        Categories must be right.
        """
        return sd / 100.0 * self.deviation if self.numeric else 0.0

    def rows(self, chosen: NDArray[np.int64]) -> "Compared":
        """The same column with some rows only."""
        gone, blank = (None if each is None else each[chosen] for each in (self.gone, self.blank))
        return Compared(
            self.name,
            self.original[chosen],
            self.released[chosen],
            self.numeric,
            self.categories,
            gone,
            blank,
        )
