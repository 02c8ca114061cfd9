"""Search: make any partition better, for as long as one likes to wait.

Simulated annealing by stages. In each stage the groups are divided anew into regions, by cuts in
random directions; the regions are annealed independently, side by side; then all is
put together again, and what is better than the best so far is kept, part by part. No step looks at
more than a few neighbouring groups, so a step costs the same among a thousand records as among
millions.

How a region is annealed is told in `annealing`, how steps and time are spent in `budget`, what is
kept in `combining`, and what is done about a few groups that hold most of the loss in `heaviest`.
"""

import math
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent, tell
from microagg.grouping.cluster.mdav import mdav
from microagg.grouping.method import Mixed
from microagg.grouping.refine.annealing import LANES, Care, anneal
from microagg.grouping.refine.budget import Budget
from microagg.grouping.refine.closer import closer_lists
from microagg.grouping.refine.combining import combine
from microagg.grouping.refine.drawing import draws
from microagg.grouping.refine.heaviest import REDONE, redo_heaviest, worth_redoing
from microagg.grouping.refine.mixed import MixedField, anneal_mixed, combine_mixed, total_cost
from microagg.grouping.refine.mixed_lists import NEIGHBOURS, mixed_lists
from microagg.grouping.refine.regions import centres_of, cut_regions
from microagg.kernels.threads import run_blocks, run_each
from microagg.kernels.trees.few import FEW
from microagg.kernels.trees.lists import nearest_lists

# Leaves that a search for neighbours looks at: twice as many as there will be steps a record, so
# that it takes a good part of the time, but not most of it. What the lists lack, no step can find.
_LOOKS_A_STEP = 2
_FEWEST_LOOKS, _MOST_LOOKS = 16, 128
# The most records in a region: among ten attributes, smaller ones are all border. And the fewest
# groups.
_REGION = 98_304
_GROUPS_A_REGION = 16
# Records that a thread prepares at a time.
_ROWS_AT_ONCE = 1 << 14
# With how much care steps are chosen: where they are aimed, and where there are fewer than so many
# a record; by categories likewise.
_AIMED = Care(8, 4, 1.5)
_CAREFUL = Care(8)
_MANY_STEPS, _MANY_STEPS_IF_MIXED = 4000, 100

Seen = Callable[[NDArray[np.integer], NDArray[np.integer]], None]


def _never() -> bool:
    return False


def _combine_points(field, *groups):
    return combine(field.points, *groups)


class _Field(NamedTuple):
    """The records in an order that keeps near ones together, and what steps need to know of them.

    Attributes are centred and filled up with zeros to a multiple of LANES.
    """

    points: NDArray[np.float64]
    near: NDArray[np.int32]
    scales: NDArray[np.float64]


class _Groups(NamedTuple):
    """Places in the field group by group, and the sizes of the groups."""

    order: NDArray[np.int32]
    sizes: NDArray[np.int32]


