"""The best partition there is, by trying them all."""

import numpy as np

from tests.naive.decompose import total_sse


def partitions(rows, k):
    """Every way to divide the rows into groups of at least k."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for chosen in range(2 ** len(rest)):
        mates = [row for i, row in enumerate(rest) if chosen >> i & 1]
        others = [row for i, row in enumerate(rest) if not chosen >> i & 1]
        if len(mates) + 1 >= k and (not others or len(others) >= k):
            for tail in partitions(others, k):
                yield [[first, *mates], *tail]


def least_sse(records, k):
    return min(
        total_sse(records, [np.array(group) for group in groups])
        for groups in partitions(list(range(len(records))), k)
    )


def closer_list(points, lists, squares, row, asked):
    """Numbers and squared distances of the nearest of those listed for a point, and of the first
    `asked` that are listed for the first `asked` of them."""
    known = dict(zip(lists[row].tolist(), squares[row].tolist(), strict=True))
    for near in lists[row, :asked].tolist():
        for other in lists[near, :asked].tolist():
            if other != row and other not in known:
                known[other] = float(((points[row] - points[other]) ** 2).sum())
    found = sorted(known.items(), key=lambda pair: pair[1])[: lists.shape[1]]
    return [other for other, _ in found], [square for _, square in found]
