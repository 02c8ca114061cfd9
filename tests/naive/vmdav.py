"""V-MDAV as its definition reads, for a given gamma."""

import numpy as np

from tests.naive.cbfs import farthest, group_around, squared_distances


def vmdav(records, k, gamma):
    """Row numbers group by group, and the sizes of the groups."""
    centroid = np.cumsum(records, axis=0)[-1] / len(records)
    rows = np.arange(len(records))
    groups = []
    while len(rows) >= k:
        group = group_around(records, rows, farthest(records, rows, centroid), k)
        rows = np.setdiff1d(rows, group)
        while len(group) < 2 * k - 1 and len(rows) > 0:
            inside = np.min(
                [squared_distances(records[rows], records[member]) for member in group], axis=0
            )
            joining = rows[np.argmin(inside)]
            others = rows[rows != joining]
            outside = np.inf
            if len(others) > 0:
                outside = squared_distances(records[others], records[joining]).min()
            if gamma == 0.0 or not inside.min() < gamma * gamma * outside:
                break
            group.append(joining)
            rows = others
        groups.append(group)
    centroids = np.array([np.cumsum(records[group], axis=0)[-1] / len(group) for group in groups])
    for row in rows:
        groups[np.argmin(squared_distances(centroids, records[row]))].append(row)
    return np.concatenate(groups), np.array([len(group) for group in groups])