def search(
    records: NDArray[np.float64],
    order: NDArray[np.integer],
    sizes: NDArray[np.integer],
    k: int,
    rng: np.random.Generator,
    advance: Advance = silent,
    *,
    steps: int | None = None,
    seconds: float = math.inf,
    seen: Seen | None = None,
    mixed: Mixed | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Rows group by group, and the sizes of the groups: k to 2k - 1 records each.

    Starts from the groups given by `order` and `sizes` and never ends with a larger SSE. With
    `steps`, that many moves are tried and the same generator gives the same groups, whatever the
    machine and its threads; with `seconds`, as many as fit, so the groups may differ from run to
    run. `seen` is shown the groups at the end of every stage, rows group by group and sizes: good
    groups that the best may lack. `mixed` is what records lose where that is not the SSE: then it
    is that loss which never rises.

    A step takes O(d) time, a division into regions O(n (d + log n)); memory is O(n (d + k)).
    """
    if seconds < math.inf:
        compile_search(records, k, mixed)
    budget = Budget(len(records), steps, seconds)
    try:
        work = Search(records, order, sizes, k, budget.each(), budget.over, mixed)
    except TimeoutError:
        advance(1.0)
        return split_large(records, order, sizes, k)
    seek(work, rng, steps, budget.left(), advance, seen)
    advance(1.0)
    return work.groups()


def seek(
    work: "Search",
    rng: np.random.Generator,
    steps: int | None,
    seconds: float = math.inf,
    advance: Advance = silent,
    seen: Seen | None = None,
    warm: bool = False,
) -> None:
    """Spend so many steps or seconds on all records and, if that pays, on the heaviest groups.

    warm: the groups have been annealed before.
    """
    n = len(work.records)
    whole = Budget(n, steps, seconds, warm, can_aim=work.mixed is None)
    if work.mixed is not None:
        work.run(rng, whole, advance, seen)
        return
    if not worth_redoing(work, steps, seconds):
        work.run(rng, whole, advance, seen)
        return
    most = None if steps is None else int((1.0 - REDONE) * steps)
    first = Budget(n, most, (1.0 - REDONE) * seconds, warm, can_aim=True)
    work.run(rng, first, lambda done: advance((1.0 - REDONE) * done), seen)
    left = redo_heaviest(
        work,
        rng,
        lambda done: advance(1.0 - REDONE + REDONE * done),
        steps=None if steps is None or most is None else steps - most,
        seconds=whole.left(),
        speed=first.speed(),
    )
    rest = Budget(n, None if steps is None else left, whole.left(), warm=True)
    work.run(rng, rest, silent, seen)


class Search:
    """A search that can be stopped, helped from outside, and taken up again."""

    def __init__(
        self,
        records: NDArray[np.float64],
        order: NDArray[np.integer],
        sizes: NDArray[np.integer],
        k: int,
        each: float = np.inf,
        late: Callable[[], bool] = _never,
        mixed: Mixed | None = None,
    ) -> None:
        """Get ready, which takes a while for many records; a TimeoutError if that gets late.

        each: about how many steps there will be for each record.
        """
        # Where there are categories, lists are made by them.
        most = _MOST_LOOKS if mixed is None else _FEWEST_LOOKS
        looks = int(min(max(_LOOKS_A_STEP * each, _FEWEST_LOOKS), most))
        self._rows, self._field, self._start = _enter(
            records, *split_large(records, order, sizes, k), k, looks, late, mixed
        )
        self._best = self._start
        self.records, self._k, self.mixed = records, k, mixed
        self._late = _never
        if mixed is None:
            self._anneal, self._combine = anneal, _combine_points
            self._spread = float(np.einsum("ij,ij->", self._field.points, self._field.points))
        else:
            self._anneal, self._combine = anneal_mixed, combine_mixed
            self._spread = total_cost(self._field)

    def run(
        self, rng: np.random.Generator, budget: Budget, advance: Advance, seen: Seen | None = None
    ) -> None:
        """Spend the budget."""
        current = self._best
        done = budget.spent() or self._late()
        while not done:
            local = budget.local()
            start = self._best if local else current
            current = _stage(self._anneal, self._field, start, self._k, rng, budget, local)
            done = budget.spent() or self._late()
            if done or not budget.few():
                self._keep(current)
            if seen is not None:
                seen(self._rows[current.order], current.sizes)
            advance(budget.share())

    def take(self, order: NDArray[np.integer], sizes: NDArray[np.integer]) -> None:
        """Keep what is better in these groups."""
        number = np.empty_like(self._rows)
        number[self._rows] = np.arange(number.size, dtype=np.int32)
        self._keep(_Groups(number[order], sizes.astype(np.int32)))

    def within(self, rows: NDArray[np.integer]) -> "Search":
        """A search of some of the records by themselves, from the start, which tells nothing."""
        part = np.ascontiguousarray(self.records[rows])
        inside = Search(part, *mdav(part, self._k), self._k)
        inside._spread, inside._late = 0.0, self._late
        return inside

    def anew(self, late: Callable[[], bool]) -> "Search":
        """This search from its start, which tells nothing and stops where it is when it is late."""
        other = copy(self)
        other._best, other._spread, other._late = self._start, 0.0, late
        return other

    def take_part(self, order: NDArray[np.integer], sizes: NDArray[np.integer]) -> None:
        """Keep what is better in groups of some of the records, which make up whole groups now."""
        now, sizes_now = self.groups()
        other = np.ones(now.size, bool)
        other[order] = False
        kept = other[now[np.cumsum(sizes_now) - sizes_now]]
        self.take(
            np.concatenate([now[np.repeat(kept, sizes_now)], order]),
            np.concatenate([sizes_now[kept], sizes]),
        )

    def groups(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The best so far: rows group by group, and the sizes."""
        return self._rows[self._best.order], self._best.sizes

    def _keep(self, groups: _Groups) -> None:
        *best, total = self._combine(self._field, *self._best, *groups)
        self._best = _Groups(*best)
        if self._spread > 0.0:
            tell(f"loss {100.0 * total / self._spread:.4g} %")


def compile_search(records: NDArray[np.float64], k: int, mixed: Mixed | None = None) -> None:
    """Have the kernels ready before time is taken; some of them only more than `FEW` need."""
    n = min(len(records), max(2 * k, FEW + 1 if len(records) > FEW else 0))
    few = np.ascontiguousarray(records[:n])
    part = None if mixed is None else mixed.of(np.arange(n))
    work = Search(few, np.arange(n), np.array([n]), k, mixed=part)
    work.run(np.random.default_rng(0), Budget(n, 1), silent)


def split_large(
    records: NDArray[np.float64], order: NDArray[np.integer], sizes: NDArray[np.integer], k: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Cut groups of 2k and more into slices, from the record farthest from the centroid on."""
    line = order.astype(np.int32)
    if sizes.max() < 2 * k:
        return line, sizes.astype(np.int32)
    parts = []
    for rows in np.split(line, np.cumsum(sizes)[:-1]):
        count = rows.size // k
        parts.append(np.full(count, k, np.int32))
        parts[-1][-1] += rows.size % k
        if count > 1:
            inside = records[rows]
            far = inside[np.argmax(((inside - inside.mean(axis=0)) ** 2).sum(axis=1))]
            rows[:] = rows[np.argsort(((inside - far) ** 2).sum(axis=1), kind="stable")]
    return line, np.concatenate(parts)


def _enter(records, order, sizes, k, looks, late, mixed):
    """The field, and the groups as they stand in it."""
    n, d = records.shape
    everyone = np.arange(n, dtype=np.int32)

    def check(_share):
        if late():
            raise TimeoutError

    count = max(12, min(2 * k, 24)) if mixed is None else NEIGHBOURS
    rows, lists, squares = nearest_lists(records, everyone, count, looks, check)
    check(1.0)
    number = np.empty(n, np.int32)
    number[rows] = everyone
    points = np.zeros((n, -(-d // LANES) * LANES))
    means = records.mean(axis=0)

    def settle(first: int, last: int) -> None:
        lists[first:last] = number[lists[first:last]]
        points[first:last, :d] = records[rows[first:last]] - means

    run_blocks(settle, n, _ROWS_AT_ONCE)
    if mixed is not None:
        mixed = mixed.of(rows)
        lists, squares = mixed_lists(mixed, lists)
        check(1.0)
    elif n > FEW:
        lists, squares = closer_lists(points, lists, squares)
        check(1.0)
    # A step is judged between the scale of its neighbourhood and that of all, nearer to the first.
    local = _mean_square(squares, k)
    del squares
    local *= 0.5 if mixed is None else 1.0
    root = np.sqrt(local)
    scales = root * np.sqrt(root) * np.sqrt(np.sqrt(local.mean()))
    field = _Field(points, lists, scales)
    if mixed is not None:
        field = MixedField(*field, *mixed)
    return rows, field, _Groups(number[order], sizes)


def _mean_square(squares, k):
    """Mean squared distances from the k nearest, or as many as there are."""
    n, asked = len(squares), min(k, squares.shape[1])
    total = np.zeros(n)

    def measure(first: int, last: int) -> None:
        for j in range(asked):
            away = squares[first:last, j]
            total[first:last] += np.where(away < np.inf, away, 0.0)

    run_blocks(measure, n, _ROWS_AT_ONCE)
    return total / asked


def _stage(annealing, field, groups, k, rng, budget, local):
    """Divide the groups into regions, anneal each of them, and put them together."""
    regions = _divide(field, groups, rng, local)
    members = np.concatenate(regions)
    order = _gather(groups, members)
    place = np.empty_like(order)
    place[order] = np.arange(order.size, dtype=np.int32)
    counts = [int(groups.sizes[region].sum()) for region in regions]
    firsts = np.cumsum([0, *counts])
    slots = np.cumsum([0, *(count // k for count in counts)])
    sizes = np.zeros(slots[-1], np.int32)
    for region, slot in zip(regions, slots, strict=False):
        sizes[slot : slot + region.size] = groups.sizes[region]
    seeds = rng.integers(1, 2**63, len(regions))
    steps, hot, cold = budget.stage(len(regions), local)
    many = _MANY_STEPS if annealing is anneal else _MANY_STEPS_IF_MIXED
    care = _AIMED if budget.aims() else _CAREFUL if budget.each() < many else Care(1)
    allowed = draws()

    def work(r: int) -> None:
        if not budget.over():
            own, (first, last) = sizes[slots[r] : slots[r + 1]], firsts[r : r + 2]
            some = steps * counts[r] // order.size
            ways = hot, cold, care, allowed, seeds[r]
            annealing(field, order, place, own, first, last, k, some, *ways)

    run_each([partial(work, r) for r in range(len(regions))])
    budget.take(steps)
    return _Groups(order, sizes[sizes > 0])


def _divide(field, groups, rng, local):
    """Group numbers by region: halved at the median along the line through two groups' centres.

    Few and large regions, or else as many as there can be.
    """
    n, g = groups.order.size, groups.sizes.size
    halvings = (g // _GROUPS_A_REGION).bit_length() - 1
    if not local:
        halvings = min(halvings, max(1, -(-n // _REGION) - 1).bit_length())
    if halvings <= 0:
        return [np.arange(g)]
    regions = cut_regions(centres_of(field.points, *groups), halvings, rng)
    # In the order of the field, near groups stand together in memory too.
    firsts = groups.order[np.cumsum(groups.sizes) - groups.sizes]

    def put_in_order(r: int) -> None:
        regions[r] = regions[r][np.argsort(firsts[regions[r]])]

    run_each([partial(put_in_order, r) for r in range(len(regions))])
    return regions


def _gather(groups, members):
    """The places of these groups, one group after the other."""
    sizes = groups.sizes[members]
    starts = np.cumsum(groups.sizes) - groups.sizes
    jumps = starts[members] - (np.cumsum(sizes) - sizes)
    return groups.order[np.repeat(jumps, sizes) + np.arange(groups.order.size)]
