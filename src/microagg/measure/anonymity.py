"""What a class of records that look alike gives away of a secret.

Counts are made of whole classes, of some at a time, and put together: each class counts for itself,
so it makes no difference which others it came with.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from microagg.base.demands import Diversity
from microagg.kernels.compiling import kernel


def summed_by(keys: NDArray, weights: NDArray[np.int64]) -> tuple[NDArray, NDArray[np.int64]]:
    """The different keys, ascending, and the sum of the weights of each."""
    order = np.argsort(keys)
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([keys[:1] == keys[:1], keys[1:] != keys[:-1]]))
    return keys[starts], np.add.reduceat(weights[order], starts)


@dataclass(frozen=True, eq=False)
class AmongAll:
    """How often each value of a confidential column occurs among all records.

    counts: by rank, none of which is 0; having no value is one more, of the lowest rank.
    ordered: whether values have an order; ranks are only names otherwise.
    values: tells the number that each rank stands for, NaN for no value. room: gives an array of so
    many whole numbers, which need not be in memory. gaps: whether some have no value.
    """

    counts: NDArray[np.int64]
    ordered: bool = True
    values: Callable[[], NDArray[np.float64]] | None = None
    room: Callable[[int], NDArray[np.int64]] = lambda size: np.empty(size, np.int64)
    gaps: bool = False

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The number that each rank of an ordered column stands for, NaN for no value."""
        assert self.values is not None
        return self.values()

    @cached_property
    def up_to(self) -> NDArray[np.int64]:
        """How many records have a value of each rank or a lower one."""
        return np.cumsum(self.counts, out=self.room(self.counts.size))

    @cached_property
    def summed(self) -> NDArray[np.int64]:
        """The sum of `up_to` over the ranks below each, and over all."""
        summed = self.room(self.counts.size + 1)
        summed[0] = 0
        np.cumsum(self.up_to, out=summed[1:])
        return summed


