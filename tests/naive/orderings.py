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
