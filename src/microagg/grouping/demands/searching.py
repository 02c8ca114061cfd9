"""A search under demands: groups repaired and annealed region by region, the best kept.

In each stage the groups are divided anew into regions by cuts in random directions, which are
worked on side by side; then all is put together, and what is better than the best so far is kept,
part by part. The first stage mends groups that fall short; what it cannot is merged. From then on
every group keeps its demands after each stage, so any mixture of what stages found does.
"""

import time
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent, tell
from microagg.grouping.demands.annealing import anneal
from microagg.grouping.demands.book import Book
from microagg.grouping.demands.floor import lay
from microagg.grouping.demands.mending import mend, merge_short
from microagg.grouping.method import Mixed
from microagg.grouping.refine.combining import combine
from microagg.grouping.refine.drawing import draws
from microagg.grouping.refine.mixed import MixedField, combine_mixed
from microagg.grouping.refine.regions import cut_regions
from microagg.kernels.group_passes import group_scatter
from microagg.kernels.threads import run_each
from microagg.kernels.trees.lists import nearest_lists

# Units in a region: more do not stay in a core's cache.
_REGION = 1 << 14
# Near ones that are listed of each unit, and leaves that are looked at for them; and of more units
# than a region has.
_LISTED, _LOOKS, _FEWER, _FEWER_LOOKS = 32, 32, 16, 16
# Of 256 steps, up to the first a unit meets a near one, up to the second one near by value; and one
# in so many steps changes whole groups. So few steps of a unit in a stage are best spent on what is
# near.
_ODDS, _ODDS_OF_FEW, _FEW_STEPS = np.array([128, 192, 64]), np.array([240, 248, 16]), 10
# The temperature at the start, of the mean loss of a unit; and how far it falls.
_HOT, _FALL = 0.3, 300.0
# Where there are few steps a unit they start colder, for they cannot put together what heat breaks.
_MANY_STEPS = 1000.0
# Stages at most, and steps of each unit that a stage is worth laying a floor for.
_STAGES, _STEPS_A_STAGE = 12, 6
# As large a penalty as there is: what keeps its demands goes on keeping them; and one of some times
# a unit's loss, by which it may fall short for a while.
_NEVER, _BEARABLE = 1e300, 10.0


@dataclass
class Ground:
    """Units with what is known of them whatever their groups.

    mixed: what they lose, where that is not their squared distance from the mean: groups are
    annealed by distance, and what is better of two partitions is told by this.
    """

    points: NDArray[np.float64]
    k: int
    book: Book
    near: NDArray[np.int32]
    mixed: Mixed | None = None

    @classmethod
    def of(
        cls, points: NDArray[np.float64], k: int, book: Book, mixed: Mixed | None = None
    ) -> "Ground":
        """With lists of near units. O(n log n)."""
        n = len(points)
        listed, looks = (_LISTED, _LOOKS) if n <= _REGION else (_FEWER, _FEWER_LOOKS)
        everybody = np.arange(n, dtype=np.int32)
        rows, lists, _ = nearest_lists(points, everybody, min(listed, n - 1), looks)
        near = np.empty_like(lists)
        near[rows] = lists
        return cls(points, k, book, near, mixed)

    def rows(self, rows: NDArray[np.integer]) -> "Ground":
        """Some of the units by themselves."""
        inside = None if self.mixed is None else self.mixed.of(rows)
        points = np.ascontiguousarray(self.points[rows])
        return Ground.of(points, self.k, self.book.rows(rows), inside)

    def loss(self, labels: NDArray[np.int64]) -> float:
        """The SSE of groups."""
        groups = int(labels.max()) + 1
        columns = (np.ascontiguousarray(column) for column in self.points.T)
        return sum(group_scatter(column, labels, groups) for column in columns)

    def lost(self, labels: NDArray[np.int64]) -> float:
        """What groups lose: their SSE, unless units are mixed."""
        return better(self, labels, labels)[1]


def repair(
    ground: Ground, labels: NDArray[np.int64], rng: np.random.Generator, steps: int = 0
) -> NDArray:
    """Groups that keep the demands: see `mending`.

    steps: so many of a search on the way, while all groups lie there: of few steps most of the time
    would be spent on laying them out.
    """
    scale = ground.loss(labels) / len(labels)
    hot = scale * _heat(len(labels), steps)
    for some in (steps, 0):
        if some == 0 and not ground.book.shortfalls(labels).any():
            return labels
        labels = _stage(ground, labels, rng, some, hot, scale, hot / _FALL)
    return merge_short(ground.points, labels, ground.book)


def is_short(n: int, steps: int) -> bool:
    """Whether so many steps of n units are one stage."""
    return steps < 2 * _STEPS_A_STAGE * n


def _heat(n: int, steps: int) -> float:
    """The temperature at the start, of the mean loss of a unit."""
    return _HOT * min(1.0, max(0.1, steps / (_MANY_STEPS * n)))