class WithinClasses:
    """How often each value of a confidential column occurs in each of some whole classes.

    groups, ranks, counts: which ranks occur in which class, and how often; by class, then by rank.
    sizes: how many records each class has; firsts: where each begins. O(n log n) time.
    """

    def __init__(
        self,
        among_all: AmongAll,
        labels: NDArray[np.int64],
        ranks: NDArray[np.int64],
        weights: NDArray[np.int64] | None = None,
    ) -> None:
        """labels: the class, 0 to g - 1, of each record or line of weights[i] equal ones."""
        self.among_all, m, n = among_all, among_all.counts.size, labels.size
        if m <= 4 * n:
            order = _sorted_by(ranks, m, np.arange(n))
            order = _sorted_by(labels, int(labels.max()) + 1, order)
        else:
            order = np.argsort(labels * m + ranks)
        labels, ranks = labels[order], ranks[order]
        differ = (labels[1:] != labels[:-1]) | (ranks[1:] != ranks[:-1])
        starts = np.flatnonzero(np.concatenate([[True], differ]))
        self.groups, self.ranks = labels[starts], ranks[starts]
        if weights is None:
            self.counts = np.diff(np.append(starts, n))
        else:
            self.counts = np.add.reduceat(weights[order], starts)
        self.firsts = np.flatnonzero(np.concatenate([[True], np.diff(self.groups) > 0]))
        self.sizes = np.add.reduceat(self.counts, self.firsts)

    def distinct(self) -> NDArray[np.int64]:
        """The number of different values of each class: l of distinct l-diversity."""
        return np.diff(np.append(self.firsts, self.counts.size))

    def entropy(self) -> NDArray[np.float64]:
        """exp(-sum p ln p) over the shares p of the values: l of entropy l-diversity.

        From 1 to `distinct`: so many equally frequent values would be as hard to guess.
        """
        shares = self.counts / self.sizes[self.groups]
        return np.exp(-np.bincount(self.groups, weights=shares * np.log(shares)))

    def recursive(self, least: int) -> NDArray[np.float64]:
        """How often the commonest value is there for each of all but the `least` - 1 commonest.

        Recursive (c, l)-diversity holds for c above it; infinite with fewer than l values.
        """
        order = np.lexsort((-self.counts, self.groups))
        largest = self.counts[order]
        nth = np.arange(largest.size) - self.firsts[self.groups]
        rest = np.bincount(self.groups, weights=np.where(nth >= least - 1, largest, 0))
        with np.errstate(divide="ignore"):
            return np.asarray(largest[self.firsts] / rest, np.float64)

    def span(self) -> NDArray[np.float64]:
        """From the least to the largest number of each class; 0 where there is none."""
        numbers = self.among_all.numbers[self.ranks]
        least = np.full(self.sizes.size, np.inf)
        largest = np.full(self.sizes.size, -np.inf)
        there = ~np.isnan(numbers)
        np.minimum.at(least, self.groups[there], numbers[there])
        np.maximum.at(largest, self.groups[there], numbers[there])
        empty = least > largest
        least[empty] = largest[empty] = 0.0
        return largest - least

    def similar(self, within: float) -> NDArray[np.float64]:
        """The largest share of each class that lies within a distance of one of its numbers.

        Records without a number are similar to each other, and to no others. O(n) time.
        """
        numbers = self.among_all.numbers[self.ranks]
        ends = np.append(self.firsts[1:], self.counts.size)
        most = np.zeros(self.sizes.size, np.int64)
        _count_similar(numbers, self.counts, self.firsts, ends, within, most)
        return np.asarray(most / self.sizes, np.float64)

    def distance(self) -> NDArray[np.float64]:
        """How far the distribution within each class is from that among all: t-closeness.

        Between 0 (as among all) and 1; lower is better, and the largest is the t that holds. Li, Li
        and Venkatasubramanian (2007). Ordered: the earth mover's distance when neighbouring values,
        of m different ones, are 1 / (m - 1) apart: the mean of |share up to v - share up to v among
        all| over all values v but the last. Else, for categories: half the sum of |p - q|.
        """
        return self._moved() if self.among_all.ordered else self._apart()

    def _apart(self) -> NDArray[np.float64]:
        """Half the sum of |p - q| for each class: what p has more than q, for both sum to 1."""
        among_all, n = self.among_all.counts, self.among_all.up_to[-1]
        more = self.counts / self.sizes[self.groups] - among_all[self.ranks] / n
        return np.asarray(np.bincount(self.groups, weights=np.maximum(0.0, more)))

    def _moved(self) -> NDArray[np.float64]:
        """The earth mover's distance of each class; not in time that grows with classes times m.

        From one value of a class to the next its cumulated share c stays, while that among all only
        grows: so it is below c up to some value and above from there on, and sums over many values
        come from sums of all up to a value.
        """
        up_to, summed = self.among_all.up_to, self.among_all.summed
        n, m = int(up_to[-1]), up_to.size
        within = np.cumsum(self.counts)
        within -= (within - self.counts)[self.firsts][self.groups]
        share = within / self.sizes[self.groups]
        starts = self.ranks
        ends = np.append(starts[1:], m)
        ends[self.firsts[1:] - 1] = m
        # Whole numbers, for NumPy would make a copy of all values to compare them with others.
        reached = np.floor(share * n).astype(np.int64)
        turn = np.clip(np.searchsorted(up_to, reached, side="right"), starts, ends)
        below = share * (turn - starts) - (summed[turn] - summed[starts]) / n
        above = (summed[ends] - summed[turn]) / n - share * (ends - turn)
        moved = np.maximum(below, 0.0) + np.maximum(above, 0.0)
        distances = np.bincount(self.groups, weights=moved).astype(np.float64)
        # Before its first value a class has nothing, and all the others have is to be moved.
        distances += summed[starts[self.firsts]] / n
        return np.clip(distances / max(1, m - 1), 0.0, 1.0)


@kernel
def _count_similar(numbers, counts, starts, ends, within, most):
    """The most records of each class within a distance of one of its numbers, which ascend."""
    for group in range(most.size):
        low = high = starts[group]
        inside = 0
        for i in range(starts[group], ends[group]):
            if np.isnan(numbers[i]):
                most[group] = counts[i]
                low = high = i + 1
                continue
            while high < ends[group] and numbers[high] - numbers[i] <= within:
                inside += counts[high]
                high += 1
            while numbers[i] - numbers[low] > within:
                inside -= counts[low]
                low += 1
            most[group] = max(most[group], inside)


@kernel
def _sorted_by(keys, kinds, order):
    """Rows sorted by whole numbers below `kinds`; equal ones stay in the order they are in."""
    starts = np.zeros(kinds + 1, np.int64)
    for i in range(keys.size):
        starts[keys[i] + 1] += 1
    for kind in range(kinds):
        starts[kind + 1] += starts[kind]
    after = np.empty_like(order)
    for row in order:
        after[starts[keys[row]]] = row
        starts[keys[row]] += 1
    return after


@dataclass(frozen=True)
class Summary:
    """A figure of every class, in short: all but the extremes are exact to six digits."""

    least: float
    lower_quartile: float
    median: float
    upper_quartile: float
    largest: float
    mean: float


