"""What the groups publish: one value of each quasi-identifier, and what that costs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.aggregation.proximity import proximity_centroids
from microagg.base.groups import Partition
from microagg.columns.coded import Coded
from microagg.columns.digits import rounded
from microagg.columns.kinds.date import nearest_firsts
from microagg.measure.dominance import largest_shares
from microagg.measure.interval import TOO_CLOSE, satisfaction, transparent_disclosure
from microagg.measure.statistics import paired


@dataclass(frozen=True, eq=False)
class Proximity:
    """How far published numbers are to be from the originals; numbers for all, or one a record."""

    distance: float | NDArray[np.float64]
    importance: float | NDArray[np.float64]
    alpha: float
    solution: str
    relative: bool
    seed: tuple[int, ...] = (0,)


def centres_of(
    column: Coded,
    groups: Partition,
    weights: NDArray[np.float64] | None = None,
    decimals: int | Mapping[str, int] | None = None,
    proximity: Proximity | None = None,
) -> tuple[NDArray, NDArray[np.bool_]]:
    """What each group publishes, and which groups publish no value.

    decimals: how many places numbers are rounded to, those of all columns or by name; means have
        those of the input otherwise.
    """
    values, labels, count = column.values, groups.labels, groups.n_groups
    empty = np.zeros(count, bool)
    present: NDArray[np.bool_] | None = None
    if column.missing is not None:
        present = ~column.missing
        values, labels = values[present], labels[present]
        weights = None if weights is None else weights[present]
        filled, labels = np.unique(labels, return_inverse=True)
        empty[:] = True
        empty[filled] = False
    centres = np.zeros(count, values.dtype)
    if proximity is not None and column.categories is None and values.size:
        centres[~empty] = _moved(column, values, labels, present, proximity)
    elif values.size:
        centres[~empty] = column.traits.centre(
            np.ascontiguousarray(values), labels, int((~empty).sum()), weights
        )
    if column.monthly:
        centres = nearest_firsts(centres)
    if not column.whole:
        places = decimals.get(column.name) if isinstance(decimals, Mapping) else decimals
        if places is None and proximity is None:
            places = column.decimals
        centres = centres if places is None else rounded(centres, places)
        centres = centres + 0.0  # there is one zero, not two
    return centres, empty


def _moved(
    column: Coded,
    values: NDArray,
    labels: NDArray[np.int64],
    present: NDArray[np.bool_] | None,
    proximity: Proximity,
) -> NDArray:
    """Centroids that keep their distance; whole ones are rounded and stay in the column's range."""

    def of_those(preference: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
        alone = present is None or isinstance(preference, float)
        return preference if alone else preference[present]  # type: ignore[index]

    least = values.min()
    if column.whole:
        # Offsets from the least keep their digits in a float, and always fit into 64 bits.
        offsets = (values.astype(np.uint64) - least.astype(np.uint64)).astype(np.float64)
    else:
        offsets = values
    moved = proximity_centroids(
        offsets,
        labels,
        distance=of_those(proximity.distance),
        importance=of_those(proximity.importance),
        alpha=proximity.alpha,
        solution=proximity.solution,
        relative=proximity.relative,
        seed=proximity.seed,
    ).values
    centres = np.empty(int(labels.max()) + 1)
    centres[labels] = moved
    if not column.whole:
        return centres
    highest = min(float(offsets.max()), np.nextafter(2.0**64, 0.0))
    return least + np.rint(centres).clip(0.0, highest).astype(np.uint64).astype(values.dtype)


@dataclass(frozen=True)
class Kept:
    """What centroids that keep their distance come to in a column.

    satisfied, importance: of the records whose distance is kept, and of all.
    transparent: the values that somebody guesses who knows how they were made, in percent; None
    where all are the same.
    """

    satisfied: float
    importance: float
    transparent: float | None


def kept_distances(column: Coded, after: NDArray, proximity: Proximity) -> Kept:
    """How well the distances are kept by what records publish, as they are known and if guessed."""
    present = slice(None) if column.missing is None else ~column.missing
    if column.values[present].size == 0:
        return Kept(0.0, 0.0, None)
    shape = column.values.shape
    importance = np.broadcast_to(proximity.importance, shape)[present, np.newaxis]
    distance = np.broadcast_to(proximity.distance, shape)[present, np.newaxis]
    pair = paired(column.values[present], after[present])
    percent = satisfaction(pair, distance, importance, relative=proximity.relative)
    guessed = transparent_disclosure(
        pair, TOO_CLOSE, distance, importance, proximity.alpha, relative=proximity.relative
    )
    total = float(importance.sum())
    return Kept(percent / 100.0 * total, total, guessed.total if pair.columns.size else None)


def shares_of(
    column: Coded,
    labels: NDArray[np.int64],
    weights: NDArray[np.float64] | None = None,
    entities: NDArray[np.int64] | None = None,
) -> NDArray[np.float64] | None:
    """The largest share of each group's mean that one record has; None where there are no means."""
    if column.categories is not None:
        return None
    amounts = column.values if column.traits.amounts else None
    groups = int(labels.max()) + 1
    return largest_shares(amounts, labels, groups, weights, entities, column.missing)


def to_digits(column: pa.Array | pa.ChunkedArray, digits: int | None) -> pa.Array:
    """Numbers with so many significant digits, in the type they came in."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    assert digits is not None
    encoded = column.dictionary_encode()
    entries = [_to_digits(entry, digits) for entry in encoded.dictionary.to_pylist()]
    return pa.array(entries, column.type).take(encoded.indices)


def _to_digits(entry: Any, digits: int) -> Any:
    if entry is None or (isinstance(entry, float) and not math.isfinite(entry)):
        return entry
    exact = Decimal(repr(entry) if isinstance(entry, float) else entry)
    # Of whole numbers and decimals no place behind the last is asked for.
    rounded = round(exact, max(digits - 1 - exact.adjusted(), -400)) if exact else exact
    return type(entry)(rounded)
