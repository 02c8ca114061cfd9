"""Which key columns expose the records, each for itself and together with the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.threads import run_each
from microagg.measure.risk.frequencies import Frequencies, agreeing
from microagg.measure.risk.keys import Combinations, joined
from microagg.measure.risk.tally import Tally


@dataclass(frozen=True)
class KeyColumn:
    """What one key column tells.

    values: how many different ones it has, no value being one. unique_alone: the records that it
    singles out by itself. distinction, separation: in percent, see `Tally`.
    unique_without: the records that the other keys single out; expected_without: the
    re-identifications to be expected by these. contribution: what the special uniques that it has
    part in add to all scores, in percent; None where these were not looked for.
    """

    name: str
    values: int
    unique_alone: int
    distinction: float
    separation: float
    unique_without: int
    expected_without: float
    contribution: float | None = None

    @classmethod
    def of(cls, name: str, alone: Tally, without: Tally, contribution: float | None) -> Self:
        """From what it adds up to alone, and what the other keys do."""
        return cls(
            name,
            values=alone.combinations,
            unique_alone=alone.violating(2),
            distinction=alone.distinction,
            separation=alone.separation,
            unique_without=without.violating(2),
            expected_without=without.expected,
            contribution=contribution,
        )


@dataclass(frozen=True)
class TellingCombination:
    """Columns that single records out together, and no fewer of them do.

    records: how many; contribution: what they add to the scores of special uniques, in percent.
    """

    columns: tuple[str, ...]
    records: int
    contribution: float


def key_columns(
    combinations: Combinations,
    weights: NDArray[np.float64] | None = None,
    contributions: NDArray[np.float64] | None = None,
    *,
    wildcards: bool = False,
) -> tuple[KeyColumn, ...]:
    """What each key column tells, alone and when it is left out. O(combinations columns) time."""
    keys, sizes = combinations.distinct, combinations.sizes
    summed, columns = combinations.summed(weights), list(zip(keys.codes, keys.kinds, strict=True))
    before, after = _up_to_each(columns), _up_to_each(columns[::-1])[::-1]
    found: list[KeyColumn | None] = [None] * len(columns)

    def look(place: int) -> None:
        by_value = np.bincount(keys.codes[place], sizes).astype(np.int64)
        by_value = by_value[by_value > 0]
        labels, count = joined(*before[place], *after[place])
        records = np.bincount(labels, sizes, count).astype(np.int64)
        summed_rest = np.bincount(labels, summed, count).astype(np.float64)
        without = Frequencies(records, summed_rest)
        if wildcards:
            rest = Combinations(keys.without(place), labels, count)
            without = agreeing(rest.distinct, without)
        found[place] = KeyColumn.of(
            keys.names[place],
            Tally.of(by_value, by_value.astype(np.float64), 1.0),
            Tally.of(records, summed_rest, 1.0, *without),
            None if contributions is None else float(contributions[place]),
        )

    run_each([partial(look, place) for place in range(len(found))])
    return tuple(column for column in found if column is not None)


def _up_to_each(columns: Sequence[tuple[NDArray, int]]) -> list[tuple[NDArray[np.int32], int]]:
    """The combinations of all columns before each, so that it takes one step to leave one out."""
    labels, count = np.zeros(columns[0][0].size, np.int64), 1
    found = [(labels.astype(np.int32), count)]
    for codes, kinds in columns[:-1]:
        labels, count = joined(labels, count, codes, kinds)
        found.append((labels.astype(np.int32), count))
    return found
