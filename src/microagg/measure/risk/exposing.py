"""Which key columns expose the records, each for itself and together with the others."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microagg.measure.risk.frequencies import Frequencies, agreeing
from microagg.measure.risk.individual import individual_risk
from microagg.measure.risk.keys import Combinations, Keys, joined


@dataclass(frozen=True)
class KeyColumn:
    """What one key column tells.

    values: how many different ones it has, no value being one. unique_alone: the records that it
    singles out by itself. distinction, separation: in percent, see `distinction`, `separation`.
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


@dataclass(frozen=True)
class TellingCombination:
    """Columns that single records out together, and no fewer of them do.

    records: how many; contribution: what they add to the scores of special uniques, in percent.
    """

    columns: tuple[str, ...]
    records: int
    contribution: float


def distinction(sizes: NDArray[np.int64]) -> float:
    """Different combinations of values as a share of the records (Motwani and Xu 2007), in percent.

    sizes: how many records have each.
    """
    return float(100.0 * sizes.size / max(1, int(sizes.sum())))


def separation(sizes: NDArray[np.int64]) -> float:
    """The pairs of records that are told apart (Motwani and Xu 2007), in percent."""
    n = int(sizes.sum())
    together = float((sizes.astype(np.float64) * (sizes - 1.0)).sum())
    return 100.0 * (1.0 - together / (n * (n - 1.0))) if n > 1 else 0.0


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
        column = KeyColumn(
            keys.names[place],
            values=by_value.size,
            unique_alone=int((by_value == 1).sum()),
            distinction=distinction(by_value),
            separation=separation(by_value),
            unique_without=int(records[without.sample == 1].sum()),
            expected_without=float((individual_risk(*without) * records).sum()),
            contribution=None if contributions is None else float(contributions[place]),
        )
        found.append(column)
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
