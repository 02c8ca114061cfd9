"""Least squares and logistic regression, with confidence intervals."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Directions in which records spread less than this, relative to the widest, are left out.
_FLAT = 1e-10
_ROUNDING = 1e-20
_NEWTON_STEPS = 100
# Half the length of an interval that holds 95 percent, in standard errors.
NORMAL = 1.959963984540054


class Fit(NamedTuple):
    """Coefficients, the constant first, and their standard errors."""

    coefficients: NDArray[np.float64]
    errors: NDArray[np.float64]

    def predict(self, lines: NDArray[np.float64]) -> NDArray[np.float64]:
        """The linear predictor of records: a number, or log odds."""
        return np.asarray(self.coefficients[0] + lines @ self.coefficients[1:])


def least_squares(lines: NDArray[np.float64], target: NDArray[np.float64]) -> Fit:
    """Ordinary least squares; the shortest coefficients where lines depend on each other.

    O(n p^2) time.
    """
    X = _with_constant(lines)
    inverse, rank = _inverted(X.T @ X)
    coefficients = inverse @ (X.T @ target)
    # Once more on what is left: the normal equations alone lose half of the digits.
    coefficients += inverse @ (X.T @ (target - X @ coefficients))
    left = target - X @ coefficients
    misfit = float(left @ left)
    # What is left of a perfect fit is rounding, and says nothing about how sure it is.
    misfit = 0.0 if misfit <= _ROUNDING * float(target @ target) else misfit
    spread = misfit / max(1, len(X) - rank)
    return Fit(coefficients, np.sqrt(np.maximum(0.0, np.diag(inverse)) * spread))


def logistic(lines: NDArray[np.float64], target: NDArray[np.bool_], ridge: float = 1.0) -> Fit:
    """Logistic regression: the most likely coefficients, less ridge / 2 times their squares.

    The constant is free. The ridge keeps coefficients finite where a line tells all; with many
    records it says next to nothing. By Newton's method; O(n p^2) time a step.
    """
    from scipy.special import expit, log_expit

    X = _with_constant(lines)
    p = X.shape[1]
    penalty = np.full(p, ridge)
    penalty[0] = 0.0
    signs = np.where(target, 1.0, -1.0)

    def cost(coefficients: NDArray[np.float64]) -> float:
        likelihood = float(log_expit(signs * (X @ coefficients)).sum())
        return float(penalty @ np.square(coefficients)) / 2.0 - likelihood

    share = (float(target.sum()) + 0.5) / (len(X) + 1.0)
    coefficients = np.zeros(p)
    coefficients[0] = np.log(share / (1.0 - share))
    now = cost(coefficients)
    for _ in range(_NEWTON_STEPS):
        chances = expit(X @ coefficients)
        slope = X.T @ (chances - target) + penalty * coefficients
        inverse = _inverted(_curvature(X, chances, penalty))[0]
        step, length = inverse @ slope, 1.0
        while length > 1e-6 and not (then := cost(coefficients - length * step)) <= now:
            length /= 2.0
        if length <= 1e-6:
            break
        coefficients = coefficients - length * step
        settled = now - then <= 1e-12 * max(1.0, abs(now))
        now = then
        if settled:
            break
    inverse = _inverted(_curvature(X, expit(X @ coefficients), penalty))[0]
    return Fit(coefficients, np.sqrt(np.maximum(0.0, np.diag(inverse))))


def _curvature(
    X: NDArray[np.float64], chances: NDArray[np.float64], penalty: NDArray[np.float64]
) -> NDArray[np.float64]:
    weights = chances * (1.0 - chances)
    return X.T @ (X * weights[:, np.newaxis]) + np.diag(penalty)


def _with_constant(lines: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([np.ones(len(lines)), lines])


def _inverted(square: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """The inverse of a symmetric matrix over the directions that are not flat, and their number."""
    scale = np.sqrt(np.diag(square))
    scale = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(square / scale / scale[:, np.newaxis])
    wide = values > _FLAT * max(values[-1], 0.0)
    kept = vectors[:, wide] / scale[:, np.newaxis]
    return (kept / values[wide]) @ kept.T, int(wide.sum())


def r_squared(target: NDArray[np.float64], guesses: NDArray[np.float64]) -> float:
    """1 - sum (y - guess)^2 / sum (y - mean)^2; 0 where the target does not vary."""
    away = target - target.mean()
    total = float(away @ away)
    left = target - guesses
    return 1.0 - float(left @ left) / total if total > 0.0 else 0.0


def area_under_curve(target: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """The chance that one who is has a higher score than one who is not, ties by half.

    1/2 where all are or none is. O(n log n) time.
    """
    many = int(target.sum())
    others = target.size - many
    if many == 0 or others == 0:
        return 0.5
    ascending = np.sort(scores)
    twice = np.searchsorted(ascending, scores) + np.searchsorted(ascending, scores, "right")
    # Ranks from 1, the middle one of equals: (less + up to + 1) / 2.
    ranks = float((twice[target] + 1).sum()) / 2.0
    return (ranks - many * (many + 1) / 2.0) / (many * others)


def overlap(one: Fit, other: Fit) -> NDArray[np.float64]:
    """How much of the 95 percent intervals of each coefficient overlaps, 0 to 1.

    Karr and others (2006): the length in common as a share of either length, the mean of the two;
    0 where they lie apart. Intervals without length overlap if they are equal.
    """
    lows, highs = (
        [fit.coefficients + side * NORMAL * fit.errors for fit in (one, other)] for side in (-1, 1)
    )
    common = np.maximum(0.0, np.minimum(*highs) - np.maximum(*lows))
    lengths = [high - low for low, high in zip(lows, highs, strict=True)]
    points = np.isclose(one.coefficients, other.coefficients, rtol=1e-6, atol=1e-9)
    shares = [
        np.where(length > 0.0, common / np.where(length > 0.0, length, 1.0), points)
        for length in lengths
    ]
    return np.asarray((shares[0] + shares[1]) / 2.0)
