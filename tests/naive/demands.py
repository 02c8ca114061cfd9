"""Demands beyond k by their definitions, and the least loss under them, over all partitions."""

import math
from collections import Counter


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


def partitions(items):
    """Every way to divide a list."""
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        for place, group in enumerate(rest):
            yield [*rest[:place], [items[0], *group], *rest[place + 1 :]]
        yield [[items[0]], *rest]


def least_loss(points, k, keeps):
    """The least SSE of all partitions into groups of k or more that keep what is demanded."""
    known = {}

    def loss(group):
        key = tuple(group)
        if key not in known:
            if len(group) < k or not keeps(group):
                known[key] = math.inf
            else:
                inside = points[list(group)]
                known[key] = float(((inside - inside.mean(axis=0)) ** 2).sum())
        return known[key]

    return min(sum(map(loss, each)) for each in partitions(list(range(len(points)))))
