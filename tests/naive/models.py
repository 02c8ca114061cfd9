"""Models once more, by their definition: solvers of others, loops over pairs."""

import math
from collections import Counter

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_expit


def least_squares(X, y):
    """(coefficients, errors) by the textbook, for independent columns."""
    A = np.column_stack([np.ones(len(X)), X])
    coefficients = np.linalg.lstsq(A, y, rcond=None)[0]
    left = y - A @ coefficients
    variance = (left @ left) / (len(A) - A.shape[1])
    return coefficients, np.sqrt(variance * np.diag(np.linalg.inv(A.T @ A)))


def fitted(X, y):
    """What the best straight line through the columns says of each record, however they depend."""
    A = np.column_stack([np.ones(len(X)), X])
    return A @ np.linalg.pinv(A) @ y


def logistic_cost(coefficients, X, target, ridge):
    scores = coefficients[0] + X @ coefficients[1:]
    likelihood = log_expit(np.where(target, scores, -scores)).sum()
    return ridge / 2 * (coefficients[1:] @ coefficients[1:]) - likelihood


def logistic(X, target, ridge):
    start = np.zeros(X.shape[1] + 1)
    return minimize(logistic_cost, start, (X, target, ridge), tol=1e-12).x


def area(target, scores):
    """Over all pairs of one who is and one who is not."""
    wins = pairs = 0.0
    for i in np.flatnonzero(target):
        for j in np.flatnonzero(~target):
            pairs += 1
            wins += (scores[i] > scores[j]) + (scores[i] == scores[j]) / 2
    return wins / pairs if pairs else 0.5


def overlap(one, other):
    """Of two intervals (low, high)."""
    common = max(0.0, min(one[1], other[1]) - max(one[0], other[0]))
    lengths = [high - low for low, high in (one, other)]
    return sum(common / length for length in lengths) / 2


def variation(before, after):
    """The total variation between two lists, in percent."""
    counts, olds, n = Counter(after), Counter(before), len(before)
    return 50.0 * sum(abs(counts[each] - olds[each]) for each in counts | olds) / n


def kolmogorov_smirnov(x, y):
    """In percent, of two lists of one length."""
    apart = [abs(sum(a <= v for a in x) - sum(b <= v for b in y)) for v in [*x, *y]]
    return 100.0 * max(apart) / len(x)


def propensity(X, R, ridge=1.0):
    """pMSE of a logistic model in the columns, their squares and products."""

    def lines(Z):
        d = Z.shape[1]
        return np.column_stack([Z, *(Z[:, a] * Z[:, b] for a in range(d) for b in range(a, d))])

    both = np.vstack([lines(X), lines(R)])
    target = np.repeat([False, True], len(X))
    c = logistic(both, target, ridge)
    chances = [1 / (1 + math.exp(-score)) for score in c[0] + both @ c[1:]]
    return float(np.mean([(chance - 0.5) ** 2 for chance in chances]))
