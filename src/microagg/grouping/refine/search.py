"""Search: make any partition better, for as long as one likes to wait.

Simulated annealing by stages. In each stage the groups are divided anew into regions, by cuts in
random directions; the regions are annealed independently, side by side on two threads; then all is
put together again, and kept if it is the best so far. No step looks at more than a few neighbouring
groups, so a step costs the same among a thousand records as among millions.

How a region is annealed is told in `annealing`, how steps and time are spent in `budget`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.refine.annealing import LANES, anneal, draws
from microagg.grouping.refine.budget import Budget
from microagg.grouping.sequence.nearest import nearest_lists
from microagg.kernels.compiling import kernel
from microagg.kernels.threads import run_both
from microagg.progress import Report, silent

# Leaves that a search for neighbours may look at; fewer where it would take most of the time.
_LOOKS, _LOOKS_OF_MANY = 64, 32
_MANY = 50_000
# The most records in a region: among ten attributes, smaller ones are all border. And the fewest
# groups.
_REGION = 24_576
_GROUPS_A_REGION = 16

Seen = Callable[[NDArray[np.int32], NDArray[np.int32]], None]


class _Field(NamedTuple):
    """The records in an order that keeps near ones together, and what steps need to know of them.

    Attributes are centred and filled up with zeros to a multiple of LANES.
    """

    rows: NDArray[np.int32]
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
    report: Report = silent,
    *,
    steps: int | None = None,
    seconds: float | None = None,
    seen: Seen | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Rows group by group, and the sizes of the groups: k to 2k - 1 records each.

    Starts from the groups given by `order` and `sizes` and never ends with a larger SSE. With
    `steps`, that many moves are tried and the same generator gives the same groups, whatever the
    machine and its threads; with `seconds`, as many as fit, so the groups may differ from run to
    run. Interrupted from the keyboard it returns the best groups so far. `seen` is shown the groups
    at the end of every stage, rows group by group and sizes: good groups that the best may lack.

    A step takes O(d) time, a division into regions O(n (d + log n)); memory is O(n (d + k)).
    """
    if seconds is not None:
        _compile(records, k)
    budget = Budget(len(records), steps, seconds)
    order, sizes = _split_large(records, np.asarray(order), np.asarray(sizes), k)
    field, current = _enter(records, order, sizes, k)
    best, least = current, _sse(field.points, *current)
    try:
        while not budget.spent():
            current = _stage(field, current, k, rng, budget)
            total = _sse(field.points, *current)
            if total < least:
                best, least = current, total
            if seen is not None:
                seen(field.rows[current.order], current.sizes)
            report(budget.share())
    except KeyboardInterrupt:
        budget.stop()
    report(1.0)
    return field.rows[best.order], best.sizes


def _compile(records, k):
    """Have the kernels ready before time is taken."""
    few = np.ascontiguousarray(records[: 2 * k])
    field, groups = _enter(few, np.arange(2 * k), np.array([2 * k]), k)
    _stage(field, groups, k, np.random.default_rng(0), Budget(2 * k, 1, None))
    _sse(field.points, *groups)


def _split_large(records, order, sizes, k):
    """Cut groups of 2k and more into slices, from the record farthest from the centroid on."""
    if sizes.max() < 2 * k:
        return order, sizes
    order = order.copy()
    parts = []
    for rows in np.split(order, np.cumsum(sizes)[:-1]):
        count = rows.size // k
        parts.append(np.full(count, k))
        parts[-1][-1] += rows.size % k
        if count > 1:
            inside = records[rows]
            far = inside[np.argmax(((inside - inside.mean(axis=0)) ** 2).sum(axis=1))]
            rows[:] = rows[np.argsort(((inside - far) ** 2).sum(axis=1), kind="stable")]
    return order, np.concatenate(parts)


