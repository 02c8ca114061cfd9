"""Columns before and after as a page shows them: counts and means, never a record."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.arrays import centred
from microagg.base.errors import MicroaggError
from microagg.columns.coded import Coded, encode
from microagg.columns.kinds import kind_for, kinds_of_text
from microagg.columns.text import is_text, read_text, without_views
from microagg.columns.told import Attribute, Correlations, Role
from microagg.kernels.histograms import count_in_bins
from microagg.table.opening import Origin, readable

_BINS = 24
_TAIL = 0.005
_MOST_CORRELATED = 20


def understood(name: str, array: pa.Array, origin: Origin) -> Coded | None:
    """A column that is only looked at: as numbers or dates if it can be, else as categories."""
    array = without_views(readable(array, origin))
    kind = None
    if is_text(array.type):
        kind = kind_for(name, array.type).name
        for each in kinds_of_text():
            entries = read_text(array, each.read_as)
            if entries is not None and entries[0].null_count < len(array):
                array, kind = entries[0], each.name
                break
    try:
        return encode(name, array, kind)
    except MicroaggError:
        return None


class Bins(NamedTuple):
    """Equally wide bins of a histogram, in the terms of a column's values."""

    edges: NDArray[np.float64]

    def counts(self, values: NDArray) -> NDArray[np.int64]:
        """How many values lie in each bin; those outside count in the outermost. O(n) time."""
        counts = np.zeros(self.edges.size - 1, np.int64)
        count_in_bins(np.ascontiguousarray(values, np.float64), self.edges, counts)
        return counts


class Side(NamedTuple):
    """What is told of a column before or after: sums only, so parts of a table can be added up.

    counts: of each bin or category.
    """

    missing: int
    counts: NDArray[np.int64]
    mean: float | str | None = None
    deviation: float | None = None


def attribute(
    role: Role,
    after: Coded,
    before: Coded | None = None,
    loss: float | None = None,
    changed: float | None = None,
) -> Attribute:
    """One column as a page shows it; without `before`, from the release alone."""
    bins = None
    if after.categories is None:
        shown = present(after)
        bins = _bins(after, shown if before is None else np.concatenate([present(before), shown]))
    then = None if before is None else _side(before, bins)
    return described(role, after, bins, _side(after, bins), then, loss, changed)


def described(
    role: Role,
    column: Coded,
    bins: Bins | None,
    after: Side,
    before: Side | None,
    loss: float | None = None,
    changed: float | None = None,
) -> Attribute:
    """One column as a page shows it, from what was counted of it; only its kind is looked at."""
    edges = None if bins is None else bins.edges
    olds = None if before is None else before.counts
    return Attribute(
        name=column.name,
        role=role,
        kind=column.kind,
        bars=column.traits.bars(column, edges, after.counts, olds),
        mean_before=None if before is None else before.mean,
        mean_after=after.mean,
        deviation_before=None if before is None else before.deviation,
        deviation_after=after.deviation,
        missing_before=None if before is None else before.missing,
        missing_after=after.missing,
        loss=loss,
        changed=changed,
    )


def _side(column: Coded, bins: Bins | None) -> Side:
    return Side(missing_in(column), counted(column, bins), *_moments(column))


def counted(column: Coded, bins: Bins | None) -> NDArray[np.int64]:
    """How often each category or bin appears."""
    if column.categories is not None:
        return np.bincount(present(column), minlength=len(column.categories))
    return np.empty(0, np.int64) if bins is None else bins.counts(present(column))


def correlations(
    after: Sequence[Coded],
    before: Sequence[Coded] | None,
    sizes: NDArray[np.int64] | None = None,
) -> Correlations | None:
    """How numbers go together, before and after; over records that have both values.

    sizes: if `after` is group by group, how many records each group has.
    """
    chosen = correlated(after)
    if len(chosen) < 2:
        return None
    names = tuple(after[place].name for place in chosen)
    then = None if before is None else _correlations([before[place] for place in chosen], None)
    now = _correlations([after[place] for place in chosen], sizes)
    return Correlations(names, then, now)


def correlated(columns: Sequence[Coded]) -> list[int]:
    """Which columns are correlated with each other: the first of those that have distances."""
    return [place for place, column in enumerate(columns) if column.numeric][:_MOST_CORRELATED]


