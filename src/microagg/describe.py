"""Columns before and after as a page shows them: counts and means, never a record."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.arrays import centred
from microagg.errors import MicroaggError
from microagg.report.story import Attribute, Bar, Correlations, Role
from microagg.table.columns import Coded, decode, encode, ticks_a_day
from microagg.table.opening import Origin, readable
from microagg.table.text import as_understood

_BINS = 24
_TAIL = 0.005
_MOST_CATEGORIES = 11
_MOST_CORRELATED = 20


def understood(name: str, array: pa.Array, origin: Origin) -> Coded | None:
    """A column that is only looked at: as numbers or dates if it can be, else as categories."""
    array = readable(array, origin)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        for kind in ("integer", "continuous", "date"):
            read = as_understood(array, kind)
            if read is not None and read.null_count < len(read):
                array = read
                break
        else:
            return encode(name, array, "nominal")
    try:
        return encode(name, array)
    except MicroaggError:
        return None


def attribute(
    role: Role,
    after: Coded,
    before: Coded | None = None,
    loss: float | None = None,
    changed: float | None = None,
) -> Attribute:
    """One column as a page shows it; without `before`, from the release alone."""
    told: dict[str, Any] = {"missing_after": _missing(after), "loss": loss, "changed": changed}
    if before is not None:
        told["missing_before"] = _missing(before)
    if after.numeric and after.kind != "ordinal":
        told["mean_after"], told["deviation_after"] = _moments(after)
        if before is not None:
            told["mean_before"], told["deviation_before"] = _moments(before)
    bars = _bins(after, before) if after.categories is None else _counts(after, before)
    return Attribute(name=after.name, role=role, kind=after.kind, bars=bars, **told)  # type: ignore[arg-type]


def correlations(
    after: Sequence[Coded],
    before: Sequence[Coded] | None,
    sizes: NDArray[np.int64] | None = None,
) -> Correlations | None:
    """How numbers go together, before and after; over records that have both values.

    sizes: if `after` is group by group, how many records each group has.
    """
    chosen = [place for place, column in enumerate(after) if column.numeric][:_MOST_CORRELATED]
    if len(chosen) < 2:
        return None
    names = tuple(after[place].name for place in chosen)
    then = None if before is None else _correlations([before[place] for place in chosen], None)
    now = _correlations([after[place] for place in chosen], sizes)
    return Correlations(names, then, now)


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
    spreads = np.outer(lengths, lengths)
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
    values = _present(column)
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
    if one.size < 2:
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


def _missing(column: Coded) -> int:
    return 0 if column.missing is None else int(column.missing.sum())


def _present(column: Coded) -> NDArray:
    return column.values if column.missing is None else column.values[~column.missing]


def _unit(column: Coded) -> float:
    """What one unit of the numbers is worth in the column's own terms."""
    return 10.0**-column.type.scale if pa.types.is_decimal(column.type) else 1.0


def _moments(column: Coded) -> tuple[float | str | None, float | None]:
    values = _present(column)
    if values.size == 0:
        return None, None
    origin = values.min()
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            offsets = values - origin
    else:
        # Distances from the least always fit into as many bits, if these have no sign.
        offsets = (values.astype(np.uint64) - origin.astype(np.uint64)).astype(np.float64)
    offsets *= _unit(column)
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = float(offsets.std())
        mean = float(origin) * _unit(column) + float(offsets.mean())
    if not np.isfinite(deviation):
        return None, None
    if column.kind == "date":
        middle = np.array([origin + np.int64(np.rint(offsets.mean()))])
        return _as_text(column, middle)[0], deviation * column.step / ticks_a_day(column.type)
    return mean, deviation


def _as_text(column: Coded, values: NDArray) -> list[str]:
    decoded = decode(replace(column, text=None), values, np.zeros(values.size, bool))
    try:
        return [str(value) for value in decoded.to_pylist()]
    except (OverflowError, ValueError):
        # Python's calendar knows no nanoseconds and ends with the year 9999.
        return [str(value) for value in values.tolist()]


def _bins(after: Coded, before: Coded | None) -> tuple[Bar, ...]:
    shown = _present(after)
    original = None if before is None else _present(before)
    both = shown if original is None else np.concatenate([original, shown])
    if both.size == 0:
        return ()
    low, high = (float(value) for value in np.quantile(both, [_TAIL, 1.0 - _TAIL]))
    if not low < high:
        low, high = float(both.min()), float(both.max())
    if not np.isfinite(high - low):
        return ()
    bins = _BINS
    if after.whole and high - low < _BINS:
        # A bin a whole number: counts of whole numbers in other bins would comb.
        low, high, bins = low - 0.5, high + 0.5, round(high - low) + 1
    elif low == high:
        low, high, bins = low - 0.5, high + 0.5, 1
    # Where floats lie no denser than the edges, these could step back by rounding.
    edges = np.maximum.accumulate(np.linspace(low, high, bins + 1))
    counts = np.histogram(np.clip(shown, low, high), edges)[0]
    olds = None if original is None else np.histogram(np.clip(original, low, high), edges)[0]
    unit = _unit(after)
    if after.kind == "date":
        names = _as_text(after, np.rint(edges).astype(np.int64))
    else:
        names = [f"{edge * unit:.6g}" for edge in edges]
    return tuple(
        Bar(
            f"{names[place]} to {names[place + 1]}",
            float(edges[place] * unit),
            float(edges[place + 1] * unit),
            None if olds is None else int(olds[place]),
            int(counts[place]),
        )
        for place in range(bins)
    )


def _counts(after: Coded, before: Coded | None) -> tuple[Bar, ...]:
    kinds = 0 if after.categories is None else len(after.categories)
    if kinds == 0:
        return ()
    counts = np.bincount(_present(after), minlength=kinds)
    olds = None if before is None else np.bincount(_present(before), minlength=kinds)
    size = counts if olds is None else np.maximum(counts, olds)
    shown = np.flatnonzero(size)
    if after.kind != "ordinal":
        shown = shown[np.argsort(-size[shown], kind="stable")]
    shown, rest = shown[:_MOST_CATEGORIES], shown[_MOST_CATEGORIES:]
    names = _as_text(after, shown)
    bars = [
        Bar(name, None, None, None if olds is None else int(olds[code]), int(counts[code]))
        for name, code in zip(names, shown.tolist(), strict=True)
    ]
    if rest.size:
        old = None if olds is None else int(olds[rest].sum())
        bars.append(Bar(f"{rest.size} others", None, None, old, int(counts[rest].sum())))
    return tuple(bars)
