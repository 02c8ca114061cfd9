"""Records divided into regions: few near neighbours are parted."""

import numpy as np
from numpy.typing import NDArray

# A region is cut where records leave the widest gap, but no less than this share on each side.
_LEAST_SHARE = 0.25


def regions_of(records: NDArray[np.float64], most: int) -> list[NDArray[np.int64]]:
    """The rows of each region, at most so many; O(n log^2 n) time."""
    waiting = [np.arange(len(records))]
    regions = []
    while waiting:
        rows = waiting.pop()
        if rows.size <= most:
            regions.append(rows)
            continue
        low, high = _cut(records[rows])
        waiting += [rows[high], rows[low]]
    return regions


def _cut(records: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two sides along the axis of the largest variance; rows in their order."""
    centred = records - records.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    along = centred @ axes[:, -1]
    order = np.argsort(along, kind="stable")
    first = max(1, int(_LEAST_SHARE * order.size))
    last = max(first + 1, order.size - first)
    gaps = np.diff(along[order])[first - 1 : last - 1]
    at = first + int(np.argmax(gaps))
    return np.sort(order[:at]), np.sort(order[at:])