@dataclass(frozen=True, eq=False)
class Spread:
    """A figure of every class, of some classes at a time.

    figures: the different ones to six digits, ascending; times: how many classes have each. So a
    figure between 0 and 1 takes at most a million of them, however many classes there are.
    """

    least: float
    largest: float
    figures: NDArray[np.float64]
    times: NDArray[np.int64]

    @classmethod
    def of(cls, figures: NDArray) -> Self:
        """From the figure of each class."""
        rounded = np.asarray(np.round(figures.astype(np.float64), 6), np.float64)
        different, times = np.unique(rounded, return_counts=True)
        return cls(float(figures.min()), float(figures.max()), different, times)

    def merge(self, other: Self) -> Self:
        """With the classes of another."""
        figures, times = summed_by(
            np.concatenate([self.figures, other.figures]), np.concatenate([self.times, other.times])
        )
        least, largest = min(self.least, other.least), max(self.largest, other.largest)
        return type(self)(least, largest, figures, times)

    def summary(self) -> Summary:
        """In short."""
        up_to = np.cumsum(self.times)
        marks = [-(-int(up_to[-1]) * quarters // 4) for quarters in (1, 2, 3)]
        low, middle, high = self.figures[np.searchsorted(up_to, marks)].tolist()
        # Without rounding, lest the mean change with the order of the classes.
        mean = math.fsum(self.figures * self.times) / int(up_to[-1])
        return Summary(self.least, low, middle, high, self.largest, mean)


@dataclass(frozen=True, eq=False)
class Disclosure:
    """What classes give away of a confidential column.

    distinct, entropy, distance: see `WithinClasses`. records: how many there are; alone: how many
    of them are in a class that has one value only, which is disclosed.
    """

    distinct: Spread
    entropy: Spread
    distance: Spread
    records: int
    alone: int

    @classmethod
    def of(cls, within: WithinClasses) -> Self:
        """Of some classes."""
        distinct = within.distinct()
        return cls(
            Spread.of(distinct),
            Spread.of(within.entropy()),
            Spread.of(within.distance()),
            int(within.sizes.sum()),
            int(within.sizes[distinct == 1].sum()),
        )

    @property
    def percent_alone(self) -> float:
        """The share of records in a class that has one value only."""
        return 100.0 * self.alone / self.records

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "diversity": {
                "distinct": asdict(self.distinct.summary()),
                "entropy": asdict(self.entropy.summary()),
            },
            "closeness": asdict(self.distance.summary()),
            "disclosed": {"records": self.alone, "percent": self.percent_alone},
        }

    def merge(self, other: Self) -> Self:
        """With those of other classes."""
        return type(self)(
            self.distinct.merge(other.distinct),
            self.entropy.merge(other.entropy),
            self.distance.merge(other.distance),
            self.records + other.records,
            self.alone + other.alone,
        )


@dataclass(frozen=True)
class ClassCount:
    """Something that is counted of a confidential column, on whole classes of a release.

    name: what it is called; counts of one name and column are the same count.
    of: counts some whole classes; merge: puts two such counts together, in whatever order.
    """

    name: str
    column: str
    of: Callable[[WithinClasses], Any]
    merge: Callable[[Any, Any], Any]

    @property
    def key(self) -> tuple[str, str]:
        """What the count is found by."""
        return self.name, self.column


def disclosure(column: str) -> ClassCount:
    """The count of what classes give away of a column: see `Disclosure`."""
    return ClassCount("disclosure", column, Disclosure.of, Disclosure.merge)


def diversity_count(demand: Diversity) -> ClassCount:
    """The count that a demand of diversity is held against, a figure of every class.

    distinct, entropy: l, which must not be less; recursive: c, which must be above it; range: what
    they span; similar: the largest share, which must not be more.
    """
    limits = ":".join(f"{limit:g}" for limit in demand.limits)
    figures = partial(_figures, demand)
    return ClassCount(f"{demand.kind}:{limits}", demand.column, figures, Spread.merge)


def _figures(demand: Diversity, within: WithinClasses) -> Spread:
    if demand.kind == "recursive":
        return Spread.of(within.recursive(int(demand.limits[0])))
    if demand.kind == "similar":
        return Spread.of(within.similar(demand.limits[0]))
    name = "span" if demand.kind == "range" else demand.kind
    return Spread.of(getattr(within, name)())


def closeness_count(column: str) -> ClassCount:
    """The count that a demand of closeness is held against: the distance of every class."""
    return ClassCount("closeness", column, _distances, Spread.merge)


def _distances(within: WithinClasses) -> Spread:
    return Spread.of(within.distance())