def _correlations(
    columns: Sequence[Coded], sizes: NDArray[np.int64] | None
) -> tuple[tuple[float | None, ...], ...]:
    weights = None if sizes is None else sizes.astype(np.float64)
    scores = np.empty((len(columns), columns[0].values.size))
    for column, line in zip(columns, scores, strict=True):
        line[:] = _scores(column)
    if all(column.missing is None for column in columns):
        return _complete_correlations(scores, weights)
    present = [column.missing for column in columns]
    table: list[list[float | None]] = [[None] * len(columns) for _ in columns]
    for i in range(len(columns)):
        for j in range(i + 1):
            table[i][j] = table[j][i] = _correlation(
                scores[i], scores[j], _either(present[i], present[j]), weights
            )
    return tuple(tuple(row) for row in table)


def _complete_correlations(
    scores: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> tuple[tuple[float | None, ...], ...]:
    """All at once, where every record has every value."""
    scores -= np.average(scores, axis=1, weights=weights)[:, np.newaxis]
    if weights is not None:
        scores *= np.sqrt(weights)
    products = scores @ scores.T
    lengths = np.sqrt(np.diagonal(products))
    return ratios(products, np.outer(lengths, lengths))


def ratios(
    products: NDArray[np.float64], spreads: NDArray[np.float64]
) -> tuple[tuple[float | None, ...], ...]:
    """A table of correlations; None where there is no spread to speak of."""
    return tuple(
        tuple(
            float(np.clip(product / spread, -1.0, 1.0)) if 0.0 < spread < np.inf else None
            for product, spread in zip(*rows, strict=True)
        )
        for rows in zip(products, spreads, strict=True)
    )


def _scores(column: Coded) -> NDArray[np.float64]:
    """Numbers to correlate; zero where missing."""
    scores = np.zeros(column.values.size)
    values = present(column)
    if values.size:
        scores[slice(None) if column.missing is None else ~column.missing] = centred(values)
    return scores


def _correlation(
    one: NDArray[np.float64],
    other: NDArray[np.float64],
    missing: NDArray[np.bool_] | None,
    weights: NDArray[np.float64] | None,
) -> float | None:
    if missing is not None:
        one, other = one[~missing], other[~missing]
        weights = None if weights is None else weights[~missing]
    # Of equal values, rounding of their mean would leave a spread that is none.
    if one.size < 2 or np.ptp(one) == 0.0 or np.ptp(other) == 0.0:
        return None
    one = one - np.average(one, weights=weights)
    other = other - np.average(other, weights=weights)
    heavy = one if weights is None else one * weights
    spread = np.sqrt(heavy @ one) * np.sqrt(other @ (other if weights is None else other * weights))
    if not np.isfinite(spread) or spread == 0.0:
        return None
    return float(np.clip(heavy @ other / spread, -1.0, 1.0))


def _either(
    one: NDArray[np.bool_] | None, other: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    if one is None or other is None:
        return one if other is None else other
    return one | other


def missing_in(column: Coded) -> int:
    """How many records have no value."""
    return 0 if column.missing is None else int(column.missing.sum())


def present(column: Coded) -> NDArray:
    """The values of the records that have one."""
    return column.values if column.missing is None else column.values[~column.missing]


def _moments(column: Coded) -> tuple[float | str | None, float | None]:
    values = present(column)
    if values.size == 0 or column.categories is not None:
        return None, None
    origin = values.min()
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            offsets = values - origin
    else:
        # Distances from the least always fit into as many bits, if these have no sign.
        offsets = (values.astype(np.uint64) - origin.astype(np.uint64)).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = float(offsets.mean()), float(offsets.std())
    return column.traits.moments(column, origin, mean, deviation)


def _bins(column: Coded, values: NDArray) -> Bins | None:
    if values.size == 0:
        return None
    low, high = middle_of(values)
    if not low < high:
        low, high = float(values.min()), float(values.max())
    return bins_between(column, low, high)


def middle_of(values: NDArray) -> tuple[float, float]:
    """Where all but the outermost lie, who would leave the rest of a histogram empty."""
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.quantile(values, [_TAIL, 1.0 - _TAIL])
    return float(low), float(high)


def bins_between(column: Coded, low: float, high: float) -> Bins | None:
    """Bins for the numbers of a column; None where they lie too far apart to be drawn."""
    if not np.isfinite(high - low):
        return None
    bins = _BINS
    if column.whole and high - low < _BINS:
        # A bin a whole number: counts of whole numbers in other bins would comb.
        low, high, bins = low - 0.5, high + 0.5, round(high - low) + 1
    elif low == high:
        low, high, bins = low - 0.5, high + 0.5, 1
    # Where floats lie no denser than the edges, these could step back by rounding.
    return Bins(np.maximum.accumulate(np.linspace(low, high, bins + 1)))
