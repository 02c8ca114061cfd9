"""What a group publishes, by definition and with exact fractions."""

import math
from collections import Counter
from fractions import Fraction


def usable(weights, members):
    """Weights of the members; each counts once where none has any."""
    mine = [Fraction(weights[i]) for i in members]
    return mine if sum(mine) > 0 else [Fraction(1) for _ in members]


def mean(values, weights, members):
    shares = usable(weights, members)
    total = sum(share * Fraction(values[i]) for share, i in zip(shares, members, strict=True))
    return total / sum(shares)


def integer(values, weights, members):
    """The integer nearest to the mean, halves away from zero."""
    exact = mean(values, weights, members)
    down = math.floor(exact)
    rest = exact - down
    return down + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and down >= 0))


def median(codes, weights, members):
    """The lowest code up to which at least half of the weight lies."""
    shares = dict(zip(members, usable(weights, members), strict=True))
    upto = Fraction(0)
    for i in sorted(members, key=lambda i: codes[i]):
        upto += shares[i]
        if upto > 0 and 2 * upto >= sum(shares.values()):
            return codes[i]
    raise AssertionError


def mode(codes, weights, members, overall):
    """The heaviest code; of equals the one heavier in all, then the lower."""
    mine = Counter()
    for share, i in zip(usable(weights, members), members, strict=True):
        mine[codes[i]] += share
    return min(mine, key=lambda code: (-mine[code], -overall[code], code))


def groups_of(labels):
    groups = [[] for _ in range(max(labels) + 1)]
    for row, label in enumerate(labels):
        groups[label].append(row)
    return groups


def centres(values, labels, weights, kind):
    """One value a group."""
    groups = groups_of(labels)
    if kind == "mode":
        overall = Counter()
        for members in groups:
            for share, i in zip(usable(weights, members), members, strict=True):
                overall[values[i]] += share
        return [mode(values, weights, members, overall) for members in groups]
    centre = {"mean": mean, "integer": integer, "median": median}[kind]
    return [centre(values, weights, members) for members in groups]
