"""Which rows are in which cell."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def rows_by_cell(cells: NDArray[np.int64], count: int) -> Sequence[NDArray[np.int64]]:
    """The rows of each of so many cells, in order; rows in no cell have a negative number."""
    order = np.argsort(cells, kind="stable")
    sizes = np.bincount(cells[cells >= 0], minlength=count)
    return np.split(order[order.size - int(sizes.sum()) :], np.cumsum(sizes)[:-1])
