"""What groups of mixed records lose, counted by hand."""

from collections import Counter

from tests.naive.search import partitions


def group_loss(numbers, codes, prices):
    """Squared distances to the mean of what is there, and the price of all but the commonest."""
    total = 0.0
    for column in zip(*numbers, strict=True):
        there = [value for value in column if value == value]
        if there:
            mean = sum(there) / len(there)
            total += sum((value - mean) ** 2 for value in there)
    for column, price in zip(zip(*codes, strict=True), prices, strict=True):
        counts = Counter(code for code in column if code >= 0)
        if counts:
            total += price * (sum(counts.values()) - max(counts.values()))
    return total


def total_loss(mixed, groups):
    numbers, codes = mixed.numbers.tolist(), mixed.codes.tolist()
    return sum(
        group_loss([numbers[i] for i in group], [codes[i] for i in group], mixed.prices.tolist())
        for group in groups
    )


def least_loss(mixed, k):
    """Of every way to divide the records."""
    return min(total_loss(mixed, groups) for groups in partitions(list(range(len(mixed.codes))), k))


def distance(mixed, x, y):
    """What two records lose as a group of their own, twice."""
    numbers, codes = mixed.numbers[[x, y]].tolist(), mixed.codes[[x, y]].tolist()
    return 2.0 * group_loss(numbers, codes, mixed.prices.tolist())
