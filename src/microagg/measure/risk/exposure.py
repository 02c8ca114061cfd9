"""What the figures of a table's risk are computed from: its keys, weights and households."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.measure.risk.exposing import KeyColumn, TellingCombination, key_columns
from microagg.measure.risk.frequencies import Frequencies, frequencies
from microagg.measure.risk.individual import household_risk, individual_risk
from microagg.measure.risk.keys import Combinations, Keys
from microagg.measure.risk.population import PopulationUniques, population_uniques
from microagg.measure.risk.special_uniques import SpecialUniques, special_uniques

# A tenth and less: what the European Medicines Agency (policy 0070) and Health Canada ask for.
THRESHOLD = 0.09
# So many combinations of columns are told.
TELLING = 10


@dataclass(frozen=True, eq=False, kw_only=True)
class Exposure:
    """The keys of a table; what several figures share is worked out once, when asked for.

    weights: for how many of the population each record stands; None if the table is all there is.
    households: the number of each record's, from 0. wildcards: see `frequencies`.
    threshold: the individual risk that is too high. largest: see `special_uniques`; 0 looks for
    none.
    """

    keys: Keys
    weights: NDArray[np.float64] | None = None
    households: NDArray[np.int64] | None = None
    wildcards: bool = False
    threshold: float = THRESHOLD
    largest: int = 0
    advance: Advance = silent

    @property
    def rows(self) -> int:
        """How many records there are."""
        return self.keys.rows

    @property
    def combinations(self) -> Combinations:
        """Of the keys."""
        return self.keys.combinations

    @cached_property
    def frequencies(self) -> Frequencies:
        """By combination."""
        return frequencies(self.combinations, self.weights, wildcards=self.wildcards)

    @cached_property
    def population(self) -> NDArray[np.float64]:
        """By combination, never less than there are in the sample."""
        return np.maximum(self.frequencies.population, self.frequencies.sample)

    @cached_property
    def risks(self) -> NDArray[np.float64]:
        """The individual risk by combination."""
        return individual_risk(*self.frequencies)

    @cached_property
    def household_risks(self) -> NDArray[np.float64]:
        """By record."""
        assert self.households is not None
        return household_risk(self.risks[self.combinations.labels], self.households)

    @cached_property
    def special(self) -> SpecialUniques | None:
        """The special uniques, if they were asked for."""
        if not self.largest:
            return None
        return special_uniques(
            self.combinations, self.largest, wildcards=self.wildcards, advance=self.advance
        )

    @cached_property
    def dis(self) -> NDArray[np.float64]:
        """DIS scores by combination."""
        assert self.special is not None
        sizes = self.combinations.sizes
        return self.special.dis(int((sizes == 1).sum()), 2 * int((sizes == 2).sum()))

    @cached_property
    def columns(self) -> tuple[KeyColumn, ...]:
        """What each column tells."""
        special = None if self.special is None else self.special.column_contributions
        return key_columns(self.combinations, self.weights, special, wildcards=self.wildcards)

    @cached_property
    def telling(self) -> tuple[TellingCombination, ...]:
        """The combinations of columns that add most to the scores of special uniques."""
        special = self.special
        if special is None:
            return ()
        order = np.lexsort((special.sets, -special.times, -special.contributions))[:TELLING]
        return tuple(
            TellingCombination(
                tuple(
                    name
                    for bit, name in enumerate(self.keys.names)
                    if special.sets[each] >> bit & 1
                ),
                int(special.times[each]),
                float(special.contributions[each]),
            )
            for each in order
        )

    @cached_property
    def population_uniques(self) -> PopulationUniques | None:
        """Those of the population, where the sample is not all of it."""
        if self.weights is None:
            return None
        sizes, times = np.unique(self.combinations.sizes, return_counts=True)
        return population_uniques(sizes, times, float(self.weights.sum()))

    def mean(self, by_combination: NDArray) -> float:
        """The mean over records of what is known by combination."""
        return self.total(by_combination) / max(1, self.rows)

    def total(self, by_combination: NDArray) -> float:
        """The sum over records."""
        return float((by_combination * self.combinations.sizes).sum())

    def violating(self, k: int) -> int:
        """The records whose keys fewer than k share, themselves among them."""
        return int(self.total(self.frequencies.sample < k))

    @property
    def suggested_k(self) -> int:
        """The least k such that nobody whose keys k or more records share has too high a risk.

        Where that is nobody at all, the k that is enough for somebody who knows who is there.
        """
        sample = self.frequencies.sample
        k = max(2, int(sample[self.risks > self.threshold].max(initial=1)) + 1)
        return k if k <= sample.max() else max(k, math.ceil(1.0 / self.threshold))
