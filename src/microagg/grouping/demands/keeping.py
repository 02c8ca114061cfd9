"""Make the groups of any method keep demands, at as little loss as the method is asked for."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.grouping.demands.book import Book
from microagg.grouping.demands.demand import ORDERED
from microagg.grouping.demands.searching import Ground, better, is_short, repair, search_under
from microagg.grouping.demands.t_closeness import first_groups, parts_for
from microagg.grouping.demands.untold import directions, expected, telling
from microagg.grouping.divide.cells import dense_part
from microagg.grouping.method import Mixed
from microagg.grouping.refine.budget import afforded

# Where more of the groups had to be merged, near groups are no help: larger ones or t-first may be.
_FEW = 0.1
# So many sizes in a row that do not pay are tried.
_MISSES = 2
# Makes groups of so many units or more.
Coarser = Callable[[NDArray[np.float64], int, Mixed | None], NDArray[np.int64]]
# Steps of each unit, at least: the repair before them takes longer.
_LEAST_STEPS = 10
# So few units have hardly a change by which all keep their demands.
_FEW_UNITS = 64
# Groups of t-first take n^2 time: so many units at a time are dealt out to pieces.
_PIECE = 1 << 14
# Where values tell much of where units stand, these shares of it are tried, of many units on some.
_SHARES, _TRIED = (0.6, 1.0), 1 << 12


def keep_demands(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    book: Book,
    *,
    seed: int = 0,
    search: Mapping[str, Any] | None = None,
    coarser: Coarser | None = None,
    mixed: Mixed | None = None,
    advance: Advance = silent,
) -> NDArray[np.int64]:
    """Labels of groups that keep the demands.

    points: where units stand, (n, m); labels: their groups, 0 to g - 1, of k or more. search: the
    options of a search (effort, steps, time_limit) for less loss; None for a repair only. coarser:
    what makes larger groups, where demands need them; mixed: what units lose, where that is not
    their squared distance from the mean. All units together keep the demands:
    `Book.check_possible`.
    """
    n = len(points)
    rng = np.random.default_rng([seed, 1])
    if n < 2 * k:
        return np.zeros(n, np.int64)
    if search is None and not book.shortfalls(labels).any():
        return labels
    ground = Ground.of(points, k, book, mixed)
    advance(0.1)
    steps = 0 if search is None else _steps(n, search)
    at_once = steps if n > _PIECE and is_short(n, steps) else 0
    starts = [_repaired(ground, labels, coarser, rng, at_once)]
    if coarser is not None and _merged_many(labels, starts[0]):
        starts[0] = _enlarged(ground, starts[0], coarser, rng)
    advance(0.3)
    if search is None or (at_once and not _merged_many(labels, starts[0])):
        return starts[0]
    starts += [
        repair(ground, other, rng) for other in _other_starts(ground, labels, starts[0], rng)
    ]
    seconds = math.inf if search.get("time_limit") is None else float(search["time_limit"])
    budget = steps // len(starts), seconds / len(starts)
    searches = [(start, False) for start in starts]
    if n <= _FEW_UNITS:
        searches.append((starts[0], True))
    best = starts[0]
    for number, (start, leniently) in enumerate(searches):

        def part(share: float, number: int = number) -> None:
            advance(0.3 + 0.7 * (number + share) / len(searches))

        found = search_under(ground, start, rng, *budget, part, leniently)
        best = better(ground, best, found)[0]
    return best


def _steps(n: int, search: Mapping[str, Any]) -> int:
    """How many steps a search is under demands."""
    if search.get("steps") is not None:
        return int(search["steps"])
    # A step under demands takes some times as long as one without; a few are always worth it.
    effort = search.get("effort") or "balanced"
    return max(_LEAST_STEPS * n, afforded(n, effort) // (12 if effort == "brief" else 3))


def _repaired(
    ground: Ground,
    labels: NDArray[np.int64],
    coarser: Coarser | None,
    rng: np.random.Generator,
    steps: int,
) -> NDArray[np.int64]:
    """The groups, repaired; or those by what values do not tell, if they lose less then.

    steps: of a search on the way; few are of no use where most groups were made anew. Of many units
    it is tried on some which is best.
    """
    expectations = expected(ground.points, ground.book.middles)
    if coarser is None or not telling(ground.points, expectations):
        return repair(ground, labels, rng, steps)
    if len(labels) <= _PIECE:
        found = [repair(ground, labels, rng)]
        found += [_by_untold(ground, expectations, each, coarser, rng) for each in _SHARES]
        return min(found, key=ground.lost)
    across = directions(ground.points, expectations)
    rows = dense_part(ground.points, _TRIED, across)
    sample, told = ground.rows(rows), expectations[rows]
    tried = 0.0, *_SHARES
    lost = [sample.lost(_by_untold(sample, told, each, coarser, rng)) for each in tried]
    best = tried[int(np.argmin(lost))]
    if best == 0.0:
        return repair(ground, labels, rng, steps)
    return _by_untold(ground, expectations, best, coarser, rng)


def _by_untold(
    ground: Ground,
    expectations: NDArray[np.float64],
    share: float,
    coarser: Coarser,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Groups of k by points less a share of what is expected of them, repaired."""
    rest = ground.points - share * expectations
    return repair(ground, coarser(rest, ground.k, ground.mixed), rng)


def _merged_many(labels: NDArray[np.int64], found: NDArray[np.int64]) -> bool:
    """Whether many of the groups had to be merged: near groups were not of much help."""
    return int(found.max()) <= (1.0 - _FEW) * int(labels.max())


def _enlarged(
    ground: Ground, found: NDArray[np.int64], coarser: Coarser, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The better of groups, repaired, and of larger ones: of twice k units, four times, ... while
    that pays. Merging small groups pair by pair makes long ones.

    Of many units it is tried on some which size is best.
    """
    n, sample = len(found), ground
    if n > _PIECE:
        sample = ground.rows(np.sort(rng.choice(n, _PIECE, replace=False)))
    best, loss, worth = found, sample.lost(found) if sample is ground else math.inf, 0
    size, misses = 2 * ground.k, 0
    while 2 * size <= len(sample.points) and misses < _MISSES:
        other = repair(sample, coarser(sample.points, size, sample.mixed), rng)
        lost = sample.lost(other)
        misses += 1
        if lost < loss:
            best, loss, worth, misses = other, lost, size, 0
        size *= 2
    if sample is ground or worth == 0:
        return best if sample is ground else found
    other = repair(ground, coarser(ground.points, worth, ground.mixed), rng)
    return other if ground.lost(other) < ground.lost(found) else found


def _other_starts(
    ground: Ground, labels: NDArray[np.int64], found: NDArray[np.int64], rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Groups of t-first, for each ordered closeness: of many units only where near groups were not
    of much help."""
    n, rules = len(labels), ground.book.rules
    if n > _PIECE and not _merged_many(labels, found):
        return []
    starts = []
    for rule in np.flatnonzero(rules.kinds == ORDERED).tolist():
        pieces = np.array_split(rng.permutation(n), -(-n // _PIECE))
        start, groups = np.empty(n, np.int64), 0
        for piece in pieces:
            rows = np.sort(piece)
            parts = parts_for(rows.size, ground.k, rules.limits[rule, 0])
            inside = np.ascontiguousarray(ground.points[rows])
            start[rows] = groups + first_groups(inside, parts, ground.book.rows(rows), rule)
            groups = int(start[rows].max()) + 1
        starts.append(start)
    return starts
