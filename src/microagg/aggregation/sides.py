"""Which well each group goes to: the combinatorial rest of the proximity centroids.

At the best prices nearly all groups know their well; those whose two wells are about equally deep
have to be shared out between them so that mean and variance come out. Changing wells costs the
difference in depth; what is then left over of the two constraints costs a quadratic, for all groups
have to give way a little. With few groups this estimate is rough, so the best combinations by it
are walked to their optimum and compared by what they really cost.
"""

import math

import numpy as np

from microagg.aggregation.wells import (
    AT,
    FIRST,
    FOURTH,
    SECOND,
    SIZE,
    deeper,
    descend,
    normalise,
    shallower,
)
from microagg.kernels.compiling import inner, kernel

# So many groups are tried in pairs, and a change must save more than rounding could.
_PAIRED = 400
_ROUNDS = 100
_NOISE = 1e-9
# All combinations of so many groups are judged.
_COMBINED = 16


def throw_sides(wells, lots):
    """Every group at the bottom of a well on a side drawn by lot, whichever is the deeper."""
    reach = np.sqrt(np.maximum(-0.5 * wells[SECOND] / wells[FOURTH], 0.0))
    return wells[AT] + lots.choice((-1.0, 1.0), reach.size) * reach


@kernel
def choose_wells(wells, slope, bend, y, other, cost, rest):
    """Put every group into a well so that mean and variance nearly come out, at least cost.

    `other` and `cost` are the other well, or NaN, and what going there costs; `rest` describes the
    quadratic: the residuals of both constraints and the three entries of its matrix.
    """
    groups = wells.shape[1]
    total = squares = give = give_y = give_square = n = 0.0
    for j in range(groups):
        at, fourth, size = wells[AT, j], wells[FOURTH, j], wells[SIZE, j]
        second = wells[SECOND, j] + bend
        tilt = wells[FIRST, j] + slope + 2.0 * bend * at
        p, steep = 0.5 * second / fourth, 0.25 * abs(tilt) / fourth
        t, across = deeper(p, steep), shallower(p, steep)
        depth = (fourth * t * t + second) * t * t - abs(tilt) * t
        cost[j] = size * ((fourth * across**2 + second) * across**2 - abs(tilt) * across - depth)
        side = -1.0 if tilt > 0.0 else 1.0
        y[j] = at + side * t
        other[j] = at + side * across
        share = size / max(12.0 * fourth * t * t + 2.0 * second, 1e-6 * fourth)
        n += size
        total += size * y[j]
        squares += size * y[j] * y[j]
        give += share
        give_y += 2.0 * share * y[j]
        give_square += 4.0 * share * y[j] * y[j]
    # Two equations need two groups that can give way; a floor keeps the rest finite.
    determinant = max(give * give_square - give_y * give_y, 1e-9 * give * give_square)
    rest[0], rest[1] = total, squares - n
    rest[2], rest[3], rest[4] = give_square, -give_y, give
    for i in range(2, 5):
        rest[i] /= determinant
    _settle(wells, y, other, cost, rest)


@kernel
def _settle(wells, y, other, cost, rest):
    """Change wells, one group at a time and then two at once, while the estimate falls."""
    groups = y.size
    among = np.empty(_PAIRED, np.int64)
    a, b, c = rest[2], rest[3], rest[4]
    # Neighbouring labels are often neighbouring values: strides spread the changes over all values.
    stride = int(0.6180339887 * groups) | 1
    while math.gcd(stride, groups) > 1:
        stride += 2
    for _ in range(_ROUNDS):
        changes = 0
        for i in range(groups):
            j = i * stride % groups
            dy = wells[SIZE, j] * (other[j] - y[j])
            ds = dy * (other[j] + y[j])
            change = _quadratic(rest[0], rest[1], dy, ds, a, b, c) + cost[j]
            if change < -_NOISE * abs(cost[j]):
                _cross(wells, y, other, cost, rest, j)
                changes += 1
        if changes > 0:
            continue
        # No single change helps any more. Pairs can move one sum and leave the other.
        left = -_quadratic(rest[0], rest[1], -rest[0], -rest[1], a, b, c)
        found = 0
        for i in range(groups):
            j = i * stride % groups
            if found < _PAIRED and cost[j] < left:
                among[found] = j
                found += 1
        best, first, second = -_NOISE * left, -1, -1
        for i in range(found):
            one = among[i]
            dy = wells[SIZE, one] * (other[one] - y[one])
            ds = dy * (other[one] + y[one])
            for h in range(i):
                two = among[h]
                dy2 = wells[SIZE, two] * (other[two] - y[two])
                ds2 = dy2 * (other[two] + y[two])
                change = _quadratic(rest[0], rest[1], dy + dy2, ds + ds2, a, b, c)
                change += cost[one] + cost[two]
                if change < best:
                    best, first, second = change, one, two
        if first < 0:
            break
        _cross(wells, y, other, cost, rest, first)
        _cross(wells, y, other, cost, rest, second)