def search_under(
    ground: Ground,
    labels: NDArray[np.int64],
    rng: np.random.Generator,
    steps: int,
    seconds: float,
    advance: Advance = silent,
    leniently: bool = False,
) -> NDArray[np.int64]:
    """Groups of less loss that keep the demands, from groups that do: so many steps, or seconds.

    leniently: in the first half of the stages they may fall short, and are repaired after each.
    """
    n, begun = len(labels), time.monotonic()
    spread = float(((ground.points - ground.points.mean(axis=0)) ** 2).sum())
    best, current = labels, labels
    hot = _heat(n, steps) * ground.loss(labels) / n
    stages = min(_STAGES, max(1, steps // (_STEPS_A_STAGE * n)))
    for stage in range(stages):
        if time.monotonic() - begun >= seconds or hot == 0.0:
            break
        part = steps * (stage + 1) // stages - steps * stage // stages
        # Rounded, so that every machine's power gives the same.
        cooled = np.round(_FALL ** (-np.array([stage, stage + 1]) / stages), 9)
        heat = hot * cooled[0], 0.0, hot * cooled[1]
        if leniently and 2 * stage < stages:
            penalty = _BEARABLE * ground.loss(labels) / n
            current = repair(ground, _stage(ground, current, rng, part, *heat, penalty), rng)
        else:
            current = _stage(ground, current, rng, part, *heat)
        best, _ = better(ground, best, current)
        advance((stage + 1) / stages)
        if spread > 0.0:
            tell(f"loss {100.0 * ground.loss(best) / spread:.4g} %")
    return best


def better(
    ground: Ground, best: NDArray[np.int64], other: NDArray[np.int64]
) -> tuple[NDArray[np.int64], float]:
    """Of two partitions what is better, part by part, in whole groups; and its loss."""
    lines = *_in_line(best), *_in_line(other)
    if ground.mixed is None:
        order, sizes, loss = combine(ground.points, *lines)
    else:
        field = MixedField(ground.points, ground.near, np.empty(0), *ground.mixed)
        order, sizes, loss = combine_mixed(field, *lines)
    labels = np.empty(order.size, np.int64)
    labels[order] = np.repeat(np.arange(sizes.size), sizes)
    return labels, loss


def _in_line(labels: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return np.argsort(labels, kind="stable").astype(np.int32), np.bincount(labels).astype(np.int32)


def _stage(
    ground: Ground,
    labels: NDArray[np.int64],
    rng: np.random.Generator,
    steps: int,
    hot: float,
    scale: float,
    cold: float = 0.0,
    penalty: float = _NEVER,
) -> NDArray[np.int64]:
    """Mend groups, where `scale` is given, and anneal them, region by region."""
    n = len(labels)
    groups = _regions(ground.points, labels, rng)
    seeds = rng.integers(1, 2**63, len(groups))
    found = np.empty(n, np.int64)
    place = np.full(n, -1, np.int32)
    of_region = np.empty(n, np.int32)
    rows = []
    for number, region in enumerate(groups):
        rows.append(region)
        of_region[region] = number
        place[region] = np.arange(region.size, dtype=np.int32)
    counts = np.zeros(len(rows), np.int64)

    def work(number: int) -> None:
        own = rows[number]
        whole = len(rows) == 1
        near = ground.near[own]
        near = np.where(of_region[near] == number, place[near], np.int32(-1))
        book = ground.book if whole else ground.book.rows(own)
        part = np.unique(labels[own], return_inverse=True)[1]
        order, sizes = np.argsort(part, kind="stable"), np.bincount(part)
        points = np.ascontiguousarray(ground.points[own])
        floor, free, vacant = lay(points, order, sizes, ground.k, book, near)
        if scale > 0.0:
            mend(floor, book.rules, book.units, ground.k, scale)
        some = steps * own.size // n
        if some > 0:
            odds = _ODDS if steps >= _FEW_STEPS * n else _ODDS_OF_FEW
            anneal(
                floor, book.rules, book.units, free, vacant, ground.k, some, hot, cold, penalty,
                odds, draws(), seeds[number],
            )  # fmt: skip
        # Groups that had no room on the floor are as they were.
        kept = np.where(floor.group >= 0, floor.group, floor.counts.size + part)
        numbers, kept = np.unique(kept, return_inverse=True)
        found[own] = kept
        counts[number] = numbers.size

    run_each([partial(work, number) for number in range(len(rows))])
    firsts = np.cumsum(counts) - counts
    return np.asarray(found + firsts[of_region])


def _regions(
    points: NDArray[np.float64], labels: NDArray[np.int64], rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """The units of each region, ascending; groups are whole."""
    n, groups = len(labels), int(labels.max()) + 1
    halvings = min(max(0, -(-n // _REGION) - 1).bit_length(), (groups // 16).bit_length() - 1)
    if halvings <= 0:
        return [np.arange(n)]
    sizes = np.bincount(labels)
    centres = np.array([np.bincount(labels, column) for column in points.T]) / sizes
    region_of = np.empty(groups, np.int64)
    for number, region in enumerate(cut_regions(centres, halvings, rng)):
        region_of[region] = number
    whose = region_of[labels]
    order = np.argsort(whose, kind="stable")
    return np.split(order, np.cumsum(np.bincount(whose))[:-1])
