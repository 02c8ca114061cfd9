"""Demands beyond k by their definitions, and the least loss under them, over all partitions."""

import math
from collections import Counter
from functools import cache
from itertools import combinations


def distinct(values):
    return len(set(values))


def entropy(values):
    """l of entropy l-diversity."""
    shares = [count / len(values) for count in Counter(values).values()]
    return math.exp(-sum(share * math.log(share) for share in shares))


def recursive(values, l):  # noqa: E741
    """The c that must be exceeded: infinite with fewer than l values."""
    counts = sorted(Counter(values).values(), reverse=True)
    return counts[0] / sum(counts[l - 1 :]) if len(counts) >= l else math.inf


def span(numbers):
    there = [number for number in numbers if not math.isnan(number)]
    return max(there) - min(there) if there else 0.0


def similar(numbers, within):
    """The largest share in a window of twice `within`, or without a value."""
    missing = sum(math.isnan(number) for number in numbers)
    inside = [sum(low <= other <= low + 2 * within for other in numbers) for low in numbers]
    # The same window, measured as a difference: sums of a value and a width may round.
    inside += [sum(0 <= other - low <= 2 * within for other in numbers) for low in numbers]
    return max(missing, *inside) / len(numbers)


def moved(ranks, counts):
    """The ordered earth mover's distance, a step between neighbouring values 1 / (m - 1)."""
    n, m = sum(counts), len(counts)
    total = 0.0
    for rank in range(m):
        own = sum(other <= rank for other in ranks) / len(ranks)
        total += abs(own - sum(counts[: rank + 1]) / n)
    return total / max(1, m - 1)


def apart(ranks, counts):
    """The distance where all values are as far from each other."""
    n = sum(counts)
    own = Counter(ranks)
    return sum(abs(own[rank] / len(ranks) - count / n) for rank, count in enumerate(counts)) / 2


def least_loss(points, k, keeps):
    """The least SSE of all partitions into groups of k or more that keep what is demanded: of those
    with each group that the first record left may be in, the best of the rest."""

    @cache
    def loss(group):
        if not keeps(group):
            return math.inf
        inside = points[list(group)]
        return float(((inside - inside.mean(axis=0)) ** 2).sum())

    @cache
    def least(left):
        if not left:
            return 0.0
        found = math.inf
        for size in range(k - 1, len(left)):
            for others in combinations(left[1:], size):
                own = loss((left[0], *others))
                if own < found:
                    rest = tuple(item for item in left[1:] if item not in others)
                    found = min(found, own + least(rest))
        return found

    return least(tuple(range(len(points))))
