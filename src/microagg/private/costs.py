"""The squared error to expect of groups and noise, by group size; and the size with the least.

Errors are sums over records and columns of squared differences, in the columns' own units, before
values are clamped to their bounds, which can only bring them nearer. They consist of the SSE of the
groups and of the noise. The noise is known. The SSE is the data's, so something is assumed of them:

"uniform"      values spread evenly between their bounds. k neighbours in one column then are
               (k^2 - 1) D^2 / (12 n^2) away from their mean, squared and on average.
"worst-case"   the data that suit groups worst: all the SSE that groups of neighbours can have.
               Groups of neighbours have widths that add up to D at most, and k values within w have
               an SSE of k w^2 / 4 at most; squares add up to the most when one group has all the
               width (Proposition 8 of the paper that `releasing` names).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from microagg.base.errors import OptionError

UNIFORM, WORST_CASE = ASSUMPTIONS = ("uniform", "worst-case")


class Error(NamedTuple):
    """An expected squared error, by where it comes from."""

    groups: float
    noise: float

    @property
    def total(self) -> float:
        """Both together (Proposition 5)."""
        return self.groups + self.noise


@dataclass(frozen=True)
class Setting:
    """What is public before a release: n, each column's width and epsilon; and what is assumed."""

    n: int
    widths: Sequence[float]
    shares: Sequence[float]
    assume: str = UNIFORM

    @property
    def squares(self) -> float:
        """The squared widths of all columns together."""
        return math.fsum(width**2 for width in self.widths)

    @property
    def noise(self) -> float:
        """Proposition 7: the expected squared error of noise of scale D / epsilon on each value."""
        scales = zip(self.widths, self.shares, strict=True)
        return 2.0 * self.n * math.fsum((width / share) ** 2 for width, share in scales)

    def each_column(self) -> list[Self]:
        """The setting of every column for itself."""
        columns = zip(self.widths, self.shares, strict=True)
        return [replace(self, widths=[width], shares=[share]) for width, share in columns]

    def in_widths(self) -> Self:
        """The same in units of the widest column, whose squares neither overflow nor vanish."""
        widest = max(self.widths, default=1.0)
        return replace(self, widths=[width / widest for width in self.widths])


@dataclass(frozen=True)
class PowerCost:
    """SSE: groups * (k^group_power - start) + spare. Noise: noise * k^-noise_power. k divides n."""

    n: int
    groups: float
    group_power: float
    noise: float
    noise_power: float = 2.0
    start: float = 1.0
    spare: float = 0.0

    def at(self, k: int) -> Error:
        """The expected error in groups of k."""
        groups = self.groups * (k**self.group_power - self.start) + self.spare
        return Error(groups, self.noise * k**-self.noise_power)

    def best_k(self) -> int:
        """The group size with the least: a whole number next to where the derivative is zero."""
        if self.groups == 0.0:
            return 1
        if self.group_power == 0.0:
            raise OptionError(
                "in the worst case groups of records in several columns never come near their "
                "mean, whatever k is; use assume='uniform'"
            )
        p, q = self.group_power, self.noise_power
        balance = (q * self.noise / (p * self.groups)) ** (1.0 / (p + q))
        best = min(max(balance, 1.0), float(self.n))
        return min(math.floor(best), math.ceil(best), key=lambda k: self.at(k).total)


def of_neighbours(setting: Setting) -> PowerCost:
    """Groups of neighbours in each column for itself, with noise of scale D / epsilon."""
    if setting.assume == WORST_CASE:
        return PowerCost(setting.n, setting.squares / 4.0, 1.0, setting.noise, start=0.0)
    return PowerCost(setting.n, setting.squares / (12.0 * setting.n), 2.0, setting.noise)


def of_records(setting: Setting, uniform: PowerCost) -> PowerCost:
    """Groups of whole records: `uniform` in several columns of uniform values.

    In one column they are groups of neighbours; in several the worst case knows no neighbours.
    """
    if len(setting.widths) == 1:
        return of_neighbours(setting)
    if setting.assume == WORST_CASE:
        sse = setting.n * setting.squares / 4.0
        return PowerCost(setting.n, sse, 0.0, setting.noise, start=0.0)
    return uniform
