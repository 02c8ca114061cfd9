"""IGD: make any partition better by dissolving groups and by letting records leave large ones.

Khomnotai, Lin, Peng and Santra, "Iterative Group Decomposition for Refining Microaggregation
Solutions", Symmetry 10(7), 262, 2018. Two operations take turns until neither finds anything to do:

- Decompose: a group is dissolved, each record joining the group of the nearest centroid, if that
  lowers the SSE;
- Shrink: from a group of more than k the record leaves for its nearest centroid that lowers the SSE
  most, and so on while any does and more than k remain.

A group that reaches 2k is split, which never raises the SSE.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.grouping.method import Groups, Method, Task
from microagg.grouping.methods import START, check_start, plainly
from microagg.kernels.compiling import inner, kernel
from microagg.kernels.trees.nearest import hide, make_space, nearest, put
from microagg.kernels.trees.planting import LEAF, NONE, plant

_GROUPS_A_CALL = 2048
# A step must gain more than rounding could feign.
CERTAIN = 1e-10
_NOBODY, _EVERYBODY = -1, -2


class _State(NamedTuple):
    """Groups in numbered slots, at most n // k of them; a slot of size 0 is free."""

    records: NDArray[np.float64]
    members: NDArray[np.int64]
    sizes: NDArray[np.int64]
    centres: NDArray[np.float64]
    scatter: NDArray[np.float64]
    free: NDArray[np.int64]
    free_count: NDArray[np.int64]


