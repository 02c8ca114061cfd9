"""What the frequencies of key combinations add up to: in one go, or class by class."""

from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np
from numpy.typing import NDArray

from microagg.measure.risk.individual import individual_risk

# Sizes are added up in a table while it has no more places than so many times the sizes.
_TABLE = 4


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums over records, by how many share their keys in the sample (f) and the population (F).

    sizes: the different numbers of records that combinations have, ascending; times: how many
    combinations have each. agreeing: the same of f, which is another where missing keys agree with
    all; records: how many records have it. expected: the re-identifications to be expected;
    matched: the sum of 1 / F. risky: the records whose risk is too high. least: the least F;
    lightest: the least F / f. population: the sum of all weights.
    """

    sizes: NDArray[np.int64]
    times: NDArray[np.int64]
    agreeing: NDArray[np.int64]
    records: NDArray[np.int64]
    expected: float
    matched: float
    risky: int
    least: float
    lightest: float
    population: float

    @classmethod
    def of(
        cls,
        sizes: NDArray[np.int64],
        weights: NDArray[np.float64],
        threshold: float,
        sample: NDArray[np.int64] | None = None,
        population: NDArray[np.float64] | None = None,
    ) -> Self:
        """From the records and the weights of each combination; sample, population: f and F where
        these are others."""
        sample = sizes if sample is None else sample
        population = weights if population is None else population
        risks = individual_risk(sample, population)
        risky = risks > threshold
        at_least = np.maximum(population, sample)
        return cls(
            *_added_up(sizes, np.ones_like(sizes)),
            *_added_up(sample, sizes),
            float((risks * sizes).sum()),
            float((sizes / at_least).sum()),
            int(sizes[risky].sum()),
            float(at_least.min(initial=np.inf)),
            float((at_least / sample).min(initial=np.inf)),
            float(weights.sum()),
        )

    def merge(self, other: Self) -> Self:
        """With combinations of other records."""
        sizes, times = _joined(self.sizes, self.times, other.sizes, other.times)
        agreeing, records = _joined(self.agreeing, self.records, other.agreeing, other.records)
        return type(self)(
            sizes,
            times,
            agreeing,
            records,
            self.expected + other.expected,
            self.matched + other.matched,
            self.risky + other.risky,
            min(self.least, other.least),
            min(self.lightest, other.lightest),
            self.population + other.population,
        )

    @property
    def rows(self) -> int:
        """How many records there are."""
        return int(self.records.sum())

    @property
    def combinations(self) -> int:
        """How many combinations there are."""
        return int(self.times.sum())

    @property
    def smallest(self) -> int:
        """The least f."""
        return int(self.agreeing[0])

    @property
    def prosecuted(self) -> float:
        """The sum of 1 / f."""
        return float((self.records / self.agreeing).sum())

    def violating(self, k: int) -> int:
        """The records whose keys fewer than k share, themselves among them."""
        return int(self.records[self.agreeing < k].sum())

    @property
    def distinction(self) -> float:
        """Different combinations as a share of the records (Motwani and Xu 2007), in percent."""
        return 100.0 * self.combinations / max(1, self.rows)

    @property
    def separation(self) -> float:
        """The pairs of records that are told apart (Motwani and Xu 2007), in percent."""
        n, sizes = self.rows, self.sizes.astype(np.float64)
        together = float((self.times * sizes * (sizes - 1.0)).sum())
        return 100.0 * (1.0 - together / (n * (n - 1.0))) if n > 1 else 0.0


def added(tallies: list[Tally]) -> Tally:
    """All of them together."""
    return reduce(Tally.merge, tallies)


def _joined(
    keys: NDArray[np.int64],
    counts: NDArray[np.int64],
    other_keys: NDArray[np.int64],
    other_counts: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return _added_up(np.concatenate([keys, other_keys]), np.concatenate([counts, other_counts]))


def _added_up(
    keys: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Different keys, ascending, and what the counts of each add up to."""
    most = int(keys.max(initial=0))
    if most > _TABLE * keys.size:
        different, places = np.unique(keys, return_inverse=True)
        sums = np.bincount(places, counts)
    else:
        sums = np.bincount(keys, counts)
        different = np.flatnonzero(np.bincount(keys))
        sums = sums[different]
    return different, sums.astype(np.int64)
