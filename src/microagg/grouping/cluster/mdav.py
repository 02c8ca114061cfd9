"""MDAV"""

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.cluster.tree import build, farthest, nearest, remove
from microagg.kernels.compiling import kernel
from microagg.progress import Report, silent


def mdav(records, k, report=silent, prunes=True):
    n, d = records.shape
    order = np.empty(n, np.int64)
    sums = np.empty(d)
    state = np.array([n, 2 * n + 2], np.int64)
    rows = np.arange(n)
    works = []
    while state[0] >= 3 * k:
        tree = build(records, rows, prunes=prunes)
        keep = max(3 * k, int(state[0] * 0.7))
        while state[0] >= keep:
            _take_pairs(tree, records, k, sums, order, state, keep, 4096)
            works.append(tree.work.copy())
            report(1.0 - (state[0] / n) ** 2)
        rows = np.flatnonzero(tree.slots >= 0)
    tree = build(records, rows, prunes=False)
    _take_last(tree, records, k, sums, order, state)
    left = n % k if n >= k else n
    sizes = np.full(n // k, k, np.int64)
    sizes[-1] += n - sizes.sum()
    return order, sizes


@kernel
def _centroid(tree, records, sums, state):
    if 2 * state[0] <= state[1]:
        for a in range(sums.size):
            sums[a] = 0.0
        for row in range(tree.slots.size):
            if tree.slots[row] >= 0:
                for a in range(sums.size):
                    sums[a] += records[row, a]
        state[1] = state[0]
    centroid = np.empty(sums.size)
    for a in range(sums.size):
        centroid[a] = sums[a] / state[0]
    return centroid


@kernel
def _take(tree, records, seed, sums, order, state, found, distances):
    far = nearest(tree, records[seed], seed, found, distances)
    at = order.size - state[0]
    for i in range(-1, found.size):
        row = seed if i < 0 else found[i]
        if row == far:
            far = -1
        order[at] = row
        at += 1
        remove(tree, row)
        for a in range(sums.size):
            sums[a] -= records[row, a]
    state[0] -= found.size + 1
    return far


@kernel
def _take_pairs(tree, records, k, sums, order, state, keep, budget):
    found = np.empty(k - 1, np.int64)
    distances = np.empty(k - 1)
    while state[0] >= keep and budget > 0:
        budget -= 1
        centroid = _centroid(tree, records, sums, state)
        seed = farthest(tree, centroid)
        other = _take(tree, records, seed, sums, order, state, found, distances)
        if other < 0:
            other = farthest(tree, records[seed])
        _take(tree, records, other, sums, order, state, found, distances)


@kernel
def _take_last(tree, records, k, sums, order, state):
    if state[0] >= 2 * k:
        centroid = _centroid(tree, records, sums, state)
        seed = farthest(tree, centroid)
        found = np.empty(k - 1, np.int64)
        _take(tree, records, seed, sums, order, state, found, np.empty(k - 1))
    if state[0] == 0:
        return
    seed = -1
    found = np.empty(state[0], np.int64)
    at = 0
    for row in range(tree.slots.size):
        if tree.slots[row] >= 0:
            order[order.size - state[0] + at] = row
            at += 1
