"""The best partition among known groups: set partitioning over the columns of a bound."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Each set grows in so many ways at most, and so many sets go into the programme.
_WAYS_TO_GROW = 3
_MOST_COLUMNS = 4_000
_ROWS_AT_ONCE = 1 << 22

Sets = list[NDArray[np.int32]]


def improve(
    records: NDArray[np.float64],
    k: int,
    labels: NDArray[np.int64],
    columns: Sequence[NDArray[np.int32]],
    time_limit: float,
    prices: NDArray[np.float64],
) -> NDArray[np.int64]:
    """A partition of the least SSE among those made of known groups; never worse than `labels`.

    columns: groups that may be used, k to 2k - 1 records each; an array of rows for each size.
    prices: true prices of the records, from `prove`. Their sum is a bound, so a group that costs
        more than its members pay, by more than the gap between `labels` and the bound, is in no
        better partition: such groups are left out, and groups grown from others are let in while
        they keep within the gap.

    An integer programme, solved by HiGHS until `time_limit` seconds are over. If all groups within
    the gap are known and time suffices, the result is the optimum.
    """
    from scipy.optimize import LinearConstraint, milp
    from scipy.sparse import csc_array

    n = len(records)
    order = np.argsort(labels, kind="stable")
    own = np.split(order.astype(np.int32), np.cumsum(np.bincount(labels))[:-1])
    spent = math.fsum(_margins(records, group[np.newaxis], prices)[0] for group in own)
    # The partition to be improved is always among those to choose from.
    sets = _within(records, k, columns, spent, prices) + [group[np.newaxis] for group in own]
    members = np.concatenate([part.ravel() for part in sets])
    sizes = np.concatenate([np.full(len(part), part.shape[1]) for part in sets])
    ends = np.concatenate([[0], np.cumsum(sizes)])
    cover = csc_array((np.ones(members.size), members, ends), shape=(n, sizes.size))
    margins = np.concatenate([_margins(records, part, prices) for part in sets])
    found = milp(
        margins,
        integrality=np.ones(sizes.size),
        bounds=(0, 1),
        constraints=LinearConstraint(cover, 1, 1),
        options={"time_limit": max(0.0, time_limit), "mip_rel_gap": 0.0},
    )
    if found.x is None:
        return labels
    chosen = np.flatnonzero(found.x > 0.5)
    better = np.full(n, -1, np.int64)
    for label, column in enumerate(chosen):
        better[members[ends[column] : ends[column + 1]]] = label
    covered = sizes[chosen].sum() == n and better.min() >= 0
    return better if covered and margins[chosen].sum() < spent * (1.0 - 1e-9) else labels


def _within(
    records: NDArray[np.float64],
    k: int,
    columns: Sequence[NDArray[np.int32]],
    gap: float,
    prices: NDArray[np.float64],
) -> Sets:
    """The distinct groups with the least margins, and what grows from them, within the gap."""
    layers: Sets = []
    grown = np.empty((0, k), np.int32)
    for size in range(k, 2 * k):
        given = [part for part in columns if part.shape[1] == size]
        layer = _distinct(np.concatenate([grown, *given]).astype(np.int32))
        layers.append(layer[_margins(records, layer, prices) <= gap])
        grown = _grow(records, layers[-1], gap, prices)
    all_margins = [_margins(records, layer, prices) for layer in layers]
    least = np.sort(np.concatenate(all_margins))[:_MOST_COLUMNS]
    most = least[-1] if least.size else 0.0
    return [layer[margin <= most] for layer, margin in zip(layers, all_margins, strict=True)]


def _grow(
    records: NDArray[np.float64],
    sets: NDArray[np.int32],
    gap: float,
    prices: NDArray[np.float64],
) -> NDArray[np.int32]:
    """Each set with one record more, in the few best ways that keep within the gap."""
    n, m = len(records), sets.shape[1]
    ways = min(_WAYS_TO_GROW, n - m)
    squares = (records**2).sum(axis=1)
    parts = [np.empty((0, m + 1), np.int32)]
    for first in range(0, len(sets), max(1, _ROWS_AT_ONCE // n)):
        some = sets[first : first + max(1, _ROWS_AT_ONCE // n)]
        centres = records[some].mean(axis=1)
        away = squares - 2.0 * centres @ records.T + (centres**2).sum(axis=1)[:, np.newaxis]
        margins = _margins(records, some, prices)
        after = margins[:, np.newaxis] + away * (m / (m + 1.0)) - prices
        np.put_along_axis(after, some.astype(np.int64), np.inf, axis=1)
        best = np.argpartition(after, ways - 1, axis=1)[:, :ways]
        rows, picks = np.nonzero(np.take_along_axis(after, best, axis=1) <= gap)
        parts.append(np.column_stack([some[rows], best[rows, picks].astype(np.int32)]))
    return np.concatenate(parts)


def _margins(
    records: NDArray[np.float64], sets: NDArray[np.int32], prices: NDArray[np.float64]
) -> NDArray[np.float64]:
    """SSE less what the members pay."""
    groups = records[sets]
    away = groups - groups.mean(axis=1, keepdims=True)
    return (away**2).sum(axis=(1, 2)) - prices[sets].sum(axis=1)


def _distinct(sets: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.unique(np.sort(sets, axis=1), axis=0)