def decompose(
    records: NDArray[np.float64],
    order: NDArray[np.integer],
    sizes: NDArray[np.integer],
    k: int,
    advance: Advance = silent,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows group by group, and the sizes of the groups: k to 2k - 1 records each.

    Starts from the groups given by `order` and `sizes` and never ends with a larger SSE. A pass
    over all groups searches a tree of centroids once for each record, O(n^2 d / k) at the very
    worst, and spends O(k d) on each record that moves. Memory is O(n d).

    Departures from the paper: groups that reach 2k are split at once, not at the end of a pass, and
    a dissolved group's place in the order of visits goes to the next group that is split off.
    """
    state = _gather(records, order, sizes, k)
    slots = state.sizes.size
    passes = 0
    idle = 0
    while idle < 2:
        tree = _plant_centres(state)
        gained = False
        for first in range(0, slots, _GROUPS_A_CALL):
            last = min(slots, first + _GROUPS_A_CALL)
            gained |= _visit(state, tree, k, first, last, passes % 2 == 1)
            advance(1.0 - 0.9 ** (passes + last / slots))
        idle = 0 if gained else idle + 1
        passes += 1
    advance(1.0)
    alive = np.flatnonzero(state.sizes)
    groups = [state.members[slot, : state.sizes[slot]] for slot in alive]
    return np.concatenate(groups), state.sizes[alive]


def _gather(records, order, sizes, k):
    """The starting groups in their slots; those of 2k or more are split first."""
    n, d = records.shape
    slots = n // k
    state = _State(
        records,
        np.zeros((slots, 4 * k), np.int64),
        np.zeros(slots, np.int64),
        np.zeros((slots, d)),
        np.zeros(slots),
        np.zeros(slots, np.int64),
        np.zeros(1, np.int64),
    )
    _settle(state, np.array(order, np.int64), np.asarray(sizes, np.int64), k)
    return state


def _plant_centres(state):
    """A tree of the centroids, which follows them as they move, with a place for every slot.

    Free slots stand beside a group, hidden until they are used.
    """
    alive, free = np.flatnonzero(state.sizes), np.flatnonzero(state.sizes == 0)
    state.centres[free] = state.centres[np.resize(alive, free.size)]
    tree = plant(state.centres)
    for slot in free:
        hide(tree, slot)
    return tree


@kernel
def _settle(state, order, sizes, k):
    # Typed at once: a literal would have the functions it is passed to compiled once more.
    slot = np.int64(0)
    first = 0
    parts = np.empty(order.size // k + 1, np.int64)
    for size in sizes:
        rows = order[first : first + size]
        count = _grow_groups(state.records, rows, size, k, parts)
        at = 0
        for part in range(count):
            _fill(state, slot, rows[at : at + parts[part]])
            at += parts[part]
            slot += 1
        first += size
    for spare in range(state.sizes.size - 1, slot - 1, -1):
        state.free[state.free_count[0]] = spare
        state.free_count[0] += 1


@kernel
def _visit(state, tree, k, first, last, shrinking):
    """Shrink, or else Decompose, the groups in these slots; True if any record moved."""
    members, sizes = state.members, state.sizes
    targets = np.empty(2 * k, np.int64)
    space = make_space(1, np.empty(0, np.int64))
    moved = False
    for slot in range(first, last):
        least = k if shrinking else 0
        while sizes[slot] > least and state.free_count[0] < sizes.size - 1:
            size = sizes[slot]
            leaver = _plan(state, tree, k, slot, shrinking, targets, space)
            if leaver == _NOBODY:
                break
            moved = True
            if leaver == _EVERYBODY:
                for i in range(size):
                    members[targets[i], sizes[targets[i]]] = members[slot, i]
                    sizes[targets[i]] += 1
                sizes[slot] = 0
                state.free[state.free_count[0]] = slot
                state.free_count[0] += 1
                hide(tree, slot)
                movers = size
            else:
                target = targets[leaver]
                members[target, sizes[target]] = members[slot, leaver]
                sizes[target] += 1
                for i in range(leaver, size - 1):
                    members[slot, i] = members[slot, i + 1]
                sizes[slot] -= 1
                targets[0], targets[1] = slot, target
                movers = 2
            for i in range(movers):
                if _first_alike(targets, i) == i:
                    _update(state, tree, targets[i], k)
            if leaver == _EVERYBODY:
                break
    return moved


@kernel
def _plan(state, tree, k, slot, shrinking, targets, space):
    """Who should leave: one member (its number), everybody or nobody; `targets` says where to."""
    records, members, sizes, centres = state.records, state.members, state.sizes, state.centres
    attributes = records.shape[1]
    size = sizes[slot]
    grown = np.empty(2 * k, np.int64)
    means = np.empty((2 * k, attributes))
    budget = state.scatter[slot] * (1.0 - CERTAIN)
    added = 0.0
    leaver, least = _NOBODY, 0.0
    for i in range(size):
        row = members[slot, i]
        leaving = 0.0
        for a in range(attributes):
            away = records[row, a] - centres[slot, a]
            leaving += away * away
        leaving *= size / (size - 1.0)
        # Joining a group of k or more costs at least k / (k + 1) of the squared distance, and the
        # others that join it only add to that: farther centroids need not be looked for.
        worth = (leaving if shrinking else budget) * (k + 1.0) / k * (1.0 + 1e-9)
        worth = np.nextafter(worth, -np.inf)
        home = tree.slots[slot] // LEAF
        nearest(tree, records[row], home, np.int32(slot), worth, space)
        target = np.int64(space.rows[0])
        if target == NONE:
            if shrinking:
                continue
            return _NOBODY
        targets[i] = target
        # Records that join the same group share its imagined mean, kept by the first of them;
        # a record that leaves alone meets the mean as it is.
        keeper = i if shrinking else _first_alike(targets, i)
        if keeper == i:
            grown[i] = sizes[target]
            for a in range(attributes):
                means[i, a] = centres[target, a]
        joining = 0.0
        for a in range(attributes):
            away = records[row, a] - means[keeper, a]
            joining += away * away
            means[keeper, a] += away / (grown[keeper] + 1.0)
        joining *= grown[keeper] / (grown[keeper] + 1.0)
        grown[keeper] += 1
        if shrinking:
            if joining - leaving < least and joining < leaving * (1.0 - CERTAIN):
                leaver, least = i, joining - leaving
        else:
            added += joining
            if not added < budget:
                return _NOBODY
    return leaver if shrinking else _EVERYBODY


@inner
def _first_alike(targets, i):
    first = 0
    while targets[first] != targets[i]:
        first += 1
    return first


@inner
def _update(state, tree, slot, k):
    """Bring a changed group up to date; at 2k members it is split over this and free slots."""
    size = state.sizes[slot]
    if size < 2 * k:
        _refresh(state, slot)
        put(tree, slot, state.centres[slot])
        return
    rows = state.members[slot, :size].copy()
    parts = np.empty(4, np.int64)
    count = _grow_groups(state.records, rows, size, k, parts)
    at = 0
    for part in range(count):
        if part > 0:
            state.free_count[0] -= 1
            slot = state.free[state.free_count[0]]
        _fill(state, slot, rows[at : at + parts[part]])
        at += parts[part]
        put(tree, slot, state.centres[slot])


@kernel
def _fill(state, slot, rows):
    for i in range(rows.size):
        state.members[slot, i] = rows[i]
    state.sizes[slot] = rows.size
    _refresh(state, slot)


@inner
def _refresh(state, slot):
    """Centroid and SSE of a group, from its members: nothing drifts."""
    records, members = state.records, state.members
    size = state.sizes[slot]
    total = 0.0
    for a in range(records.shape[1]):
        pivot = records[members[slot, 0], a]
        drift = 0.0
        for i in range(size):
            drift += records[members[slot, i], a] - pivot
        mean = pivot + drift / size
        state.centres[slot, a] = mean
        for i in range(size):
            away = records[members[slot, i], a] - mean
            total += away * away
    state.scatter[slot] = total


@inner
def _grow_groups(records, rows, size, k, parts):
    """Split `rows` into groups of k to 2k - 1 side by side; write their sizes, return their number.

    Each group grows from the record farthest from the centroid of those not yet grouped, by the
    record nearest to its own centroid. Those left over join their nearest group one by one.
    """
    if size < 2 * k:
        parts[0] = size
        return 1
    attributes = records.shape[1]
    count = size // k
    centres = np.zeros((count, attributes))
    remaining = np.zeros(attributes)
    for i in range(size):
        for a in range(attributes):
            remaining[a] += records[rows[i], a]
    for group in range(count):
        first = group * k
        for a in range(attributes):
            centres[group, a] = remaining[a] / (size - first)
        for grown in range(k):
            chosen, chosen_square = -1, 0.0
            for i in range(first + grown, size):
                square = 0.0
                for a in range(attributes):
                    away = records[rows[i], a] - centres[group, a]
                    square += away * away
                if chosen < 0 or (square > chosen_square if grown == 0 else square < chosen_square):
                    chosen, chosen_square = i, square
            row = rows[chosen]
            # The others keep their order, so that ties go to the record that came first.
            for i in range(chosen, first + grown, -1):
                rows[i] = rows[i - 1]
            rows[first + grown] = row
            for a in range(attributes):
                remaining[a] -= records[row, a]
                if grown == 0:
                    centres[group, a] = records[row, a]
                else:
                    centres[group, a] += (records[row, a] - centres[group, a]) / (grown + 1.0)
        parts[group] = k
    _join_rest(records, rows, size, k, centres, parts)
    return count


@inner
def _join_rest(records, rows, size, k, centres, parts):
    count = len(centres)
    for place in range(count * k, size):
        row = rows[place]
        chosen, least = 0, math.inf
        for group in range(count):
            square = 0.0
            for a in range(records.shape[1]):
                away = records[row, a] - centres[group, a]
                square += away * away
            if square < least:
                chosen, least = group, square
        first = 0
        for group in range(chosen + 1):
            first += parts[group]
        for i in range(place, first, -1):
            rows[i] = rows[i - 1]
        rows[first] = row
        parts[chosen] += 1
        for a in range(records.shape[1]):
            centres[chosen, a] += (records[row, a] - centres[chosen, a]) / parts[chosen]


def _group(task: Task) -> Groups:
    return decompose(task.records, *plainly(task.options["start"])(task), task.k, task.advance)


METHODS = (
    Method(
        "igd",
        "groups dissolved and shrunk into their neighbours while the loss falls",
        "Khomnotai, Lin, Peng and Santra 2018; RepOrdMic, section 3",
        "as the start, and about O(n log n) a pass",
        _group,
        options=(START,),
        agree=lambda options, d: check_start("igd", options, d),
    ),
)
