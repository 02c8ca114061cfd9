"""Simulated annealing of groups under demands, in one region.

Moves, the first two O(d) unless they would pay, then O(group size) for each demand:

- relocate: a unit leaves a group of more than k for another;
- swap: two units of different groups change places;
- merge: two groups become one, which keeps whatever both kept;
- split: a group of 2k or more becomes two: of every two units that follow each other in the order
  of a confidential column one goes to each side, so that both halves look like the whole;
- found: a unit and near ones of different value that their groups can spare become a new group;
- dissolve: the units of a group join others, each where it costs least.

Whom a unit meets is drawn from its neighbours in space, from those near it by the value of a
confidential column, for such swaps hardly change what a group looks like, and from all.

A move that costs c is made with probability exp(-c / temperature); c is the change of the SSE, and
`penalty` times that of how far groups are from their demands. With an infinite penalty groups that
keep their demands go on keeping them.
"""

import math

import numpy as np

from microagg.grouping.demands.floor import (
    BEGIN,
    NOBODY,
    fits,
    price_of,
    settle,
    short_if,
    trade,
)
from microagg.grouping.demands.judging import judge
from microagg.grouping.refine.drawing import stir
from microagg.kernels.compiling import inner, kernel
from microagg.kernels.group_passes import scatter_of

# So often the temperature falls.
_PASSES = 64


