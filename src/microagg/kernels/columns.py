"""Columns on one scale: what distances between records are taken on."""

import numpy as np

from microagg.kernels.compiling import kernel


@kernel
def column_means(records):
    """The mean of each column, summed relative to the first record."""
    n, d = records.shape
    mean = np.zeros(d)
    for i in range(n):
        for a in range(d):
            mean[a] += records[i, a] - records[0, a]
    for a in range(d):
        mean[a] = records[0, a] + mean[a] / n
    return mean


@kernel
def sum_products(records, mean, products, first, last):
    """Add the products of every two centred attributes (above the diagonal) of some records."""
    d = records.shape[1]
    away = np.empty(d)
    for i in range(first, last):
        for a in range(d):
            away[a] = records[i, a] - mean[a]
        for a in range(d):
            x = away[a]
            for b in range(a, d):
                products[a, b] += x * away[b]


@kernel
def squared_distances(records, point, squares):
    """Of each record to a point."""
    n, d = records.shape
    for i in range(n):
        total = 0.0
        for a in range(d):
            away = records[i, a] - point[a]
            total += away * away
        squares[i] = total


@kernel
def standardise(records, scaled):
    """Write z-scores (population deviation) of columns that vary; three passes, no digits lost."""
    n, d = records.shape
    mean = column_means(records)
    squares = np.zeros(d)
    for i in range(n):
        for a in range(d):
            away = records[i, a] - mean[a]
            squares[a] += away * away
    for a in range(d):
        squares[a] = np.sqrt(squares[a] / n)
    for i in range(n):
        for a in range(d):
            scaled[i, a] = (records[i, a] - mean[a]) / squares[a]