@kernel
def _quadratic(off, off_square, dy, ds, a, b, c):
    """By how much the price of the residuals changes; written as a product, so that it may be 0."""
    x, s = off + 0.5 * dy, off_square + 0.5 * ds
    return a * x * dy + b * (x * ds + s * dy) + c * s * ds


@inner
def _cross(wells, y, other, cost, rest, j):
    """Send a group to its other well."""
    dy = wells[SIZE, j] * (other[j] - y[j])
    rest[0] += dy
    rest[1] += dy * (other[j] + y[j])
    y[j], other[j] = other[j], y[j]
    cost[j] = -cost[j]


@kernel
def combine_wells(wells, y, other, cost, rest, best, best_cost, walks):
    """Judge all combinations of the least decided groups, and walk so many to their optimum.

    Starts from what `choose_wells` left; keeps the cheapest centroids in `best`.
    """
    groups = y.size
    among = _least_decided(other, cost)
    kept = np.full(walks, math.inf)
    masks = np.zeros(walks, np.int64)
    dys, dss, costs = np.empty(among.size), np.empty(among.size), np.empty(among.size)
    for i in range(among.size):
        j = among[i]
        dys[i] = wells[SIZE, j] * (other[j] - y[j])
        dss[i] = dys[i] * (other[j] + y[j])
        costs[i] = cost[j]
    mask = 0
    dy = ds = paid = 0.0
    for number in range(1, 1 << among.size):
        # Consecutive Gray codes differ in one group, the lowest set bit of their number.
        i = 0
        while not number >> i & 1:
            i += 1
        mask ^= 1 << i
        sign = 1.0 if mask >> i & 1 else -1.0
        dy += sign * dys[i]
        ds += sign * dss[i]
        paid += sign * costs[i]
        estimate = paid + _quadratic(rest[0], rest[1], dy, ds, rest[2], rest[3], rest[4])
        if estimate < kept[walks - 1]:
            place = walks - 1
            while place > 0 and estimate < kept[place - 1]:
                place -= 1
            # Equal groups that change places give the same again.
            near = _NOISE * abs(estimate)
            if kept[place] - estimate <= near or (place > 0 and estimate - kept[place - 1] <= near):
                continue
            for later in range(walks - 1, place, -1):
                kept[later] = kept[later - 1]
                masks[later] = masks[later - 1]
            kept[place] = estimate
            masks[place] = mask
    trial = np.empty(groups)
    for number in range(walks):
        if kept[number] == math.inf:
            break
        for j in range(groups):
            trial[j] = y[j]
        for i in range(among.size):
            if masks[number] >> i & 1:
                trial[among[i]] = other[among[i]]
        best_cost = _walk(wells, trial, best, best_cost)
    return best_cost


@inner
def _least_decided(other, cost):
    """The groups with two wells that differ least."""
    count = 0
    among = np.empty(_COMBINED, np.int64)
    for j in range(other.size):
        if math.isnan(other[j]):
            continue
        if count < _COMBINED:
            count += 1
        elif not abs(cost[j]) < abs(cost[among[count - 1]]):
            continue
        place = count - 1
        while place > 0 and abs(cost[j]) < abs(cost[among[place - 1]]):
            among[place] = among[place - 1]
            place -= 1
        among[place] = j
    return among[:count]


@kernel
def _walk(wells, trial, best, best_cost):
    """Walk to the optimum nearest to `trial`, and keep it if it is the cheapest so far."""
    if normalise(wells, trial):
        found = descend(wells, trial)[0]
        if found < best_cost * (1.0 - 1e-12):
            for j in range(trial.size):
                best[j] = trial[j]
            return found
    return best_cost


@kernel
def try_everywhere(wells, best, best_cost, starts):
    """For a handful of groups: walk from every combination of wells, and from all around.

    So few groups may have to stand where none of their wells is.
    """
    groups = wells.shape[1]
    trial = np.empty(groups)
    combinations = 1 << groups
    for start in range(combinations + starts):
        for j in range(groups):
            if start < combinations:
                at, fourth = wells[AT, j], wells[FOURTH, j]
                p = 0.5 * wells[SECOND, j] / fourth
                tilt = 0.25 * wells[FIRST, j] / fourth
                t = deeper(p, abs(tilt))
                if start >> j & 1:
                    across = shallower(p, abs(tilt))
                    t = -t if math.isnan(across) else across
                trial[j] = at - t if tilt > 0.0 else at + t
            else:
                # Multiples of an irrational number fill the circle evenly.
                turn = (start - combinations + 1) * math.sqrt(2.0 + 3.0 * j)
                trial[j] = math.sin(2.0 * math.pi * (turn - math.floor(turn)))
        best_cost = _walk(wells, trial, best, best_cost)
    return best_cost
