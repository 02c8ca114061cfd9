"""Arrays that fit memory well."""

import numpy as np
from numpy.typing import DTypeLike, NDArray

# NumPy asks the system for large pages from here on.
_LARGE_PAGES_FROM = 1 << 22


def roomy(size: int, dtype: DTypeLike) -> NDArray:
    """An empty array, a little too large where that saves a thousand page faults."""
    each = np.dtype(dtype).itemsize
    if _LARGE_PAGES_FROM // 4 <= size * each < _LARGE_PAGES_FROM:
        return np.empty(_LARGE_PAGES_FROM // each, dtype)[:size]
    return np.empty(size, dtype)
