"""The correlation of two columns by its definition, in numbers long enough for any square."""

import numpy as np


def correlation(one, other):
    """Over the records that have both values; None where a column does not vary."""
    both = ~(missing(one) | missing(other))
    x, y = (each.values[both].astype(np.longdouble) for each in (one, other))
    if x.size < 2 or (x == x[0]).all() or (y == y[0]).all():
        return None
    # A sum of long integers would lose digits; their distances do not.
    x, y = x - x[0], y - y[0]
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()))


def missing(column):
    return np.zeros(column.values.size, bool) if column.missing is None else column.missing
