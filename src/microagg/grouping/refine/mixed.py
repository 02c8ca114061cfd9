"""Annealing by what mixed records lose: numbers to the mean, categories to the commonest one.

A search by points takes categories for corners of a simplex, as if a group published the mean of
these. It publishes the commonest, and a record loses either nothing of a category or all of it. So
where there are categories groups are annealed by that loss, see `mixed_groups`. Moves and
temperatures are those of `annealing`.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.refine.annealing import (
    FEWEST_PASSES,
    MOST_PASSES,
    STEPS_A_PASS,
    WINDOW,
)
from microagg.grouping.refine.combining import better_parts
from microagg.grouping.refine.drawing import draw_lots, stir
from microagg.grouping.refine.mixed_groups import (
    Region,
    cost_of,
    joining,
    kinds_of,
    leaving,
    put,
    replacing,
    swap,
    take,
)
from microagg.kernels.compiling import inner, kernel


class MixedField(NamedTuple):
    """Records in the order of the field, see `search`, and what they lose."""

    points: NDArray[np.float64]
    near: NDArray[np.int32]
    scales: NDArray[np.float64]
    numbers: NDArray[np.float64]
    codes: NDArray[np.int32]
    prices: NDArray[np.float64]


@kernel
def combine_mixed(field, order, sizes, other_order, other_sizes):
    """What is better in two partitions, part by part, and the loss of that; see `combine`."""
    costs = np.empty(sizes.size + other_sizes.size)
    tally = np.zeros(kinds_of(field.codes), np.int32)
    at = 0
    for g in range(sizes.size):
        costs[g] = cost_of(field.numbers, field.codes, field.prices, tally, order, at, sizes[g])
        at += sizes[g]
    at = 0
    for g in range(other_sizes.size):
        costs[sizes.size + g] = cost_of(
            field.numbers, field.codes, field.prices, tally, other_order, at, other_sizes[g]
        )
        at += other_sizes[g]
    return better_parts(costs, order, sizes, other_order, other_sizes)


@kernel
def total_cost(field):
    """What is lost if all records are one group."""
    everyone = np.arange(field.codes.shape[0]).astype(np.int32)
    tally = np.zeros(kinds_of(field.codes), np.int32)
    return cost_of(
        field.numbers, field.codes, field.prices, tally, everyone, 0, everyone.size
    )  # fmt: skip


@kernel
def anneal_mixed(field, order, place, sizes, first, last, k, steps, hot, cold, care, allowed, seed):
    """Anneal the groups that stand at order[first:last], with so many steps; as `anneal` does."""
    near, scales = field.near, field.scales
    m = last - first
    p, q, slots = field.numbers.shape[1], field.codes.shape[1], sizes.size
    numbers = np.empty((m, p))
    codes = np.empty((m, q), np.int32)
    heat = np.empty(m)
    roots = np.empty(m)
    lists = np.empty((m, near.shape[1]), np.int32)
    listed = np.empty(m, np.int64)
    for i in range(m):
        row = order[first + i]
        heat[i] = scales[row]
        roots[i] = math.sqrt(heat[i])
        for a in range(p):
            numbers[i, a] = field.numbers[row, a]
        for c in range(q):
            codes[i, c] = field.codes[row, c]
        found = 0
        for j in range(near.shape[1]):
            other = np.int64(place[near[row, j]]) - first
            if 0 <= other < m and other != i:
                lists[i, found] = other
                found += 1
        if found == 0:
            lists[i, 0] = i
            found = 1
        listed[i] = found
    members = np.empty((slots, 2 * k), np.int32)
    counts = np.zeros(slots, np.int64)
    group = np.empty(m, np.int32)
    seat = np.empty(m, np.int32)
    region = Region(
        numbers,
        codes,
        field.prices,
        np.zeros((slots, p)),
        np.zeros((slots, p)),
        np.empty((slots, q, 2 * k), np.int32),
        np.full((slots, q), -1, np.int32),
        np.zeros((slots, q), np.int32),
        np.zeros((slots, q), np.int32),
        np.zeros(kinds_of(codes), np.int32),
        lists,
        listed,
        members,
        counts,
        group,
        seat,
        np.empty(2 * k, np.int64),
        np.empty(2 * k, np.int64),
    )
    free = np.empty(slots + 1, np.int64)
    vacant = 0
    at = 0
    for slot in range(slots):
        if sizes[slot] == 0:
            free[vacant] = slot
            vacant += 1
        for _ in range(sizes[slot]):
            put(region, at, slot)
            at += 1

    lots = draw_lots(heat)
    state = np.uint64(seed)
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(0xFFFF)
    largest = 2 * k - 1
    pause = 4 * k + 8
    passes = max(FEWEST_PASSES, min(MOST_PASSES, steps // (STEPS_A_PASS * m)))
    chunk = max(1, -(-steps // passes))
    window = min(lots.size, WINDOW)
    begin = 0.0
    stride = lots.size / chunk
    temperature = hot
    for step in range(steps):
        if step % chunk == 0:
            temperature = hot + (cold - hot) * (step // chunk) / (passes - 1)
            begin = 0.0
        state = stir(state)
        lot = np.int64(begin) + np.int64(((state & low) * np.uint64(window)) >> np.uint64(32))
        x = np.int64(lots[lot - lots.size if lot >= lots.size else lot])
        begin += stride
        more = state >> np.uint64(32)
        limit = temperature * allowed[np.int64((more >> np.uint64(16)) & np.uint64(4095))]
        one = np.int64(group[x])
        if step % pause == 0:
            limit *= heat[x]
            if (more & np.uint64(1)) == 0:
                if vacant > 0 and counts[one] > k:
                    vacant -= _found(region, free[vacant - 1], k, x, limit, state)
            elif _dissolve(region, one, largest, limit):
                free[vacant] = one
                vacant += 1
            continue
        # Nearer neighbours more often: the square of a random share.
        pick = (((more & half) * (more & half)) >> np.uint64(16)) * np.uint64(listed[x])
        y = lists[x, np.int64(pick >> np.uint64(16))]
        other = np.int64(group[y])
        if one == other:
            continue
        size, other_size = counts[one], counts[other]
        if size > k and other_size < largest and (more >> np.uint64(28)) < np.uint64(8):
            cost = joining(region, x, other) - leaving(region, x)
            if cost < limit * roots[x] * roots[y]:
                take(region, x)
                put(region, x, other)
            continue
        state = stir(state)
        if other_size < largest and (more >> np.uint64(28)) < np.uint64(4):
            mate = members[one, np.int64(((state & low) * np.uint64(size)) >> np.uint64(32))]
            pick = ((state >> np.uint64(48)) * np.uint64(listed[mate])) >> np.uint64(16)
            w = np.int64(lists[mate, np.int64(pick)])
            third = group[w]
            if mate != x and third != one and third != other and counts[third] > k:
                cost = replacing(region, one, x, w) + joining(region, x, other)
                cost -= leaving(region, w)
                if cost < limit * roots[x] * roots[w]:
                    take(region, x)
                    take(region, w)
                    put(region, x, other)
                    put(region, w, one)
            continue
        # All of the other group, or some that follow each other.
        i = np.int64(((state & low) * np.uint64(other_size)) >> np.uint64(32))
        z = np.int64(members[other, i])
        least = math.inf
        for _ in range(min(other_size, care.partners)):
            partner = np.int64(members[other, i])
            cost = replacing(region, one, x, partner) + replacing(region, other, partner, x)
            if cost < least:
                least = cost
                z = partner
            i = i + 1 if i + 1 < other_size else 0
        if least < limit * roots[x] * roots[z]:
            swap(region, x, z)

    rows = order[first:last].copy()
    at = first
    for slot in range(slots):
        sizes[slot] = counts[slot]
        for i in range(counts[slot]):
            order[at] = rows[members[slot, i]]
            at += 1


@inner
def _move(region, x, slot, moved):
    """Move a record, so that it can be undone; what that costs."""
    region.log[moved] = x
    region.homes[moved] = region.group[x]
    cost = joining(region, x, slot) - leaving(region, x)
    take(region, x)
    put(region, x, slot)
    return cost


@inner
def _undo(region, moved):
    """Take moves back, the last one first."""
    for i in range(moved - 1, -1, -1):
        take(region, region.log[i])
        put(region, region.log[i], region.homes[i])


@kernel
def _found(region, slot, k, x, limit, state):
    """A new group around x in a free slot, from groups that can spare a record; 1 if it stands."""
    cost = _move(region, x, slot, np.int64(0))
    moved = 1
    asked = 0
    i = 0
    while moved < k and asked < moved:
        source = region.log[asked]
        y = np.int64(region.lists[source, i])
        i += 1
        if i == region.listed[source]:
            asked += 1
            i = 0
        state = stir(state)
        home = region.group[y]
        if home == slot or region.counts[home] <= k or (state & np.uint64(7)) == 0:
            continue
        cost += _move(region, y, slot, moved)
        moved += 1
    if moved == k and cost < limit:
        return 1
    _undo(region, moved)
    return 0


@inner
def _dissolve(region, slot, largest, limit):
    """Each member of the group joins the neighbouring group where it costs least; 1 if all do."""
    counts = region.counts
    cost = 0.0
    moved = 0
    while counts[slot] > 0:
        x = np.int64(region.members[slot, counts[slot] - 1])
        best, target = math.inf, np.int64(-1)
        for i in range(region.listed[x]):
            other = np.int64(region.group[region.lists[x, i]])
            if counts[other] >= largest or other == slot:
                continue
            if other == target:
                continue
            price = joining(region, x, other)
            if price < best:
                best, target = price, other
        if target < 0:
            break
        cost += _move(region, x, target, moved)
        moved += 1
    if counts[slot] == 0 and cost < limit:
        return 1
    _undo(region, moved)
    return 0
