"""RepOrdMic as its Algorithm 1 is written: every cost computed anew, every split tried."""

import math
from itertools import pairwise

import numpy as np


def square(x, y):
    total = 0.0
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        total += (a - b) * (a - b)
    return total


def distance(x, y):
    return math.sqrt(square(x, y))


def order_groups(records, labels, start=None):
    """Steps 1 to 12. Ties go to the least row, then to the least row on the left."""
    n = len(records)
    squares = ((records - records.mean(axis=0)) ** 2).sum(axis=1)
    current = int(np.argmax(squares)) if start is None else start
    unseen = set(range(n))
    line = []
    while True:
        group = {i for i in unseen if labels[i] == labels[current]} - {current}
        part = [current]
        if group:
            part.append(max(group, key=lambda i: (distance(records[i], records[current]), -i)))
        group -= set(part)
        while group:
            _, row, left = min(
                (
                    distance(records[one], records[row])
                    + distance(records[row], records[other])
                    - distance(records[one], records[other]),
                    row,
                    one,
                )
                for one, other in pairwise(part)
                for row in group
            )
            part.insert(part.index(left) + 1, row)
            group.remove(row)
        line += part
        unseen -= set(part)
        if not unseen:
            return line
        current = min(unseen, key=lambda i: (square(records[i], records[line[-1]]), i))


def split(records, k):
    """The least SSE of a line, and the sizes of the groups, over all splits."""
    best = [(0.0, [])] + [(math.inf, [])] * len(records)
    for end in range(k, len(records) + 1):
        for size in range(k, min(end, 2 * k - 1) + 1):
            group = records[end - size : end]
            sse = float(((group - group.mean(axis=0)) ** 2).sum())
            before, sizes = best[end - size]
            if before + sse < best[end][0]:
                best[end] = before + sse, [*sizes, size]
    return best[-1]


def reorder(records, k, labels):
    """All rounds from these clusters: the SSE after each, and the groups of the last."""
    history = [math.inf]
    while True:
        line = order_groups(records, labels)
        sse, sizes = split(records[line], k)
        if not sse < history[-1]:
            return history[1:], labels
        gain = history[-1] - sse
        history.append(sse)
        labels = np.empty(len(records), int)
        labels[line] = np.repeat(np.arange(len(sizes)), sizes)
        if gain < 1e-7:
            return history[1:], labels
