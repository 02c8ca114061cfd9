"""Groups with records of k different households, whose members may be in different groups.

Any method makes the groups. In those with too few households a record whose household is there
twice is exchanged for one of another household, of a group nearby, where that costs least; then
groups that were touched exchange records as long as that gains. Groups are joined only where
nobody near has a record to give.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.kernels.compiling import inner, kernel
from microagg.kernels.group_passes import group_means
from microagg.kernels.trees.lists import nearest_lists

# Groups that are asked for records, and leaves of a tree that are looked at to find them.
_NEAR, _LOOKS = 48, 24
# Records on either side, those that lie best, of which all pairs are weighed.
_CANDIDATES = 12
_AT_ONCE = 256
_PASSES, _FARTHER = 4, 3


class _Groups(NamedTuple):
    """Groups as chains of records; kernels keep all of it up to date."""

    points: NDArray[np.float64]  # (n, d)
    households: NDArray[np.int64]  # (n,) from 0 without gaps
    labels: NDArray[np.int64]  # (n,)
    first: NDArray[np.int64]  # (groups,) a record of each, -1 where there is none left
    after: NDArray[np.int64]  # (n,) the next record of the same group, or -1
    sizes: NDArray[np.int64]  # (groups,)
    different: NDArray[np.int64]  # (groups,) households of each
    centres: NDArray[np.float64]  # (groups, d)
    touched: NDArray[np.bool_]  # (groups,) since they were last looked at


def keep_households(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    households: NDArray[np.int64],
    k: int,
    advance: Advance = silent,
) -> NDArray[np.int64]:
    """The groups changed as little as it takes for each to have records of k households.

    labels, households: the group and the household of each record, from 0 without gaps; every group
    has k records, and there are k households or more in all. Only which records share a household
    counts, not its number.

    Where every group has k households, the groups are as they were. Two groups that publish the
    same values have at least as many households together, so classes of a release have them too.
    O(n k) time besides the lists of near groups, for groups of about k records.
    """
    groups = _chained(points, labels, households)
    poor = np.flatnonzero(groups.different < k)
    if not poor.size:
        return labels
    near = _near_groups(groups.centres)
    seen = np.zeros((2, int(households.max()) + 1), np.int64)
    for start in range(0, poor.size, _AT_ONCE):
        _enrich(groups, poor[start : start + _AT_ONCE], near, k, seen)
        advance(0.7 * min(1.0, (start + _AT_ONCE) / poor.size))
    for _ in range(_FARTHER):
        poor = np.flatnonzero((groups.sizes > 0) & (groups.different < k))
        if poor.size:
            _enrich(groups, poor, _rich_groups(groups, poor, near, k), k, seen)
    _join_poor(groups, k)
    for done in range(_PASSES):
        touched = np.flatnonzero(groups.touched & (groups.sizes > 0))
        groups.touched[:] = False
        for start in range(0, touched.size, _AT_ONCE):
            _polish(groups, touched[start : start + _AT_ONCE], near, k, seen)
        advance(0.7 + 0.3 * (done + 1) / _PASSES)
    return np.unique(groups.labels, return_inverse=True)[1]


def different_in(labels: NDArray[np.int64], households: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many different households each group has."""
    width = int(households.max()) + 1
    return np.bincount(np.unique(labels * width + households) // width)


def _chained(
    points: NDArray[np.float64], labels: NDArray[np.int64], households: NDArray[np.int64]
) -> _Groups:
    n, count = labels.size, int(labels.max()) + 1
    order = np.lexsort((np.arange(n), labels))
    sizes = np.bincount(labels, minlength=count)
    ends = np.cumsum(sizes)
    after = np.full(n, -1)
    after[order[:-1]] = order[1:]
    after[order[ends - 1]] = -1
    # Far from zero, squares would lose their digits.
    points = np.ascontiguousarray(points - points.mean(axis=0))
    centres = [group_means(np.ascontiguousarray(column), labels, count) for column in points.T]
    return _Groups(
        points,
        households,
        labels.copy(),
        order[ends - sizes],
        after,
        sizes,
        different_in(labels, households),
        np.ascontiguousarray(np.column_stack(centres)),
        np.zeros(count, bool),
    )


def _near_groups(centres: NDArray[np.float64]) -> NDArray[np.int32]:
    """For each group others that are near, the nearest first."""
    count = len(centres)
    rows, lists, _ = nearest_lists(centres, np.arange(count, dtype=np.int32), _NEAR, _LOOKS)
    near = np.empty_like(lists)
    near[rows] = lists
    return near


def _rich_groups(
    groups: _Groups, poor: NDArray[np.int64], near: NDArray[np.int32], k: int
) -> NDArray[np.int32]:
    """The same lists, but for some groups those that are near of all that have k households."""
    rich = np.flatnonzero(groups.different >= k)
    lists, count = near.copy(), min(near.shape[1], rich.size)
    for group in poor.tolist() if count else ():
        away = ((groups.centres[rich] - groups.centres[group]) ** 2).sum(axis=1)
        nearest = np.argsort(away, kind="stable")[:count]
        lists[group, :count], lists[group, count:] = rich[nearest], rich[nearest[-1]]
    return lists


def _join_poor(groups: _Groups, k: int) -> None:
    """Join groups that still have too few households with the nearest, the poorest first."""
    while True:
        alive = np.flatnonzero(groups.sizes > 0)
        poor = alive[groups.different[alive] < k]
        if not poor.size or alive.size == 1:
            return
        one = int(poor[np.argmin(groups.different[poor])])
        others = alive[alive != one]
        away = ((groups.centres[others] - groups.centres[one]) ** 2).sum(axis=1)
        _join(groups, one, int(others[np.argmin(away)]))


def _join(groups: _Groups, one: int, other: int) -> None:
    """Add the records of a group to another."""
    total = groups.sizes[one] + groups.sizes[other]
    groups.centres[other] += (groups.centres[one] - groups.centres[other]) * (
        groups.sizes[one] / total
    )
    record = last = int(groups.first[one])
    while record >= 0:
        groups.labels[record] = other
        last, record = record, int(groups.after[record])
    groups.after[last] = groups.first[other]
    groups.first[other], groups.first[one] = groups.first[one], -1
    groups.sizes[other], groups.sizes[one] = total, 0
    members = np.flatnonzero(groups.labels == other)
    groups.different[other], groups.different[one] = np.unique(groups.households[members]).size, 0
    groups.touched[other] = True


@kernel
def _enrich(groups, poor, near, k, seen):
    """Give each of some groups households until it has k, or nobody near has one to give."""
    for group in poor:
        while 0 < groups.different[group] < k:
            giver, out, inside = _best_exchange(groups, group, near, k, seen, True)
            if giver < 0:
                break
            _exchange(groups, group, giver, out, inside)


@kernel
def _polish(groups, touched, near, k, seen):
    """Exchange records of each of some groups as long as that makes distances less."""
    for group in touched:
        for _ in range(groups.sizes[group]):
            giver, out, inside = _best_exchange(groups, group, near, k, seen, False)
            if giver < 0:
                break
            _exchange(groups, group, giver, out, inside)


@inner
def _best_exchange(groups, group, near, k, seen, needed):
    """The other group, the record that leaves for it and the one that comes, at the least cost.

    No record leaves, -1, where the other group can do without the one that comes. needed: the group
    must have one household more afterwards; else distances must become less. Neither loses a
    household that it needs. The other group is -1 where there is none.
    """
    points, households, sizes = groups.points, groups.households, groups.sizes
    d = points.shape[1]
    here, there = seen[0], seen[1]
    outs = np.empty(_CANDIDATES, np.int64)
    ins = np.empty(_CANDIDATES, np.int64)
    out_scores = np.empty(_CANDIDATES)
    in_scores = np.empty(_CANDIDATES)
    best, best_out, best_in = -1, -1, -1
    least = np.inf if needed else -1e-9
    _tell(groups, group, here, 1)
    for place in range(near.shape[1]):
        other = np.int64(near[group, place])
        if sizes[other] == 0 or other == group:
            continue
        _tell(groups, other, there, 1)
        leaving = _candidates(groups, group, other, 1.0, here, needed, outs, out_scores)
        coming = _candidates(groups, other, group, -1.0, here, needed, ins, in_scores)
        for j in range(coming):
            record = ins[j]
            its = households[record]
            # What the other group has without it.
            left = groups.different[other] - (1 if there[its] == 1 else 0)
            if sizes[other] > k and left >= min(k, groups.different[other]):
                cost = 0.0
                for a in range(d):
                    to_here = points[record, a] - groups.centres[group, a]
                    to_there = points[record, a] - groups.centres[other, a]
                    cost += to_here * to_here * (sizes[group] / (sizes[group] + 1.0))
                    cost -= to_there * to_there * (sizes[other] / (sizes[other] - 1.0))
                if cost < least:
                    least, best, best_out, best_in = cost, other, -1, record
            for i in range(leaving):
                one = households[outs[i]]
                if one == its:
                    new, kept = groups.different[group], groups.different[other]
                else:
                    new = groups.different[group] + (here[its] == 0) - (here[one] == 1)
                    kept = left + (there[one] == 0)
                if needed and new <= groups.different[group]:
                    continue
                if new < min(k, groups.different[group]) or kept < min(k, groups.different[other]):
                    continue
                cost = 0.0
                square = 0.0
                for a in range(d):
                    moved = points[record, a] - points[outs[i], a]
                    cost += 2.0 * moved * (groups.centres[other, a] - groups.centres[group, a])
                    square += moved * moved
                cost -= square * (1.0 / sizes[group] + 1.0 / sizes[other])
                if cost < least:
                    least, best, best_out, best_in = cost, other, outs[i], record
        _tell(groups, other, there, 0)
    _tell(groups, group, here, 0)
    return best, best_out, best_in


@inner
def _tell(groups, group, counts, sign):
    """Count the households of a group, or forget them where the sign is 0."""
    record = groups.first[group]
    while record >= 0:
        household = groups.households[record]
        counts[household] = counts[household] + 1 if sign else 0
        record = groups.after[record]


@inner
def _candidates(groups, group, other, sign, here, needed, found, scores):
    """The records of a group that lie best to go to the other one, at most so many.

    here: how often households occur in the group that gives one away (sign 1) or takes one (sign
    -1). Where a household is needed, only records that are there twice leave, and only such come as
    are not there.
    """
    count = 0
    record = groups.first[group]
    while record >= 0:
        times = here[groups.households[record]]
        fits = not needed or (times > 1 if sign > 0 else times == 0)
        if fits:
            score = 0.0
            for a in range(groups.points.shape[1]):
                score += groups.points[record, a] * (
                    groups.centres[group, a] - groups.centres[other, a]
                )
            if count < found.size:
                at = count
                count += 1
            elif score < scores[count - 1]:
                at = count - 1
            else:
                at = -1
            if at >= 0:
                while at > 0 and scores[at - 1] > score:
                    scores[at], found[at] = scores[at - 1], found[at - 1]
                    at -= 1
                scores[at], found[at] = score, record
        record = groups.after[record]
    return count


@kernel
def _exchange(groups, group, other, out, inside):
    """Have a record come from another group, and one leave for it unless that is -1."""
    _leave(groups, other, inside)
    if out >= 0:
        _leave(groups, group, out)
        _enter(groups, other, out)
    _enter(groups, group, inside)
    groups.touched[group] = True
    groups.touched[other] = True


@inner
def _leave(groups, group, record):
    at = groups.first[group]
    if at == record:
        groups.first[group] = groups.after[record]
    else:
        while groups.after[at] != record:
            at = groups.after[at]
        groups.after[at] = groups.after[record]
    size = groups.sizes[group]
    for a in range(groups.points.shape[1]):
        away = groups.points[record, a] - groups.centres[group, a]
        groups.centres[group, a] -= away / (size - 1)
    groups.sizes[group] = size - 1
    if not _is_there(groups, group, groups.households[record]):
        groups.different[group] -= 1


@kernel
def _enter(groups, group, record):
    if not _is_there(groups, group, groups.households[record]):
        groups.different[group] += 1
    size = groups.sizes[group]
    for a in range(groups.points.shape[1]):
        away = groups.points[record, a] - groups.centres[group, a]
        groups.centres[group, a] += away / (size + 1)
    groups.sizes[group] = size + 1
    groups.after[record] = groups.first[group]
    groups.first[group] = record
    groups.labels[record] = group


@inner
def _is_there(groups, group, household):
    record = groups.first[group]
    while record >= 0:
        if groups.households[record] == household:
            return True
        record = groups.after[record]
    return False
