"""What the figures of a table's risk are computed from: its keys, weights and households."""

import math
from dataclasses import dataclass, replace
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
from microagg.measure.risk.tally import Tally

# A tenth and less: what the European Medicines Agency (policy 0070) and Health Canada ask for.
THRESHOLD = 0.09
# So many combinations of columns are told.
TELLING = 10


@dataclass(frozen=True, eq=False)
class Whole:
    """What was counted on all records, where the keys are those of a sample.

    columns: what each key tells, but for special uniques. frequencies: by record of the sample;
    household_risks: the same, where there are households. household_expected: see `Exposure`.
    """

    tally: Tally
    columns: tuple[KeyColumn, ...]
    frequencies: Frequencies
    household_risks: NDArray[np.float64] | None = None
    household_expected: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Exposure:
    """The keys of a table; what several figures share is worked out once, when asked for.

    weights: for how many of the population each record stands; None if the table is all there is.
    households: the number of each record's, from 0. wildcards: see `frequencies`.
    threshold: the individual risk that is too high. largest: see `special_uniques`; 0 looks for
    none. whole: of all records, where the keys are those of a sample.
    """

    keys: Keys
    weights: NDArray[np.float64] | None = None
    households: NDArray[np.int64] | None = None
    wildcards: bool = False
    threshold: float = THRESHOLD
    largest: int = 0
    advance: Advance = silent
    whole: Whole | None = None

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
    def tally(self) -> Tally:
        """What all records add up to."""
        if self.whole is not None:
            return self.whole.tally
        combinations = self.combinations
        summed = combinations.summed(self.weights)
        return Tally.of(combinations.sizes, summed, self.threshold, *self.frequencies)

    @cached_property
    def by_record(self) -> Frequencies:
        """The frequencies by record."""
        if self.whole is not None:
            return self.whole.frequencies
        labels, (sample, population) = self.combinations.labels, self.frequencies
        return Frequencies(sample[labels], population[labels])

    @cached_property
    def risks_by_record(self) -> NDArray[np.float64]:
        """The individual risk by record."""
        if self.whole is not None:
            return individual_risk(*self.by_record)
        return self.risks[self.combinations.labels]

    @cached_property
    def risks(self) -> NDArray[np.float64]:
        """The individual risk by combination."""
        return individual_risk(*self.frequencies)

    @cached_property
    def household_risks(self) -> NDArray[np.float64]:
        """By record."""
        if self.whole is not None and self.whole.household_risks is not None:
            return self.whole.household_risks
        assert self.households is not None
        return household_risk(self.risks_by_record, self.households)

    @property
    def household_expected(self) -> float:
        """The records of households of which somebody is to be found."""
        if self.whole is not None:
            return self.whole.household_expected
        return float(self.household_risks.sum())

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
        if self.whole is not None:
            shares = [None] * len(self.whole.columns) if special is None else special.tolist()
            both = zip(self.whole.columns, shares, strict=True)
            return tuple(replace(column, contribution=share) for column, share in both)
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
        tally = self.tally
        return population_uniques(tally.sizes, tally.times, tally.population)

    def violating(self, k: int) -> int:
        """The records whose keys fewer than k share, themselves among them."""
        return self.tally.violating(k)

    @property
    def suggested_k(self) -> int:
        """The least k such that no record has too high a risk once k share every combination, each
        of which stands for as few of the population as those of any combination do now."""
        k, most = 2, max(2, math.ceil(1.0 / self.threshold))
        while k < most:
            middle = (k + most) // 2
            alike = np.array([middle])
            if individual_risk(alike, alike * self.tally.lightest)[0] > self.threshold:
                k = middle + 1
            else:
                most = middle
        return k
