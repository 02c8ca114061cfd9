"""The risk that a record is re-identified by its keys, and that anybody of its household is."""

import numpy as np
from numpy.typing import NDArray

# Below this 1 - p the difference of two large numbers is taken by its series.
_NEAR_ONE = 0.01
_TERMS = 8


def individual_risk(
    sample: NDArray[np.int64], population: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The risk of each combination of keys that f records have in the sample, F in the population.

    Benedetti and Franconi (1998): the expectation of 1 / F given f, where F is negative binomial
    with success probability p = f / F. f = 1: p / (1 - p) log(1 / p); f = 2: p / (1 - p) -
    (p / (1 - p))^2 log(1 / p); more: the approximation p / (f - (1 - p)), as sdcMicro has it. Where
    the sample is all there is, p >= 1: 1 / f.
    """
    risk = 1.0 / sample
    with np.errstate(divide="ignore"):
        p = sample / population
    below = p < 1.0
    partly = slice(None) if below.all() else np.flatnonzero(below)
    f, p = sample[partly], p[partly]
    q = 1.0 - p
    found = p / (f - q)
    for size, formula in ((1, _alone), (2, _of_pairs)):
        chosen = np.flatnonzero(f == size)
        found[chosen] = formula(p[chosen], q[chosen])
    risk[partly] = found
    return risk


def _alone(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    return p / q * -np.log1p(-q)


def _of_pairs(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    odds = p / q
    found = odds - odds * odds * -np.log1p(-q)
    near = np.flatnonzero(q < _NEAR_ONE)
    found[near] = p[near] * _series(q[near])
    return found


def _series(q: NDArray[np.float64]) -> NDArray[np.float64]:
    """(1 - (1 - q) log(1 / (1 - q)) / q) / q = sum over j of q^j / ((j + 1) (j + 2))."""
    return np.polynomial.Polynomial([1.0 / ((j + 1) * (j + 2)) for j in range(_TERMS)])(q)


def household_risk(
    individual: NDArray[np.float64], households: NDArray[np.int64]
) -> NDArray[np.float64]:
    """For each record 1 - product of 1 - risk over the members of its household.

    households: the number of each record's, from 0.
    """
    return -np.expm1(np.bincount(households, log_safe(individual)))[households]


def log_safe(individual: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of the chance that a record is not found, which adds up in a household."""
    with np.errstate(divide="ignore"):
        return np.log1p(-np.minimum(individual, 1.0))
