"""MDAV: groups of k at the two far ends of what is left, again and again."""

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.grouping.cluster.search import farthest, take_group
from microagg.grouping.cluster.shrinking import close_groups, shrinking
from microagg.grouping.cluster.tree import COUNT
from microagg.grouping.method import Method
from microagg.kernels.compiling import kernel, worth_compiling

# Measured: what a group takes without compiled code, and on top for each number that is read.
_PLAIN_GROUP, _PLAIN_NUMBER = 4e-5, 5e-10


def mdav(
    records: NDArray[np.float64], k: int, advance: Advance = silent, *, prunes: bool | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Maximum distance to average vector: groups of k, the last of k to 2k - 1.

    While at least 3k records are left, the record farthest from their centroid is grouped with its
    k - 1 nearest, then the record farthest from that one with its own; with 2k or more left, one
    more group around the farthest from the centroid; the rest is the last group. Of equally far or
    near records the lowest row is taken. The result is that of brute force, in O(n d) memory;
    usually far below its O(n^2 d / k) time, never much above. `prunes` forces the index (True) or
    its brute force (False), for comparison; else few records may do without compiled code.

    Domingo-Ferrer and Torra, "Ordinal, continuous and heterogeneous k-anonymity through
    microaggregation" (2005), section 3. They search the second far record before the first group
    is taken away: that differs only where all records left are equally far from the first.
    """
    n, d = records.shape
    plain_seconds = n / k * (_PLAIN_GROUP + _PLAIN_NUMBER * n * d)
    if prunes is None and not worth_compiling(_take_groups, plain_seconds):
        return mdav_of_few(records, k)
    order = np.empty(n, np.int64)
    sums = np.zeros(records.shape[1])
    # How many records were left when the sums were last taken anew.
    summed = np.array([2 * n])
    for tree, keep in shrinking(records, k, 2 * k, prunes=prunes):
        _take_groups(tree, records, k, keep, sums, summed, order)
        advance(1.0 - (tree.left / n) ** 2)
    return order, close_groups(order, tree, k)


def mdav_of_few(
    records: NDArray[np.float64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same groups to the last bit, without compiled code."""
    left, lines = np.arange(len(records)), np.ascontiguousarray(records.T)
    order: list[int] = []
    summed = 2 * left.size
    while left.size >= 2 * k:
        if 2 * left.size <= summed:
            summed = left.size
            sums = np.add.accumulate(lines, axis=1)[:, -1]
        groups = 2 if left.size >= 3 * k else 1
        seed = int(np.argmax(_squares(lines, sums / left.size)))
        for _ in range(groups):
            away = _squares(lines, lines[:, seed])
            away[seed] = -1.0
            taken = np.flatnonzero(away <= np.partition(away, k - 1)[k - 1])
            taken = taken[np.argsort(away[taken], kind="stable")[:k]]
            order += left[taken].tolist()
            for place in taken:
                sums = sums - lines[:, place]
            away[taken] = -1.0
            seed = int(np.argmax(away)) - int((taken < np.argmax(away)).sum())
            left, lines = np.delete(left, taken), np.delete(lines, taken, axis=1)
    sizes = np.full(len(records) // k, k)
    sizes[-1] += len(records) % k
    return np.array([*order, *left.tolist()]), sizes


@np.errstate(over="ignore")
def _squares(lines, point):
    """Squared distances from a point, attribute by attribute, as the kernels sum them up."""
    squares = np.zeros(lines.shape[1])
    for line, x in zip(lines, point, strict=True):
        away = line - x
        squares += away * away
    return squares


@kernel
def _take_groups(tree, records, k, keep, sums, summed, order):
    """Take one or two groups at a time while at least `keep` records are left."""
    found = np.empty(k - 1, np.int64)
    distances = np.empty(k - 1)
    centroid = np.empty(sums.size)
    left = tree.nodes[len(tree.nodes) - 1, COUNT]
    while left >= keep:
        _sum_up(tree, records, left, sums, summed)
        for a in range(sums.size):
            centroid[a] = sums[a] / left
        groups = 2 if left >= 3 * k else 1
        seed = farthest(tree, centroid)
        for group in range(groups):
            other = take_group(tree, records, seed, order, found, distances)
            for i in range(order.size - left, order.size - left + k):
                for a in range(sums.size):
                    sums[a] -= records[order[i], a]
            left -= k
            if group + 1 < groups:
                seed = farthest(tree, records[seed]) if other < 0 else other


@kernel(inline="always")
def _sum_up(tree, records, left, sums, summed):
    """Sum what is left anew, in the order of rows, each time half of it has gone.

    In between the sums lose each record as it leaves: the same steps whatever the index.
    """
    if 2 * left > summed[0]:
        return
    summed[0] = left
    for a in range(sums.size):
        sums[a] = 0.0
    for row in range(tree.slots.size):
        if tree.slots[row] >= 0:
            for a in range(sums.size):
                sums[a] += records[row, a]


METHODS = (
    Method(
        "mdav",
        "groups of k around the records farthest out, two at a time; exact, by a spatial index",
        "Domingo-Ferrer and Torra 2005; P3M, Algorithm 1",
        "O(n^2) at worst, about n^1.5 or less on most data",
        lambda task: mdav(task.records, task.k, task.advance),
    ),
)
