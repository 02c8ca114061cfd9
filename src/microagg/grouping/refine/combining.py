"""The best of two partitions, part by part.

Where two partitions of the same records differ, they mostly do so in many places that have nothing
to do with each other. The smallest sets of records that are made of whole groups in both fall apart
into such places: in each of them the better groups are taken.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel
from microagg.kernels.group_passes import root_of, scatter_of
from microagg.kernels.threads import run_blocks

_GROUPS = 1 << 13


def combine(
    points: NDArray[np.float64],
    order: NDArray[np.int32],
    sizes: NDArray[np.int32],
    other_order: NDArray[np.int32],
    other_sizes: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32], float]:
    """Rows group by group, the sizes, and the SSE: no larger than that of either partition.

    Where both are as good, the first one's groups. O(n d) time.
    """
    scatter = np.empty(sizes.size + other_sizes.size)
    for rows, counts, into in (
        (order, sizes, scatter[: sizes.size]),
        (other_order, other_sizes, scatter[sizes.size :]),
    ):
        ends = np.cumsum(counts, dtype=np.int64)
        run_blocks(partial(_scatter, points, rows, ends - counts, ends, into), ends.size, _GROUPS)
    found: tuple[NDArray[np.int32], NDArray[np.int32], float]
    found = better_parts(scatter, order, sizes, other_order, other_sizes)
    return found


@kernel
def _scatter(points, order, starts, ends, scatter, first, last):
    for g in range(first, last):
        scatter[g] = scatter_of(points, order, starts[g], ends[g])


@kernel
def better_parts(costs, order, sizes, other_order, other_sizes):
    """The same by whatever the groups of both cost, those of the first one first."""
    n, own = order.size, sizes.size
    rows = np.concatenate((order, other_order))
    counts = np.concatenate((sizes, other_sizes))
    group = np.empty(n, np.int32)
    parent = np.arange(own).astype(np.int32)
    at = 0
    for g in range(counts.size):
        one = np.int32(g) if g < own else root_of(parent, group[rows[at]])
        for i in range(at, at + counts[g]):
            if g < own:
                group[rows[i]] = g
            else:
                two = root_of(parent, group[rows[i]])
                one, two = min(one, two), max(one, two)
                parent[two] = one
        at += counts[g]
    gains = np.zeros(own)
    at = 0
    for g in range(counts.size):
        gains[root_of(parent, group[rows[at]])] += costs[g] if g < own else -costs[g]
        at += counts[g]

    best = np.empty(n, np.int32)
    best_sizes = np.empty(n, np.int32)
    filled = groups = at = 0
    total = 0.0
    for g in range(counts.size):
        if (gains[root_of(parent, group[rows[at]])] > 0.0) == (g >= own):
            for i in range(at, at + counts[g]):
                best[filled] = rows[i]
                filled += 1
            best_sizes[groups] = counts[g]
            groups += 1
            total += costs[g]
        at += counts[g]
    return best, best_sizes[:groups], total
