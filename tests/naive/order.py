"""What the order of the rows gives back: a monotone curve along them, by pooling neighbours."""

import numpy as np


def monotone(values):
    """The rising numbers with the least squared distance from these."""
    means, sizes = [], []
    for value in values:
        means.append(float(value))
        sizes.append(1)
        while len(means) > 1 and means[-2] >= means[-1]:
            size = sizes[-2] + sizes[-1]
            mean = (means[-2] * sizes[-2] + means[-1] * sizes[-1]) / size
            del means[-1], sizes[-1]
            means[-1], sizes[-1] = mean, size
    return np.repeat(means, sizes)


def steps_between(published):
    """A guess at what was sorted: the monotone curve, and a straight line on each of its steps."""
    curve = monotone(published)
    _, places = np.unique(curve, return_inverse=True)
    ends = np.flatnonzero(np.diff(places, append=places[-1] + 1))
    middles = (np.concatenate([[0], ends[:-1] + 1]) + ends) / 2
    return np.interp(np.arange(curve.size), middles, curve[ends])
