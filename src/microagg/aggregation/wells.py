"""Kernels of the proximity centroids: what each group would pay for publishing a value.

A group's cost of publishing y is a quartic. About its weighted mean `at` it has no cubic term, so
with t = y - at a member pays on average

    fourth t^4 + second t^2 + first t + constant

and the price of the two constraints, slope y + bend y^2, only changes the lower terms. Such a
quartic has one well or two, the deeper one on the side that the linear term tilts to, and the
bottom of each is a root of a cubic in closed form. `wells` holds, one column a group, the rows
named below.
"""

import math

import numpy as np

from microagg.kernels.compiling import inner, kernel

SIZE, AT, FOURTH, SECOND, FIRST, CONSTANT = range(6)
# A step that promises less than this share of the cost is the last.
_CLOSE = 1e-15
_STEPS = 200


@kernel
def measure_wells(z, labels, distances, importances, alpha, wells):
    """Reduce the members of each group to its quartic, by moments about its weighted mean."""
    groups = wells.shape[1]
    size = np.zeros(groups)
    centroid = np.zeros(groups)
    weights = np.zeros(groups)
    for row in range(6):
        for j in range(groups):
            wells[row, j] = 0.0
    for i in range(z.size):
        j = labels[i]
        weight = (1.0 - importances[i]) ** -2
        size[j] += 1.0
        centroid[j] += z[i]
        weights[j] += weight
        wells[AT, j] += weight * z[i]
    for j in range(groups):
        centroid[j] /= size[j]
        wells[AT, j] /= weights[j]
        wells[SIZE, j] = size[j]
        wells[FOURTH, j] = alpha * (weights[j] / size[j])
    for i in range(z.size):
        j = labels[i]
        weight = alpha * (1.0 - importances[i]) ** -2 / size[j]
        away = z[i] - wells[AT, j]
        square, wanted = away * away, distances[i] * distances[i]
        wells[SECOND, j] += weight * (6.0 * square - 2.0 * wanted)
        wells[FIRST, j] -= weight * 4.0 * away * (square - wanted)
        wells[CONSTANT, j] += weight * (square - wanted) ** 2
    for j in range(groups):
        shift = wells[AT, j] - centroid[j]
        wells[SECOND, j] += 1.0 - alpha
        wells[FIRST, j] += 2.0 * (1.0 - alpha) * shift
        wells[CONSTANT, j] += (1.0 - alpha) * shift * shift


@inner
def deeper(p, tilt):
    """The largest root of t^3 + p t - tilt, for tilt >= 0."""
    reach = math.sqrt(abs(p) / 3.0)
    cube = 2.0 * reach * reach * reach
    if cube * 1e15 <= tilt:
        return np.cbrt(tilt)
    ratio = tilt / cube
    if p > 0.0:
        return 2.0 * reach * math.sinh(math.asinh(ratio) / 3.0)
    if ratio > 1.0:
        return 2.0 * reach * math.cosh(math.acosh(ratio) / 3.0)
    return 2.0 * reach * math.cos(math.acos(ratio) / 3.0)


@inner
def shallower(p, tilt):
    """The least root of t^3 + p t - tilt where that is a second well, for tilt >= 0; else NaN."""
    if p >= 0.0:
        return math.nan
    reach = math.sqrt(-p / 3.0)
    cube = 2.0 * reach * reach * reach
    if not tilt < cube:
        return math.nan
    return -2.0 * reach * math.cos((math.pi - math.acos(tilt / cube)) / 3.0)


@kernel
def price_wells(wells, first, last, slope, bend, sums):
    """Put the groups first..last into their deepest wells, at these prices of the constraints.

    `sums`: what they pay in all; the sums of y and of y^2; and of 1, y and y^2 over the curvature.
    """
    paid = total = squares = 0.0
    give = give_y = give_square = 0.0
    for j in range(first, last):
        at, fourth = wells[AT, j], wells[FOURTH, j]
        second = wells[SECOND, j] + bend
        tilt = wells[FIRST, j] + slope + 2.0 * bend * at
        t = deeper(0.5 * second / fourth, 0.25 * abs(tilt) / fourth)
        if tilt > 0.0:
            t = -t
        y, size = at + t, wells[SIZE, j]
        square = t * t
        rest = wells[CONSTANT, j] + slope * at + bend * at * at
        paid += size * (((fourth * square + second) * square + tilt * t) + rest)
        total += size * y
        squares += size * y * y
        curvature = 12.0 * fourth * square + 2.0 * second
        share = size / max(curvature, 1e-6 * fourth)
        give += share
        give_y += share * y
        give_square += share * y * y
    sums[0], sums[1], sums[2] = paid, total, squares
    sums[3], sums[4], sums[5] = give, give_y, give_square


