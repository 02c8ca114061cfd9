"""What a class of records that look alike gives away of a secret."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Summary:
    """A figure of every group, in short; `worst` is the label of the group that is worst off."""

    least: float
    lower_quartile: float
    median: float
    upper_quartile: float
    largest: float
    mean: float
    worst: int


def _summary(figures: NDArray, worst: np.intp) -> Summary:
    marks = np.quantile(figures, [0.0, 0.25, 0.5, 0.75, 1.0], method="inverted_cdf")
    least, lower, median, higher, largest = map(float, marks)
    # Without rounding, lest the mean change with the order in which parts are counted.
    mean = math.fsum(figures) / figures.size
    return Summary(least, lower, median, higher, largest, mean, int(worst))


@dataclass(frozen=True)
class Diversity:
    """How many values of a confidential attribute a group has; higher is better.

    distinct: the number of different values, from 1. Its least is l of distinct l-diversity.
    entropy: exp(-sum p ln p) over the shares p of the values, from 1 to `distinct`: the number of
    equally frequent values that would be as hard to guess. Its least is l of entropy l-diversity.
    """

    distinct: Summary
    entropy: Summary


class ConfidentialCounts:
    """How often each value of a confidential attribute occurs in each group, added up over parts.

    ordered: whether values have an order. The figures do not depend on how the
    records are cut into parts, to the last bit, as long as no group has records in two parts.
    Memory for three numbers a different pair of group and value.
    """

    def __init__(self, *, ordered: bool = True) -> None:
        self._ordered = ordered
        self._parts: list[_Runs] = []

    def add(
        self,
        confidential: NDArray,
        labels: NDArray[np.int64],
        missing: NDArray[np.bool_] | None = None,
    ) -> None:
        """Count a part, whose groups 0 to g - 1 are numbered on from those of earlier parts.

        labels: the group of each record. confidential: numbers, codes or text that mean the same in
        every part. missing: where there is no value, which counts as one below all others.
        O(n log n) time.
        """
        self._parts.append(_runs(confidential, labels, missing))

    def merge(self, other: "ConfidentialCounts") -> None:
        """Add the parts that others counted, numbered on from those counted here."""
        self._parts += other._parts

    def diversity(self) -> Diversity:
        """l-diversity (Machanavajjhala et al. 2007) of the attribute within groups."""
        runs = _joined(self._parts)
        distinct = np.bincount(runs.groups)
        shares = runs.counts / runs.sizes[runs.groups]
        entropy = np.exp(-np.bincount(runs.groups, weights=shares * np.log(shares)))
        return Diversity(_summary(distinct, distinct.argmin()), _summary(entropy, entropy.argmin()))

    def closeness(self) -> Summary:
        """How far the distribution within a group is from that among all: t-closeness.

        Between 0 (as among all) and 1; lower is better, and the largest is the t that holds. Li, Li
        and Venkatasubramanian (2007). Ordered: the earth mover's distance when neighbouring values,
        of m different ones, are 1 / (m - 1) apart: the mean of |share up to v - share up to v among
        all| over all values v but the last. Else, for categories: half the sum of |p - q|.
        """
        runs = _joined(self._parts)
        among_all = np.bincount(runs.ranks, weights=runs.counts)
        distances = _moved(runs, among_all) if self._ordered else _apart(runs, among_all)
        return _summary(distances, distances.argmax())


@dataclass(frozen=True, eq=False)
class _Runs:
    """Which values occur in which group, and how often: by group, then by value."""

    groups: NDArray[np.int64]
    ranks: NDArray[np.int64]  # 0: no value; from 1 on: among `values`
    counts: NDArray[np.int64]
    sizes: NDArray[np.int64]  # of the groups
    values: NDArray  # ascending

    @property
    def n(self) -> int:
        return int(self.sizes.sum())


def _runs(
    confidential: NDArray, labels: NDArray[np.int64], missing: NDArray[np.bool_] | None
) -> _Runs:
    values, ranks = np.unique(confidential, return_inverse=True)
    ranks += 1
    if missing is not None:
        ranks[missing] = 0
    m = values.size + 1
    keys = labels * m + ranks
    keys.sort()
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return _Runs(
        keys[starts] // m,
        keys[starts] % m,
        np.diff(starts, append=keys.size),
        np.bincount(labels),
        values,
    )


def _joined(parts: Sequence[_Runs]) -> _Runs:
    """All parts in one; ranks from 0 on, and every one of them occurs."""
    values = np.unique(np.concatenate([part.values for part in parts]))
    groups, ranks, first = [], [], 0
    for part in parts:
        groups.append(part.groups + first)
        ranks.append(np.append(0, np.searchsorted(values, part.values) + 1)[part.ranks])
        first += part.sizes.size
    everything = np.concatenate(ranks)
    occurs = np.bincount(everything) > 0
    return _Runs(
        np.concatenate(groups),
        (np.cumsum(occurs) - 1)[everything],
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.sizes for part in parts]),
        values,
    )


def _apart(runs: _Runs, among_all: NDArray) -> NDArray:
    """Half the sum of |p - q| for each group: what p has more than q, for both sum to 1."""
    more = runs.counts / runs.sizes[runs.groups] - among_all[runs.ranks] / runs.n
    return np.bincount(runs.groups, weights=np.maximum(0.0, more))


def _moved(runs: _Runs, among_all: NDArray) -> NDArray[np.float64]:
    """The earth mover's distance of each group, in time that does not grow with groups times m.

    From one value of a group to the next its cumulated share c stays, while that among all only
    grows: so it is below c up to some value and above from there on, and sums over many values come
    from sums of all up to a value.
    """
    m = among_all.size
    cumulated = np.cumsum(among_all)
    upto = np.concatenate([[0.0], np.cumsum(cumulated)])
    first_of_group = np.concatenate([[True], runs.groups[1:] != runs.groups[:-1]])
    last_of_group = np.concatenate([first_of_group[1:], [True]])
    before = np.cumsum(runs.counts) - runs.counts
    within = before - np.maximum.accumulate(np.where(first_of_group, before, 0)) + runs.counts
    share = within / runs.sizes[runs.groups]
    starts = runs.ranks
    ends = np.where(last_of_group, m, np.append(runs.ranks[1:], m))
    turn = np.clip(np.searchsorted(cumulated, share * runs.n, side="right"), starts, ends)
    below = share * (turn - starts) - (upto[turn] - upto[starts]) / runs.n
    above = (upto[ends] - upto[turn]) / runs.n - share * (ends - turn)
    distances = np.bincount(runs.groups, weights=np.maximum(below, 0.0) + np.maximum(above, 0.0))
    # Before its first value a group has nothing, and all the others have is to be moved.
    distances += upto[starts[first_of_group]] / runs.n
    return np.clip(distances / max(1, m - 1), 0.0, 1.0)
