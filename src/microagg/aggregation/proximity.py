"""Proximity-aware centroids: what a group publishes keeps its distance from its members.

Mortazavi and Jalili, "Fine granular proximity breach prevention during numerical data
anonymization" (2017), section 4. Per attribute, on z-scores x_i with group means C_j, the published
values y_j minimise

    alpha * sum_i ((distance_i^2 - (y_j - x_i)^2) / (1 - importance_i))^2
        + (1 - alpha) * sum_j size_j (y_j - C_j)^2

among all values that keep the attribute's mean and variance. The paper leaves this to a commercial
solver for non-linear programs and takes the local optimum that it finds. We use that the problem
falls apart into one quartic a group but for the two constraints: the prices of those are found in
two dimensions (`prices`), the groups are sent to the wells of their quartics (`wells`), and the
prices certify how far from the global optimum the result can be.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from microagg.aggregation.prices import best_prices
from microagg.aggregation.sides import choose_wells, combine_wells, throw_sides, try_everywhere
from microagg.aggregation.wells import (
    descend,
    leave_ridges,
    measure_wells,
    normalise,
    total_cost,
)
from microagg.base.arrays import as_labels, as_numbers
from microagg.base.errors import InputError, OptionError
from microagg.base.groups import Partition
from microagg.base.progress import Advance, silent
from microagg.kernels.group_passes import group_means

SOLUTIONS = ("global", "local", "random")
# A gap below this is rounding.
_CLOSED = 1e-9
# With more groups, or below this gap, nothing is to be won by trying combinations of wells.
_SEARCHED_UP_TO = 1 << 12
_NEAR = 1e-6
# Of those, about so many groups' worth is walked to the end; all, where groups are this few.
_WALK_WORK = 1 << 13
_HANDFUL = 8
# Beyond, squares of squares would overflow before anybody meant it.
_FARTHEST = 1e6


@dataclass(frozen=True, eq=False)
class ProximityResult:
    """Published values, and per attribute how good they are.

    values: what each record publishes, in the shape of X and its units.
    objective: the cost that is minimised, on z-scores.
    bound: no centroids of this mean and variance cost less.
    gap: (objective - bound) / objective, at most so much could be saved.
    """

    values: NDArray[np.float64]
    objective: NDArray[np.float64]
    bound: NDArray[np.float64]
    gap: NDArray[np.float64]


def proximity_centroids(
    X: ArrayLike,
    labels: ArrayLike | Partition,
    *,
    distance: ArrayLike = 0.1,
    importance: ArrayLike = 0.001,
    alpha: float = 0.5,
    solution: str = "global",
    relative: bool = False,
    seed: int | Sequence[int] = 0,
    advance: Advance = silent,
) -> ProximityResult:
    """Centroids of any partition, moved away from the members; mean and variance stay.

    X: numbers, (n,) or (n, d), without missing or infinite values.
    labels: the group, 0 to g - 1, of each record; a Partition will do.
    distance: how far a published value should be from the original, in standard deviations of its
        attribute: a number, one an attribute (d,), or one a cell (n, d), as personal preferences.
    importance: 0 to below 1, of the same shapes: how dear it is to miss the distance. The paper's
        importance 1, a distance that must be met, leaves no solution in general and is refused.
    alpha: 0 to 1, the weight of the distances against that of staying near the mean of the group.
    solution: "global"; "local": the optimum next to the plain centroids, which for large distances
        costs more but is less far from them; or "random": the optimum next to centroids that went
        to a side of their group by lot. Which side the others take follows from where they end, so
        somebody who knows the method turns them back; this way he is wrong every other time, and
        the objective is higher by a few percent at most in all that was tried.
    seed: lots are drawn from it; whoever knows it knows the sides.
    relative: distances are shares of the value's own distance from the mean of its attribute, as
        in section 5.1, where the values are z-scores.

    All members of a group publish the same. O(n) memory for each attribute; time O(n d), times some
    ten to a few hundred passes over the groups.
    """
    numbers = as_numbers(X, "X", (1, 2))
    groups_of, groups = as_labels(labels, numbers.shape[0])
    table = numbers.reshape(numbers.shape[0], -1)
    distances = _preferences(distance, "distance", table.shape, numbers.ndim)
    importances = _preferences(importance, "importance", table.shape, numbers.ndim)
    if float(importances.max(initial=0.0)) >= 1.0:
        raise OptionError(
            "importance must be below 1: centroids that keep mean and variance cannot meet a "
            "distance at any cost; for example importance=0.99"
        )
    if float(distances.max(initial=0.0)) > _FARTHEST:
        raise OptionError(
            "distance counts in standard deviations of the attribute and must be at most "
            f"{_FARTHEST:.0f}; 0.1 to 1 are usual"
        )
    alpha = _check_alpha(alpha)
    if solution not in SOLUTIONS:
        raise OptionError(f"solution must be one of {', '.join(SOLUTIONS)}, but it is {solution!r}")
    lots = np.random.default_rng(seed) if solution == "random" else None
    values = np.empty(table.shape)
    quality = np.zeros((2, table.shape[1]))
    for column in range(table.shape[1]):
        advance(column / table.shape[1])
        z, restore = _z_scores(table[:, column])
        if z is None:
            values[:, column] = table[:, column]
            continue
        if groups == 1:
            raise InputError(
                f"column {column} of X varies, but there is only one group: a single centroid "
                "cannot keep its variance; make two groups or more"
            )
        wanted = np.ascontiguousarray(distances[:, column])
        if relative:
            wanted = wanted * np.abs(z)
        weights = np.ascontiguousarray(importances[:, column])
        centroids, quality[:, column] = _solve(
            z, groups_of, groups, wanted, weights, alpha, solution == "global", lots
        )
        values[:, column] = restore(centroids)[groups_of]
    advance(1.0)
    objective, bound = quality
    gap = np.divide(objective - bound, objective, out=np.zeros_like(bound), where=objective > 0.0)
    return ProximityResult(values.reshape(numbers.shape), objective, bound, gap)


def _solve(z, labels, groups, distances, importances, alpha, everywhere, lots):
    """The centroids of one attribute, and their cost and its lower bound."""
    plain = group_means(z, labels, groups)
    wells = np.empty((6, groups))
    measure_wells(z, labels, distances, importances, alpha, wells)
    local = plain.copy()
    if not normalise(wells, local):
        # All groups have the same mean: any direction is as good, so the first goes one way.
        local[:] = 0.0
        local[0] = 1.0
        normalise(wells, local)
    if alpha == 0.0:
        cost = total_cost(wells, local)
        return local, (cost, cost)
    if lots is not None:
        thrown = throw_sides(wells, lots)
        local = thrown if normalise(wells, thrown) else local
    leave_ridges(wells, local)
    normalise(wells, local)
    cost, slope, bend = descend(wells, local)
    precision = 0.1 * _CLOSED * cost
    slope, bend, bound = best_prices(wells, slope, bend, cost * (1.0 - _CLOSED), precision)
    bound = max(bound, 0.0)
    if everywhere and cost - bound > _CLOSED * cost:
        cost = _improve(wells, slope, bend, local, cost, bound)
    return local, (cost, min(bound, cost))


def _improve(wells, slope, bend, best, cost, bound):
    """Look for the wells that the best prices ask for; keep the cheapest centroids in `best`."""
    groups = best.size
    chosen, other, depths, rest = np.empty(groups), np.empty(groups), np.empty(groups), np.empty(5)
    choose_wells(wells, slope, bend, chosen, other, depths, rest)
    trial = chosen.copy()
    if normalise(wells, trial):
        found = descend(wells, trial)[0]
        if found < cost:
            cost, best[:] = found, trial
    if cost - bound <= _NEAR * cost or groups > _SEARCHED_UP_TO:
        return cost
    walks = max(16, min(512, _WALK_WORK // groups))
    cost = combine_wells(wells, chosen, other, depths, rest, best, cost, walks)
    if groups <= _HANDFUL:
        cost = try_everywhere(wells, best, cost, 64)
    return cost


def _z_scores(column):
    """z-scores of a column and the way back, or None where it is constant; offsets cost nothing."""
    if column.dtype.kind == "f":
        halved = 0.5 if np.abs(column).max(initial=0.0) > 2.0**1000 else 1.0
        origin = float(column[0]) * halved
        away = column * halved - origin
    else:
        halved, origin = 1.0, float(column[0])
        below = column < column[0]
        bits = np.ascontiguousarray(column).view(np.uint64)
        away = np.where(below, bits[0] - bits, bits - bits[0]).astype(np.float64)
        away[below] *= -1.0
    widest = float(np.abs(away).max())
    if widest == 0.0:
        return None, None
    exponent = math.frexp(widest)[1]
    away = np.ldexp(away, -exponent)
    mean = float(away.mean())
    away -= mean
    rest = float(away.mean())
    away -= rest
    deviation = math.sqrt(float(np.square(away).mean()))
    away /= deviation

    def restore(y: NDArray[np.float64]) -> NDArray[np.float64]:
        return (origin + np.ldexp(mean + rest + deviation * y, exponent)) / halved

    return away, restore


def _preferences(given, name, shape, dimensions):
    """A number a cell, as a read-only view of what arrived."""
    given = [given] if np.ndim(given) == 0 else given
    numbers = as_numbers(given, name, (1, 2)).astype(np.float64)
    n, d = shape
    if dimensions == 1 and numbers.shape == (n,):
        numbers = numbers[:, np.newaxis]
    if numbers.shape not in ((1,), (d,), (n, 1), (n, d)):
        raise OptionError(
            f"{name} must be one number, one an attribute ({d}) or one a cell ({n} x {d}), but its "
            f"shape is {numbers.shape}"
        )
    negative = int((numbers < 0.0).sum())
    if negative:
        raise OptionError(
            f"{name} must not be negative, but {negative} of {numbers.size} are; 0 asks for nothing"
        )
    return np.broadcast_to(numbers, shape)


def _check_alpha(alpha):
    if isinstance(alpha, bool) or not isinstance(alpha, int | float | np.number):
        raise OptionError(
            f"alpha must be a number from 0 to 1, but an object of type {type(alpha).__name__} came"
        )
    if not 0.0 <= alpha <= 1.0:
        raise OptionError(f"alpha must be from 0 to 1, but it is {alpha}; 0.5 weighs both alike")
    return float(alpha)
