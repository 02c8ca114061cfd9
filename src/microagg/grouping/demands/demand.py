"""What can be demanded of a group beyond its size.

Every demand here is closed under union: two groups that keep it keep it as one. So it holds for
classes too, which are unions of groups that happen to publish the same, and some partition keeps it
if and only if all records together do: that is how the impossible is told before any work.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

DISTINCT, ENTROPY, RECURSIVE, SPAN, SIMILAR, ORDERED, NOMINAL, DOMINANCE = range(8)
# What is judged by how values are distributed among all records, and what by their differences.
JUDGED_BY_SHARES, JUDGED_BY_NUMBERS = (ORDERED, NOMINAL), (SPAN, SIMILAR)


@dataclass(frozen=True, eq=False)
class Scales:
    """All values of confidential columns in long lines, as kernels read them.

    There may be as many as records, so those of a table that is grouped in parts are made once, and
    may lie in a file. shares: where each column lies in `up_to`, how many records have a value of
    each rank or a lower one, and in `summed`, the sum of that over the ranks below. numbers: where
    each lies in `values`, the number of each rank, NaN where it is none.
    """

    shares: Mapping[str, slice]
    up_to: NDArray[np.int64]
    summed: NDArray[np.int64]
    numbers: Mapping[str, slice]
    values: NDArray[np.float64]


def places(sizes: Mapping[str, int]) -> dict[str, slice]:
    """Where lines of these sizes lie that follow each other."""
    ends = np.cumsum([0, *sizes.values()]).tolist()
    return dict(zip(sizes, map(slice, ends[:-1], ends[1:]), strict=True))


@dataclass(frozen=True, eq=False)
class Confidential:
    """A confidential column of some records, by ranks among the values of the whole table.

    ranks: of each record's value among all different ones of the whole table, ascending; to have no
        value is a value of its own, the lowest. counts: how often each value occurs in the whole
        table. values: the number that each rank stands for, NaN where it is none; only `Span` and
        `Similar` ask for it. scales: of all columns, where they were made for many parts.
    """

    name: str
    ranks: NDArray[np.int64]
    counts: NDArray[np.int64]
    values: NDArray[np.float64] | None = None
    scales: Scales | None = None

    def rows(self, rows: NDArray[np.integer]) -> Self:
        """The same column of some of the records."""
        return replace(self, ranks=self.ranks[rows])


@dataclass(frozen=True, eq=False)
class Demand:
    """What every group is to keep of a confidential column.

    kind: the number that kernels know it by.
    """

    column: Confidential
    kind: ClassVar[int]

    def rows(self, rows: NDArray[np.integer]) -> Self:
        """The same demand of some of the records."""
        return replace(self, column=self.column.rows(rows))

    @property
    def name(self) -> str:
        """Of the column."""
        return self.column.name

    @property
    def limits(self) -> tuple[float, float]:
        """The numbers that kernels judge by."""
        raise NotImplementedError

    def falls_short(self, reached: float) -> str:
        """What is demanded, and what all records together reach."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Distinct(Demand):
    """At least l different values: a union has those of both."""

    l: int  # noqa: E741 - the letter that the literature knows it by
    kind = DISTINCT

    @property
    def limits(self) -> tuple[float, float]:
        return float(self.l), 0.0

    def falls_short(self, reached: float) -> str:
        return f"{self.l} different values of {self.name}, but there are only {reached:.0f}"


@dataclass(frozen=True, eq=False)
class Entropy(Demand):
    """An entropy of the values of at least ln l: that of a mixture of two is never below the
    smaller of theirs, for entropy is concave."""

    l: float  # noqa: E741
    kind = ENTROPY

    @property
    def limits(self) -> tuple[float, float]:
        return math.log(self.l), 0.0

    def falls_short(self, reached: float) -> str:
        return (
            f"entropy l-diversity of {self.name} with l = {self.l:g}, but the largest l that can "
            f"be kept is {math.floor(1000.0 * math.exp(reached)) / 1000.0:g}"
        )


