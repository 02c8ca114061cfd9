"""Passes over groups: labels, sums, centres; no digits are lost to a common offset."""

import numpy as np

from microagg.kernels.compiling import inner, kernel


@kernel
def scatter_labels(order, sizes, first, labels):
    """Label the records order[0], order[1], ... by groups of these sizes, numbered from `first`."""
    place = 0
    for group in range(sizes.size):
        for _ in range(sizes[group]):
            labels[order[place]] = first + group
            place += 1


@kernel
def group_means(column, labels, groups):
    """The mean of each group, summed relative to its first member."""
    pivots = np.empty(groups)
    members = np.zeros(groups, np.int64)
    sums = np.zeros(groups)
    for i in range(labels.size):
        label = labels[i]
        if members[label] == 0:
            pivots[label] = column[i]
        members[label] += 1
        sums[label] += column[i] - pivots[label]
    for label in range(groups):
        pivots[label] += sums[label] / members[label]
    return pivots


@kernel
def group_weighted_means(column, weights, labels, groups):
    """The weighted mean of each group; a group without weight counts each member once."""
    pivots = np.empty(groups)
    members = np.zeros(groups, np.int64)
    plain = np.zeros(groups)
    sums = np.zeros(groups)
    totals = np.zeros(groups)
    for i in range(labels.size):
        label = labels[i]
        if members[label] == 0:
            pivots[label] = column[i]
        members[label] += 1
        away = column[i] - pivots[label]
        plain[label] += away
        sums[label] += weights[i] * away
        totals[label] += weights[i]
    for label in range(groups):
        if totals[label] > 0.0:
            pivots[label] += sums[label] / totals[label]
        else:
            pivots[label] += plain[label] / members[label]
    return pivots


@kernel
def group_scatter(column, labels, groups):
    """The sum over all groups of squared distances to the group's mean, by Welford's updates."""
    pivots = np.empty(groups)
    members = np.zeros(groups, np.int64)
    sums = np.zeros(groups)
    scatter = 0.0
    for i in range(labels.size):
        label = labels[i]
        count = members[label]
        if count == 0:
            pivots[label] = column[i]
        else:
            x = column[i] - pivots[label]
            away = x - sums[label] / count
            sums[label] += x
            scatter += away * away * (count / (count + 1.0))
        members[label] = count + 1
    return scatter


@kernel
def scatter_of(points, rows, first, last):
    """The SSE of the group rows[first:last] about its mean."""
    total = 0.0
    for a in range(points.shape[1]):
        pivot = points[rows[first], a]
        drift = 0.0
        for i in range(first, last):
            drift += points[rows[i], a] - pivot
        mean = pivot + drift / (last - first)
        for i in range(first, last):
            away = points[rows[i], a] - mean
            total += away * away
    return total


@inner
def root_of(parent, i):
    """Whom all that were joined with i stand for; ways there are halved (union and find)."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def group_integers(column, labels, groups, zero):
    """The integer nearest to each group's mean, halves away from `zero`; exact for all of int64.

    A sum could overflow; quotients and remainders by the group's size cannot.
    """
    members = np.zeros(groups, np.int64)
    for i in range(labels.size):
        members[labels[i]] += 1
    centres = np.zeros(groups, np.int64)
    rests = np.zeros(groups, np.int64)
    for i in range(labels.size):
        label = labels[i]
        quotient = column[i] // members[label]
        centres[label] += quotient
        rests[label] += column[i] - quotient * members[label]
    for label in range(groups):
        size = members[label]
        floor = centres[label] + rests[label] // size
        rest = rests[label] % size
        up = 2 * rest > size or (2 * rest == size and floor >= zero)
        centres[label] = floor + 1 if up else floor
    return centres


@kernel
def whole_sums(values, labels, groups):
    """The sum of each group, of whole numbers that do not overflow."""
    sums = np.zeros(groups, np.int64)
    for i in range(labels.size):
        sums[labels[i]] += values[i]
    return sums
