"""Where records stand, by definition and with exact fractions."""

from fractions import Fraction


def root(number):
    """The square root of a fraction, with some thirty digits."""
    if number == 0:
        return Fraction(0)
    shift = 2 * (100 + abs(number.numerator.bit_length() - number.denominator.bit_length()))
    scaled = number.numerator * 2**shift // number.denominator
    low, high = 0, 1 << (scaled.bit_length() // 2 + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle * middle <= scaled else (low, middle)
    return Fraction(low, 2 ** (shift // 2))


def scores(numbers):
    """z-scores of numbers; None where there is none, zero where all are the same."""
    known = [Fraction(each) for each in numbers if each is not None]
    if not known:
        return [None] * len(numbers)
    mean = sum(known) / len(known)
    deviation = root(sum((each - mean) ** 2 for each in known) / len(known))
    return [
        None if each is None else float((Fraction(each) - mean) / deviation) if deviation else 0.0
        for each in numbers
    ]


def apart(one, other):
    """The distance between two categories, either of which may be missing (None)."""
    return float(one != other)
