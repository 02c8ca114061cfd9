"""Units and their groups on a floor, where records can be moved about and demands are watched."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.demands.book import Book
from microagg.grouping.demands.judging import dominated, gather, judge, shortfall
from microagg.kernels.compiling import inner, kernel

# A group has room for so many times the mean size, or k, or as many units as all groups can without
# taking more places than this; larger ones stay as they are.
_ROOM = 4
_PLACES = 1 << 22
# Numbers of one type, so that kernels that take them are compiled once.
NOBODY, BEGIN = np.int64(-1), np.int64(0)


class Floor(NamedTuple):
    """Units and groups by their numbers in the region.

    points: where the units stand; near: units near each, -1 for none; by_rank: (columns, units) in
    the order of each confidential column, and in_rank: the place of each unit there.
    centres, counts, short: where groups stand, how many units they have and how far they are from
    keeping the demands; members: (groups, most units) theirs, in no order; lines: (columns, groups,
    most records) their sorted ranks, records: how many. group, seat: of each unit, its group and
    its place among the members. crew, room: to work out a changed group and its lines in.
    """

    points: NDArray[np.float64]
    near: NDArray[np.int32]
    by_rank: NDArray[np.int32]
    in_rank: NDArray[np.int32]
    centres: NDArray[np.float64]
    counts: NDArray[np.int64]
    short: NDArray[np.float64]
    members: NDArray[np.int32]
    lines: NDArray[np.int32]
    records: NDArray[np.int64]
    group: NDArray[np.int32]
    seat: NDArray[np.int32]
    crew: NDArray[np.int32]
    room: NDArray[np.int32]


def lay(
    points: NDArray[np.float64],
    order: NDArray[np.integer],
    sizes: NDArray[np.integer],
    k: int,
    book: Book,
    near: NDArray[np.int32],
) -> tuple[Floor, NDArray[np.int64], int]:
    """A floor with the groups of these sizes, units order[0], order[1], ...; slots without a group
    and how many of those there are. O(n) memory: groups much larger than most are not on it."""
    n, g = len(points), sizes.size
    units = book.units
    columns = units.ranks.shape[0]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    slots = g + min(max(0, n // k - g), g + 16)
    most = int(min(sizes.max() + k, max(_ROOM * k, _ROOM * n // g, _PLACES // slots)))
    held = np.add.reduceat(np.diff(units.starts)[order], starts[:-1])
    records = most
    if units.starts[-1] > n:
        records = 2 * int(min(held.max(), max(_ROOM * held.mean(), _PLACES // slots)))
    lowest = units.ranks[:, units.starts[:-1]]
    by_rank = np.argsort(lowest, axis=1, kind="stable").astype(np.int32)
    in_rank = np.empty_like(by_rank)
    for column in range(columns):
        in_rank[column, by_rank[column]] = np.arange(n, dtype=np.int32)
    floor = Floor(
        points,
        near,
        by_rank,
        in_rank,
        np.zeros((slots, points.shape[1])),
        np.zeros(slots, np.int64),
        np.zeros(slots),
        np.zeros((slots, most), np.int32),
        np.zeros((columns, slots, records), np.int32),
        np.zeros(slots, np.int64),
        np.full(n, -1, np.int32),
        np.zeros(n, np.int32),
        np.zeros(3 * most + 4, np.int32),
        np.zeros((max(1, columns), 2 * records + 4), np.int32),
    )
    _seat(floor, book.rules, units, order.astype(np.int32), starts, held)
    free = np.zeros(slots + 1, np.int64)
    free[: slots - g] = np.arange(slots - 1, g - 1, -1)
    return floor, free, slots - g


@kernel
def _seat(floor, rules, units, order, starts, held):
    """Give every group that has room its place."""
    for slot in range(starts.size - 1):
        size = starts[slot + 1] - starts[slot]
        if size > floor.members.shape[1] or held[slot] > floor.lines.shape[2]:
            continue
        for i in range(size):
            floor.crew[i] = order[starts[slot] + i]
        floor.short[slot] = judge(rules, units, floor.crew, BEGIN, size, floor.room)
        settle(floor, units, slot, BEGIN, size)


@inner
def change_line(units, column, line, size, out, into, room):
    """The sorted line without the records of the unit `out` and with those of `into`, -1 for none,
    in `room`; how long it is then. O(size)."""
    ranks, starts = units.ranks, units.starts
    gone = last_gone = came = last_came = BEGIN
    if out >= 0:
        gone, last_gone = starts[out], starts[out + 1]
    if into >= 0:
        came, last_came = starts[into], starts[into + 1]
    filled = 0
    for i in range(size):
        rank = line[i]
        if gone < last_gone and ranks[column, gone] == rank:
            gone += 1
            continue
        while came < last_came and ranks[column, came] <= rank:
            room[filled] = ranks[column, came]
            filled += 1
            came += 1
        room[filled] = rank
        filled += 1
    while came < last_came:
        room[filled] = ranks[column, came]
        filled += 1
        came += 1
    return filled


@inner
def short_if(floor, rules, units, slot, out, into, bound):
    """How far a group without the unit `out` and with `into` is from its demands; more than
    `bound` is not worked out to the end."""
    total = 0.0
    size = BEGIN
    before = NOBODY
    room = floor.room[0]
    for rule in range(rules.kinds.size):
        column = rules.columns[rule]
        if column != before:
            line = floor.lines[column, slot]
            size = change_line(units, column, line, floor.records[slot], out, into, room)
            before = column
        total += shortfall(rules, rule, room, size)
        if total > bound:
            return total
    if rules.shares.size > 0:
        crew = 0
        for i in range(floor.counts[slot]):
            if floor.members[slot, i] != out:
                floor.crew[crew] = floor.members[slot, i]
                crew += 1
        if into >= 0:
            floor.crew[crew] = into
            crew += 1
        total += dominated(rules.shares, units.parts, floor.crew, BEGIN, crew)
    return total


@inner
def _exchange(floor, units, slot, seat, out, into):
    """Take `out` from its seat in a group and put `into` there, -1 for none; its centre and lines
    follow."""
    points, centres, members = floor.points, floor.centres, floor.members
    size = floor.counts[slot]
    if into < 0:
        mover = members[slot, size - 1]
        members[slot, seat] = mover
        floor.seat[mover] = seat
    after = size + (into >= 0) - (out >= 0)
    for a in range(points.shape[1]):
        if size == 0:
            centres[slot, a] = points[into, a]
        away = 0.0
        if into >= 0:
            away += points[into, a] - centres[slot, a]
        if out >= 0:
            away -= points[out, a] - centres[slot, a]
        if after > 0:
            centres[slot, a] += away / after
    if into >= 0:
        members[slot, seat] = into
        floor.seat[into] = seat
        floor.group[into] = slot
    floor.counts[slot] = after
    records = floor.records[slot]
    room = floor.room[0]
    for column in range(floor.lines.shape[0]):
        line = floor.lines[column, slot]
        filled = change_line(units, column, line, floor.records[slot], out, into, room)
        for i in range(filled):
            line[i] = room[i]
    if into >= 0:
        records += units.starts[into + 1] - units.starts[into]
    if out >= 0:
        records -= units.starts[out + 1] - units.starts[out]
    floor.records[slot] = records


@inner
def fits(records, most, starts, slot, out, into):
    """Whether a group so changed has room for its records."""
    total = records[slot] + starts[into + 1] - starts[into]
    if out >= 0:
        total -= starts[out + 1] - starts[out]
    return total <= most


@inner
def settle(floor, units, slot, first, last):
    """Have the units crew[first:last] make up a group, whose centre and lines are made anew."""
    points, crew = floor.points, floor.crew
    size = last - first
    for a in range(points.shape[1]):
        centre = 0.0
        for i in range(first, last):
            centre += points[crew[i], a] / size
        floor.centres[slot, a] = centre
    for i in range(first, last):
        unit = crew[i]
        floor.members[slot, i - first] = unit
        floor.seat[unit] = i - first
        floor.group[unit] = slot
    floor.counts[slot] = size
    records = gather(units, crew, first, last, floor.room)
    for column in range(floor.lines.shape[0]):
        for i in range(records):
            floor.lines[column, slot, i] = floor.room[column, i]
    floor.records[slot] = records


@inner
def price_of(points, centres, counts, slot, other, out, into):
    """By how much the SSE rises if a unit `into` of another group comes to one, and `out` of this
    one, -1 for nobody, goes there in its place."""
    size, other_size = counts[slot], counts[other]
    if out >= 0:
        both = 1.0 / size + 1.0 / other_size
        price = 0.0
        for a in range(points.shape[1]):
            away = points[into, a] - points[out, a]
            price += away * (2.0 * (centres[other, a] - centres[slot, a]) - both * away)
        return price
    leaving = joining = 0.0
    for a in range(points.shape[1]):
        away = points[into, a] - centres[other, a]
        leaving += away * away
        away = points[into, a] - centres[slot, a]
        joining += away * away
    rise = joining * (size / (size + 1.0))
    return rise - leaving * (other_size / (other_size - 1.0)) if other_size > 1 else rise


@inner
def trade(floor, units, slot, out, into):
    """Let the unit `into` of another group come to one, and `out` go there in its place, -1 for
    nobody."""
    other = np.int64(floor.group[into])
    seat, other_seat = floor.counts[slot], np.int64(floor.seat[into])
    if out >= 0:
        seat = np.int64(floor.seat[out])
    _exchange(floor, units, other, other_seat, into, out)
    _exchange(floor, units, slot, seat, out, into)
