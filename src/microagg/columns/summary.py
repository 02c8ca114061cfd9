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
from microagg.kernels.compiling import read_only
from microagg.kernels.histograms import count_in_bins
from microagg.table.opening import Origin

_BINS = 24
_TAIL = 0.005
_MOST_CORRELATED = 20
# A difference of sums that is so much smaller than they are has no digits of its own left.
_NO_DIGITS = 1e-11


def understood(name: str, array: pa.Array, origin: Origin) -> Coded | None:
    """A column that is only looked at: as numbers or dates if it can be, else as categories."""
    array = without_views(origin.readable(array))
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


class Side(NamedTuple):
    """What is told of a column before or after: sums only, so parts of a table can be added up.

    counts: of each bin or category.
    """

    missing: int
    counts: NDArray[np.int64]
    mean: float | str | None = None
    deviation: float | None = None


def attribute(role: Role, after: Coded, before: Coded | None = None) -> Attribute:
    """One column as a page shows it; without `before`, from the release alone."""
    edges = None
    if after.categories is None:
        shown = [after.present] if before is None else [before.present, after.present]
        edges = _edges(after, np.concatenate(shown))
    then = None if before is None else _side(before, edges)
    return described(role, after, edges, _side(after, edges), then)


def described(
    role: Role,
    column: Coded,
    edges: NDArray[np.float64] | None,
    after: Side,
    before: Side | None = None,
    loss: float | None = None,
    changed: float | None = None,
) -> Attribute:
    """One column as a page shows it, from what was counted of it; only its kind is looked at."""
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


def _side(column: Coded, edges: NDArray[np.float64] | None) -> Side:
    return Side(missing_in(column), counted(column, edges), *_moments(column))


def counted(column: Coded, edges: NDArray[np.float64] | None) -> NDArray[np.int64]:
    """How often each category or bin appears; what is outside counts in the outermost bins."""
    values = column.present
    if column.categories is not None:
        return np.bincount(values, minlength=len(column.categories))
    counts = np.zeros(0 if edges is None else edges.size - 1, np.int64)
    if edges is not None:
        count_in_bins(read_only(np.ascontiguousarray(values, np.float64)), edges, counts)
    return counts


def correlations(columns: Sequence[Coded]) -> Correlations | None:
    """How numbers of a release go together; over records that have both values."""
    chosen = [columns[place] for place in correlated(columns)]
    if len(chosen) < 2:
        return None
    together = Together(len(chosen))
    together.add(np.stack([_scores(each) for each in chosen]), [each.missing for each in chosen])
    return Correlations(tuple(each.name for each in chosen), None, together.table())


def correlated(columns: Sequence[Coded]) -> list[int]:
    """Which columns are correlated with each other: the first of those that have distances."""
    return [place for place, column in enumerate(columns) if column.numeric][:_MOST_CORRELATED]


class Together:
    """Sums over the records that have both values, for each pair of columns.

    sums: of ones, of the first column's values, of their squares, and of products with the second.
    """

    def __init__(self, columns: int) -> None:
        self.sums = np.zeros((4, columns, columns))

    def add(
        self, offsets: NDArray[np.float64], missing: Sequence[NDArray[np.bool_] | None]
    ) -> None:
        """Numbers of some records, (columns, n), zero where missing."""
        products = offsets @ offsets.T
        if all(each is None for each in missing):
            self.sums[0] += offsets.shape[1]
            self.sums[1] += offsets.sum(axis=1)[:, np.newaxis]
            self.sums[2] += np.diagonal(products)[:, np.newaxis]
        else:
            there = np.ones(offsets.shape)
            for line, each in zip(there, missing, strict=True):
                if each is not None:
                    line[each] = 0.0
            self.sums[0] += there @ there.T
            self.sums[1] += offsets @ there.T
            self.sums[2] += (offsets * offsets) @ there.T
        self.sums[3] += products

    def table(self) -> tuple[tuple[float | None, ...], ...]:
        """The correlations; None where there is no spread to speak of."""
        counts, totals, squares, products = self.sums
        with np.errstate(all="ignore"):
            lengths = np.sqrt(scatter_of(counts, totals, squares))
            products, spreads = products - totals * totals.T / counts, lengths * lengths.T
        return tuple(
            tuple(
                float(np.clip(product / spread, -1.0, 1.0)) if 0.0 < spread < np.inf else None
                for product, spread in zip(*rows, strict=True)
            )
            for rows in zip(products, spreads, strict=True)
        )


def scatter_of(
    count: float | NDArray, total: float | NDArray, squares: float | NDArray
) -> NDArray[np.float64]:
    """The sum of squared distances to the mean, from sums; zero if only rounding is left of it."""
    scatter = squares - total * total / count
    return np.where(scatter < _NO_DIGITS * squares, 0.0, scatter)


def _scores(column: Coded) -> NDArray[np.float64]:
    """Numbers to correlate; zero where missing."""
    scores = np.zeros(column.values.size)
    if column.present.size:
        moved = centred(column.present)
        scores[slice(None) if column.missing is None else ~column.missing] = moved - moved.mean()
    return scores


def missing_in(column: Coded) -> int:
    """How many records have no value."""
    return 0 if column.missing is None else int(column.missing.sum())


def _moments(column: Coded) -> tuple[float | str | None, float | None]:
    values = column.present
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


def _edges(column: Coded, values: NDArray) -> NDArray[np.float64] | None:
    if values.size == 0:
        return None
    low, high = middle_of(values)
    if not low < high:
        low, high = float(values.min()), float(values.max())
    return edges_between(column, low, high)


def middle_of(values: NDArray) -> tuple[float, float]:
    """Where all but the outermost lie, who would leave the rest of a histogram empty."""
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.quantile(values, [_TAIL, 1.0 - _TAIL])
    return float(low), float(high)


def edges_between(column: Coded, low: float, high: float) -> NDArray[np.float64] | None:
    """The edges of equally wide bins; None where numbers lie too far apart to be drawn."""
    if not np.isfinite(high - low):
        return None
    bins = _BINS
    if column.whole and high - low < _BINS:
        # A bin a whole number: counts of whole numbers in other bins would comb.
        low, high, bins = low - 0.5, high + 0.5, round(high - low) + 1
    elif low == high:
        low, high, bins = low - 0.5, high + 0.5, 1
    # Where floats lie no denser than the edges, these could step back by rounding.
    return np.maximum.accumulate(np.linspace(low, high, bins + 1))
