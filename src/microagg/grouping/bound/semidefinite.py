"""A bound by a semidefinite relaxation, where groups are too large for the pricing of columns.

A partition is a matrix Z with Z_ij = 1 / size where i and j share a group, 0 elsewhere (Peng and
Wei 2007, for k-means). Its SSE is half the sum of Z_ij |x_i - x_j|^2. Z is positive semidefinite,
its rows sum to 1, its entries lie in [0, 1 / k], and its trace is the number of groups, n / k at
most. The least cost of all such matrices bounds every partition from below.

It is approached by alternating directions (ADMM): one copy of Z is positive semidefinite with the
right row sums, the other has entries in the right range, and multipliers L draw them together. Any
L at all prove a bound, by duality: with A = costs + L, the first copy costs at least
sum(A) / n + (n / k - 1) * min(0, the least eigenvalue of A across the vector of ones), and the
second earns at most the mean of the k largest entries of L in each row, for its entries lie in
[0, 1 / k] and its rows sum to 1. So whenever it is stopped, what has been proved is valid.
"""

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

# The weight of the distance between the copies, in mean costs of a pair within a group, times k;
# and how far beyond its own step the first copy goes. Measured on 200 records of Tarragona.
_WEIGHT = 3.0
_RELAXATION = 1.6
# Steps between two bounds, at first; what a bound costs, in steps; and the gain that is none.
_STEPS = 8
_BOUND_COST = 0.7
_ENOUGH = 1e-5
_LAG = 3.0
# Fewer steps prove little; how long one takes is known from a part of so many records.
_FEWEST = 500
_PART = 384


def bound_of(costs: NDArray[np.float64], multipliers: NDArray[np.float64], k: int) -> float:
    """What these multipliers prove: no partition into groups of k or more has a smaller SSE.

    costs: half the squared distances of all pairs. One symmetric eigenvalue problem, O(n^3).
    """
    n = len(costs)
    whole = costs + multipliers
    values = np.linalg.eigvalsh(_centre(whole))
    rounding = n * np.finfo(float).eps * float(np.abs(values).max())
    least = min(0.0, float(values[0])) - rounding
    largest = np.partition(multipliers, n - k, axis=1)[:, n - k :]
    return float(whole.sum()) / n + (n // k - 1) * least - float(largest.sum()) / k


def affordable(squares: NDArray[np.float64], seconds: float) -> bool:
    """Whether there is time for enough steps to prove anything of use."""
    n, part = len(squares), squares[:_PART, :_PART]
    began = time.monotonic()
    _positive(part)
    return _FEWEST * (time.monotonic() - began) * (n / len(part)) ** 3 < seconds


def relax(
    squares: NDArray[np.float64],
    k: int,
    labels: NDArray[np.int64],
    target: float,
    left: Callable[[], float],
) -> float:
    """The best bound that can be had in the time that is left, asked for in seconds.

    squares: between all records; labels: a good partition to start from. Stops at the target, too.
    A step is a symmetric eigenvalue problem, O(n^3) time; O(n^2) memory, ten matrices: 2 GB for
    5,000 records.
    """
    n = len(squares)
    costs = squares / 2.0
    near = np.partition(squares, k - 1, axis=1)[:, :k]
    weight = _WEIGHT * k * float(near.mean()) / 2.0
    if weight == 0.0:
        return 0.0
    sizes = np.bincount(labels)
    ranged = (labels[:, np.newaxis] == labels) / sizes[labels]
    drawn = np.zeros((n, n))
    best, before, steps = 0.0, -math.inf, _STEPS
    took = 0.0
    while best < target:
        done = 0
        while done < steps and left() > (1.0 + _BOUND_COST) * took:
            now = left()
            smooth = _positive(ranged - drawn - costs / weight)
            last, ranged = ranged, _RELAXATION * smooth + (1.0 - _RELAXATION) * ranged + drawn
            drawn = ranged.copy()
            np.clip(ranged, 0.0, 1.0 / k, out=ranged)
            drawn -= ranged
            if done % _STEPS == 0:
                # Neither may lag behind: how far the copies are apart, and how far they move.
                apart, moved = np.linalg.norm(smooth - ranged), np.linalg.norm(ranged - last)
                turn = 2.0 if apart > _LAG * moved else 0.5 if moved > _LAG * apart else 1.0
                weight *= turn
                drawn /= turn
            took = max(took, now - left())
            done += 1
        if done == 0:
            return best
        found = bound_of(costs, weight * drawn, k)
        best = max(best, found)
        if abs(found - before) < _ENOUGH * best:
            return best
        before, steps = found, 2 * steps
    return best


def _positive(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest positive semidefinite matrix whose rows sum to 1."""
    values, vectors = np.linalg.eigh(_centre(matrix))
    first = int(np.searchsorted(values, 0.0))
    scaled = vectors[:, first:] * values[first:]
    return scaled @ vectors[:, first:].T + 1.0 / len(matrix)


def _centre(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """A symmetric matrix without what it does to the vector of ones."""
    means = matrix.mean(axis=0)
    return matrix - means - means[:, np.newaxis] + means.mean()
