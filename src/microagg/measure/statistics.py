"""What a release keeps of the data: loss, means, variances, correlations, quantiles, totals.

Every measure of this room first puts original and released records on one scale (`paired`): a
difference counts in standard deviations of the original column. Columns whose originals are all
equal have no such scale and nothing to tell about anybody: they are left out of every figure, and
count as unchanged where there is one figure for each column.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from microagg.base.arrays import as_records
from microagg.base.errors import InputError
from microagg.kernels.threads import run_each

QUANTILES = np.arange(1, 20) / 20.0
# Within these powers of two no square of a scaled difference overflows or vanishes.
_PLAIN = 100
_FARTHEST = 2.0**200


@dataclass(frozen=True, eq=False)
class Pair:
    """Original and released records, a line for each column that varies, in a unit of its own.

    Units are powers of two times the column's, so no digit is lost. `pivots` are values amid the
    originals, and `means` (of the originals) relative to them: neither does an offset cost digits.
    """

    original: NDArray[np.float64]  # (v, n)
    released: NDArray[np.float64]  # (v, n)
    pivots: NDArray[np.float64]  # (v,)
    means: NDArray[np.float64]
    deviations: NDArray[np.float64]
    columns: NDArray[np.int64]  # (v,) where the lines stood in the table
    n: int
    d: int

    @cached_property
    def scores(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Original and released values as z-scores by the originals' mean and deviation."""
        return self._scored(self.original), self._scored(self.released)

    @cached_property
    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Of z-scores: the released means, the original and the released covariances."""
        scores, twins = self.scores
        means = twins.mean(axis=1) if len(twins) else np.empty(0)
        centred = twins - means[:, np.newaxis]
        return means, scores @ scores.T / self.n, centred @ centred.T / self.n

    @cached_property
    def ascending(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Original and released values, each line in ascending order."""
        lines = np.empty_like(self.original), np.empty_like(self.released)

        def sort(side: int, a: int) -> None:
            lines[side][a] = np.sort((self.original, self.released)[side][a])

        run_each([partial(sort, side, a) for side in (0, 1) for a in range(self.columns.size)])
        return lines

    def lines(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64], float]]:
        """Original values, released values and deviation, column by column."""
        return zip(self.original, self.released, self.deviations, strict=True)

    def _scored(self, lines: NDArray[np.float64]) -> NDArray[np.float64]:
        scored = lines - self.pivots[:, np.newaxis]
        scored -= self.means[:, np.newaxis]
        scored /= self.deviations[:, np.newaxis]
        return scored

    def per_column(self, figures: Sequence[float] | NDArray) -> tuple[float, ...]:
        """One figure for each column of the table: 0 for those that were left out."""
        every = np.zeros(self.d)
        every[self.columns] = figures
        return tuple(every.tolist())

    def by_column(self, figures: Sequence[float] | NDArray) -> "ByColumn":
        """The mean over the columns that vary, and the figure of each column."""
        return ByColumn(_mean(figures), self.per_column(figures))

    def only(self, columns: Sequence[int]) -> "Pair":
        """The same records with these columns of the table alone."""
        kept = np.isin(self.columns, columns)
        lines = ("original", "released", "pivots", "means", "deviations", "columns")
        return replace(self, **{name: getattr(self, name)[kept] for name in lines})


def paired(original: ArrayLike, released: ArrayLike) -> Pair:
    """Check two tables of the same records, row by row, and put them on one scale. O(n d) time."""
    first, second = as_records(original, "original"), as_records(released, "released")
    if first.shape != second.shape:
        raise InputError(
            f"original and released must hold the same records and columns, but their shapes are "
            f"{first.shape} and {second.shape}; release every record in its own row"
        )
    n, d = first.shape
    lines = np.array(first.T, np.float64, order="C")
    twins = np.array(second.T, np.float64, order="C")
    low, high = lines.min(axis=1), lines.max(axis=1)
    columns = np.flatnonzero(low < high)
    if columns.size < d:
        lines, twins, low, high = lines[columns], twins[columns], low[columns], high[columns]
    exponents = np.frexp(np.maximum(high, -low))[1]
    for extreme in np.flatnonzero(np.abs(exponents) > _PLAIN):
        np.ldexp(lines[extreme], -exponents[extreme], out=lines[extreme])
        with np.errstate(over="ignore"):
            np.ldexp(twins[extreme], -exponents[extreme], out=twins[extreme])
    np.clip(twins, -_FARTHEST, _FARTHEST, out=twins)
    pivots = lines[:, 0].copy()
    means, deviations = np.empty(columns.size), np.empty(columns.size)
    for a, line in enumerate(lines):
        away = line - pivots[a]
        means[a] = away.mean()
        away -= means[a]
        deviations[a] = np.sqrt(np.square(away, out=away).mean())
    return Pair(lines, twins, pivots, means, deviations, columns, n, d)


@dataclass(frozen=True)
class ByColumn:
    """A percentage: of the whole release, and of each column."""

    total: float
    attributes: tuple[float, ...]


