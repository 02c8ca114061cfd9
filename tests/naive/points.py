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


def apart(shares):
    """How far two categories are apart, so that a column of these shares has variance one."""
    differing = 1 - sum(share * share for share in shares)
    return (2 / differing) ** 0.5 if differing > 1e-12 else 0.0


def squares(before, after, kind):
    """The squared distance of each original entry to each released one; None is missing."""
    known = [each for each in before if each is not None]
    stretched = len(before) / len(known)
    if kind == "nominal":
        far = apart([known.count(each) / len(known) for each in set(known)]) ** 2 * stretched
        # The mean of all lies so far from a corner.
        shares = {each: known.count(each) / len(known) for each in known}
        total = sum(share * share for share in shares.values())

        def square(one, other):
            if one is None or other is None:
                share = shares.get(other if one is None else one, 0.0)
                return far * (1 - 2 * share + total) / 2
            return far * (one != other)
    else:
        mean = sum(known) / len(known)
        variance = sum((each - mean) ** 2 for each in known) / len(known)

        def square(one, other):
            one, other = (mean if each is None else each for each in (one, other))
            return (one - other) ** 2 / variance * stretched

    return [
        [
            0.01 * ((one is None) != (other is None))
            + (0.0 if one is None and other is None else square(one, other))
            for other in after
        ]
        for one in before
    ]
