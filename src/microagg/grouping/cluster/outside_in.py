"""What the methods with one fixed centre share: records from the outside in."""

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.columns import squared_distances


def outside_in(records: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows by falling distance from the centroid of all records; of equally far, the lowest first.

    O(n d + n log n) time.
    """
    distances = np.empty(len(records))
    # A running sum adds in the order of rows, whatever the number of attributes.
    squared_distances(records, np.cumsum(records, axis=0)[-1] / len(records), distances)
    return np.argsort(-distances, kind="stable")
