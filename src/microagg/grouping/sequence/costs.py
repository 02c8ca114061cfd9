"""What a group costs, and how path costs are kept small: shared by every split."""

import math

import numpy as np

from microagg.kernels.compiling import inner


@inner
def joining_cost(apart, pairs, inverse_size, size_cost):
    """What joining two parts with means so far `apart` adds; `pairs` is the product of sizes."""
    return inverse_size * (pairs * (apart * apart) + size_cost)


@inner
def integer_gain(total, size, inverse_size):
    """By how much the sum of squares about the origin exceeds SSE about the best integer.

    Exact while the numbers are whole and stay below 2^53. Either neighbour of a half costs the
    same, so only publishing has to round halves away from zero.
    """
    centre = np.floor(total * inverse_size + 0.5)
    return centre * (2.0 * total - size * centre)


@inner(fastmath={"nnan", "nsz"})
def rebase(costs):
    """Make costs relative to their least, for only differences matter and small ones must live."""
    least = math.inf
    for i in range(costs.size):
        least = min(least, costs[i])
    for i in range(costs.size):
        costs[i] -= least


@inner
def make_room(path, base, oldest, newest, end):
    """Slide the costs of ends oldest..newest, so that those up to `end` fit into `path` too.

    `path[0]` is the cost of end `base`. Only costs in sight are kept: memory grows with the reach
    of a group, not with n.
    """
    if end - base <= path.size:
        return path, base
    target = path
    if 4 * (end - oldest) > path.size:
        target = np.empty(8 * (end - oldest))
    for i in range(newest - oldest):
        target[i] = path[oldest - base + i]
    return target, oldest
