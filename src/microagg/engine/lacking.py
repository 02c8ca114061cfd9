"""Whether the records of a cell can keep demands at ease, judged by counts of few bins.

Counts of leaves add up, whoever counts them and in whatever order, so every engine merges the same
leaves. A figure here is never better than the truth: what is enough by it is enough.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.base.demands import Closeness, Diversity
from microagg.columns.coded import Coded
from microagg.engine.demanded import Values
from microagg.measure.anonymity import AmongAll

_MOST_BINS = 1024
# Exponents of floats, from the least to the largest, and one for zero.
_LEAST_EXPONENT, _EXPONENTS, _LARGEST = -1074, 2100, np.finfo(np.float64).max
# Pieces dealt by lot miss what they need once in e^20 times.
_CERTAIN = 20.0

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Bins:
    """Values of a confidential column in few bins: those of ranks in a row, no value for itself.

    starts: the first rank of each bin; widths: how many ranks each has; whole: how many records.
    common: where values have no order, the ranks of the commonest, which have the first bins, while
    all others share the last. low, high: the least and largest number in each, NaN where there is
    none; None where nobody asks.
    """

    starts: NDArray[np.int64]
    widths: Counts
    whole: Counts
    common: NDArray[np.int64] | None = None
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, among_all: AmongAll, numeric: bool) -> "Bins":
        """numeric: differences of values will be asked for."""
        counts = among_all.counts
        size, gap = counts.size, int(among_all.gaps)
        if size > _MOST_BINS and not among_all.ordered and not numeric:
            common = np.sort(np.argsort(-counts, kind="stable")[: _MOST_BINS - 1])
            whole = np.append(counts[common], counts.sum() - counts[common].sum())
            widths = np.append(np.ones(common.size, np.int64), size - common.size)
            return cls(np.arange(widths.size), widths, whole, common)
        bins = min(size - gap, _MOST_BINS)
        starts = np.append(np.arange(gap) * 0, gap + np.arange(bins) * (size - gap) // max(1, bins))
        widths = np.diff(np.append(starts, size))
        whole = np.add.reduceat(counts, starts)
        if not numeric:
            return cls(starts, widths, whole)
        numbers = among_all.numbers
        return cls(starts, widths, whole, None, numbers[starts], numbers[starts + widths - 1])

    def bin_of(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bin of each rank."""
        if self.common is None:
            return np.searchsorted(self.starts, ranks, side="right") - 1
        places = np.minimum(np.searchsorted(self.common, ranks), self.common.size - 1)
        return np.where(self.common[places] == ranks, places, self.common.size)


@dataclass(frozen=True, eq=False)
class Yardstick:
    """A demand as a figure of counts that must stay below a limit.

    place: of the table that it is measured on. measure: never less than the truth. rows: how many
    records a piece of so many needs that is dealt by lot, from its counts and how far below the
    limit they are.
    """

    place: int
    limit: float
    measure: Callable[[Counts], float]
    rows: Callable[[Counts, float], float]
    whole: float = 0.0

    def eases(self, counts: Counts) -> bool:
        """Whether records keep it at ease: well below the limit, or half as near as all are."""
        if self.whole >= self.limit:
            return False
        return self.measure(counts) <= max(self.limit / 2, (self.limit + self.whole) / 2)

    def needed(self, counts: Counts) -> float:
        """How many of the records a piece of them must have."""
        slack = self.limit - self.measure(counts)
        return self.rows(counts, slack) if slack > 0.0 else np.inf


