"""CBFS as its definition reads: every distance, every time."""

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


def cbfs(records, k):
    """Row numbers group by group, and the sizes of the groups."""
    centroid = np.cumsum(records, axis=0)[-1] / len(records)
    rows = np.arange(len(records))
    groups = []
    while len(rows) >= 2 * k:
        groups.append(group_around(records, rows, farthest(records, rows, centroid), k))
        rows = np.setdiff1d(rows, groups[-1])
    groups.append(list(rows))
    return np.concatenate(groups), np.array([len(group) for group in groups])
