"""Regions: groups that are near each other, as parts of all groups that nothing joins."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel
from microagg.kernels.threads import run_blocks, run_each

_GROUPS_AT_ONCE = 1 << 13


def centres_of(
    points: NDArray[np.float64], order: NDArray[np.int32], sizes: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Centroids of groups, one line an attribute."""
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    centres = np.zeros((points.shape[1], sizes.size))
    run_blocks(partial(_add_up, points, order, starts, centres), sizes.size, _GROUPS_AT_ONCE)
    return centres


def cut_regions(
    centres: NDArray[np.float64], halvings: int, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Groups by their numbers, halved so many times at the median along the line through the
    centres of two; centres: one line an attribute."""
    regions = [np.arange(centres.shape[1])]
    for _ in range(halvings):
        halves = [regions[i // 2] for i in range(2 * len(regions))]
        ends = [rng.integers(0, region.size, 2) for region in regions]
        run_each([partial(_halve, centres, halves, 2 * r, *ends[r]) for r in range(len(regions))])
        regions = halves
    return regions


def _halve(centres, halves, at, one, other):
    """Put the two halves of a region, which both stand for it, in its place."""
    region = halves[at]
    line = centres[:, region[one]] - centres[:, region[other]]
    along = np.zeros(region.size)
    for a in range(line.size):
        along += centres[a, region] * line[a]
    halves[at : at + 2] = np.array_split(region[np.argsort(along, kind="stable")], 2)


@kernel
def _add_up(points, order, starts, centres, first, last):
    """Centroids of these groups, one line an attribute."""
    width = points.shape[1]
    for group in range(first, last):
        for i in range(starts[group], starts[group + 1]):
            for a in range(width):
                centres[a, group] += points[order[i], a]
        for a in range(width):
            centres[a, group] /= starts[group + 1] - starts[group]
