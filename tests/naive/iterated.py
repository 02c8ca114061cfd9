"""Groups refined, put in line and split, again and again, by the slow twins of each step."""

import math

import numpy as np

from tests.naive.exchange import exchange_and_decompose
from tests.naive.reorder import order_groups, split


def label(n, groups):
    labels = np.empty(n, int)
    for number, rows in enumerate(groups):
        labels[rows] = number
    return labels


def rounds(records, labels, k):
    """Order and split; when that no longer helps, from the other end; the SSE and the groups."""
    best, groups, start, turned = math.inf, None, None, False
    while True:
        line = order_groups(records, labels, start)
        sse, sizes = split(records[line], k)
        gain = best - sse
        if gain > 0:
            best = sse
            groups = [rows.tolist() for rows in np.split(line, np.cumsum(sizes)[:-1])]
            labels = label(len(records), groups)
        if gain >= 1e-7:
            turned = False
        elif turned:
            return best, groups
        else:
            start, turned = groups[-1][-1], True


def iterate(records, groups, k, neighbours):
    best = math.inf
    while True:
        clustered = exchange_and_decompose(records, groups, k, neighbours)
        sse, found = rounds(records, label(len(records), clustered), k)
        if not sse < best * (1 - 1e-9):
            return groups
        best, groups = sse, found
