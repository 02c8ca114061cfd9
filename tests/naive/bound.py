"""Every partition into groups of at least k, one by one; and prices checked against every set."""

from itertools import combinations

import numpy as np


def partitions(rows, k):
    """All ways to divide the rows into groups of at least k."""
    rows = list(rows)
    if not rows:
        yield []
        return
    first, others = rows[0], rows[1:]
    for size in range(k - 1, len(others) + 1):
        if 0 < len(others) - size < k:
            continue
        for mates in combinations(others, size):
            rest = [row for row in others if row not in mates]
            for groups in partitions(rest, k):
                yield [[first, *mates], *groups]


def sse(records, group):
    members = records[list(group)]
    return float(((members - members.mean(axis=0)) ** 2).sum())


def least_sse(records, k):
    """The optimum."""
    costs = {}
    best = np.inf
    for groups in partitions(range(len(records)), k):
        total = 0.0
        for group in groups:
            key = tuple(group)
            if key not in costs:
                costs[key] = sse(records, group)
            total += costs[key]
        best = min(best, total)
    return best


def least_margins(records, prices, k, cost=None):
    """For each record, the least of cost (SSE) less prices over the sets of k that it is in."""
    least = np.full(len(records), np.inf)
    for group in combinations(range(len(records)), k):
        own = sse(records, group) if cost is None else cost(group)
        margin = own - prices[list(group)].sum()
        for row in group:
            least[row] = min(least[row], margin)
    return least


def linear_bound(records, k):
    """The best bound that prices can give: the linear programme with every set of k."""
    from scipy.optimize import linprog

    n = len(records)
    groups = list(combinations(range(n), k))
    cover = np.zeros((n, len(groups)))
    for column, group in enumerate(groups):
        cover[list(group), column] = 1.0
    costs = [sse(records, group) for group in groups]
    return linprog(costs, A_eq=cover, b_eq=np.ones(n)).fun
