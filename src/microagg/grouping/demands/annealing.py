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
    carry,
    exchange,
    fits,
    settle,
    short_if,
    short_of,
    square_of,
)
from microagg.kernels.compiling import kernel
from microagg.kernels.group_passes import scatter_of

# So often the temperature falls.
_PASSES = 64


@kernel
def anneal(floor, rules, units, free, vacant, k, steps, hot, cold, penalty, odds, allowed, seed):
    """Make so many steps while the temperature falls from `hot` to `cold`.

    free: slots of groups there are not, `vacant` of them. odds: of 256, how often a unit meets a
    near one, one near it by value, or else anybody; and how many steps there are for one that
    changes whole groups. Returns how far the SSE has risen, as it was counted.
    """
    n, most = floor.group.size, floor.members.shape[1]
    near, group, counts, members = floor.near, floor.group, floor.counts, floor.members
    columns = floor.by_rank.shape[0]
    state = np.uint64(seed)
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(0xFFFF)
    rise = 0.0
    chunk = max(1, -(-steps // _PASSES))
    temperature = hot
    for step in range(steps):
        if step % chunk == 0:
            temperature = hot + (cold - hot) * (step // chunk) / _PASSES
        state = _stir(state)
        x = np.int64(((state & low) * np.uint64(n)) >> np.uint64(32))
        more = state >> np.uint64(32)
        limit = temperature * allowed[np.int64((more >> np.uint64(16)) & np.uint64(4095))]
        one = np.int64(group[x])
        state = _stir(state)
        lot = state >> np.uint64(32)
        if one < 0:
            continue
        if step % odds[2] == 0:
            kind = more & np.uint64(3)
            y = np.int64(near[x, np.int64((lot * np.uint64(near.shape[1])) >> np.uint64(32))])
            if kind == 0:
                if vacant > 0 and counts[one] >= 2 * k:
                    cost = _split(floor, rules, units, x, free[vacant - 1], k, limit, penalty)
                    if cost < math.inf:
                        vacant -= 1
                        rise += cost
            elif kind == 1:
                if y >= 0 and group[y] >= 0 and group[y] != one:
                    cost = _merge(floor, rules, units, one, np.int64(group[y]), limit, penalty)
                    if cost < math.inf:
                        free[vacant] = one
                        vacant += 1
                        rise += cost
            elif kind == 2:
                if vacant > 0 and counts[one] > k:
                    cost = _found(floor, rules, units, x, free[vacant - 1], k, limit, penalty)
                    if cost < math.inf:
                        vacant -= 1
                        rise += cost
            else:
                cost = _dissolve(floor, rules, units, one, limit, penalty)
                if cost < math.inf:
                    free[vacant] = one
                    vacant += 1
                    rise += cost
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
            y = np.int64(floor.by_rank[column, place]) if 0 <= place < n else np.int64(-1)
        else:
            y = np.int64((lot * np.uint64(n)) >> np.uint64(32))
        if y < 0 or group[y] < 0 or group[y] == one:
            continue
        other = np.int64(group[y])
        draw = np.int64((more >> np.uint64(8)) & np.uint64(7))
        if counts[one] > k and counts[other] < most and draw < 4:
            cost = _relocate(floor, rules, units, x, other, limit, penalty)
        else:
            if turn < odds[0] and draw & 1 == 0:
                y = np.int64(members[other, np.int64(state & np.uint64(1023)) % counts[other]])
            cost = _swap(floor, rules, units, x, y, limit, penalty)
        if cost < math.inf:
            rise += cost
    return rise


@kernel(inline="always")
def _stir(state):
    """The next of Marsaglia's random numbers (xorshift)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@kernel
def _relocate(floor, rules, units, x, other, limit, penalty):
    """Let a unit leave its group for another; what that costs, infinite if it is not done."""
    one = np.int64(floor.group[x])
    size, other_size = floor.counts[one], floor.counts[other]
    leaving = joining = 0.0
    for a in range(floor.points.shape[1]):
        away = floor.points[x, a] - floor.centres[one, a]
        leaving += away * away
        away = floor.points[x, a] - floor.centres[other, a]
        joining += away * away
    cost = joining * (other_size / (other_size + 1.0))
    if size > 1:
        cost -= leaving * (size / (size - 1.0))
    bound = floor.short[one] + floor.short[other] + (limit - cost) / penalty
    if bound < 0.0 or (cost >= limit and bound <= 0.0) or not fits(floor, units, other, -1, x):
        return math.inf
    short = 0.0
    if size > 1:
        short = short_if(floor, rules, units, one, x, np.int64(-1), bound)
    if short > bound:
        return math.inf
    other_short = short_if(floor, rules, units, other, np.int64(-1), x, bound - short)
    if short + other_short > bound:
        return math.inf
    exchange(floor, units, one, np.int64(floor.seat[x]), x, np.int64(-1))
    exchange(floor, units, other, other_size, np.int64(-1), x)
    floor.short[one], floor.short[other] = short, other_short
    return cost


@kernel
def _swap(floor, rules, units, x, y, limit, penalty):
    """Let two units change places; what that costs, infinite if it is not done."""
    one, other = np.int64(floor.group[x]), np.int64(floor.group[y])
    both = 1.0 / floor.counts[one] + 1.0 / floor.counts[other]
    cost = 0.0
    for a in range(floor.points.shape[1]):
        away = floor.points[y, a] - floor.points[x, a]
        cost += away * (2.0 * (floor.centres[other, a] - floor.centres[one, a]) - both * away)
    bound = floor.short[one] + floor.short[other] + (limit - cost) / penalty
    if bound < 0.0 or (cost >= limit and bound <= 0.0):
        return math.inf
    if not (fits(floor, units, one, x, y) and fits(floor, units, other, y, x)):
        return math.inf
    short = short_if(floor, rules, units, one, x, y, bound)
    if short > bound:
        return math.inf
    other_short = short_if(floor, rules, units, other, y, x, bound - short)
    if short + other_short > bound:
        return math.inf
    seat, other_seat = np.int64(floor.seat[x]), np.int64(floor.seat[y])
    exchange(floor, units, one, seat, x, y)
    exchange(floor, units, other, other_seat, y, x)
    floor.short[one], floor.short[other] = short, other_short
    return cost


@kernel
def _split(floor, rules, units, x, slot, k, limit, penalty):
    """Divide the group of x; what that costs, infinite if it is not done.

    The two sides are drawn to x and to the member farthest from it. Of two members that follow each
    other by value, or as they are seated where nothing is demanded of values, each side gets one.
    """
    one = np.int64(floor.group[x])
    size, crew = floor.counts[one], floor.crew
    far, farthest = x, -1.0
    for i in range(size):
        unit = floor.members[one, i]
        square = square_of(floor, unit, x)
        if square > farthest:
            far, farthest = np.int64(unit), square
        at = i
        if floor.in_rank.shape[0] > 0:
            place = floor.in_rank[0, unit]
            while at > 0 and floor.in_rank[0, crew[at - 1]] > place:
                crew[at] = crew[at - 1]
                at -= 1
        crew[at] = unit
    before = scatter_of(floor.points, crew, 0, size)
    # The second half is put behind the room for all, and brought up to the first in the end.
    own = there = 0
    for i in range(0, size, 2):
        if i + 1 == size:
            crew[own] = crew[i]
            own += 1
            break
        u, v = crew[i], crew[i + 1]
        straight = square_of(floor, u, x) + square_of(floor, v, far)
        if square_of(floor, u, far) + square_of(floor, v, x) < straight:
            u, v = v, u
        crew[own] = u
        crew[size + there] = v
        own += 1
        there += 1
    for i in range(there):
        crew[own + i] = crew[size + i]
    cost = (
        scatter_of(floor.points, crew, 0, own) + scatter_of(floor.points, crew, own, size) - before
    )
    bound = floor.short[one] + (limit - cost) / penalty
    if bound < 0.0 or (cost >= limit and bound <= 0.0) or there < k:
        return math.inf
    short = short_of(floor, rules, units, 0, own)
    if short > bound:
        return math.inf
    other_short = short_of(floor, rules, units, own, size)
    if short + other_short > bound:
        return math.inf
    settle(floor, units, one, 0, own)
    settle(floor, units, slot, own, size)
    floor.short[one], floor.short[slot] = short, other_short
    return cost


@kernel
def _merge(floor, rules, units, one, other, limit, penalty):
    """Make one group join another; what that costs, infinite if it is not done."""
    size, other_size = floor.counts[one], floor.counts[other]
    square = 0.0
    for a in range(floor.points.shape[1]):
        away = floor.centres[one, a] - floor.centres[other, a]
        square += away * away
    cost = square * size * other_size / (size + other_size)
    bound = floor.short[one] + floor.short[other] + (limit - cost) / penalty
    if size + other_size > floor.members.shape[1]:
        return math.inf
    if floor.records[one] + floor.records[other] > floor.lines.shape[2]:
        return math.inf
    if bound < 0.0 or (cost >= limit and bound <= 0.0):
        return math.inf
    for i in range(size):
        floor.crew[i] = floor.members[one, i]
    for i in range(other_size):
        floor.crew[size + i] = floor.members[other, i]
    short = short_of(floor, rules, units, 0, size + other_size)
    if short > bound:
        return math.inf
    settle(floor, units, other, 0, size + other_size)
    floor.counts[one] = floor.records[one] = 0
    floor.short[one], floor.short[other] = 0.0, short
    return cost


@kernel
def _found(floor, rules, units, x, slot, k, limit, penalty):
    """A new group of k around x; what that costs, infinite if it is not done.

    Its units are the nearest to x that their groups can spare, no two from the same of k parts of
    the region in the order of a confidential column.
    """
    n, crew = floor.group.size, floor.crew
    crew[0] = x
    size = 1
    for i in range(floor.near.shape[1]):
        y = floor.near[x, i]
        if size == k or y < 0:
            break
        spared = 0
        fresh = floor.group[y] >= 0
        for j in range(size):
            spared += floor.group[crew[j]] == floor.group[y]
            if floor.in_rank.shape[0] > 0:
                part = floor.in_rank[0, y] * k // n
                fresh = fresh and part != floor.in_rank[0, crew[j]] * k // n
        if fresh and floor.counts[floor.group[y]] - spared > k:
            crew[size] = y
            size += 1
    if size < k:
        return math.inf
    short = short_of(floor, rules, units, 0, size)
    if short > max(0.0, limit / penalty):
        return math.inf
    movers = crew[:k].copy()
    homes = np.empty(k, np.int64)
    shorts = np.empty(k)
    cost = 0.0
    for i in range(k):
        homes[i] = floor.group[movers[i]]
        shorts[i] = floor.short[homes[i]]
        cost += carry(floor, units, np.int64(movers[i]), slot)
    bound = (limit - cost) / penalty - short
    for i in range(k):
        if bound < 0.0 or cost >= limit:
            break
        now = short_if(floor, rules, units, homes[i], np.int64(-1), np.int64(-1), math.inf)
        bound -= now - floor.short[homes[i]]
        floor.short[homes[i]] = now
    if bound >= 0.0 and cost < limit:
        floor.short[slot] = short
        return cost
    for i in range(k - 1, -1, -1):
        carry(floor, units, np.int64(movers[i]), homes[i])
        floor.short[homes[i]] = shorts[i]
    return math.inf


@kernel
def _dissolve(floor, rules, units, slot, limit, penalty):
    """Each unit of a group joins the group of a near one where it costs least, of those that are
    no farther from their demands for it; what that costs, infinite if it is not done."""
    size = floor.counts[slot]
    movers = floor.members[slot, :size].copy()
    cost = 0.0
    moved = 0
    allowance = limit + penalty * floor.short[slot]
    for x in movers:
        best, target, after = math.inf, np.int64(-1), 0.0
        for i in range(floor.near.shape[1]):
            y = floor.near[x, i]
            if y < 0 or floor.group[y] < 0:
                continue
            other = np.int64(floor.group[y])
            if other in (slot, target) or floor.counts[other] >= floor.members.shape[1]:
                continue
            share = floor.counts[other] / (floor.counts[other] + 1.0)
            square = 0.0
            for a in range(floor.points.shape[1]):
                away = floor.points[x, a] - floor.centres[other, a]
                square += away * away
            if square * share >= best or not fits(floor, units, other, -1, np.int64(x)):
                continue
            bound = floor.short[other]
            short = short_if(floor, rules, units, other, np.int64(-1), np.int64(x), bound)
            if short <= bound:
                best, target, after = square * share, other, short
        if target < 0:
            cost = math.inf
            break
        cost += carry(floor, units, np.int64(x), target)
        floor.short[target] = after
        moved += 1
        if cost - _most_saved(floor, slot) >= allowance:
            cost = math.inf
            break
    if cost < allowance:
        floor.short[slot] = 0.0
        return cost
    for i in range(moved - 1, -1, -1):
        home = np.int64(floor.group[movers[i]])
        carry(floor, units, np.int64(movers[i]), slot)
        none = np.int64(-1)
        floor.short[home] = short_if(floor, rules, units, home, none, none, math.inf)
    return math.inf


@kernel
def _most_saved(floor, slot):
    """No more than this is saved when the units left of a group leave it: their SSE."""
    total = 0.0
    for i in range(floor.counts[slot]):
        for a in range(floor.points.shape[1]):
            away = floor.points[floor.members[slot, i], a] - floor.centres[slot, a]
            total += away * away
    return total