def _enter(records, order, sizes, k):
    """The field, and the groups as they stand in it."""
    n, d = records.shape
    everyone = np.arange(n, dtype=np.int32)
    looks = _LOOKS if n <= _MANY else _LOOKS_OF_MANY
    rows, lists, squares = nearest_lists(records, everyone, max(12, min(2 * k, 24)), looks)
    number = np.empty(n, np.int32)
    number[rows] = everyone
    points = np.zeros((n, -(-d // LANES) * LANES))
    points[:, :d] = records[rows] - records.mean(axis=0)
    groups = _Groups(number[order], sizes.astype(np.int32))
    # A step is judged between the scale of its neighbourhood and that of all, nearer to the first.
    local = np.zeros(n)
    for j in range(min(k, lists.shape[1])):
        local += np.where(squares[:, j] < np.inf, squares[:, j], 0.0)
    local *= 0.5 / min(k, lists.shape[1])
    root = np.sqrt(local)
    scales = root * np.sqrt(root) * np.sqrt(np.sqrt(local.mean()))
    return _Field(rows, points, number[lists], scales), groups


def _stage(field, groups, k, rng, budget):
    """Divide the groups into regions, anneal each of them, and put them together."""
    regions = _divide(field, groups, rng)
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
    steps, hot, cold = budget.stage(max(counts))
    allowed = draws()
    waiting = iter(range(len(regions)))

    def work() -> None:
        for r in waiting:
            if budget.over():
                return
            anneal(
                field.points,
                field.near,
                field.scales,
                order,
                place,
                sizes[slots[r] : slots[r + 1]],
                firsts[r],
                firsts[r + 1],
                k,
                steps * counts[r] // order.size,
                hot,
                cold,
                allowed,
                seeds[r],
            )

    if len(regions) == 1:
        work()
    else:
        run_both(budget.patient(work), budget.guarded(work))
    budget.take(steps)
    return _Groups(order, sizes[sizes > 0])


def _divide(field, groups, rng):
    """Group numbers by region: halved at the median along the line through two groups' centres."""
    n, g = groups.order.size, groups.sizes.size
    halvings = max(1, -(-n // _REGION) - 1).bit_length()
    halvings = min(halvings, (g // _GROUPS_A_REGION).bit_length() - 1)
    regions = [np.arange(g)]
    if halvings <= 0:
        return regions
    centres = _centres(field.points, *groups)
    for _ in range(halvings):
        halves = []
        for region in regions:
            one, other = rng.integers(0, region.size, 2)
            line = centres[:, region[one]] - centres[:, region[other]]
            along = np.zeros(region.size)
            for a in range(line.size):
                along += centres[a, region] * line[a]
            halves += np.array_split(region[np.argsort(along, kind="stable")], 2)
        regions = halves
    return regions


def _gather(groups, members):
    """The places of these groups, one group after the other."""
    sizes = groups.sizes[members]
    starts = np.cumsum(groups.sizes) - groups.sizes
    jumps = starts[members] - (np.cumsum(sizes) - sizes)
    return groups.order[np.repeat(jumps, sizes) + np.arange(groups.order.size)]


@kernel
def _centres(points, order, sizes):
    """Centroids, one line an attribute."""
    width = points.shape[1]
    centres = np.zeros((width, sizes.size))
    at = 0
    for group in range(sizes.size):
        for i in range(at, at + sizes[group]):
            for a in range(width):
                centres[a, group] += points[order[i], a]
        at += sizes[group]
        for a in range(width):
            centres[a, group] /= sizes[group]
    return centres


@kernel
def _sse(points, order, sizes):
    """The SSE of all groups, each about its own mean."""
    total = 0.0
    at = 0
    for group in range(sizes.size):
        last = at + sizes[group]
        for a in range(points.shape[1]):
            pivot = points[order[at], a]
            drift = 0.0
            for i in range(at, last):
                drift += points[order[i], a] - pivot
            mean = pivot + drift / sizes[group]
            for i in range(at, last):
                away = points[order[i], a] - mean
                total += away * away
        at = last
    return total
