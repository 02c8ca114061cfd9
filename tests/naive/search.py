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
