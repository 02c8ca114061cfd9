"""The best partition among known groups, region by region: set partitioning over many columns.

A region is some neighbouring groups of the partition to be improved, or all of them. Its records
are divided anew into known groups by an integer programme (HiGHS). The linear programme comes
first: if it finds nothing cheaper than the groups at hand, nor does the integer one; else a group
whose reduced cost is above what can be gained is in no better division, and of the others those
with the least reduced costs are let in: the more, the easier the programmes before were.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.bound.proving import shares
from microagg.kernels.compiling import kernel
from microagg.kernels.group_passes import scatter_of
from microagg.kernels.threads import run_blocks
from microagg.kernels.trees.measuring import insert_in_order

# Groups kept for each record of the data, and those for each that go into a linear programme.
_MOST_EACH = 40
_WEIGHED_EACH = 12
_WEIGHED_ANYWAY = 1_000
# So many sets a record grow, each in so many ways.
_GROWN_EACH = 8
_WAYS_TO_GROW = 3
_GROWN_AT_ONCE = 256
# Columns of an integer programme for each of its records: at first, and how they become more.
_FIRST_EACH = 1.5
_MORE = 1.4
# Branch and bound ends after so many nodes: a programme that needs more is too large.
_NODES = 20
# Regions are all the groups, a half of them, a quarter, ...: no fewer than these.
_LEAST_REGION = 12
# A region's gain counts from here on, relative to its cost.
_GAIN = 1e-9

Columns = Sequence[NDArray[np.integer]]


class _Known(NamedTuple):
    """Known groups of one size: their members, SSE, and how much it is above their prices."""

    sets: NDArray[np.int32]
    costs: NDArray[np.float64]
    margins: NDArray[np.float64]

    def only(self, chosen: NDArray) -> "_Known":
        return _Known(self.sets[chosen], self.costs[chosen], self.margins[chosen])


def improve(
    records: NDArray[np.float64],
    k: int,
    labels: NDArray[np.int64],
    columns: Columns,
    prices: NDArray[np.float64] | None,
    rng: np.random.Generator,
    *,
    tries: float = np.inf,
    seconds: float = np.inf,
    ended: Callable[[], bool] = lambda: False,
) -> NDArray[np.int64]:
    """A partition made of known groups and those of `labels`; never worse than `labels`.

    columns: groups that may be used, k to 2k - 1 records each; arrays of rows, a group a line.
    prices: about what the records pay in good groups, from `prove` for instance; of too many groups
        those stay that cost least above the prices of their members, and others grow from them.
        None if nothing is known: the groups stay as they are given.
    tries: how many regions are looked at: then the result depends on nothing else.
    seconds: how long to go on, in place of tries.
    ended: asked between regions: whether to stop.
    """
    begun = time.monotonic()

    def left() -> float:
        return seconds - (time.monotonic() - begun)

    groups = [np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)]
    if prices is None:
        known = _known(records, k, columns, shares(records, labels), growing=False)
    else:
        known = _known(records, k, columns, prices, growing=True)
    levels = max(1, (len(groups) // _LEAST_REGION).bit_length())
    allowed = [_FIRST_EACH] * levels
    done = 0
    while left() > 0.0 and done < tries and not ended():
        level = done % levels
        region = _region(records, groups, len(groups) >> level, rng)
        inside = [groups[group] for group in region]
        found, easy = _divide(records, inside, known, allowed[level], left)
        allowed[level] *= _MORE if easy else 1.0 / _MORE
        if found is not None:
            kept = set(region.tolist())
            groups = [rows for group, rows in enumerate(groups) if group not in kept] + found
        done += 1
    better = np.empty(len(records), np.int64)
    for label, rows in enumerate(groups):
        better[rows] = label
    return better


def _known(
    records: NDArray[np.float64],
    k: int,
    columns: Columns,
    prices: NDArray[np.float64],
    *,
    growing: bool,
) -> list[_Known]:
    """The distinct groups that cost least above their prices, by size, and what grows from them."""
    n = len(records)
    layers = []
    grown = np.empty((0, k), np.int32)
    for size in range(k, 2 * k):
        given = [part for part in columns if part.shape[1] == size]
        sets = np.unique(np.sort(np.concatenate([grown, *given]), axis=1), axis=0).astype(np.int32)
        costs = costs_of(records, sets)
        layer = _Known(sets, costs, costs - prices[sets].sum(axis=1))
        layers.append(_least(layer, _MOST_EACH * n))
        grown = np.empty((0, size + 1), np.int32)
        if growing and size < 2 * k - 1:
            seeds = _least(layer, _GROWN_EACH * n).sets
            grown = np.empty((_WAYS_TO_GROW * len(seeds), size + 1), np.int32)
            run_blocks(partial(_grow, records, prices, seeds, grown), len(seeds), _GROWN_AT_ONCE)
            grown = grown[grown[:, size] >= 0]
    return _cheapest(layers, _MOST_EACH * n)


def _cheapest(layers: list[_Known], most: int) -> list[_Known]:
    """The groups with the least margins, whatever their size."""
    every = np.concatenate([layer.margins for layer in layers])
    if every.size <= most:
        return layers
    limit = np.partition(every, most)[most]
    return [layer.only(layer.margins <= limit) for layer in layers]


def _least(layer: _Known, most: int) -> _Known:
    if layer.margins.size <= most:
        return layer
    return layer.only(np.argsort(layer.margins, kind="stable")[:most])


def _region(
    records: NDArray[np.float64],
    groups: list[NDArray[np.int64]],
    size: int,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Numbers of the groups around one of them."""
    centres = np.array([records[rows].mean(axis=0) for rows in groups])
    away = ((centres - centres[rng.integers(len(groups))]) ** 2).sum(axis=1)
    return np.argsort(away, kind="stable")[:size]


