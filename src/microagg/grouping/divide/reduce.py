"""Fewer dimensions: records on the leading principal components of their own."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.columns import column_means, sum_products
from microagg.kernels.compiling import kernel


class Reduction(NamedTuple):
    """How many components to keep: so many that they hold a share of the variance, or a number."""

    energy: float = 0.99
    dimensions: int | None = None


class Axes(NamedTuple):
    """Principal components, the one of greatest variance first: loadings[j] is a unit vector."""

    mean: NDArray[np.float64]
    variances: NDArray[np.float64]
    loadings: NDArray[np.float64]


def reduce(records: NDArray[np.float64], reduction: Reduction) -> NDArray[np.float64]:
    """The records on their leading principal components.

    Where all are to be kept, the records stay as they are: a rotation would change no distance.
    O(n d^2) time. Casanova, "Computational methods for large-scale microdata anonymization" (2015),
    section 3.1.
    """
    axes = find_axes(records)
    kept = count_kept(axes.variances, reduction)
    return records if kept == records.shape[1] else project(records, axes, kept)


def find_axes(records: NDArray[np.float64]) -> Axes:
    """Principal components by the spectral decomposition of the covariances.

    Sums run in one fixed order. In each component the loading greatest in size is positive.
    """
    n, d = records.shape
    mean, products = column_means(records), np.zeros((d, d))
    sum_products(records, mean, products, 0, len(records))
    variances, vectors = np.linalg.eigh(products / n, UPLO="U")
    loadings = np.ascontiguousarray(vectors.T[::-1])
    sizes = np.abs(loadings)
    # The first of those that rounding alone may have put in another order.
    greatest = np.argmax(sizes >= sizes.max(axis=1, keepdims=True) * (1.0 - 1e-9), axis=1)
    loadings *= np.sign(loadings[np.arange(d), greatest])[:, None]
    return Axes(mean, np.maximum(variances[::-1], 0.0), loadings)


def count_kept(variances: NDArray[np.float64], reduction: Reduction) -> int:
    """How many leading components to keep, at least one."""
    if reduction.dimensions is not None:
        return min(reduction.dimensions, variances.size)
    held = np.cumsum(variances)
    # A share of 1 means all that vary, whatever the last digit of the sum.
    wanted = reduction.energy * held[-1] * (1.0 - 1e-12)
    return int(np.argmax(held >= wanted)) + 1


def project(records: NDArray[np.float64], axes: Axes, kept: int) -> NDArray[np.float64]:
    """Where the records stand along the first components, (n, kept)."""
    scores = np.empty((len(records), kept))
    _project(records, axes.mean, np.ascontiguousarray(axes.loadings[:kept].T), scores)
    return scores


@kernel
def _project(records, mean, columns, scores):
    n, d = records.shape
    for i in range(n):
        for j in range(scores.shape[1]):
            scores[i, j] = 0.0
        for a in range(d):
            x = records[i, a] - mean[a]
            for j in range(scores.shape[1]):
                scores[i, j] += x * columns[a, j]