def release_loss(pair: Pair) -> ByColumn:
    """The loss IL of any release: for a column 100 * sum (x - x')^2 / sum (x - mean)^2, in percent.

    In all, the mean over the columns that vary. From 0, nothing changed; 100 is what publishing
    the mean for everybody costs, and worse is possible. Lower is better. For group means it is
    `information_loss` of the groups. O(n d) time.
    """
    losses = []
    for line, twin, deviation in pair.lines():
        away = (line - twin) / deviation
        losses.append(100.0 * float(np.dot(away, away)) / pair.n)
    return pair.by_column(losses)


def il1s(pair: Pair) -> float:
    """The mean over all cells of |x - x'| / (sqrt(2) * deviation of the original column).

    IL1s of Mateo-Sanz, Sebé and Domingo-Ferrer (2004), which Yancey, Winkler and Creecy (2002)
    proposed. From 0, nothing changed; lower is better. O(n d) time.
    """
    return _mean(
        [
            float(np.abs(line - twin).mean()) / (np.sqrt(2.0) * deviation)
            for line, twin, deviation in pair.lines()
        ]
    )


@dataclass(frozen=True)
class Changes:
    """How familiar statistics changed; 0 is unchanged. One figure a column, but for correlations.

    means: 100 * (mean' - mean) / deviation.
    variances: 100 * (variance' / variance - 1), from -100.
    quantiles: 100 * |q' - q| / deviation, the mean over the quantiles of 5, 10, ... 95 percent.
    totals: 100 * (sum x' - sum x) / sum |x|.
    correlations, largest_correlation: the mean and the largest |r' - r| over all pairs of columns,
    0 to 2. A column that became constant correlates with nothing: its r' is 0.
    """

    means: tuple[float, ...]
    variances: tuple[float, ...]
    quantiles: tuple[float, ...]
    totals: tuple[float, ...]
    correlations: float
    largest_correlation: float


def changes(pair: Pair) -> Changes:
    """How means, variances, quantiles, totals and correlations changed. O(n d (d + log n)) time."""
    means, covariances, released_covariances = pair.moments
    quantiles = [
        100.0 * float(np.abs(quantiles_of(twin) - quantiles_of(line)).mean()) / deviation
        for line, twin, deviation in zip(*pair.ascending, pair.deviations, strict=True)
    ]
    totals = [
        100.0 * float((twin - line).sum()) / float(np.abs(line).sum())
        for line, twin, _ in pair.lines()
    ]
    apart = np.abs(correlations_of(released_covariances) - correlations_of(covariances))
    apart = apart[np.triu_indices(pair.columns.size, 1)]
    return Changes(
        means=pair.per_column(100.0 * means),
        variances=pair.per_column(100.0 * (np.diag(released_covariances) - 1.0)),
        quantiles=pair.per_column(quantiles),
        totals=pair.per_column(totals),
        correlations=_mean(apart),
        largest_correlation=float(apart.max()) if apart.size else 0.0,
    )


def kolmogorov_smirnov(pair: Pair) -> ByColumn:
    """The largest distance between the distributions of a column before and after, in percent.

    100 * max over v of |share up to v - released share up to v|; in all, the mean over the columns
    that vary. 0 is the same distribution, 100 two that do not meet; lower is better. O(n d log n)
    time.
    """
    distances = np.empty(pair.columns.size)

    def compare(a: int) -> None:
        before, after = (lines[a] for lines in pair.ascending)
        # Between two released values only the other share grows: it is farthest at one of them, or
        # just before.
        begins = runs_of(after)
        values = after[begins]
        below = np.searchsorted(before, values) - begins
        up_to = np.searchsorted(before, values, "right") - np.append(begins[1:], after.size)
        apart = max(int(np.abs(below).max()), int(np.abs(up_to).max()))
        distances[a] = 100.0 * apart / pair.n

    run_each([partial(compare, a) for a in range(pair.columns.size)])
    return pair.by_column(distances)


def eigenvalue_distance(pair: Pair) -> float:
    """100 * sum |l' - l| / sum l over the eigenvalues l, l' of the covariances, in percent.

    Covariances are of z-scores by the original's mean and deviation, eigenvalues in descending
    order. From 0, the cloud of records kept its shape; lower is better. O(n d^2 + d^3) time.
    """
    if pair.columns.size == 0:
        return 0.0
    before, after = map(np.linalg.eigvalsh, pair.moments[1:])
    return 100.0 * float(np.abs(after - before).sum() / before.sum())


def correlations_of(covariances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The correlations that go with covariances; 0 for a column that is constant."""
    deviations = np.sqrt(np.diag(covariances))
    # What is left of a constant column is rounding.
    wiped = deviations <= 1e-12
    deviations = np.where(wiped, 1.0, deviations)
    correlations = covariances / deviations / deviations[:, np.newaxis]
    correlations[wiped] = correlations[:, wiped] = 0.0
    return np.clip(correlations, -1.0, 1.0)


def quantiles_of(ascending: NDArray[np.float64]) -> NDArray[np.float64]:
    """The 5, 10, ... 95 percent quantiles: the least value that so many do not exceed."""
    # Whole numbers decide, lest 0.15 * 20 be more than 3.
    return ascending[-(-np.arange(1, 20) * ascending.size // 20) - 1]


def runs_of(ascending: NDArray) -> NDArray[np.int64]:
    """Where each different value begins."""
    return np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))


def _mean(figures: Sequence[float] | NDArray) -> float:
    return float(np.mean(figures)) if len(figures) else 0.0
