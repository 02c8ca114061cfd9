"""k-means with a seed: the rough clusters from which records are put in order.

Lloyd's iterations from a k-means++ start, or from records drawn at random. Most distances are never
computed: by Hamerly's bounds ("Making k-means even faster", SDM 2010) a record keeps its centre
while no other can have come nearer.
"""

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import inner, kernel
from microagg.kernels.threads import run_blocks

_ITERATIONS = 100
_ROWS_AT_ONCE = 1 << 12
# Bounds are widened by this share of themselves, so that rounding never hides a nearer centre.
_SLACK = 1e-12


def kmeans(
    records: NDArray[np.float64],
    clusters: int,
    rng: np.random.Generator,
    *,
    spread: bool = True,
) -> NDArray[np.int64]:
    """The cluster, 0 to clusters - 1, of each record.

    spread: the first centres are drawn far apart (k-means++); otherwise they are any records.

    Stops when no record changes its cluster, or after 100 iterations. Every cluster has a member
    as long as there are that many different records. The result depends on the records, `clusters`
    and the state of `rng` only. O(n clusters d) time for the start and at worst for an iteration,
    O(n d) memory.
    """
    n = len(records)
    clusters = min(clusters, n)
    labels = np.zeros(n, np.int64)
    if clusters == 1:
        return labels
    if spread:
        centres = records[_spread_start(records, clusters, rng)]
    else:
        centres = records[rng.choice(n, clusters, replace=False)]
    upper, lower = np.full(n, math.inf), np.zeros(n)
    for _ in range(_ITERATIONS):
        columns = np.ascontiguousarray(centres.T)
        halves = np.empty(clusters)
        _half_gaps(columns, halves)
        assign = partial(_assign, records, columns, halves, labels, upper, lower)
        run_blocks(assign, n, _ROWS_AT_ONCE)
        if not _recentre(records, labels, centres, upper, lower):
            break
    return labels


def _spread_start(records, clusters, rng):
    """Rows chosen one by one, with odds as their squared distance to the nearest chosen so far."""
    n = len(records)
    chosen = np.empty(clusters, np.int64)
    columns = np.ascontiguousarray(records.T)
    squares = np.full(n, math.inf)
    distances = np.empty(n)
    chosen[0] = rng.integers(n)
    for c in range(1, clusters):
        measure(columns, records[chosen[c - 1]], distances)
        np.minimum(squares, distances, out=squares)
        odds = np.cumsum(squares)
        drawn = rng.random() * odds[-1]
        chosen[c] = min(int(np.searchsorted(odds, drawn, side="right")), n - 1)
    return chosen


@kernel
def measure(columns, x, squares):
    """Squared distances of one record to many, given one line an attribute."""
    for c in range(squares.size):
        squares[c] = 0.0
    for a in range(columns.shape[0]):
        column = columns[a]
        value = x[a]
        for c in range(column.size):
            away = column[c] - value
            squares[c] += away * away


@kernel
def _half_gaps(columns, halves):
    """Half the distance of each centre to the next: no record within it can belong elsewhere."""
    clusters = halves.size
    squares = np.empty(clusters)
    for c in range(clusters):
        measure(columns, columns[:, c].copy(), squares)
        least = math.inf
        for other in range(clusters):
            if other != c:
                least = min(least, squares[other])
        halves[c] = 0.5 * math.sqrt(least) * (1.0 - _SLACK)


@kernel
def _assign(records, columns, halves, labels, upper, lower, first, last):
    attributes = records.shape[1]
    squares = np.empty(columns.shape[1])
    for i in range(first, last):
        label = labels[i]
        safe = max(halves[label], lower[i])
        if upper[i] < safe:
            continue
        away = 0.0
        for a in range(attributes):
            apart = records[i, a] - columns[a, label]
            away += apart * apart
        upper[i] = math.sqrt(away) * (1.0 + _SLACK)
        if upper[i] < safe:
            continue
        measure(columns, records[i], squares)
        least, second = math.inf, math.inf
        for c in range(squares.size):
            if squares[c] < least:
                second = least
                least = squares[c]
                label = c
            elif squares[c] < second:
                second = squares[c]
        labels[i] = label
        upper[i] = math.sqrt(least) * (1.0 + _SLACK)
        lower[i] = math.sqrt(second) * (1.0 - _SLACK)


@kernel
def _recentre(records, labels, centres, upper, lower):
    """Move the centres to the means of their members and widen the bounds; False if none moved."""
    n, attributes = records.shape
    clusters = len(centres)
    members = np.zeros(clusters, np.int64)
    means = np.zeros((clusters, attributes))
    for i in range(n):
        members[labels[i]] += 1
        for a in range(attributes):
            means[labels[i], a] += records[i, a]
    refilled = _refill(records, labels, members, means, upper)
    shifts = np.zeros(clusters)
    farthest, next_farthest, leader = 0.0, 0.0, 0
    for c in range(clusters):
        if members[c] == 0:
            continue
        shift = 0.0
        for a in range(attributes):
            mean = means[c, a] / members[c]
            away = mean - centres[c, a]
            shift += away * away
            centres[c, a] = mean
        shifts[c] = math.sqrt(shift) * (1.0 + _SLACK)
        if shifts[c] > farthest:
            next_farthest = farthest
            farthest, leader = shifts[c], c
        else:
            next_farthest = max(next_farthest, shifts[c])
    for i in range(n):
        label = labels[i]
        upper[i] = math.inf if refilled else (upper[i] + shifts[label]) * (1.0 + _SLACK)
        lower[i] -= (next_farthest if label == leader else farthest) * (1.0 + _SLACK)
    return farthest > 0.0


@inner
def _refill(records, labels, members, means, upper):
    """Give each empty cluster the record farthest from its centre, if any is away from it."""
    attributes = records.shape[1]
    refilled = False
    for c in range(members.size):
        if members[c] > 0:
            continue
        farthest, row = 0.0, -1
        for i in range(labels.size):
            if upper[i] > farthest and members[labels[i]] > 1:
                farthest, row = upper[i], i
        if row < 0:
            break
        label = labels[row]
        members[label] -= 1
        members[c] = 1
        for a in range(attributes):
            means[label, a] -= records[row, a]
            means[c, a] = records[row, a]
        labels[row] = c
        upper[row] = 0.0
        refilled = True
    return refilled