@kernel
def normalise(wells, y):
    """Move and scale y to mean 0 and variance 1 over the records; False where y is constant."""
    groups = wells.shape[1]
    n = total = squares = 0.0
    for j in range(groups):
        n += wells[SIZE, j]
        total += wells[SIZE, j] * y[j]
    mean = total / n
    widest = 0.0
    for j in range(groups):
        widest = max(widest, abs(y[j] - mean))
        squares += wells[SIZE, j] * (y[j] - mean) ** 2
    deviation = math.sqrt(squares / n)
    if not deviation > 1e-12 * (abs(mean) + widest):
        return False
    for j in range(groups):
        y[j] = (y[j] - mean) / deviation
    return True


@kernel
def total_cost(wells, y):
    """What all groups pay for publishing y."""
    cost = 0.0
    for j in range(y.size):
        t = y[j] - wells[AT, j]
        square = t * t
        inner = (wells[FOURTH, j] * square + wells[SECOND, j]) * square + wells[FIRST, j] * t
        cost += wells[SIZE, j] * (inner + wells[CONSTANT, j])
    return cost


@kernel
def descend(wells, y):
    """Walk from y, of mean 0 and variance 1, to the local optimum; return its cost and prices.

    Newton steps along both constraints, each ended by `normalise`. Where a quartic bends downwards
    its curvature is replaced by one so large that a step cannot leave the well; close to the end
    the true one is used, so that the last steps are quadratic.
    """
    groups = wells.shape[1]
    gradient = np.empty(groups)
    step = np.empty(groups)
    trial = np.empty(groups)
    cost = total_cost(wells, y)
    slope = bend = 0.0
    exact = False
    for _ in range(_STEPS):
        n = total = across = 0.0
        for j in range(groups):
            t = y[j] - wells[AT, j]
            size = wells[SIZE, j]
            inner = 2.0 * wells[FOURTH, j] * t * t + wells[SECOND, j]
            gradient[j] = 2.0 * inner * t + wells[FIRST, j]
            n += size
            total += size * gradient[j]
            across += size * gradient[j] * y[j]
        slope, bend = -total / n, -0.5 * across / n
        decline = _newton_step(wells, y, gradient, slope, bend, exact, step)
        if exact and not decline < 0.0:
            exact = False
            decline = _newton_step(wells, y, gradient, slope, bend, exact, step)
        if not -decline > _CLOSE * abs(cost):
            break
        length = 1.0
        better = cost
        while length > 1e-9:
            for j in range(groups):
                trial[j] = y[j] + length * step[j]
            if normalise(wells, trial):
                better = total_cost(wells, trial)
                if better <= cost + 1e-4 * length * decline:
                    break
            length *= 0.5
        if not better < cost:
            if not exact:
                break
            exact = False
            continue
        exact = length == 1.0 and -decline < 1e-3 * abs(cost)
        cost = better
        for j in range(groups):
            y[j] = trial[j]
    return cost, slope, bend


@inner
def _newton_step(wells, y, gradient, slope, bend, exact, step):
    """A step that keeps mean and variance to first order; returns how fast the cost falls."""
    groups = wells.shape[1]
    give = give_y = give_square = pull = pull_y = 0.0
    for j in range(groups):
        t = y[j] - wells[AT, j]
        around = 4.0 * wells[FOURTH, j] * t * t
        second = 2.0 * (wells[SECOND, j] + bend)
        curvature = 3.0 * around + second
        if not exact:
            curvature = max(curvature, around + abs(second))
        if abs(curvature) < 1e-9 * (around + abs(second)) + 1e-300:
            curvature = 1e-9 * (around + abs(second)) + 1e-300
        step[j] = 1.0 / curvature
        share = wells[SIZE, j] * step[j]
        residual = gradient[j] + slope + 2.0 * bend * y[j]
        give += share
        give_y += share * y[j]
        give_square += share * y[j] * y[j]
        pull += share * residual
        pull_y += share * residual * y[j]
    determinant = give * give_square - give_y * give_y
    if determinant == 0.0:
        return 0.0
    level = (pull * give_square - pull_y * give_y) / determinant
    lean = (pull_y * give - pull * give_y) / determinant
    decline = 0.0
    for j in range(groups):
        residual = gradient[j] + slope + 2.0 * bend * y[j]
        step[j] *= level + lean * y[j] - residual
        decline += wells[SIZE, j] * residual * step[j]
    return decline


@kernel
def leave_ridges(wells, y):
    """Nudge groups that stand on the ridge between two wells, where no gradient would move them.

    Sides are taken so that the mean stays about where it is.
    """
    drift = 0.0
    for j in range(y.size):
        t = y[j] - wells[AT, j]
        p = 0.5 * wells[SECOND, j] / wells[FOURTH, j]
        if p < 0.0 and t * t < 1e-6 * -p and abs(wells[FIRST, j]) < 1e-6 * wells[FOURTH, j]:
            nudge = 1e-3 * math.sqrt(-p)
            side = -1.0 if drift > 0.0 else 1.0
            y[j] = wells[AT, j] + side * nudge
            drift += side * nudge * wells[SIZE, j]
