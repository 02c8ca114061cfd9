"""What is expected of units with a value, by the definition."""

import numpy as np


def expected(points, values):
    """The mean of all units with the same value, less that of all."""
    found = np.empty_like(points)
    for i in range(len(points)):
        alike = [j for j in range(len(points)) if values[j] == values[i]]
        for a in range(points.shape[1]):
            found[i, a] = sum(points[j, a] for j in alike) / len(alike) - points[:, a].mean()
    return found
