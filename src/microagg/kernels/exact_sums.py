"""Sums without rounding: the same to the last bit, however numbers are dealt out and in what order.

A float64 is a whole number of up to 53 bits times a power of two. Adding up the whole numbers of
each power apart rounds nothing; so does adding up products of the parts of an int64. Python's
integers put it all together.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel, read_only

# So many parts of numbers fit into a sum of 64 bits; see the kernels.
_AT_ONCE = 1 << 18
_POWERS = 2048
# The least power of two that a float64 has a whole multiple of.
_UNIT = 1074
_PART = 22
# Beyond these powers of two, squares or what rounding leaves off them do not fit into a float64.
_LEAST, _MOST = 2.0**-480, 2.0**500
# The power of two that brings whatever lies outside of them inside.
_MOVE = 600


@dataclass
class Moments:
    """How many numbers there are, their sum and the sum of their squares; exact."""

    count: int = 0
    total: Fraction = Fraction(0)
    squares: Fraction = Fraction(0)

    def add(self, values: NDArray) -> None:
        """Add finite float64 numbers, or any int64 or uint64."""
        add = self._add_floats if values.dtype.kind == "f" else self._add_integers
        for start in range(0, values.size, _AT_ONCE):
            add(read_only(np.ascontiguousarray(values[start : start + _AT_ONCE])))
        self.count += values.size

    def merge(self, other: "Moments") -> None:
        """Add what another has added up."""
        self.count += other.count
        self.total += other.total
        self.squares += other.squares

    @property
    def mean(self) -> Fraction:
        """Zero if there are no numbers."""
        return self.total / max(1, self.count)

    @property
    def variance(self) -> Fraction:
        """Of the population."""
        return self.squares / max(1, self.count) - self.mean**2

    def _add_floats(self, values: NDArray[np.float64]) -> None:
        sums = np.zeros((2, 2, _POWERS), np.int64)
        doubled = np.empty((2, values.size))
        if _square_exactly(values, doubled):
            self._add_moved(values)
            return
        _add_by_power(values.view(np.int64), sums[0])
        for part in read_only(doubled):
            _add_by_power(part.view(np.int64), sums[1])
        self.total += _together(sums[0])
        self.squares += _together(sums[1])

    def _add_moved(self, values: NDArray[np.float64]) -> None:
        """Add numbers some of which are too large or too small to be squared as they are."""
        sizes = np.abs(values)
        small, large = (sizes < _LEAST) & (sizes > 0.0), sizes > _MOST
        for chosen, power in ((~small & ~large, 0), (small, _MOVE), (large, -_MOVE)):
            part = Moments()
            part._add_floats(read_only(np.ldexp(values[chosen], power)))
            back = Fraction(2) ** -power
            self.total += part.total * back
            self.squares += part.squares * back**2

    def _add_integers(self, values: NDArray[np.integer]) -> None:
        sums = np.zeros(9, np.int64)
        _add_products(values, sums)
        a, b, c, aa, ab, ac, bb, bc, cc = (int(each) for each in sums)
        self.total += (a << 2 * _PART) + (b << _PART) + c
        squares = (aa << 4 * _PART) + (2 * ab << 3 * _PART)
        self.squares += squares + ((2 * ac + bb) << 2 * _PART) + (2 * bc << _PART) + cc


def power_of(number: Fraction) -> int:
    """The power of two that is about as large as a number above 0."""
    return number.numerator.bit_length() - number.denominator.bit_length()


def root(number: Fraction) -> float:
    """The square root of a fraction of any size whose root a float64 can hold."""
    if number == 0:
        return 0.0
    half = power_of(number) // 2
    return math.ldexp(math.sqrt(number / Fraction(4) ** half), half)


def _together(sums: NDArray[np.int64]) -> Fraction:
    powers = np.flatnonzero(sums.any(axis=0)).tolist()
    total = sum(
        (int(sums[0, power]) + (int(sums[1, power]) << 32)) << max(0, power - 1) for power in powers
    )
    return Fraction(total, 1 << _UNIT)


@kernel
def _square_exactly(values, doubled):
    """Each square as a rounded number and what rounding left off (Dekker 1971).

    True if some number is too large or too small for that.
    """
    outside = False
    for i in range(values.size):
        x = values[i]
        square = x * x
        wide = 134217729.0 * x
        high = wide - (wide - x)
        low = x - high
        doubled[0, i] = square
        doubled[1, i] = ((high * high - square) + 2.0 * high * low) + low * low
        size = abs(x)
        outside |= (size > _MOST) | ((size < _LEAST) & (size > 0.0))
    return outside


@kernel
def _add_by_power(bits, sums):
    """Add up the significands of numbers by their power of two: 32 lower bits, 21 higher ones."""
    for i in range(bits.size):
        word = bits[i]
        power = (word >> 52) & 2047
        significand = word & 0xFFFFFFFFFFFFF
        if power > 0:
            significand |= 1 << 52
        low = significand & 0xFFFFFFFF
        high = significand >> 32
        if word < 0:
            sums[0, power] -= low
            sums[1, power] -= high
        else:
            sums[0, power] += low
            sums[1, power] += high


@kernel
def _add_products(values, sums):
    """Add up the three parts of whole numbers, 22 bits each but the first, and their products."""
    for i in range(values.size):
        a = np.int64(values[i] >> 44)
        b = np.int64((values[i] >> 22) & 0x3FFFFF)
        c = np.int64(values[i] & 0x3FFFFF)
        sums[0] += a
        sums[1] += b
        sums[2] += c
        sums[3] += a * a
        sums[4] += a * b
        sums[5] += a * c
        sums[6] += b * b
        sums[7] += b * c
        sums[8] += c * c