@dataclass(frozen=True, eq=False)
class Recursive(Demand):
    """The most frequent value occurs less often than c times all from the l-th most frequent on.

    What is left of a union without its l - 1 most frequent values is at least what is left of both
    groups without theirs, and its most frequent value occurs at most as often as both of theirs.
    """

    l: int  # noqa: E741
    c: float
    kind = RECURSIVE

    @property
    def limits(self) -> tuple[float, float]:
        return float(self.l), self.c

    def falls_short(self, reached: float) -> str:
        if not math.isfinite(reached):
            least = f"there are fewer than {self.l} different values"
        else:
            least = f"c must be greater than {reached:.6g}"
        return (
            f"recursive l-diversity of {self.name} with l = {self.l}, c = {self.c:g}, but {least}"
        )


@dataclass(frozen=True, eq=False)
class Span(Demand):
    """From the least to the largest value at least so much: a union only widens."""

    least: float
    kind = SPAN

    @property
    def limits(self) -> tuple[float, float]:
        return self.least, 0.0

    def falls_short(self, _reached: float) -> str:
        return f"values of {self.name} that span {self.least:g}, but all together span less"


@dataclass(frozen=True, eq=False)
class Similar(Demand):
    """No more than a share of the records lies in any window of twice `within`.

    So no more than that share is within ± of any value, in the group or outside. Windows are not
    tied to values of the group because around the value of another group more may lie; what lies
    in a window adds up, so a union keeps the share. Records without a value count as alike.
    """

    within: float
    share: float
    kind = SIMILAR

    @property
    def limits(self) -> tuple[float, float]:
        return self.within, self.share

    def falls_short(self, reached: float) -> str:
        return (
            f"no more than a share of {self.share:g} of {self.name} within {self.within:g} of "
            f"any value, but the smallest share that can be kept is {_up(reached):g}"
        )


@dataclass(frozen=True, eq=False)
class Close(Demand):
    """The distribution is no farther than t from that of the whole table, by the earth mover.

    Ordered: neighbouring values are one step of the scale apart; else all values are as far from
    each other. The distance is convex: that of a union, a mixture, is at most the larger of both.
    """

    t: float
    ordered: bool = True

    @property
    def kind(self) -> int:  # type: ignore[override]
        return ORDERED if self.ordered else NOMINAL

    @property
    def limits(self) -> tuple[float, float]:
        return self.t, 0.0

    def falls_short(self, reached: float) -> str:
        return (
            f"t-closeness of {self.name} with t = {self.t:g}, but the smallest t that can be kept "
            f"is {_up(reached):g}"
        )


@dataclass(frozen=True, eq=False)
class Dominance:
    """No record, or entity, contributes more than a share of the group's published mean.

    amounts: the values of a column; None where they have no zero, so that only weights tell.
    weights: of each record, if there are; missing: where there is no value.

    A record of value x and weight w contributes w |x| to its group's sum of these and w to that of
    the weights; a group without weight counts each record once. The largest contribution to a union
    is that to one of the two groups, and the sum grows: a union keeps the share.
    """

    name: str
    share: float
    amounts: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None
    missing: NDArray[np.bool_] | None = None
    kind: ClassVar[int] = DOMINANCE

    def rows(self, rows: NDArray[np.integer]) -> Self:
        """The same demand of some of the records."""
        amounts, weights, missing = (
            None if line is None else line[rows]
            for line in (self.amounts, self.weights, self.missing)
        )
        return replace(self, amounts=amounts, weights=weights, missing=missing)

    def falls_short(self, reached: float) -> str:
        """What is demanded, and what all records together reach."""
        return (
            f"no record to contribute more than a share of {self.share:g} to a mean of "
            f"{self.name}, but the smallest share that can be kept is {_up(reached):g}"
        )


Demands = Sequence[Demand | Dominance]


def _up(reached: float) -> float:
    """To three digits, so that it can be kept."""
    return math.ceil(reached * 1000.0) / 1000.0
