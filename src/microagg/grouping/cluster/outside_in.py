"""What the methods with one fixed centre share: records from the outside in, and leftovers."""

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.columns import squared_distances
from microagg.kernels.compiling import kernel


def outside_in(records: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows by falling distance from the centroid of all records; of equally far, the lowest first.

    O(n d + n log n) time.
    """
    distances = np.empty(len(records))
    # A running sum adds in the order of rows, whatever the number of attributes.
    squared_distances(records, np.cumsum(records, axis=0)[-1] / len(records), distances)
    return np.argsort(-distances, kind="stable")


@kernel
def nearest_group(records, row, order, sizes):
    """The group whose centroid is nearest to a record, the first of equally near ones."""
    d = records.shape[1]
    least = np.inf
    best = 0
    start = 0
    for group in range(sizes.size):
        distance = 0.0
        for a in range(d):
            total = 0.0
            for i in range(start, start + sizes[group]):
                total += records[order[i], a]
            away = total / sizes[group] - records[row, a]
            distance += away * away
        if distance < least:
            least = distance
            best = group
        start += sizes[group]
    return best
