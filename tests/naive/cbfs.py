"""CBFS as its definition reads."""

import numpy as np

from tests.naive.mdav import farthest, group_around


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
