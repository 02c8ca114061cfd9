"""Simulated annealing of the groups of one region: records move, change places, found groups.

A region is a part of the records together with their groups, copied out so that nothing outside is
touched. Moves look along lists of near neighbours:

- relocate: a record leaves a group of more than k for the group of a neighbour;
- swap: a record changes places with a member of a neighbour's group, or the best of some;
- pass on: a record leaves for the group of a neighbour, and one of a third group of more than k
  takes its place;
- found: a record and near ones, all from groups of more than k, become a new group of k;
- dissolve: the members of a group join the groups of their neighbours, each the nearest.

A move that raises the SSE by c is made with probability exp(-c / t). The temperature t is a share
of the scale that the records bring with them, the geometric mean for two, since that is what moves
between dense parts and outliers cost: all freeze at about the same time. Where the scale is large
more is to be gained, and more is tried. Evaluating a relocation, a swap or a passing on takes O(d),
the other two O(k d q) for q neighbours.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.refine.drawing import draw_lots, stir
from microagg.kernels.compiling import inner, kernel

# A call passes over its records so many times, and cools down from pass to pass; it draws from a
# window that moves along with it, so that what it works on stays in a core's cache.
FEWEST_PASSES, MOST_PASSES = 4, 64
STEPS_A_PASS = 8
WINDOW = 1024
# Attributes come in fours: their sums are kept in four parts, which makes vector instructions.
LANES = 4


class Care(NamedTuple):
    """How a step is chosen. Where steps are few, among many: each is worth more. Where there are
    many, that would freeze too soon."""

    partners: int  # a swap is the best one with so many in a group
    neighbours: int = 1  # of so many drawn, the one whose group is centred nearest
    # Centres farther than so many times the own one, and the temperature, in squares, mostly fail.
    reach: float = math.inf


class _Region(NamedTuple):
    """Records and groups by their numbers in the region, and the moves that can be undone."""

    own: NDArray[np.float64]  # what the records are, one after the other
    centres: NDArray[np.float64]  # of the groups, likewise
    lists: NDArray[np.int32]  # (records, q) near neighbours,
    listed: NDArray[np.int64]  # and how many
    members: NDArray[np.int32]  # (groups, 2k) the records of each group,
    counts: NDArray[np.int64]  # and how many
    group: NDArray[np.int32]  # of each record,
    seat: NDArray[np.int32]  # and which of its members the record is
    log: NDArray[np.int64]  # who moved,
    homes: NDArray[np.int64]  # from where,
    kept: NDArray[np.float64]  # (moves, 2, attributes) and the two centres before


@kernel
def anneal(field, order, place, sizes, first, last, k, steps, hot, cold, care, allowed, seed):
    """Anneal the groups that stand at order[first:last], with so many steps.

    `sizes` are the sizes of these groups, as many entries as there can be groups, zeros for those
    there are not; `place` is the inverse of `order` when the stage began. Both `order` and `sizes`
    are brought up to date. `hot` and `cold` are shares of `scales`.
    """
    points, near, scales = field.points, field.near, field.scales
    partners, neighbours, reach = care
    m = last - first
    width = points.shape[1]
    slots = sizes.size
    own = np.empty(m * width)
    heat = np.empty(m)
    roots = np.empty(m)
    group = np.empty(m, np.int32)
    seat = np.empty(m, np.int32)
    members = np.empty((slots, 2 * k), np.int32)
    counts = np.zeros(slots, np.int64)
    centres = np.zeros(slots * width)
    lists = np.empty((m, near.shape[1]), np.int32)
    listed = np.empty(m, np.int64)
    log = np.empty(2 * k, np.int64)
    homes = np.empty(2 * k, np.int64)
    kept = np.empty((2 * k, 2, width))
    region = _Region(
        own, centres, lists, listed, members, counts, group, seat, log, homes, kept
    )  # fmt: skip
    free = np.empty(slots + 1, np.int64)
    vacant = 0
    for i in range(m):
        row = order[first + i]
        heat[i] = scales[row]
        roots[i] = math.sqrt(heat[i])
        for a in range(width):
            own[i * width + a] = points[row, a]
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
    at = 0
    for slot in range(slots):
        if sizes[slot] == 0:
            free[vacant] = slot
            vacant += 1
        for _ in range(sizes[slot]):
            _join(region, np.int64(at), np.int64(slot))
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
    aim = np.empty(width)
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
            elif _dissolve(region, np.int64(one), largest, limit):
                free[vacant] = one
                vacant += 1
            continue
        at_x, at_one = x * width, one * width
        y, other, square = x, one, math.inf
        for draw in range(neighbours):
            if draw > 0:
                state = stir(state)
                more = state >> np.uint64(32)
            # Nearer neighbours more often: the square of a random share.
            pick = (((more & half) * (more & half)) >> np.uint64(16)) * np.uint64(listed[x])
            drawn = np.int64(lists[x, np.int64(pick >> np.uint64(16))])
            slot = np.int64(group[drawn])
            if slot != one and slot != other:
                away = apart(own, at_x, centres, slot * width, width)
                if away < square:
                    y, other, square = drawn, slot, away
        if one == other:
            continue
        at_other = other * width
        own_square = apart(own, at_x, centres, at_one, width)
        size, other_size = counts[one], counts[other]
        if size > k and other_size < largest and (more >> np.uint64(28)) < np.uint64(8):
            cost = square * (other_size / (other_size + 1.0)) - own_square * (size / (size - 1.0))
            if cost < limit * roots[x] * roots[y]:
                seat_x, mover = seat[x], members[one, size - 1]
                members[one, seat_x] = mover
                seat[mover] = seat_x
                members[other, other_size] = x
                seat[x] = other_size
                group[x] = other
                counts[one] = size - 1
                counts[other] = other_size + 1
                share, other_share = 1.0 / (size - 1.0), 1.0 / (other_size + 1.0)
                for a in range(width):
                    value = own[at_x + a]
                    centres[at_one + a] += (centres[at_one + a] - value) * share
                    centres[at_other + a] += (value - centres[at_other + a]) * other_share
            continue
        if square > (reach + temperature) * own_square:
            continue
        state = stir(state)
        if other_size < largest and (more >> np.uint64(28)) < np.uint64(4):
            mate = members[one, np.int64(((state & low) * np.uint64(size)) >> np.uint64(32))]
            pick = ((state >> np.uint64(48)) * np.uint64(listed[mate])) >> np.uint64(16)
            w = np.int64(lists[mate, np.int64(pick)])
            third = group[w]
            if mate != x and third != one and third != other and counts[third] > k:
                _pass_on(region, x, np.int64(other), w, limit * roots[x] * roots[w])
            continue
        # SSE rises by both * (gap - |z - aim|^2) if x and z change places.
        share, other_share = 1.0 / size, 1.0 / other_size
        both = share + other_share
        gap = 0.0
        for a in range(width):
            way = (centres[at_other + a] - centres[at_one + a]) / both
            aim[a] = own[at_x + a] + way
            gap += way * way
        # All of the other group, or some that follow each other.
        i = np.int64(((state & low) * np.uint64(other_size)) >> np.uint64(32))
        z = members[other, i]
        most = -1.0
        for _ in range(min(other_size, partners)):
            partner = members[other, i]
            away = apart(own, partner * width, aim, 0, width)
            if away > most:
                most = away
                z = partner
            i = i + 1 if i + 1 < other_size else 0
        at_z = z * width
        if both * (gap - most) < limit * roots[x] * roots[z]:
            seat_x, seat_z = seat[x], seat[z]
            members[one, seat_x] = z
            members[other, seat_z] = x
            seat[x], seat[z] = seat_z, seat_x
            group[x], group[z] = other, one
            for a in range(width):
                change = own[at_z + a] - own[at_x + a]
                centres[at_one + a] += change * share
                centres[at_other + a] -= change * other_share

    rows = order[first:last].copy()
    at = first
    for slot in range(slots):
        sizes[slot] = counts[slot]
        for i in range(counts[slot]):
            order[at] = rows[members[slot, i]]
            at += 1


@inner(forceinline=True)
def apart(own, at_x, centres, at_slot, width):
    """The squared distance of a record from a centre, in four lanes."""
    # Unsigned: so the compiler makes vectors of the lanes.
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    x, c = np.uint64(at_x), np.uint64(at_slot)
    a0 = a1 = a2 = a3 = 0.0
    for a in range(np.uint64(0), np.uint64(width), np.uint64(LANES)):
        away = own[x + a] - centres[c + a]
        a0 += away * away
        away = own[x + a + one] - centres[c + a + one]
        a1 += away * away
        away = own[x + a + two] - centres[c + a + two]
        a2 += away * away
        away = own[x + a + three] - centres[c + a + three]
        a3 += away * away
    return (a0 + a1) + (a2 + a3)


@inner
def _join(region, x, slot):
    """Add a record to a group; what that costs."""
    own, centres, width = region.own, region.centres, region.kept.shape[2]
    size = region.counts[slot]
    region.members[slot, size] = x
    region.seat[x] = size
    region.group[x] = slot
    region.counts[slot] = size + 1
    square = 0.0
    for a in range(width):
        away = own[x * width + a] - centres[slot * width + a]
        if size == 0:
            centres[slot * width + a] = own[x * width + a]
        else:
            square += away * away
            centres[slot * width + a] += away / (size + 1.0)
    return square * (size / (size + 1.0))


@inner
def _leave(region, x):
    """Take a record out of its group; what that saves."""
    own, centres, width = region.own, region.centres, region.kept.shape[2]
    slot = region.group[x]
    size = region.counts[slot] - 1
    mover = region.members[slot, size]
    region.members[slot, region.seat[x]] = mover
    region.seat[mover] = region.seat[x]
    region.counts[slot] = size
    if size == 0:
        return 0.0
    square = 0.0
    for a in range(width):
        away = own[x * width + a] - centres[slot * width + a]
        square += away * away
        centres[slot * width + a] -= away / size
    return square * ((size + 1.0) / size)


@inner
def _move(region, x, slot, moved):
    """Move a record, so that it can be undone; what that costs."""
    centres, width = region.centres, region.kept.shape[2]
    home = region.group[x]
    region.log[moved] = x
    region.homes[moved] = home
    for a in range(width):
        region.kept[moved, 0, a] = centres[home * width + a]
        region.kept[moved, 1, a] = centres[slot * width + a]
    saved = _leave(region, x)
    return _join(region, x, slot) - saved


@inner
def _undo(region, moved):
    """Take moves back, the last one first: each record is then the last of its group."""
    centres, counts, width = region.centres, region.counts, region.kept.shape[2]
    for i in range(moved - 1, -1, -1):
        x, home = region.log[i], region.homes[i]
        slot = region.group[x]
        counts[slot] -= 1
        region.members[home, counts[home]] = x
        region.seat[x] = counts[home]
        region.group[x] = home
        counts[home] += 1
        for a in range(width):
            centres[home * width + a] = region.kept[i, 0, a]
            centres[slot * width + a] = region.kept[i, 1, a]


@inner
def _pass_on(region, x, slot, w, limit):
    """A record leaves its group for another, and one from a third group takes its place."""
    home = np.int64(region.group[x])
    cost = _move(region, x, slot, np.int64(0))
    cost += _move(region, w, home, np.int64(1))
    if not cost < limit:
        _undo(region, np.int64(2))


@inner
def _found(region, slot, k, x, limit, state):
    """A new group around x in a free slot, from groups that can spare a record; 1 if it stands.

    One in eight is passed over, for variety. Once the neighbours of x are used up, those of the
    next member follow.
    """
    cost = _move(region, x, slot, np.int64(0))
    moved = np.int64(1)
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
    """Each member of the group joins the neighbouring group where it costs least; 1 if all do.

    All that leave save the SSE of the group: once joining costs more, it is given up.
    """
    own, centres, counts, width = region.own, region.centres, region.counts, region.kept.shape[2]
    cost = 0.0
    for i in range(counts[slot]):
        cost -= apart(own, region.members[slot, i] * width, centres, slot * width, width)
    moved = np.int64(0)
    while counts[slot] > 0 and cost < limit:
        x = np.int64(region.members[slot, counts[slot] - 1])
        best, target = math.inf, np.int64(-1)
        for i in range(region.listed[x]):
            other = np.int64(region.group[region.lists[x, i]])
            size = counts[other]
            if size >= largest or other == slot:
                continue
            if other == target:
                continue
            square = apart(own, x * width, centres, other * width, width)
            square *= size / (size + 1.0)
            if square < best:
                best, target = square, other
        cost += best
        if target >= 0 and cost < limit:
            _move(region, x, target, moved)
            moved += 1
    if counts[slot] == 0 and cost < limit:
        return 1
    _undo(region, moved)
    return 0
