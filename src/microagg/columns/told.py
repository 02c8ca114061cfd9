"""What is told of columns before and after: counts, means and correlations, never a record."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["quasi-identifier", "confidential", "released"]


@dataclass(frozen=True)
class Bar:
    """One bin of a histogram, from `low` to `high`, or one category."""

    label: str
    low: float | None
    high: float | None
    before: int | None
    after: int


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """One column of the release beside the same column of the original.

    A date's mean is text. `loss` is the percentage of the column's variation that is gone,
    `changed` the percentage of records that now show another value.
    """

    name: str
    role: Role
    kind: str
    bars: tuple[Bar, ...] = ()
    mean_before: float | str | None = None
    mean_after: float | str | None = None
    deviation_before: float | None = None
    deviation_after: float | None = None
    missing_before: int | None = None
    missing_after: int | None = None
    loss: float | None = None
    changed: float | None = None

    @property
    def tells_the_original(self) -> bool:
        """Whether anything here could not be computed from the release alone."""
        told = [self.mean_before, self.deviation_before, self.missing_before]
        told += [self.loss, self.changed, *(bar.before for bar in self.bars)]
        return any(value is not None for value in told)


@dataclass(frozen=True)
class Pair:
    """Two columns and their correlation."""

    one: str
    other: str
    before: float | None
    after: float

    @property
    def change(self) -> float | None:
        """How far the release moved it."""
        return None if self.before is None else self.after - self.before


@dataclass(frozen=True)
class Correlations:
    """Square, symmetric tables of correlations, in the order of `names`."""

    names: tuple[str, ...]
    before: tuple[tuple[float | None, ...], ...] | None
    after: tuple[tuple[float | None, ...], ...]

    def pair(self, row: int, column: int) -> Pair | None:
        """The pair in one cell; None where the release has no correlation to show."""
        after = self.after[row][column]
        if after is None or after != after:
            return None
        before = None if self.before is None else self.before[row][column]
        if before is not None and before != before:
            before = None
        return Pair(self.names[row], self.names[column], before, after)

    def most_changed(self) -> list[Pair]:
        """Every pair once, the one that moved furthest first; [] where the original is untold."""
        cells = ((row, column) for row in range(len(self.names)) for column in range(row))
        pairs = (self.pair(*cell) for cell in cells)
        known = [pair for pair in pairs if pair and pair.change is not None]
        return sorted(known, key=lambda pair: -abs(pair.change or 0.0))
