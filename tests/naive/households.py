"""Households by the definition: how many each group has, and the repair with every pair weighed."""

import numpy as np


def sse(points, labels):
    """The squared distances of records to the mean of their group."""
    return sum(
        ((points[labels == label] - points[labels == label].mean(axis=0)) ** 2).sum()
        for label in set(labels.tolist())
    )


def different(labels, households):
    """How many different households each group has."""
    return {
        label: len({h for h, own in zip(households, labels, strict=True) if own == label})
        for label in sorted(set(labels))
    }


def enriched(points, labels, households, k):
    """Each poor group in turn takes the record of another household that costs least, by exchange
    or for nothing, until it has k households; None where a group finds none."""
    labels = labels.copy()
    for group in sorted(set(labels.tolist())):
        while different(labels, households)[group] < k:
            best = _cheapest(points, labels, households, k, group)
            if best is None:
                return None
            labels = best
    return labels


def _cheapest(points, labels, households, k, group):
    before, least, best = different(labels, households), np.inf, None
    for comes in np.flatnonzero(labels != group).tolist():
        other = labels[comes]
        for leaves in [None, *np.flatnonzero(labels == group).tolist()]:
            tried = labels.copy()
            tried[comes] = group
            if leaves is not None:
                tried[leaves] = other
            elif (labels == other).sum() <= k:
                continue
            after = different(tried, households)
            if after[group] <= before[group] or after[other] < min(k, before[other]):
                continue
            cost = sse(points, tried)
            if cost < least:
                least, best = cost, tried
    return best
