"""The integer split for values so far apart that sums of squares need 128 bits.

The algorithm is that of `monge.py`; only the numbers differ. Path costs are pairs of a signed high
and an unsigned low half. Timestamps in nanoseconds are the usual guest.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from microagg.kernels.compiling import kernel

_HUGE = np.int64(2**62)


@kernel
def fill_wide(values, k):
    """For each end, the size (k to 2k - 1) of the last group of the best split up to there.

    `values` are uint64 and ascend; the caller has made sure that nothing overflows.
    """
    n = values.size
    sizes = np.empty(n + 1, np.int32)
    high = np.full(n + 1, _HUGE)
    low = np.zeros(n + 1, np.uint64)
    high[0] = 0
    left_high, left_low = np.empty(2 * k, np.int64), np.empty(2 * k, np.uint64)
    right_high, right_low = np.empty(k, np.int64), np.empty(k, np.uint64)
    left_sum, right_sum = np.empty(2 * k, np.int64), np.empty(k, np.int64)
    best = np.empty(k + 1, np.int64)
    for anchor in range(k, n + 1, k):
        rows = min(2 * k - 1, anchor)
        columns = min(k, n + 1 - anchor)
        pivot = values[anchor - 1]
        total = np.int64(0)
        top, bottom = np.int64(0), np.uint64(0)
        for size in range(1, rows + 1):
            x = np.int64(pivot - values[anchor - size])
            total += x
            top, bottom = _add(top, bottom, *_product(x, x))
            at = anchor - size
            left_high[size], left_low[size] = _add(top, bottom, high[at], low[at])
            left_sum[size] = -total
        total = np.int64(0)
        top, bottom = np.int64(0), np.uint64(0)
        for size in range(columns):
            if size > 0:
                x = np.int64(values[anchor + size - 1] - pivot)
                total += x
                top, bottom = _add(top, bottom, *_product(x, x))
            right_high[size], right_low[size] = top, bottom
            right_sum[size] = total
        stride = 1
        while 2 * stride <= columns:
            stride *= 2
        best[0] = rows
        while stride >= 1:
            for column in range(stride, columns + 1, 2 * stride):
                after = column - 1
                nearest = k - after
                if column + stride <= columns:
                    nearest = max(nearest, best[column + stride])
                farthest = min(best[column - stride], 2 * k - 1 - after)
                least_high, least_low = _HUGE, np.uint64(0)
                chosen = nearest
                for before in range(nearest, farthest + 1):
                    total = left_sum[before] + right_sum[after]
                    size = before + after
                    centre = (2 * total + size) // (2 * size)
                    top, bottom = _add(
                        left_high[before],
                        left_low[before],
                        *_product(-centre, 2 * total - size * centre),
                    )
                    if top < least_high or (top == least_high and bottom < least_low):
                        least_high, least_low = top, bottom
                        chosen = before
                best[column] = chosen
                sizes[anchor + after] = chosen + after
                high[anchor + after], low[anchor + after] = _add(
                    least_high, least_low, right_high[after], right_low[after]
                )
            stride //= 2
    return sizes


@intrinsic
def _product(typing_context, a, b):
    """The 128-bit product of two int64, as (high int64, low uint64)."""
    result = types.Tuple((types.int64, types.uint64))

    def generate(context, builder, signature, arguments):
        wide, word = ir.IntType(128), ir.IntType(64)
        product = builder.mul(*(builder.sext(argument, wide) for argument in arguments))
        high = builder.trunc(builder.ashr(product, ir.Constant(wide, 64)), word)
        return context.make_tuple(builder, result, (high, builder.trunc(product, word)))

    return result(types.int64, types.int64), generate


@kernel
def _add(high, low, other_high, other_low):
    total = low + other_low
    return high + other_high + np.int64(total < low), total
