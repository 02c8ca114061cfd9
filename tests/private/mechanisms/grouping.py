"""Groups of one method, for the tests of each."""

import numpy as np

from microagg.private.method import Task
from microagg.private.registry import WORD, find


def groups(name, values, k, ranges, shares=None):
    shares = shares or [1.0] * values.shape[1]
    return find(name, WORD).group(Task(values, ranges, shares, k))


def sums_by(name, k, ranges):
    def group_sums(values):
        found = groups(name, values, k, ranges)
        columns = zip(found, values.T, strict=True)
        return np.column_stack([np.bincount(p.labels, weights=x) for p, x in columns])

    return group_sums
