"""MDAV as its definition reads: every distance, every time."""

import numpy as np


def squared_distances(records, point):
    """The sum over the attributes, in order, of squared differences."""
    total = np.zeros(len(records))
    for a in range(records.shape[1]):
        away = records[:, a] - point[a]
        total += away * away
    return total


def farthest(records, rows, point):
    """Of `rows`, ascending, the one farthest from a point; the lowest of equally far ones."""
    return rows[np.argmax(squared_distances(records[rows], point))]


def group_around(records, rows, seed, k):
    """The seed and its k - 1 nearest, by distance, then row."""
    distances = squared_distances(records[rows], records[seed])
    nearest = [row for _, row in sorted(zip(distances, rows, strict=True)) if row != seed]
    return [seed, *nearest[: k - 1]]


def mdav(records, k):
    """Row numbers group by group, and the sizes of the groups."""
    rows = np.arange(len(records))
    groups = []
    summed, sums = 2 * len(records), None
    while len(rows) >= 2 * k:
        if 2 * len(rows) <= summed:
            summed, sums = len(rows), np.cumsum(records[rows], axis=0)[-1]
        pair = len(rows) >= 3 * k
        seed = farthest(records, rows, sums / len(rows))
        for _ in range(1 + pair):
            group = group_around(records, rows, seed, k)
            groups.append(group)
            for row in group:
                sums = sums - records[row]
            rows = np.setdiff1d(rows, group)
            seed = farthest(records, rows, records[seed])
    groups.append(list(rows))
    return np.concatenate(groups), np.array([len(group) for group in groups])
