"""Values counted in bins."""

import numpy as np

from microagg.kernels.compiling import kernel


@kernel
def count_in_bins(values, edges, counts):
    bins = counts.size
    low, high = edges[0], edges[bins]
    a_unit = bins / (high - low) if low < high else 0.0
    for i in range(values.size):
        value = min(max(values[i], low), high)
        place = min(max(np.int64((value - low) * a_unit), 0), bins - 1)
        # A guess that rounding may have led astray: the edges decide.
        while place > 0 and value < edges[place]:
            place -= 1
        while place < bins - 1 and value >= edges[place + 1]:
            place += 1
        counts[place] += 1
