"""Which key columns expose the records, each for itself and together with the others."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from microagg.measure.risk.frequencies import Frequencies, agreeing
from microagg.measure.risk.keys import Combinations, Keys, joined
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
    summed, found = combinations.summed(weights), []
    for place, rest in enumerate(_without_each(keys)):
        by_value = np.bincount(keys.codes[place], sizes).astype(np.int64)
        by_value = by_value[by_value > 0]
        records = np.bincount(rest.labels, sizes, rest.count).astype(np.int64)
        summed_rest = np.bincount(rest.labels, summed, rest.count).astype(np.float64)
        without = Frequencies(records, summed_rest)
        if wildcards:
            without = agreeing(rest.distinct, without)
        found.append(
            KeyColumn.of(
                keys.names[place],
                Tally.of(by_value, by_value.astype(np.float64), 1.0),
                Tally.of(records, summed_rest, 1.0, *without),
                None if contributions is None else float(contributions[place]),
            )
        )
    return tuple(found)


def _without_each(keys: Keys) -> Iterator[Combinations]:
    """The combinations of all columns but one, for each of them.

    Those before it and those after it, joined: so each takes one step more, not all columns.
    """
    last = len(keys.names) - 1
    after: list[tuple[NDArray[np.int32], int]] = [(np.zeros(keys.rows, np.int32), 1)]
    for column in range(last, 0, -1):
        codes, kinds = after[-1]
        labels, count = joined(
            codes.astype(np.int64), kinds, keys.codes[column], keys.kinds[column]
        )
        after.append((labels.astype(np.int32), count))
    before, count = np.zeros(keys.rows, np.int64), 1
    for column in range(last + 1):
        others = [place for place in range(last + 1) if place != column]
        rest = Keys(
            tuple(keys.names[place] for place in others),
            keys.codes[others],
            tuple(keys.kinds[place] for place in others),
        )
        yield Combinations(rest, *joined(before, count, *after.pop()))
        before, count = joined(before, count, keys.codes[column], keys.kinds[column])
