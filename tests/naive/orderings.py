"""Slow twins of the orders of records."""

import itertools
import math

import numpy as np


def order_by_score(records, loadings):
    scores = []
    for record in records:
        score = 0.0
        for value, loading in zip(record, loadings, strict=True):
            score += value * loading
        scores.append(score)
    return sorted(range(len(records)), key=lambda row: (scores[row], row))


def order_by_zscore(records):
    return order_by_score(records, np.ones(records.shape[1]))


def are_halves(records, order, leaf=16):
    """Whether lower halves stand before upper ones, down to leaves: of few records along the first
    attribute in which they lie widest, of more along any, for these are only looked over."""
    if len(order) == 0:
        return True
    leaves = 1
    while leaves * leaf < len(order):
        leaves *= 2

    def holds(rows, leaves):
        if leaves == 1:
            return True
        lower, upper = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        attributes = range(records.shape[1])
        if len(rows) < 128:
            widths = [max(records[rows, a]) - min(records[rows, a]) for a in attributes]
            attributes = [widths.index(max(widths))]
        cut = any(max(records[lower, a]) <= min(records[upper, a]) for a in attributes)
        return cut and holds(lower, leaves // 2) and holds(upper, leaves // 2)

    return holds(list(order), leaves)


def squared_distance(one, other):
    total = 0.0
    for x, y in zip(one, other, strict=True):
        total += (x - y) ** 2
    return total


def farthest_from_centroid(records):
    centroid = [math.fsum(column) / len(column) for column in records.T]
    squares = [squared_distance(record, centroid) for record in records]
    return squares.index(max(squares))


def order_by_nearest_next(records, start):
    rows = records.tolist()
    order, left = [start], [row for row in range(len(rows)) if row != start]
    while left:
        current = rows[order[-1]]
        order.append(min(left, key=lambda row: (squared_distance(rows[row], current), row)))
        left.remove(order[-1])
    return order


def path_length(records, order):
    return sum(
        math.sqrt(squared_distance(records[one], records[other]))
        for one, other in itertools.pairwise(order)
    )


def shortest_path_length(records, start):
    others = [row for row in range(len(records)) if row != start]
    return min(path_length(records, (start, *rest)) for rest in itertools.permutations(others))
