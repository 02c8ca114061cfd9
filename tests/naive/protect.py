"""A release recounted and its losses recomputed, row by row."""

from collections import Counter


def recount(rows, entities=None):
    """The sizes of the classes of equal rows, and the least number of units in one."""
    sizes = Counter(rows)
    if entities is None:
        return sorted(sizes.values()), min(sizes.values())
    pairs = set(zip(rows, entities, strict=True))
    return sorted(sizes.values()), min(Counter(row for row, _ in pairs).values())


def numeric_loss(before, after):
    """100 * squared changes / squared distances to the mean, over values that were there.

    None is a missing value; one that got lost costs as much as the mean of all.
    """
    pairs = [(x, y) for x, y in zip(before, after, strict=True) if x is not None]
    if not pairs:
        return 0.0
    mean = sum(x for x, _ in pairs) / len(pairs)
    total = sum((x - mean) ** 2 for x, _ in pairs)
    lost = sum((x - (mean if y is None else y)) ** 2 for x, y in pairs)
    return 100.0 * float(lost) / float(total) if total else 0.0


def category_loss(before, after):
    """100 * changed / not of the commonest category, over values that were there."""
    pairs = [(x, y) for x, y in zip(before, after, strict=True) if x is not None]
    if not pairs:
        return 0.0
    others = len(pairs) - max(Counter(x for x, _ in pairs).values())
    return 100.0 * sum(x != y for x, y in pairs) / others if others else 0.0


def share_changed(before, after):
    """The percentage of rows that show something else."""
    return 100.0 * sum(x != y for x, y in zip(before, after, strict=True)) / len(before)
