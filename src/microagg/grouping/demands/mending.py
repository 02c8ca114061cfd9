"""Repair: groups of any method are made to keep demands, by swaps with near groups, then by merges.

Swaps. A group that falls short takes in units near its own, each for one of its own or, where the
other group has more than k, for none: always the change that lowers the shortfall most for its
cost, and never one by which another group falls shorter. Each lowers the sum of all shortfalls, and
a group makes no more of them than it has room for units: so this ends. A change is chosen from at
most a few hundred, each judged in O(size).

Merges. A group that still falls short is joined with the nearest, until it has grown by a quarter;
then it is judged again. Each merge leaves one group less, and the last one would be all units,
which keep the demands or were refused: so this ends, at worst in one group. Demands are closed
under union, so no merge of groups that keep them is ever looked at again. In a round every group
that falls short grows by a quarter, is taken in or is done: O(log n) rounds, each a query of a tree
for each merge and O(n log n) for judging.
"""

import math

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.demands.book import Book
from microagg.grouping.demands.floor import BEGIN, NOBODY, fits, price_of, short_if, trade
from microagg.grouping.demands.judging import judge
from microagg.kernels.compiling import inner, kernel
from microagg.kernels.trees.nearest import hide, make_space, nearest, put
from microagg.kernels.trees.planting import LEAF, NONE, plant

# Of each unit so many near ones are looked at, and so many changes of a group in all.
_NEAR = 8
_CHANGES = 512
_LEAVERS = 8


@kernel
def mend(floor, rules, units, k, scale):
    """Let groups that fall short change units with near ones, while that helps; how many are left.

    scale: what a change may cost without counting much.
    """
    left = 0
    for slot in range(floor.counts.size):
        turn = BEGIN
        while floor.short[slot] > 0.0 and turn < floor.members.shape[1]:
            if not _change(floor, rules, units, slot, k, scale, turn):
                break
            turn += 1
        left += floor.short[slot] > 0.0
    return left


@inner
def _change(floor, rules, units, slot, k, scale, turn):
    """Make the best change of a group, if there is one."""
    group, members, counts = floor.group, floor.members, floor.counts
    records, room, starts = floor.records, floor.lines.shape[2], units.starts
    size, short = counts[slot], floor.short[slot]
    near = min(_NEAR, floor.near.shape[1], max(1, _CHANGES // (size * min(size, _LEAVERS))))
    stride = max(1, size // _LEAVERS)
    best, leaver, comer = 0.0, NOBODY, NOBODY
    after = other_after = 0.0
    for i in range(size):
        for j in range(near):
            y = np.int64(floor.near[members[slot, i], j])
            if y < 0 or group[y] < 0 or group[y] == slot:
                continue
            other = np.int64(group[y])
            spare = counts[other] > k and size < members.shape[1]
            for h in range(turn % stride - stride, size, stride):
                w = np.int64(members[slot, h]) if h >= 0 else NOBODY
                if (w < 0 and not spare) or not fits(records, room, starts, slot, w, y):
                    continue
                if w >= 0 and not fits(records, room, starts, other, y, w):
                    continue
                price = price_of(floor.points, floor.centres, counts, slot, other, w, y)
                price = max(0.0, price) + scale
                if short <= best * price:
                    continue
                own = short_if(floor, rules, units, slot, w, y, short)
                if not short - own > best * price:
                    continue
                bound = floor.short[other]
                theirs = short_if(floor, rules, units, other, y, w, bound)
                if theirs <= bound:
                    best, leaver, comer = (short - own) / price, w, y
                    after, other_after = own, theirs
    if comer < 0:
        return False
    floor.short[slot], floor.short[group[comer]] = after, other_after
    trade(floor, units, slot, leaver, comer)
    return True


def merge_short(
    points: NDArray[np.float64], labels: NDArray[np.int64], book: Book
) -> NDArray[np.int64]:
    """The groups with those that fall short joined with near ones until none does."""
    short = book.shortfalls(labels)
    if not short.any():
        return labels
    sizes = np.bincount(labels)
    sums = [np.bincount(labels, column) for column in points.T]
    centres = np.ascontiguousarray(np.column_stack(sums) / sizes[:, None])
    order = np.argsort(labels, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    homes, last = np.arange(sizes.size), np.arange(sizes.size)
    follower, crew = np.full(sizes.size, -1), np.empty_like(order)
    _merge_short(
        plant(centres), centres, book.rules, book.units, order, starts, sizes, homes, short > 0.0,
        follower, last, crew, np.empty_like(book.units.ranks),
    )  # fmt: skip
    return np.unique(homes[labels], return_inverse=True)[1]


@kernel
def _merge_short(
    tree, centres, rules, units, order, starts, sizes, homes, short, follower, last, crew, lines
):
    """Tell each group its home: the group that it is part of in the end.

    Groups of one home make a line: who follows whom, and who is last.
    """
    groups = sizes.size
    space = make_space(1, np.empty(0, np.int64))
    left = groups
    waiting = True
    while waiting:
        waiting = False
        for home in range(groups):
            if not short[home]:
                continue
            enough = sizes[home] * 1.25
            while sizes[home] < enough and left > 1:
                slot = tree.slots[home] // LEAF
                nearest(tree, centres[home], slot, np.int32(home), math.inf, space)
                other = np.int64(space.rows[0])
                if other == NONE:
                    break
                total = sizes[home] + sizes[other]
                for a in range(centres.shape[1]):
                    away = centres[other, a] - centres[home, a]
                    centres[home, a] += away * (sizes[other] / total)
                sizes[home] = total
                hide(tree, np.int32(other))
                put(tree, np.int32(home), centres[home])
                follower[last[home]] = other
                last[home] = last[other]
                homes[other] = home
                short[other] = False
                left -= 1
            size, part = BEGIN, home
            while part >= 0:
                for i in range(starts[part], starts[part + 1]):
                    crew[size] = order[i]
                    size += 1
                part = follower[part]
            short[home] = judge(rules, units, crew, BEGIN, size, lines) > 0.0 and left > 1
            waiting = waiting or short[home]
    for group in range(groups):
        home = group
        while homes[home] != home:
            home = homes[home]
        homes[group] = home
