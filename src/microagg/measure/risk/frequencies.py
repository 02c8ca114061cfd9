"""How many records of a sample share their keys, and how many of the population are thought to."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.measure.risk.keys import MISSING, Combinations, Keys, numbered

# Ways of leaving keys out are compared in pairs, each on all combinations.
_MOST_WORK = 2 * 10**10


class Frequencies(NamedTuple):
    """By combination: f, its records in the sample, and F, those thought to be in the population.

    F is what the sampling weights of the records add up to; without weights it is f.
    """

    sample: NDArray[np.int64]
    population: NDArray[np.float64]


def frequencies(
    combinations: Combinations,
    weights: NDArray[np.float64] | None = None,
    *,
    wildcards: bool = False,
) -> Frequencies:
    """How often each combination of keys occurs.

    wildcards: a key without a value agrees with every value, and not only with no value: a record
    is counted wherever it agrees. O(records columns) time; with wildcards also O(combinations
    columns) for each pair of ways in which keys are missing.
    """
    found = Frequencies(combinations.sizes, combinations.summed(weights))
    return agreeing(combinations.distinct, found) if wildcards else found


def agreeing(keys: Keys, each: Frequencies) -> Frequencies:
    """How many records agree with each of some combinations, by how many each of them has."""
    missing = keys.codes == MISSING
    ways = np.unique(missing, axis=1).T
    if len(ways) ** 2 * missing.size > _MOST_WORK:
        raise InputError(
            f"keys are missing in {len(ways)} different ways, too many to compare each with each; "
            "let no value count as a value of its own"
        )
    sample, population = np.zeros_like(each.sample), np.zeros_like(each.population)
    rows_of = [np.flatnonzero((way == missing.T).all(axis=1)) for way in ways]
    for way, rows in zip(ways, rows_of, strict=True):
        for other_way, others in zip(ways, rows_of, strict=True):
            both, columns = np.concatenate([rows, others]), np.flatnonzero(~(way | other_way))
            some = Keys(keys.names, np.ascontiguousarray(keys.codes[:, both]), keys.kinds)
            labels, count = numbered(some, columns)
            own, theirs = labels[: rows.size], labels[rows.size :]
            sample[rows] += np.bincount(theirs, each.sample[others], count).astype(np.int64)[own]
            population[rows] += np.bincount(theirs, each.population[others], count)[own]
    return Frequencies(sample, population)
