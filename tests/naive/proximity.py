"""Proximity centroids by a general solver, from several starts."""

import numpy as np
from scipy.optimize import minimize


def z_scores(x):
    return (x - x.mean()) / x.std()


def objective(y, z, labels, distance, importance, alpha):
    """The paper's objective with the slack eliminated; y is one value a group."""
    slack = (distance**2 - (y[labels] - z) ** 2) / (1.0 - importance)
    sizes = np.bincount(labels)
    plain = np.bincount(labels, z) / sizes
    return alpha * np.sum(slack**2) + (1.0 - alpha) * np.sum(sizes * (y - plain) ** 2)


def best_of_starts(z, labels, distance, importance, alpha, starts, rng):
    """The least objective that SLSQP finds, mean and variance kept exactly."""
    sizes = np.bincount(labels).astype(float)
    plain = np.bincount(labels, z) / sizes

    def cost(y):
        return objective(y, z, labels, distance, importance, alpha)

    def gradient(y):
        away = y[labels] - z
        pushed = 4.0 * away * (away**2 - distance**2) / (1.0 - importance) ** 2
        return alpha * np.bincount(labels, pushed) + 2.0 * (1.0 - alpha) * sizes * (y - plain)

    constraints = [
        {"type": "eq", "fun": lambda y: sizes @ y, "jac": lambda _: sizes},
        {"type": "eq", "fun": lambda y: sizes @ y**2 - z.size, "jac": lambda y: 2.0 * sizes * y},
    ]
    best = np.inf
    for start in range(starts):
        near = plain + rng.normal(size=plain.size) * (0.0, 0.3, 1.0)[start % 3]
        found = minimize(
            cost, near, jac=gradient, method="SLSQP", constraints=constraints,
            options={"maxiter": 300, "ftol": 1e-12},
        )  # fmt: skip
        y = found.x - sizes @ found.x / z.size
        deviation = np.sqrt(sizes @ y**2 / z.size)
        if deviation > 1e-9:
            best = min(best, cost(y / deviation))
    return best
