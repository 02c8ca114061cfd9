"""Columns on one scale: what distances between records are taken on."""

import numpy as np

from microagg.kernels.compiling import kernel


@kernel
def standardise(records, scaled):
    """Write z-scores (population deviation) of columns that vary; three passes, no digits lost."""
    n, d = records.shape
    mean = np.zeros(d)
    for i in range(n):
        for a in range(d):
            mean[a] += records[i, a] - records[0, a]
    for a in range(d):
        mean[a] = records[0, a] + mean[a] / n
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
