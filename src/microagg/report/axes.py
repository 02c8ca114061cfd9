"""Round numbers along an axis."""

import math


def round_ticks(low: float, high: float, most: int = 5) -> tuple[list[float], int]:
    """Multiples of 1, 2 or 5 times a power of ten within [low, high], and their decimals."""
    span = high - low
    step = 10.0 ** math.floor(math.log10(span / most))
    step *= next(factor for factor in (1, 2, 5, 10, 20) if span / (step * factor) < most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [tick * step for tick in range(first, last + 1)], decimals
