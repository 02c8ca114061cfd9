"""MDAV as its definition reads: whole numbers, every distance, every time."""

from fractions import Fraction

import numpy as np


class RoundingDecidesError(Exception):
    """Different records are equally far from a centroid that has no exact float64."""


def squared_distance(one, other):
    return sum((x - y) ** 2 for x, y in zip(one, other, strict=True))


def as_integers(records):
    """The records times a power of two that makes all values whole; distances keep their order."""
    exact = [[Fraction(float(x)) for x in record] for record in records]
    scale = max(x.denominator for record in exact for x in record)
    return [[int(x * scale) for x in record] for record in exact], scale


def farthest_from_centroid(points, scale, rows):
    """Of `rows` the one farthest from their mean, the lowest of equally far ones."""
    n = len(rows)
    sums = [sum(values) for values in zip(*(points[row] for row in rows), strict=True)]
    # n times the record less the sum is n times the way from the centroid.
    far = {row: squared_distance([n * x for x in points[row]], sums) for row in rows}
    most = max(far.values())
    equally = [row for row in rows if far[row] == most]
    centroid = [Fraction(total, n * scale) for total in sums]
    if any(points[row] != points[equally[0]] for row in equally) and any(
        Fraction(float(x)) != x for x in centroid
    ):
        raise RoundingDecidesError
    return min(equally)


def farthest_from(points, rows, seed):
    """Of `rows` the one farthest from a record, the lowest of equally far ones."""
    return min(rows, key=lambda row: (-squared_distance(points[row], points[seed]), row))


def group_around(points, rows, seed, k):
    """The seed and its k - 1 nearest of `rows`, the lower of equally near ones first."""
    others = [row for row in rows if row != seed]
    others.sort(key=lambda row: (squared_distance(points[row], points[seed]), row))
    return [seed, *others[: k - 1]]


def mdav(records, k):
    """Row numbers group by group, and the sizes of the groups.

    With ties for the record farthest from the first, one that is not in the first group is taken.
    """
    points, scale = as_integers(records)
    left = list(range(len(records)))
    groups = []

    def take(seed):
        groups.append(group_around(points, left, seed, k))
        left[:] = [row for row in left if row not in groups[-1]]

    while len(left) >= 3 * k:
        r = farthest_from_centroid(points, scale, left)
        take(r)
        s = farthest_from(points, left, r)
        take(s)
    if len(left) >= 2 * k:
        take(farthest_from_centroid(points, scale, left))
    groups.append(left)
    return np.concatenate(groups), np.array([len(group) for group in groups])
