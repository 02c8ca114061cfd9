"""What chance decides in a search: whose turn it is, and what a step may cost."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import inner

# A record's chance to be drawn is at most so many times above that of another.
_LOTS = 32.0


@cache
def draws(size: int = 4096) -> NDArray[np.float64]:
    """The values of -log(u) for evenly spread u, shuffled: what a move may cost at temperature 1.

    Rounded to multiples of 2^-16, so that every machine's logarithm gives the same.
    """
    spread = -np.log((np.arange(size) + 0.5) / size)
    return np.random.default_rng(0).permutation(np.round(spread * 65536.0) / 65536.0)


@inner
def draw_lots(heat):
    """Record numbers to draw from: everybody once, and again for more than their share of heat."""
    total = 0.0
    for i in range(heat.size):
        total += heat[i]
    fair = max(total / heat.size, 1e-300)
    count = 0
    for i in range(heat.size):
        count += 1 + int(min(heat[i] / fair, _LOTS))
    lots = np.empty(count, np.int32)
    at = 0
    for i in range(heat.size):
        for _ in range(1 + int(min(heat[i] / fair, _LOTS))):
            lots[at] = i
            at += 1
    return lots


@inner(forceinline=True)
def stir(state):
    """The next of Marsaglia's random numbers (xorshift)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))
