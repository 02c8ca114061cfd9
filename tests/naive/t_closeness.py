"""t-merge, t-swap and t-first, step by step; no two values or distances may be equal."""

import math

import numpy as np

from tests.naive.demands import moved
from tests.naive.mdav import mdav


def distance(group, ranks, counts):
    return moved([ranks[i] for i in group], counts)


def merge(points, groups, ranks, counts, t):
    groups = [list(group) for group in groups]
    while len(groups) > 1:
        worst = max(groups, key=lambda group: distance(group, ranks, counts))
        if distance(worst, ranks, counts) <= t:
            break
        centre = points[worst].mean(axis=0)
        others = [group for group in groups if group is not worst]
        near = min(others, key=lambda group: ((points[group].mean(axis=0) - centre) ** 2).sum())
        groups = [group for group in others if group is not near] + [worst + near]
    return as_sets(groups)


def as_sets(groups):
    return {frozenset(int(i) for i in group) for group in groups}


def t_merge(points, k, ranks, counts, t):
    order, sizes = mdav(points, k)
    return merge(points, np.split(order, np.cumsum(sizes)[:-1]), ranks, counts, t)


def seeds(points, left, before):
    """The farthest from the mean of those left, or from the seed before."""
    from_where = points[left].mean(axis=0) if before is None else points[before]
    return max(left, key=lambda i: ((points[i] - from_where) ** 2).sum())


def t_swap(points, k, ranks, counts, t):
    left, groups, seed = list(range(len(points))), [], None
    while len(left) >= 2 * k:
        seed = seeds(points, left, seed if len(groups) % 2 else None)
        near = sorted(left, key=lambda i: ((points[i] - points[seed]) ** 2).sum())
        group = near[:k]
        for comer in near[k:]:
            now = distance(group, ranks, counts)
            if now <= t:
                break
            tries = [[*group[:i], comer, *group[i + 1 :]] for i in range(k)]
            best = min(tries, key=lambda group: distance(group, ranks, counts))
            if distance(best, ranks, counts) < now:
                group = best
        groups.append(group)
        left = [i for i in left if i not in group]
    return merge(points, [*groups, left], ranks, counts, t)


def t_first(points, k, ranks, counts, t):
    n = len(points)
    while (n - k) / (2 * (n - 1) * k) > t:
        k += 1
    k += n % k // (n // k)
    clusters = n // k
    by_value = list(np.argsort(ranks, kind="stable"))
    parts, at = [], 0
    for part in range(k):
        size = clusters + (n % k if part == k // 2 else 0)
        parts.append(by_value[at : at + size])
        at += size
    groups, seed = [], None
    for number in range(clusters):
        left = [i for part in parts for i in part]
        seed = seeds(points, left, seed if number % 2 else None)
        group = []
        for part in parts:
            part.sort(key=lambda i: ((points[i] - points[seed]) ** 2).sum())
            group.append(part.pop(0))
            if len(part) > clusters - number - 1:
                group.append(part.pop(0))
        groups.append(group)
    return merge(points, groups, ranks, counts, t)


def bound(n, k):
    return (n - k) / (2 * (n - 1) * k) if k else math.inf
