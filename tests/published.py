"""SSE of integer microaggregation along an order of records, as Mortazavi (2020) counts it."""

import numpy as np

import microagg
from microagg.grouping.sequence.split import split_sequence


def integer_losses(numbers, order_by, ks):
    """For each k: of the best float groups, centroids rounded, and of the best integer groups.

    Ordered by z-scores with the sample deviation, in extended precision since near ties decide;
    grouped by a hundred times these, halves away from zero.
    """
    precise = numbers.astype(np.longdouble)
    scores = ((precise - precise.mean(axis=0)) / precise.std(axis=0, ddof=1)).astype(np.float64)
    whole = np.copysign(np.floor(np.abs(100.0 * scores) + 0.5), scores)
    line = whole[order_by(np.ascontiguousarray(scores))]
    for k in ks:
        floats, integers = (split_sequence(line, k, integer=way) for way in (False, True))
        yield sse_about_integers(line, floats), sse_about_integers(line, integers)


def sse_about_integers(line, sizes):
    """The exact SSE of consecutive groups about their means, rounded to integers."""
    labels = np.repeat(np.arange(sizes.size), sizes)
    centres = microagg.aggregate(line, labels, "integer")
    return int(np.sum((line - centres).astype(np.int64) ** 2))