def _divide(
    records: NDArray[np.float64],
    inside: list[NDArray[np.int64]],
    known: list[_Known],
    each: float,
    left: Callable[[], float],
) -> tuple[list[NDArray[np.int64]] | None, bool]:
    """A cheaper division of these groups' records, if one is found; and whether it was easy.

    each: columns for each record that the integer programme may have.
    """
    from scipy.optimize import LinearConstraint, linprog, milp
    from scipy.sparse import csc_array

    rows = np.concatenate(inside)
    place = np.full(len(records), -1, np.int64)
    place[rows] = np.arange(rows.size)
    own = [group[np.newaxis].astype(np.int32) for group in inside]
    own_costs = [costs_of(records, group) for group in own]
    spent = float(np.concatenate(own_costs).sum())
    within = [layer.only(np.all(place[layer.sets] >= 0, axis=1)) for layer in known]
    within = _cheapest(within, max(_WEIGHED_ANYWAY, _WEIGHED_EACH * rows.size))
    parts = [*own, *(layer.sets for layer in within)]
    cost = np.concatenate([*own_costs, *(layer.costs for layer in within)])
    members = place[np.concatenate([part.ravel() for part in parts])]
    sizes = np.concatenate([np.full(len(part), part.shape[1]) for part in parts])
    ends = np.cumsum(np.concatenate([[0], sizes]))
    cover = csc_array((np.ones(members.size), members, ends), shape=(rows.size, sizes.size))

    one = np.ones(rows.size)
    ideal = linprog(cost, A_eq=cover, b_eq=one, options={"time_limit": max(0.0, left())})
    if ideal.status != 0:
        return None, False
    gain = spent - ideal.fun
    if gain <= _GAIN * spent:
        return None, True
    reduced = cost - cover.T @ ideal.eqlin.marginals
    # The groups at hand come first: something is always feasible.
    reduced[: len(own)] -= spent
    useful = np.argsort(reduced, kind="stable")[: len(own) + int(each * rows.size)]
    reduced[: len(own)] += spent
    useful = useful[reduced[useful] <= gain * (1.0 + _GAIN)]
    solution = milp(
        np.maximum(0.0, reduced[useful]),
        integrality=np.ones(useful.size),
        bounds=(0, 1),
        constraints=LinearConstraint(cover[:, useful], 1, 1),
        options={"time_limit": max(0.0, left()), "node_limit": _NODES},
    )
    if solution.x is None:
        return None, False
    easy = solution.status == 0
    chosen = useful[solution.x > 0.5]
    if sizes[chosen].sum() != rows.size or not cost[chosen].sum() < spent * (1.0 - _GAIN):
        return None, easy
    return [rows[members[ends[column] : ends[column + 1]]] for column in chosen], easy


def costs_of(records: NDArray[np.float64], sets: NDArray[np.integer]) -> NDArray[np.float64]:
    """The SSE of each set."""
    costs = np.empty(len(sets))
    _cost(records, sets.astype(np.int32), costs)
    return costs


@kernel
def _cost(records, sets, costs):
    for s in range(costs.size):
        costs[s] = scatter_of(records, sets[s], 0, sets.shape[1])


@kernel
def _grow(records, prices, sets, grown, first, last):
    """Each set with one record more, in the few ways that raise its margin least; -1 for no way."""
    n, d = records.shape
    size = sets.shape[1]
    centre = np.empty(d)
    used = np.zeros(n, np.bool_)
    best = np.empty(_WAYS_TO_GROW)
    who = np.empty(_WAYS_TO_GROW, np.int64)
    share = size / (size + 1.0)
    for s in range(first, last):
        for a in range(d):
            total = 0.0
            for t in range(size):
                total += records[sets[s, t], a]
            centre[a] = total / size
        for t in range(size):
            used[sets[s, t]] = True
        for w in range(_WAYS_TO_GROW):
            best[w] = np.inf
            who[w] = -1
        for i in range(n):
            square = 0.0
            for a in range(d):
                away = records[i, a] - centre[a]
                square += away * away
            rise = square * share - prices[i]
            if rise < best[_WAYS_TO_GROW - 1] and not used[i]:
                insert_in_order(best, who, rise, i)
        for t in range(size):
            used[sets[s, t]] = False
        for w in range(_WAYS_TO_GROW):
            row = s * _WAYS_TO_GROW + w
            for t in range(size):
                grown[row, t] = sets[s, t]
            grown[row, size] = who[w]
