"""The best prices of the two constraints: a concave function of two variables, climbed safely.

At prices `slope` of the sum of y and `bend` of the sum of y^2, every group takes its deepest well.
What all pay, less n * bend, is below the cost of any centroids of mean 0 and variance 1: the dual
bound. It is concave, with a kink wherever a group changes wells. Newton's method climbs the smooth
part; on kinks, the polygon that must hold the top is cut through its centre of gravity, which
leaves at most 1 - 1/e of its area each time.
"""

import numpy as np
from numpy.typing import NDArray

from microagg.aggregation.wells import FIRST, FOURTH, SECOND, SIZE, price_wells
from microagg.kernels.threads import run_blocks

_EVALUATIONS = 120
_BOXES = 12
_PRICED_AT_ONCE = 1 << 14


def best_prices(
    wells: NDArray[np.float64], slope: float, bend: float, enough: float, precision: float
) -> tuple[float, float, float]:
    """The prices with the highest bound, from a guess of them, and this bound.

    Stops when the bound reaches `enough` or is within `precision` of the top. O(groups) time for
    each of at most a few hundred evaluations, most often some twenty.
    """
    size = wells[SIZE]
    n = float(size.sum())
    reach = float((size * (np.abs(wells[[FOURTH, SECOND, FIRST]]).sum(axis=0))).sum()) / n
    reach += abs(slope) + abs(bend)
    best, at = -np.inf, np.array([slope, bend])
    for _ in range(_BOXES):
        box = at + reach * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
        found, value = _climb(wells, n, box, at, enough, precision)
        if value > best:
            best, at = value, found
        if best >= enough or np.abs(at - box.mean(axis=0)).max() < 0.99 * reach:
            break
        reach *= 8.0
    return float(at[0]), float(at[1]), best


def _climb(wells, n, polygon, start, enough, precision):
    """The top of the bound within a polygon."""
    best, top, at = -np.inf, start, start
    ceiling = np.inf
    for evaluation in range(_EVALUATIONS):
        value, gradient, curvature = _bound(wells, n, at[0], at[1])
        if value > best:
            best, top, top_gradient, top_curvature = value, at, gradient, curvature
        if best >= enough:
            break
        ceiling = min(ceiling, value + float(((polygon - at) @ gradient).max()))
        # Nothing worse than the best so far is worth a look, so cuts may go deeper than `at`.
        polygon = _cut(polygon, at, gradient, best - value)
        if len(polygon) < 3 or ceiling - best <= precision:
            break
        at = _centre(polygon)
        if evaluation % 2 == 0:
            newton = top + _solve(top_curvature, top_gradient)
            if _inside(polygon, newton):
                at = newton
    return top, best


def _bound(wells, n, slope, bend):
    """The bound, its slope, and the curvature of its smooth part."""
    groups = wells.shape[1]
    sums = np.zeros((-(-groups // _PRICED_AT_ONCE), 6))

    def price(first: int, last: int) -> None:
        price_wells(wells, first, last, slope, bend, sums[first // _PRICED_AT_ONCE])

    run_blocks(price, groups, _PRICED_AT_ONCE)
    paid, total, squares, give, give_y, give_square = sums.sum(axis=0).tolist()
    curvature = np.array([[give, 2.0 * give_y], [2.0 * give_y, 4.0 * give_square]])
    return paid - n * bend, np.array([total, squares - n]), curvature


def _solve(curvature, gradient):
    (a, b), (_, c) = curvature
    determinant = a * c - b * b
    if not determinant > 1e-12 * a * c:
        return np.full(2, np.inf)
    x, y = gradient
    return np.array([c * x - b * y, a * y - b * x]) / determinant


def _cut(polygon, at, gradient, margin):
    """What is left of a polygon where (z - at) @ gradient >= margin; its corners, in turn."""
    sides = (polygon - at) @ gradient - margin
    following, next_sides = np.roll(polygon, -1, axis=0), np.roll(sides, -1)
    corners = []
    for i in range(len(polygon)):
        if sides[i] >= 0.0:
            corners.append(polygon[i])
        if (sides[i] >= 0.0) != (next_sides[i] >= 0.0):
            share = sides[i] / (sides[i] - next_sides[i])
            corners.append(polygon[i] + share * (following[i] - polygon[i]))
    return np.array(corners).reshape(-1, 2)


def _centre(polygon):
    """The centre of gravity."""
    spokes = polygon[1:] - polygon[0]
    areas = spokes[:-1, 0] * spokes[1:, 1] - spokes[:-1, 1] * spokes[1:, 0]
    area = areas.sum()
    if not area > 0.0:
        return polygon.mean(axis=0)
    return polygon[0] + ((spokes[:-1] + spokes[1:]) * areas[:, np.newaxis]).sum(axis=0) / (3 * area)


def _inside(polygon, point):
    along = np.roll(polygon, -1, axis=0) - polygon
    away = point - polygon
    return bool((along[:, 0] * away[:, 1] - along[:, 1] * away[:, 0] > 0.0).all())
