"""How far groups are from keeping demands: kernels that everything in this folder judges by.

What is judged is the sorted ranks of a group's records, a line for each confidential column, and
for dominance its units. The certificate counts the same on what was written, by other code and with
other roundings: so a demand in broken numbers is kept here only by a hair more than it asks for.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.demands.demand import (
    DISTINCT,
    ENTROPY,
    JUDGED_BY_NUMBERS,
    JUDGED_BY_SHARES,
    NOMINAL,
    ORDERED,
    RECURSIVE,
    SIMILAR,
    SPAN,
    Demand,
    Demands,
    Dominance,
    Scales,
    places,
)
from microagg.kernels.compiling import inner, kernel

# By so much more are demands in broken numbers kept than they ask for.
_HAIR = 1e-10


class Rules(NamedTuple):
    """The demands, as kernels read them; those of one column follow each other.

    kinds, columns, limits: of each demand on a confidential column. starts, stops: where the scale
    lies that it is judged by, of all values in `up_to` and `summed`, or of numbers in `values`; see
    `Scales`. shares: what dominance allows.
    """

    kinds: NDArray[np.int64]
    columns: NDArray[np.int64]
    limits: NDArray[np.float64]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    up_to: NDArray[np.int64]
    summed: NDArray[np.int64]
    values: NDArray[np.float64]
    shares: NDArray[np.float64]


class Units(NamedTuple):
    """What is grouped: records, or entities with all of theirs.

    starts: where the records of each unit begin. ranks: (columns, records) of the confidential
    columns, unit by unit and ascending in each. parts: (dominance demands, 4, units) what each
    contributes: weights, weighted amounts, and both where a group has no weight.
    """

    starts: NDArray[np.int64]
    ranks: NDArray[np.int32]
    parts: NDArray[np.float64]


def in_order(demands: Demands) -> tuple[list[Demand], list[Dominance]]:
    """Demands on confidential columns, column by column, and those of dominance."""
    on_columns = [demand for demand in demands if isinstance(demand, Demand)]
    names = list(dict.fromkeys(demand.name for demand in on_columns))
    on_columns.sort(key=lambda demand: names.index(demand.name))
    return on_columns, [demand for demand in demands if isinstance(demand, Dominance)]


def rules_of(demands: Demands) -> Rules:
    """The demands as kernels read them."""
    on_columns, shared = in_order(demands)
    names = list(dict.fromkeys(demand.name for demand in on_columns))
    made = (demand.column.scales for demand in on_columns)
    scales = next((each for each in made if each is not None), None) or _scales_of(on_columns)
    nowhere = slice(0, 0)
    where = [
        (scales.shares if demand.kind in JUDGED_BY_SHARES else scales.numbers).get(
            demand.name, nowhere
        )
        for demand in on_columns
    ]
    return Rules(
        np.array([demand.kind for demand in on_columns], np.int64),
        np.array([names.index(demand.name) for demand in on_columns], np.int64),
        np.array([demand.limits for demand in on_columns], np.float64).reshape(-1, 2),
        np.array([each.start for each in where], np.int64),
        np.array([each.stop for each in where], np.int64),
        scales.up_to,
        scales.summed,
        scales.values,
        np.array([demand.share for demand in shared], np.float64),
    )


def _scales_of(on_columns: Sequence[Demand]) -> Scales:
    """Scales of what is judged by them, in memory."""
    by_shares = {each.name: each.column for each in on_columns if each.kind in JUDGED_BY_SHARES}
    by_numbers = {each.name: each.column for each in on_columns if each.kind in JUDGED_BY_NUMBERS}
    up_to = [np.cumsum(column.counts) for column in by_shares.values()]
    summed = [np.cumsum(line) - line for line in up_to]
    nothing = np.empty(0, np.int64)
    return Scales(
        places({name: column.counts.size for name, column in by_shares.items()}),
        np.concatenate([*up_to, nothing]),
        np.concatenate([*summed, nothing]),
        places({name: column.counts.size for name, column in by_numbers.items()}),
        np.concatenate([*(column.values for column in by_numbers.values()), np.empty(0)]),
    )


def units_of(demands: Demands, n: int, entities: NDArray[np.int64] | None) -> Units:
    """What n records, or their entities, bring along."""
    on_columns, shared = in_order(demands)
    columns = {demand.name: demand.column for demand in on_columns}
    whose = np.arange(n) if entities is None else entities
    counts = np.bincount(whose)
    ranks = np.empty((len(columns), n), np.int32)
    for place, column in enumerate(columns.values()):
        order = np.lexsort((column.ranks, whose)) if entities is not None else slice(None)
        ranks[place] = column.ranks[order]
    parts = [_parts(demand, whose, n) for demand in shared]
    return Units(
        np.concatenate([[0], np.cumsum(counts)]),
        ranks,
        np.array(parts).reshape(-1, 4, counts.size),
    )


def _parts(demand: Dominance, whose: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    present = np.ones(n) if demand.missing is None else (~demand.missing).astype(np.float64)
    heavy = present if demand.weights is None else np.where(present > 0.0, demand.weights, 0.0)
    if demand.amounts is None:
        sizes = np.zeros(n)
    else:
        sizes = np.where(present > 0.0, np.abs(demand.amounts.astype(np.float64)), 0.0)
        # Sums of the largest numbers there are must not overflow.
        sizes = np.ldexp(sizes, -int(np.frexp(sizes.max(initial=0.0))[1]))
    lines = (heavy, heavy * sizes, present, present * sizes)
    return np.array([np.bincount(whose, line) for line in lines])


@kernel
def shortfall(rules, rule, line, size):
    """How far the group with the sorted ranks line[:size] is from keeping a demand, 0 if it does;
    O(size), and the logarithm of the number of values for each record at most."""
    kind, low, high = rules.kinds[rule], rules.limits[rule, 0], rules.limits[rule, 1]
    reached = reach(rules, rule, line, size)
    if kind == DISTINCT:
        return max(0.0, (low - reached) / low)
    if kind == ENTROPY:
        return 0.0 if reached >= low + _HAIR else max(_HAIR, low - reached)
    if kind == RECURSIVE:
        return 0.0 if reached < high else min(1.0, 1e-3 + 0.1 * (reached - high))
    if kind == SPAN:
        return max(0.0, 1.0 - reached / low) if low > 0.0 else 0.0
    if kind == SIMILAR:
        return 0.0 if reached <= high + _HAIR else reached - high
    return 0.0 if reached <= max(low - _HAIR, _HAIR) else max(_HAIR, reached - low)


@kernel
def reach(rules, rule, line, size):
    """What the group with the sorted ranks line[:size] reaches of what is demanded."""
    kind, start, stop = rules.kinds[rule], rules.starts[rule], rules.stops[rule]
    if kind == ORDERED:
        return _moved(rules.up_to, rules.summed, start, stop, line, size)
    if kind in (SPAN, SIMILAR):
        return _spread(rules.values, start, kind, rules.limits[rule, 0], line, size)
    if kind == RECURSIVE:
        return _recursive(rules.limits[rule, 0], line, size)
    everybody = rules.up_to[stop - 1] if kind == NOMINAL else 0
    total = 0.0
    even = True
    run = 0
    i = 0
    while i < size:
        j = i + 1
        while j < size and line[j] == line[i]:
            j += 1
        if kind == DISTINCT:
            total += 1.0
        elif kind == NOMINAL:
            place = start + line[i]
            among = rules.up_to[place] - (rules.up_to[place - 1] if line[i] > 0 else 0)
            total += max(0.0, (j - i) / size - among / everybody)
        else:
            share = (j - i) / size
            total -= share * math.log(share)
            even = even and (run == 0 or run == j - i)
            run = j - i
        i = j
    if kind == ENTROPY and even:
        # As many values as they are, each as often: the hair must not make that impossible.
        total += 2.0 * _HAIR
    return total


@inner
def _moved(up_to, summed, start, stop, line, size):
    """The earth mover's distance between a group and all, by the sums over ranks up to a rank.

    Between two of its values the group's cumulated share stays, while that of all grows: it is
    below up to some rank, found by halving, and above from there on.
    """
    m = stop - start
    everybody = up_to[stop - 1]
    every = summed[stop - 1] + everybody
    total = summed[start + line[0]] / everybody
    i = 0
    while i < size:
        rank = np.int64(line[i])
        j = i + 1
        while j < size and line[j] == rank:
            j += 1
        share = j / size
        end = np.int64(line[j]) if j < size else m
        beyond = summed[start + end] if j < size else every
        target = share * everybody
        low, high = rank, end
        if up_to[start + end - 1] <= target:
            low = end
        while low < high:
            middle = (low + high) // 2
            if up_to[start + middle] <= target:
                low = middle + 1
            else:
                high = middle
        turned = beyond if low == end else summed[start + low]
        total += share * (low - rank) - (turned - summed[start + rank]) / everybody
        total += (beyond - turned) / everybody - share * (end - low)
        i = j
    return total / max(1, m - 1)


@inner
def _spread(values, start, kind, within, line, size):
    """From the least to the largest value; or, of similar ones, the largest share of the records in
    a window of twice `within`, or without a value."""
    begin = 0
    while begin < size and math.isnan(values[start + line[begin]]):
        begin += 1
    if kind == SPAN:
        if begin == size:
            return 0.0
        return values[start + line[size - 1]] - values[start + line[begin]]
    most = left = begin
    for i in range(begin, size):
        while values[start + line[i]] - values[start + line[left]] > 2.0 * within:
            left += 1
        most = max(most, i + 1 - left)
    return most / size


@inner
def _recursive(kinds, line, size):
    """The c that must be exceeded: the most frequent count by the sum from the l-th on.

    The values before the l-th are taken one by one from the most frequent down, each by another
    pass: O(l size).
    """
    left, largest = size, 0
    count, at = size + 1, -1
    for turn in range(int(kinds)):
        best, found = 0, -1
        i = 0
        while i < size:
            j = i + 1
            while j < size and line[j] == line[i]:
                j += 1
            if j - i > best and (j - i < count or (j - i == count and i > at)):
                best, found = j - i, i
            i = j
        if found < 0:
            return math.inf
        if turn == 0:
            largest = best
        if turn < kinds - 1:
            left -= best
        count, at = best, found
    return largest / left


@kernel
def largest_part(parts, place, members, first, last):
    """The largest share of a mean that one of the units members[first:last] contributes."""
    heavy = 0.0
    for i in range(first, last):
        heavy += parts[place, 0, members[i]]
    line = 0 if heavy > 0.0 else 2
    reached = 0.0
    for each in range(line, line + 2):
        total = most = 0.0
        for i in range(first, last):
            part = parts[place, each, members[i]]
            total += part
            most = max(most, part)
        if total > 0.0:
            reached = max(reached, most / total)
    return reached


@inner
def dominated(shares, parts, members, first, last):
    """How far the units members[first:last] are from keeping all demands of dominance."""
    total = 0.0
    for place in range(shares.size):
        share = shares[place]
        reached = largest_part(parts, place, members, first, last)
        # One of so many equal parts is exact.
        exact = reached <= share and reached * (last - first) == 1.0
        if reached > share - _HAIR and not exact:
            total += max(_HAIR, reached - share)
    return total


@inner
def gather(units, members, first, last, lines):
    """The sorted ranks of the units members[first:last], a line a column; how many there are.

    Sorted by Shell's method: short as code, quick for few, and no worse than O(size^1.5) for many.
    """
    ranks, starts = units.ranks, units.starts
    size = 0
    for i in range(first, last):
        for record in range(starts[members[i]], starts[members[i] + 1]):
            for column in range(ranks.shape[0]):
                lines[column, size] = ranks[column, record]
            size += 1
    for column in range(ranks.shape[0]):
        gap = 1
        while gap < size // 9:
            gap = 3 * gap + 1
        while gap > 0:
            for i in range(gap, size):
                rank, at = lines[column, i], i
                while at >= gap and lines[column, at - gap] > rank:
                    lines[column, at] = lines[column, at - gap]
                    at -= gap
                lines[column, at] = rank
            gap //= 3
    return size


@inner
def judge(rules, units, members, first, last, lines):
    """How far the units members[first:last] are from keeping all demands as a group; their sorted
    ranks are in `lines` then."""
    size = gather(units, members, first, last, lines)
    total = dominated(rules.shares, units.parts, members, first, last)
    for rule in range(rules.kinds.size):
        total += shortfall(rules, rule, lines[rules.columns[rule]], size)
    return total


@kernel
def shortfalls(rules, units, members, starts, lines):
    """How far each of many groups is from keeping its demands; group g is the units
    members[starts[g]:starts[g + 1]]. `lines` has room for the records of the largest."""
    found = np.empty(starts.size - 1)
    for g in range(found.size):
        found[g] = judge(rules, units, members, starts[g], starts[g + 1], lines)
    return found
