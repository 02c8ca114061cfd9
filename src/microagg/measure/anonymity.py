"""What a class of records that look alike gives away of a secret."""

import math
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
    # Without rounding, lest the mean change with the order of the groups.
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
    """How often each value of a confidential attribute occurs in each group.

    confidential: numbers, codes or text. labels: the group, 0 to g - 1, of each record. missing:
    where there is no value, which counts as one below all others. ordered: whether values have an
    order. O(n log n) time.
    """

    def __init__(
        self,
        confidential: NDArray,
        labels: NDArray[np.int64],
        missing: NDArray[np.bool_] | None = None,
        *,
        ordered: bool = True,
    ) -> None:
        ranks = np.unique(confidential, return_inverse=True)[1]
        if missing is not None:
            ranks = np.where(missing, 0, ranks + 1)
            # Every rank occurs, also where a value stood only beneath what is missing.
            ranks = (np.cumsum(np.bincount(ranks) > 0) - 1)[ranks]
        self._ordered = ordered
        self._n = labels.size
        self._among_all = np.bincount(ranks)
        # Which ranks occur in which group, and how often: by group, then by rank.
        m = self._among_all.size
        keys, self._counts = np.unique(labels * m + ranks, return_counts=True)
        self._groups, self._ranks = keys // m, keys % m
        self._sizes = np.bincount(labels)[self._groups]

    def diversity(self) -> Diversity:
        """l-diversity (Machanavajjhala et al. 2007) of the attribute within groups."""
        distinct = np.bincount(self._groups)
        shares = self._counts / self._sizes
        entropy = np.exp(-np.bincount(self._groups, weights=shares * np.log(shares)))
        return Diversity(_summary(distinct, distinct.argmin()), _summary(entropy, entropy.argmin()))

    def closeness(self) -> Summary:
        """How far the distribution within a group is from that among all: t-closeness.

        Between 0 (as among all) and 1; lower is better, and the largest is the t that holds. Li, Li
        and Venkatasubramanian (2007). Ordered: the earth mover's distance when neighbouring values,
        of m different ones, are 1 / (m - 1) apart: the mean of |share up to v - share up to v among
        all| over all values v but the last. Else, for categories: half the sum of |p - q|.
        """
        distances = self._moved() if self._ordered else self._apart()
        return _summary(distances, distances.argmax())

    def _apart(self) -> NDArray:
        """Half the sum of |p - q| for each group: what p has more than q, for both sum to 1."""
        more = self._counts / self._sizes - self._among_all[self._ranks] / self._n
        return np.bincount(self._groups, weights=np.maximum(0.0, more))

    def _moved(self) -> NDArray[np.float64]:
        """The earth mover's distance of each group, in time that does not grow with groups times m.

        From one value of a group to the next its cumulated share c stays, while that among all only
        grows: so it is below c up to some value and above from there on, and sums over many values
        come from sums of all up to a value.
        """
        n, m = self._n, self._among_all.size
        cumulated = np.cumsum(self._among_all)
        upto = np.concatenate([[0.0], np.cumsum(cumulated)])
        first_of_group = np.concatenate([[True], self._groups[1:] != self._groups[:-1]])
        last_of_group = np.concatenate([first_of_group[1:], [True]])
        within = np.cumsum(self._counts)
        before = within - self._counts
        within -= np.maximum.accumulate(np.where(first_of_group, before, 0))
        share = within / self._sizes
        starts = self._ranks
        ends = np.where(last_of_group, m, np.append(starts[1:], m))
        turn = np.clip(np.searchsorted(cumulated, share * n, side="right"), starts, ends)
        below = share * (turn - starts) - (upto[turn] - upto[starts]) / n
        above = (upto[ends] - upto[turn]) / n - share * (ends - turn)
        moved = np.maximum(below, 0.0) + np.maximum(above, 0.0)
        distances = np.bincount(self._groups, weights=moved)
        # Before its first value a group has nothing, and all the others have is to be moved.
        distances += upto[starts[first_of_group]] / n
        return np.clip(distances / max(1, m - 1), 0.0, 1.0)
