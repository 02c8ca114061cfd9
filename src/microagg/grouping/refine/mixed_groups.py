"""Groups of mixed records: what they lose, kept up while records come and go.

A group loses the squared distances of numbers to their mean in the group, and the price of a
category for every record that has not the commonest one. Of each column of categories a group keeps
how often its commonest appears and how many others appear as often. From these it is mostly known
at once what a record costs that comes or goes. Otherwise its members are counted, in O(k), as they
are after every move that is made.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import inner, kernel


class Region(NamedTuple):
    """Records and groups by their numbers in the region, and the moves that can be undone."""

    numbers: NDArray[np.float64]  # (records, p), NaN where there is none
    codes: NDArray[np.int32]  # (records, q) of categories, -1 where there is none
    prices: NDArray[np.float64]  # of a category that is not the published one
    means: NDArray[np.float64]  # (groups, p) of the numbers there are,
    held: NDArray[np.float64]  # and of how many
    shown: NDArray[np.int32]  # (groups, q, 2k) the codes of the members
    modes: NDArray[np.int32]  # (groups, q) a commonest code,
    tops: NDArray[np.int32]  # how often it appears,
    ties: NDArray[np.int32]  # and how many codes do so
    tally: NDArray[np.int32]  # zeros, one for each code that can be counted
    lists: NDArray[np.int32]  # (records, near ones)
    listed: NDArray[np.int64]
    members: NDArray[np.int32]  # (groups, 2k) the records of each group,
    counts: NDArray[np.int64]  # and how many
    group: NDArray[np.int32]  # of each record,
    seat: NDArray[np.int32]  # and which of its members the record is
    log: NDArray[np.int64]  # who moved,
    homes: NDArray[np.int64]  # and from where


@kernel
def cost_of(numbers, codes, prices, tally, rows, first, size):
    """What the group rows[first:first + size] loses; `tally` is all zeros, and is left so."""
    total = 0.0
    for a in range(numbers.shape[1]):
        held, pivot, drift = 0, 0.0, 0.0
        for i in range(first, first + size):
            value = numbers[rows[i], a]
            if value == value:
                if held == 0:
                    pivot = value
                drift += value - pivot
                held += 1
        mean = pivot + drift / max(held, 1)
        for i in range(first, first + size):
            away = numbers[rows[i], a] - mean
            if away == away:
                total += away * away
    for c in range(codes.shape[1]):
        held = top = 0
        for i in range(first, first + size):
            code = codes[rows[i], c]
            if code >= 0:
                tally[code] += 1
                top = max(top, tally[code])
                held += 1
        for i in range(first, first + size):
            if codes[rows[i], c] >= 0:
                tally[codes[rows[i], c]] = 0
        total += prices[c] * (held - top)
    return total


@inner
def kinds_of(codes):
    """How many codes there are."""
    most = -1
    for i in range(codes.shape[0]):
        for c in range(codes.shape[1]):
            most = max(most, codes[i, c])
    return most + 1


@kernel
def joining(region, x, slot):
    """What it costs if a record joins a group."""
    cost = 0.0
    for a in range(region.numbers.shape[1]):
        away = region.numbers[x, a] - region.means[slot, a]
        if away == away:
            cost += away * away * (region.held[slot, a] / (region.held[slot, a] + 1.0))
    for c in range(region.codes.shape[1]):
        code = region.codes[x, c]
        if code >= 0 and not _is_common(region, slot, c, code):
            cost += region.prices[c]
    return cost


@kernel
def leaving(region, x):
    """What it saves if a record leaves its group."""
    slot = region.group[x]
    saved = 0.0
    for a in range(region.numbers.shape[1]):
        away = region.numbers[x, a] - region.means[slot, a]
        if region.held[slot, a] > 1.0 and away == away:
            saved += away * away * (region.held[slot, a] / (region.held[slot, a] - 1.0))
    for c in range(region.codes.shape[1]):
        code = region.codes[x, c]
        if code >= 0 and not (region.modes[slot, c] == code and region.ties[slot, c] == 1):
            saved += region.prices[c]
    return saved


@kernel
def replacing(region, slot, x, z):
    """What it costs if a record takes the place of another in its group."""
    cost = 0.0
    for a in range(region.numbers.shape[1]):
        held = region.held[slot, a]
        gone = region.numbers[x, a] - region.means[slot, a]
        come = region.numbers[z, a] - region.means[slot, a]
        if gone != gone:
            if come == come:
                cost += come * come * (held / (held + 1.0))
        elif come != come:
            if held > 1.0:
                cost -= gone * gone * (held / (held - 1.0))
        else:
            away = come - gone
            cost += away * (come + gone - away / held)
    for c in range(region.codes.shape[1]):
        gone, come = region.codes[x, c], region.codes[z, c]
        if gone == come:
            continue
        if region.modes[slot, c] == gone and region.ties[slot, c] == 1 and gone >= 0:
            # Another can be as common once the commonest has lost one.
            if come >= 0 and _count(region, slot, c, come) < region.tops[slot, c] - 1:
                cost += region.prices[c]
            continue
        if gone >= 0:
            cost -= region.prices[c]
        if come >= 0 and not _is_common(region, slot, c, come):
            cost += region.prices[c]
    return cost


@kernel
def put(region, x, slot):
    """Add a record to a group."""
    size = region.counts[slot]
    region.members[slot, size] = x
    region.seat[x] = size
    region.group[x] = slot
    region.counts[slot] = size + 1
    for a in range(region.numbers.shape[1]):
        _renew(region, slot, a, math.nan, region.numbers[x, a])
    for c in range(region.codes.shape[1]):
        region.shown[slot, c, size] = region.codes[x, c]
        _recount(region, slot, c)


@kernel
def take(region, x):
    """Take a record out of its group."""
    slot, at = region.group[x], region.seat[x]
    size = region.counts[slot] - 1
    mover = region.members[slot, size]
    region.members[slot, at] = mover
    region.seat[mover] = at
    region.counts[slot] = size
    for a in range(region.numbers.shape[1]):
        _renew(region, slot, a, region.numbers[x, a], math.nan)
    for c in range(region.codes.shape[1]):
        region.shown[slot, c, at] = region.shown[slot, c, size]
        _recount(region, slot, c)


@kernel
def swap(region, x, z):
    """Two records change places."""
    one, other = region.group[x], region.group[z]
    seat, other_seat = region.seat[x], region.seat[z]
    region.members[one, seat], region.members[other, other_seat] = z, x
    region.seat[x], region.seat[z] = other_seat, seat
    region.group[x], region.group[z] = other, one
    for a in range(region.numbers.shape[1]):
        _renew(region, one, a, region.numbers[x, a], region.numbers[z, a])
        _renew(region, other, a, region.numbers[z, a], region.numbers[x, a])
    for c in range(region.codes.shape[1]):
        code, other_code = region.codes[x, c], region.codes[z, c]
        if code != other_code:
            region.shown[one, c, seat] = other_code
            region.shown[other, c, other_seat] = code
            _recount(region, one, c)
            _recount(region, other, c)


@inner
def _renew(region, slot, a, gone, come):
    """The mean of a group once a number is gone and another has come; NaN is none."""
    held, mean = region.held[slot, a], region.means[slot, a]
    if gone == gone:
        held -= 1.0
        mean = mean - (gone - mean) / held if held > 0.0 else 0.0
    if come == come:
        held += 1.0
        mean += (come - mean) / held
    region.held[slot, a], region.means[slot, a] = held, mean


@inner
def _is_common(region, slot, c, code):
    """Whether no code is commoner in the group."""
    if region.modes[slot, c] == code or region.tops[slot, c] == 0:
        return True
    return region.ties[slot, c] > 1 and _count(region, slot, c, code) == region.tops[slot, c]


@kernel
def _count(region, slot, c, code):
    """How many of the group have this code."""
    count = 0
    for i in range(region.counts[slot]):
        count += region.shown[slot, c, i] == code
    return count


@kernel
def _recount(region, slot, c):
    """A commonest code of the group, how often it appears, and how many codes do so."""
    shown, tally, size = region.shown, region.tally, region.counts[slot]
    top = ties = 0
    mode = -1
    for i in range(size):
        code = shown[slot, c, i]
        if code >= 0:
            tally[code] += 1
            top = max(top, tally[code])
    for i in range(size):
        code = shown[slot, c, i]
        if code >= 0:
            if tally[code] == top:
                ties += 1
                mode = code if ties == 1 else mode
            tally[code] = 0
    region.modes[slot, c], region.tops[slot, c], region.ties[slot, c] = mode, top, ties