@kernel
def anneal(floor, rules, units, free, vacant, k, steps, hot, cold, penalty, odds, allowed, seed):
    """Make so many steps while the temperature falls from `hot` to `cold`.

    free: slots of groups there are not, `vacant` of them. odds: of 256, how often a unit meets a
    near one, one near it by value, or else anybody; and how many steps there are for one that
    changes whole groups.
    """
    n, most = floor.group.size, floor.members.shape[1]
    near, group, counts, members = floor.near, floor.group, floor.counts, floor.members
    columns = floor.by_rank.shape[0]
    state = np.uint64(seed)
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(0xFFFF)
    chunk = max(1, -(-steps // _PASSES))
    temperature = hot
    for step in range(steps):
        if step % chunk == 0:
            temperature = hot + (cold - hot) * (step // chunk) / _PASSES
        state = stir(state)
        x = np.int64(((state & low) * np.uint64(n)) >> np.uint64(32))
        more = state >> np.uint64(32)
        limit = temperature * allowed[np.int64((more >> np.uint64(16)) & np.uint64(4095))]
        one = np.int64(group[x])
        state = stir(state)
        lot = state >> np.uint64(32)
        if one < 0:
            continue
        if step % odds[2] == 0:
            kind = np.int64(more & np.uint64(3))
            y = np.int64(near[x, np.int64((lot * np.uint64(near.shape[1])) >> np.uint64(32))])
            vacant += _change_groups(
                floor, rules, units, free, vacant, k, kind, x, y, limit, penalty
            )
            continue
        turn = np.int64(more & np.uint64(255))
        if turn < odds[0]:
            share = lot & half
            pick = ((share * share) >> np.uint64(16)) * np.uint64(near.shape[1])
            y = np.int64(near[x, np.int64(pick >> np.uint64(16))])
        elif turn < odds[1] and columns > 0:
            column = np.int64(state & np.uint64(1023)) % columns
            away = np.int64(lot & np.uint64(31)) - 16
            place = floor.in_rank[column, x] + away
            y = np.int64(floor.by_rank[column, place]) if 0 <= place < n else NOBODY
        else:
            y = np.int64((lot * np.uint64(n)) >> np.uint64(32))
        if y < 0 or group[y] < 0 or group[y] == one:
            continue
        other = np.int64(group[y])
        draw = np.int64((more >> np.uint64(8)) & np.uint64(7))
        if counts[one] > k and counts[other] < most and draw < 4:
            y = NOBODY
        elif turn < odds[0] and draw & 1 == 0:
            y = np.int64(members[other, np.int64(state & np.uint64(1023)) % counts[other]])
        _try_trade(floor, rules, units, other, one, y, x, limit, penalty)


@inner
def _try_trade(floor, rules, units, slot, other, out, into, limit, penalty):
    """Let the unit `into` of another group come to one, and `out` go there, -1 for nobody, if that
    pays."""
    short = floor.short
    cost = price_of(floor.points, floor.centres, floor.counts, slot, other, out, into)
    bound = short[slot] + short[other] + (limit - cost) / penalty
    if bound < 0.0 or (cost >= limit and bound <= 0.0):
        return
    records, room, starts = floor.records, floor.lines.shape[2], units.starts
    if not fits(records, room, starts, slot, out, into):
        return
    if out >= 0 and not fits(records, room, starts, other, into, out):
        return
    other_short = short_if(floor, rules, units, other, into, out, bound)
    if other_short > bound:
        return
    own_short = short_if(floor, rules, units, slot, out, into, bound - other_short)
    if other_short + own_short > bound:
        return
    trade(floor, units, slot, out, into)
    short[slot], short[other] = own_short, other_short


@inner
def _change_groups(floor, rules, units, free, vacant, k, kind, x, y, limit, penalty):
    """Change whole groups near x and y, if that pays; by how many more slots are free then."""
    group, counts = floor.group, floor.counts
    one = np.int64(group[x])
    if kind >= 2:
        if kind == 2 and vacant > 0 and counts[one] > k:
            return -_found(floor, rules, units, x, free[vacant - 1], k, limit, penalty)
        if kind == 3 and _dissolve(floor, rules, units, one, limit, penalty):
            free[vacant] = one
            return 1
        return 0
    # Of two groups that become one the first has no units in the end.
    into = other = one
    size, own, cost = BEGIN, BEGIN, 0.0
    if kind == 0 and vacant > 0 and counts[one] >= 2 * k:
        other = free[vacant - 1]
        size, own, cost = _halve(floor, x)
    elif kind == 1 and y >= 0 and group[y] >= 0 and group[y] != one:
        into = np.int64(group[y])
        size, own, cost = _unite(floor, one, into)
    if into == other or size > floor.members.shape[1]:
        return 0
    if own == size and floor.records[one] + floor.records[into] > floor.lines.shape[2]:
        return 0
    bound = floor.short[into] + floor.short[other] + (limit - cost) / penalty
    if bound < 0.0 or (cost >= limit and bound <= 0.0):
        return 0
    short = judge(rules, units, floor.crew, BEGIN, own, floor.room)
    other_short = 0.0
    if own < size and short <= bound:
        other_short = judge(rules, units, floor.crew, own, size, floor.room)
    if short + other_short > bound:
        return 0
    settle(floor, units, into, BEGIN, own)
    settle(floor, units, other, own, size)
    floor.short[into], floor.short[other] = short, other_short
    if own == size:
        free[vacant] = one
        return 1
    return -1


@inner
def _unite(floor, one, other):
    """The units of two groups as a crew: how many, twice, and what it costs to have them in one."""
    size, other_size, centres = floor.counts[one], floor.counts[other], floor.centres
    total = size + other_size
    if total <= floor.members.shape[1]:
        for i in range(size):
            floor.crew[i] = floor.members[one, i]
        for i in range(other_size):
            floor.crew[size + i] = floor.members[other, i]
    square = 0.0
    for a in range(centres.shape[1]):
        away = centres[one, a] - centres[other, a]
        square += away * away
    return total, total, square * size * other_size / total


@inner
def _halve(floor, x):
    """The units of the group of x as a crew in two halves: how many, in the first, and what it
    costs to part them.

    The two sides are drawn to x and to the member farthest from it. Of two members that follow each
    other by value, or as they are seated where nothing is demanded of values, each side gets one.
    """
    one = np.int64(floor.group[x])
    size, crew, points = floor.counts[one], floor.crew, floor.points
    far, farthest = x, -1.0
    for i in range(size):
        unit = floor.members[one, i]
        square = _square(points, unit, x)
        if square > farthest:
            far, farthest = np.int64(unit), square
        at = i
        if floor.in_rank.shape[0] > 0:
            place = floor.in_rank[0, unit]
            while at > 0 and floor.in_rank[0, crew[at - 1]] > place:
                crew[at] = crew[at - 1]
                at -= 1
        crew[at] = unit
    before = scatter_of(points, crew, BEGIN, size)
    # The second half is put behind the room for all, and brought up to the first in the end.
    own = there = BEGIN
    for i in range(0, size, 2):
        if i + 1 == size:
            crew[own] = crew[i]
            own += 1
            break
        u, v = crew[i], crew[i + 1]
        straight = _square(points, u, x) + _square(points, v, far)
        if _square(points, u, far) + _square(points, v, x) < straight:
            u, v = v, u
        crew[own] = u
        crew[size + there] = v
        own += 1
        there += 1
    for i in range(there):
        crew[own + i] = crew[size + i]
    cost = scatter_of(points, crew, BEGIN, own) + scatter_of(points, crew, own, size) - before
    return size, own, cost


@inner
def _square(points, u, v):
    """The squared distance of two units."""
    square = 0.0
    for a in range(points.shape[1]):
        away = points[u, a] - points[v, a]
        square += away * away
    return square


@inner
def _found(floor, rules, units, x, slot, k, limit, penalty):
    """A new group of k around x, if that pays; 1 if it is done.

    Its units are the nearest to x that their groups can spare, no two from the same of k parts of
    the region in the order of a confidential column.
    """
    n, crew, group, counts = floor.group.size, floor.crew, floor.group, floor.counts
    crew[0] = x
    size = 1
    for i in range(floor.near.shape[1]):
        y = floor.near[x, i]
        if size == k or y < 0:
            break
        spared = 0
        fresh = group[y] >= 0
        for j in range(size):
            spared += group[crew[j]] == group[y]
            if floor.in_rank.shape[0] > 0:
                part = floor.in_rank[0, y] * k // n
                fresh = fresh and part != floor.in_rank[0, crew[j]] * k // n
        if fresh and counts[group[y]] - spared > k:
            crew[size] = y
            size += 1
    if size < k:
        return 0
    short = judge(rules, units, crew, BEGIN, k, floor.room)
    if short > max(0.0, limit / penalty):
        return 0
    most = floor.members.shape[1]
    # Behind what judging works in.
    movers, homes = crew[most + 2 :], crew[2 * most + 3 :]
    for i in range(k):
        movers[i] = crew[i]
        homes[i] = group[crew[i]]
    cost = 0.0
    for i in range(k):
        mover, home = np.int64(movers[i]), np.int64(homes[i])
        cost += price_of(floor.points, floor.centres, counts, slot, home, NOBODY, mover)
        trade(floor, units, slot, NOBODY, mover)
    bound = (limit - cost) / penalty - short
    judged = 0
    while judged < k and bound >= 0.0 and cost < limit:
        home = np.int64(homes[judged])
        now = short_if(floor, rules, units, home, NOBODY, NOBODY, math.inf)
        bound -= now - floor.short[home]
        floor.short[home] = now
        judged += 1
    if bound >= 0.0 and cost < limit:
        floor.short[slot] = short
        return 1
    for i in range(k - 1, -1, -1):
        trade(floor, units, np.int64(homes[i]), NOBODY, np.int64(movers[i]))
    for i in range(judged):
        home = np.int64(homes[i])
        floor.short[home] = short_if(floor, rules, units, home, NOBODY, NOBODY, math.inf)
    return 0


@inner
def _dissolve(floor, rules, units, slot, limit, penalty):
    """Each unit of a group joins the group of a near one where it costs least, of those that are
    no farther from their demands for it, if that pays; whether it is done."""
    points, centres, counts, group = floor.points, floor.centres, floor.counts, floor.group
    size, most = counts[slot], floor.members.shape[1]
    movers = floor.crew[most + 2 :]
    for i in range(size):
        movers[i] = floor.members[slot, i]
    cost = 0.0
    moved = 0
    allowance = limit + penalty * floor.short[slot]
    while moved < size:
        x = np.int64(movers[moved])
        best, target, after = math.inf, NOBODY, 0.0
        for i in range(floor.near.shape[1]):
            y = floor.near[x, i]
            if y < 0 or group[y] < 0:
                continue
            other = np.int64(group[y])
            if other == slot or counts[other] >= most:
                continue
            square = 0.0
            for a in range(points.shape[1]):
                away = points[x, a] - centres[other, a]
                square += away * away
            square *= counts[other] / (counts[other] + 1.0)
            if square >= best:
                continue
            if not fits(floor.records, floor.lines.shape[2], units.starts, other, NOBODY, x):
                continue
            short = short_if(floor, rules, units, other, NOBODY, x, floor.short[other])
            if short <= floor.short[other]:
                best, target, after = square, other, short
        if target < 0:
            break
        cost += price_of(points, centres, counts, target, slot, NOBODY, x)
        trade(floor, units, target, NOBODY, x)
        floor.short[target] = after
        moved += 1
        if cost - _most_saved(floor, slot) >= allowance:
            break
    if moved == size and cost < allowance:
        floor.short[slot] = 0.0
        return True
    for i in range(moved - 1, -1, -1):
        home = np.int64(group[movers[i]])
        trade(floor, units, slot, NOBODY, np.int64(movers[i]))
        floor.short[home] = short_if(floor, rules, units, home, NOBODY, NOBODY, math.inf)
    return False


@inner
def _most_saved(floor, slot):
    """No more than this is saved when the units left of a group leave it: their SSE."""
    points, centres = floor.points, floor.centres
    total = 0.0
    for i in range(floor.counts[slot]):
        for a in range(points.shape[1]):
            away = points[floor.members[slot, i], a] - centres[slot, a]
            total += away * away
    return total