class Lacking:
    """The demands of a recipe, for cells.

    tables: how many bins there are in each of the tables that leaves are counted in.
    """

    def __init__(self, values: Values, means: Sequence[str]) -> None:
        """means: the quasi-identifiers that publish means and have a limit of dominance."""
        recipe = values.recipe
        self._bins = [
            Bins.of(among_all, secret.name in values.numeric)
            for secret, among_all in zip(values.secrets, values.among_all, strict=True)
        ]
        self._means = tuple(means)
        sides = 1 if recipe.weights is None else 2
        self.tables = [bins.whole.size for bins in self._bins]
        self.tables += [_EXPONENTS] * sides * len(means)
        self._yardsticks: list[Yardstick] = []
        for demand in recipe.demands:
            place = recipe.demanded.index(demand.column)
            made = _yardstick(demand, place, self._bins[place], values.secrets[place].ordered)
            self._yardsticks.append(made)
        for place in range(len(self._bins), len(self.tables)):
            name = means[(place - len(self._bins)) // sides]
            share = recipe.dominance[name]
            self._yardsticks.append(Yardstick(place, share, _largest_part, partial(_dealt, share)))

    def counted(
        self,
        leaves: NDArray[np.int64],
        count: int,
        ranks: NDArray[np.int64],
        columns: Sequence[Coded],
        weights: NDArray[np.float64] | None,
        entities: NDArray[np.int64] | None = None,
    ) -> list[Counts]:
        """How many of some records are in which bin, (leaves, bins) for each table.

        leaves: of `count`, none where they do not stay.
        """
        stays = leaves >= 0
        found = [
            _table(leaves[stays], bins.bin_of(ranks[stays, place]), count, bins.whole.size)
            for place, bins in enumerate(self._bins)
        ]
        for column in (each for each in columns if each.name in self._means):
            heavy = np.ones(leaves.size) if weights is None else weights
            heavy = heavy if column.missing is None else np.where(column.missing, 0.0, heavy)
            sizes = heavy if not column.traits.amounts else heavy * np.abs(column.values)
            for parts in (sizes,) if weights is None else (sizes, heavy):
                homes = leaves
                if entities is not None:
                    homes = leaves[np.unique(entities, return_index=True)[1]]
                    parts = np.bincount(entities, parts)
                there = (homes >= 0) & (parts > 0.0)
                bins = np.frexp(np.minimum(parts[there], _LARGEST))[1] - _LEAST_EXPONENT
                found.append(_table(homes[there], bins, count, _EXPONENTS))
        return found

    def judge(self, tables: Sequence[Counts]) -> "Judge":
        """Ready to judge leaves; tables: what was counted of all of them."""
        yardsticks = [
            replace(each, whole=each.measure(tables[each.place].sum(axis=0)))
            for each in self._yardsticks
        ]
        return Judge(yardsticks, tables)


class Judge:
    """Judges leaves by what was counted in them."""

    def __init__(self, yardsticks: Sequence[Yardstick], tables: Sequence[Counts]) -> None:
        self._yardsticks, self._tables = yardsticks, tables

    def is_enough(self, leaves: NDArray[np.int64]) -> bool:
        """Whether leaves together keep every demand at ease."""
        return all(each.eases(self._of(each, leaves)) for each in self._yardsticks)

    def needed(self, leaves: NDArray[np.int64]) -> float:
        """How many of their records a piece must have to keep every demand, if dealt by lot."""
        return max((each.needed(self._of(each, leaves)) for each in self._yardsticks), default=1.0)

    def _of(self, each: Yardstick, leaves: NDArray[np.int64]) -> Counts:
        found: Counts = self._tables[each.place][leaves].sum(axis=0)
        return found


def _table(leaves: NDArray[np.int64], bins: NDArray[Any], count: int, width: int) -> Counts:
    return np.bincount(leaves * width + bins, minlength=count * width).reshape(count, width)


def _yardstick(demand: Diversity | Closeness, place: int, bins: Bins, ordered: bool) -> Yardstick:
    if isinstance(demand, Closeness):
        apart = _moved if ordered else _apart
        return Yardstick(place, demand.t, partial(apart, bins), _rows_of_figure)
    first, *more = demand.limits
    if demand.kind == "distinct":
        return Yardstick(place, 1.0, partial(_commonest, int(first) - 1), _rows_of_share)
    if demand.kind == "entropy":
        return Yardstick(place, 1.0 / first, _certainty, _rows_of_figure)
    if demand.kind == "recursive":
        measure = partial(_ratio, int(first), more[0])
        return Yardstick(place, 1.0, measure, partial(_rows_of_ratio, int(first)))
    if demand.kind == "range":
        return Yardstick(place, 1.0, partial(_densest, bins, first, False), _rows_of_share)
    return Yardstick(place, more[0], partial(_densest, bins, 2.0 * first, True), _rows_of_figure)


def _rows_of_figure(_counts: Counts, slack: float) -> float:
    """A mean over shares strays by more than s in n records once in exp(2 n s^2) times."""
    return _CERTAIN / 2.0 / slack**2


def _rows_of_share(_counts: Counts, slack: float) -> float:
    """Bernstein's bound on how far a share strays that is `slack` from all."""
    return 2.0 * _CERTAIN * (slack * (1.0 - slack) + slack / 3.0) / slack**2


def _rows_of_ratio(least: int, counts: Counts, slack: float) -> float:
    rest = 1.0 - np.sort(counts)[::-1][: least - 1].sum() / counts.sum()
    return 2.0 * _CERTAIN / (slack**2 * rest)


def _dealt(share: float, counts: Counts, _slack: float) -> float:
    """One of p pieces has the largest contribution and a p-th of the others."""
    largest = _largest_part(counts)
    return float(4.0 * counts.sum() * largest / share)


def _moved(bins: Bins, counts: Counts) -> float:
    """At least the earth mover's distance: within a bin both shares grow from start to end."""
    ends, all_ends = (np.cumsum(each) / each.sum() for each in (counts, bins.whole))
    starts, all_starts = (np.append(0.0, each[:-1]) for each in (ends, all_ends))
    most = np.maximum(ends - all_starts, all_ends - starts)
    exact = bins.widths == 1
    most[exact] = np.abs(ends - all_ends)[exact]
    return float((most * bins.widths).sum() / max(1, bins.widths.sum() - 1))


def _apart(bins: Bins, counts: Counts) -> float:
    """At least half the sum of differences: those of values in one bin may all add up."""
    shares, all_shares = counts / counts.sum(), bins.whole / bins.whole.sum()
    differ = np.where(bins.widths == 1, np.abs(shares - all_shares), shares + all_shares)
    return float(differ.sum() / 2.0)


def _commonest(most: int, counts: Counts) -> float:
    """The share of so many commonest values; all, where there are no others."""
    return float(np.sort(counts)[::-1][:most].sum() / max(1, counts.sum()))


def _certainty(counts: Counts) -> float:
    shares = counts[counts > 0] / max(1, counts.sum())
    return float(np.exp((shares * np.log(shares)).sum())) if shares.size else np.inf


def _ratio(least: int, c: float, counts: Counts) -> float:
    ordered = np.sort(counts)[::-1]
    rest = ordered[least - 1 :].sum()
    return float(ordered[0] / (c * rest)) if rest else np.inf


def _densest(bins: Bins, wide: float, closed: bool, counts: Counts) -> float:
    """The largest share in a window so wide, and of records without a number.

    Not closed: these count in every window, for they widen none.
    """
    assert bins.low is not None
    assert bins.high is not None
    there = ~np.isnan(bins.low)
    low, high, inside = bins.low[there], bins.high[there], counts[there]
    missing, total = int(counts[~there].sum()), max(1, int(counts.sum()))
    up_to = np.append(0, np.cumsum(inside))
    ends = np.searchsorted(low, high + wide, "right" if closed else "left")
    densest = int((up_to[ends] - up_to[:-1]).max(initial=0))
    return (max(densest, missing) if closed else densest + missing) / total


def _largest_part(counts: Counts) -> float:
    """At least the share that the largest of numbers has, counted by their exponents."""
    there = np.flatnonzero(counts)
    if not there.size:
        return 0.0
    sizes = np.ldexp(1.0, there - there[-1])
    others = float((counts[there] * sizes).sum() - 1.0) / 2.0
    return 1.0 / (1.0 + others)
