"""RepOrdMic: put the records in line group by group, split the line, and do so again.

Mortazavi, "Repeated record ordering for constrained size clustering" (Algorithm 1). The groups of
one round stand side by side in the line of the next, so the best split of that line is at least
as good: the SSE falls round by round.
"""

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.grouping.method import Groups, Method, Option, Task, whole
from microagg.grouping.sequence.kmeans import kmeans
from microagg.grouping.sequence.split import split_sequence, split_task
from microagg.kernels.compiling import inner, kernel
from microagg.kernels.threads import run_all
from microagg.kernels.trees.nearest import hide, make_space, nearest
from microagg.kernels.trees.planting import LEAF, NONE, Tree, plant

_DEFAULT_CLUSTERS = (1, 2, 5, 10, 20, 50, 100, 200)
_DEFAULT_CLUSTERS_OF_MANY = (50, 200)
_MANY = 10_000
_ENOUGH = 1e-7
# Inserting the members of a cluster takes time as the square of their number.
_LARGEST_CLUSTER = 4096
# Pieces are compact down to so many records.
_FEW = 12
_RECORDS_A_CALL = 1 << 14


def reorder(
    records: NDArray[np.float64],
    k: int,
    rng: np.random.Generator,
    advance: Advance = silent,
    clusters: int | Iterable[int] | None = None,
    *,
    turn: bool = True,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Rows group by group, and the sizes of the groups: k to 2k - 1 records each.

    clusters: how many clusters k-means starts from; of several numbers the best result is kept
    (the paper tries 1 to 200). Each start is drawn on its own: what a number yields does not depend
    on the others, so more numbers are never worse. None tries eight, or two from 10,000 records.
    turn: when a round no longer helps, go on from the other end of the line, until that does not
    help either. False is the paper's algorithm to the letter: every line starts at the record
    farthest from the centroid. Turning takes two to four times as many rounds and loses less.

    Each round costs O(n k (k + d)) for ordering and splitting and O(n / k) searches of a tree for
    the nearest record not yet in line, O(n d) each at worst. The first round inserts whole
    clusters, in O(m^2 d) time for one of m members. Memory is O(n d).

    Departures from the paper: turning; a cluster of more than 4096 members is first cut into
    compact pieces of at most so many; insertion costs are kept and brought up to date rather than
    computed anew; ties go to the record, then to the left neighbour, that comes first in the input.
    """
    wanted = _cluster_numbers(clusters, len(records))
    seed = int(rng.integers(2**63))
    tree = plant(records)
    found: dict[int, Rounds] = {}

    def begin(place: int, advance: Advance) -> None:
        rng = np.random.default_rng([seed, wanted[place]])
        labels = kmeans(records, wanted[place], rng, spread=False)
        found[place] = repeat_rounds(tree, records, labels, k, turn, advance)

    run_all(begin, np.ones(len(wanted), np.int64), advance)
    advance(1.0)
    best = min(range(len(wanted)), key=lambda place: found[place].sse)
    return found[best].line, found[best].sizes


def _cluster_numbers(clusters: int | Iterable[int] | None, n: int) -> list[int]:
    if clusters is None:
        clusters = _DEFAULT_CLUSTERS if n < _MANY else _DEFAULT_CLUSTERS_OF_MANY
    numbers = [clusters] if isinstance(clusters, int | np.integer) else clusters
    return sorted({max(1, min(int(number), n)) for number in numbers})


def _farthest(records):
    """The record farthest from the centroid of all."""
    return int(np.argmax(((records - records.mean(axis=0)) ** 2).sum(axis=1)))


class Rounds(NamedTuple):
    """Where the rounds from one clustering ended."""

    sse: float
    line: NDArray[np.int64]
    sizes: NDArray[np.int32]
    rounds: int


def repeat_rounds(
    tree: Tree,
    records: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    turn: bool,
    advance: Advance = silent,
) -> Rounds:
    """Order and split until the SSE no longer falls, from clusters; the tree has all records."""
    line, sizes = _cut_large(records, labels)
    start = _farthest(records)
    best = math.inf
    rounds = 0
    idle = False
    while True:

        def tell(share: float, rounds: int = rounds) -> None:
            advance(1.0 - 0.9 ** (rounds + share))

        candidate = order_groups(tree, records, line, sizes, start, tell)
        in_line = records[candidate]
        candidate_sizes = split_sequence(in_line, k)
        sse = _scatter(in_line, candidate_sizes)
        rounds += 1
        gain = best - sse
        if gain > 0.0:
            best, line, sizes = sse, candidate, candidate_sizes
        if gain >= _ENOUGH:
            idle = False
        elif turn and not idle:
            start = line[-1]
            idle = True
        else:
            return Rounds(best, line, sizes, rounds)


def _cut_large(records, labels):
    """Rows cluster by cluster, and the sizes; what is cut is cut into compact pieces."""
    members = np.bincount(labels)
    members = members[members > 0]
    rows = np.arange(labels.size)
    if members.max() > _LARGEST_CLUSTER:
        _put_near_together(records, rows)
    line = rows[np.argsort(labels[rows], kind="stable")]
    pieces = -(-members // _LARGEST_CLUSTER)
    sizes = np.repeat(members // pieces, pieces)
    firsts = np.cumsum(pieces) - pieces
    extra = np.repeat(members % pieces, pieces)
    sizes += np.arange(sizes.size) - np.repeat(firsts, pieces) < extra
    return line, sizes.astype(np.int32)


def _put_near_together(records, rows):
    """Halve the rows at the median of their widest side again and again, down to a few."""
    for level in range((rows.size // _FEW).bit_length() - 1):
        edges = np.arange((1 << level) + 1) * rows.size >> level
        for first, last in pairwise(edges):
            part = records[rows[first:last]]
            widest = np.argmax(part.max(axis=0) - part.min(axis=0))
            rows[first:last] = rows[first:last][np.argsort(part[:, widest], kind="stable")]


def order_groups(tree, records, groups, sizes, start, advance=silent):
    """Algorithm 1, steps 1 to 12: the rows, from `start`, in one line."""
    n = groups.size
    tree = tree._replace(least=tree.least.copy(), cells=tree.cells.copy(), rows=tree.rows.copy())
    starts = np.zeros(sizes.size + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    labels = np.empty(n, np.int64)
    labels[groups] = np.repeat(np.arange(sizes.size), sizes)
    line = np.empty(n, np.int64)
    widest = int(sizes.max())
    filled = 0
    while filled < n:
        until = min(n, filled + _RECORDS_A_CALL)
        filled = _fill_line(
            tree, records, groups, starts, labels, widest, start, line, filled, until
        )
        advance(filled / n)
    return line


@kernel
def _fill_line(tree, records, groups, starts, labels, widest, start, line, filled, until):
    """Put whole groups in line until `until` records stand there; return how many do."""
    attributes = records.shape[1]
    space = make_space(1, np.empty(0, np.int64))
    rows = np.empty(widest, np.int64)
    columns = np.empty((attributes, widest))
    following = np.empty(widest, np.int64)
    lengths = np.empty(widest)
    costs = np.empty(widest)
    sides = np.empty(widest, np.int64)
    away = np.empty(widest)
    while filled < until:
        current = start
        if filled > 0:
            last = line[filled - 1]
            leaf = tree.slots[last] // LEAF
            nearest(tree, records[last], leaf, NONE, math.inf, space)
            current = np.int64(space.rows[0])
        group = labels[current]
        members = starts[group + 1] - starts[group]
        for i in range(members):
            row = groups[starts[group] + i]
            rows[i] = row
            hide(tree, row)
            if row == current:
                rows[i] = rows[0]
                rows[0] = current
        for i in range(members):
            for a in range(attributes):
                columns[a, i] = records[rows[i], a]
        _insert(columns, rows, members, following, lengths, costs, sides, away)
        slot = 0
        for _ in range(members):
            line[filled] = rows[slot]
            filled += 1
            slot = following[slot]
    return filled


@inner
def _insert(columns, rows, members, following, lengths, costs, sides, away):
    """Steps 6 to 11: link the members from the first to the farthest, each where it costs least.

    Members in line come first, in the order of their insertion; `following` links them and
    `lengths` are the distances along the links. `costs` and `sides` are the least cost of every
    other member and the left end of its link. When that link is cut the member's side becomes -1
    and its cost, now a lower bound, is brought up to date only once it is the least of all.
    """
    following[0] = 0
    if members == 1:
        return
    # Typed: literals would have the functions they are passed to compiled once more.
    head, tail, third = np.int64(0), np.int64(1), np.int64(2)
    _distances(columns, head, tail, members, away)
    far = tail
    for i in range(2, members):
        if away[i] > away[far] or (away[i] == away[far] and rows[i] < rows[far]):
            far = i
    _swap(columns, rows, far, tail)
    away[far] = away[1]
    lengths[0] = _distance(columns, head, tail)
    following[0] = 1
    following[1] = -1
    for i in range(2, members):
        costs[i] = away[i]
        sides[i] = 0
    _distances(columns, tail, third, members, away)
    for i in range(2, members):
        costs[i] = costs[i] + away[i] - lengths[0]
    for slot in range(2, members):
        while True:
            best = slot
            for i in range(slot + 1, members):
                if costs[i] < costs[best] or (costs[i] == costs[best] and rows[i] < rows[best]):
                    best = i
            if sides[best] >= 0:
                break
            _distances(columns, best, head, slot, away)
            costs[best] = math.inf
            for i in range(slot):
                after = following[i]
                if after < 0:
                    continue
                cost = away[i] + away[after] - lengths[i]
                if cost < costs[best] or (cost == costs[best] and rows[i] < rows[sides[best]]):
                    costs[best] = cost
                    sides[best] = i
        before = sides[best]
        after = following[before]
        _swap(columns, rows, best, slot)
        costs[best] = costs[slot]
        sides[best] = sides[slot]
        following[before] = slot
        following[slot] = after
        lengths[before] = _distance(columns, before, slot)
        lengths[slot] = _distance(columns, slot, after)
        _distances(columns, slot, slot + 1, members, away)
        for i in range(slot + 1, members):
            if sides[i] == before:
                sides[i] = -1
            # The triangle inequality bounds the cost of both new links from below.
            reach = 0.5 * costs[i] + 1e-9 * away[i]
            if away[i] - lengths[before] <= reach:
                cost = _distance(columns, before, i) + away[i] - lengths[before]
                if cost < costs[i] or (
                    cost == costs[i] and sides[i] >= 0 and rows[before] < rows[sides[i]]
                ):
                    costs[i] = cost
                    sides[i] = before
            if away[i] - lengths[slot] <= reach:
                cost = away[i] + _distance(columns, after, i) - lengths[slot]
                if cost < costs[i] or (
                    cost == costs[i] and sides[i] >= 0 and rows[slot] < rows[sides[i]]
                ):
                    costs[i] = cost
                    sides[i] = slot


@kernel
def _distances(columns, slot, first, last, away):
    """Distances of one member to a run of members; the same bits as `_distance`."""
    away = away[first:last]
    for i in range(away.size):
        away[i] = 0.0
    for a in range(columns.shape[0]):
        value = columns[a, slot]
        column = columns[a, first:last]
        for i in range(column.size):
            apart = column[i] - value
            away[i] += apart * apart
    for i in range(away.size):
        away[i] = math.sqrt(away[i])


@inner
def _distance(columns, one, other):
    square = 0.0
    for a in range(columns.shape[0]):
        apart = columns[a, one] - columns[a, other]
        square += apart * apart
    return math.sqrt(square)


@inner
def _swap(columns, rows, one, other):
    rows[one], rows[other] = rows[other], rows[one]
    for a in range(columns.shape[0]):
        columns[a, one], columns[a, other] = columns[a, other], columns[a, one]


@kernel
def _scatter(records, sizes):
    """SSE of consecutive groups, each summed relative to its own mean."""
    attributes = records.shape[1]
    total = 0.0
    first = 0
    for group in range(sizes.size):
        last = first + sizes[group]
        for a in range(attributes):
            pivot = records[first, a]
            drift = 0.0
            for i in range(first, last):
                drift += records[i, a] - pivot
            mean = pivot + drift / sizes[group]
            for i in range(first, last):
                away = records[i, a] - mean
                total += away * away
        first = last
    return total


def _group(task: Task) -> Groups:
    clusters = task.options["clusters"]
    order, sizes = reorder(task.records, task.k, task.rng, task.advance, clusters=clusters)
    # The rounds weigh z-scores; only the last line is split anew, about integers.
    return (order, sizes) if task.whole is None else split_task(task, order.astype(np.int32))


def _check_clusters(given: Any) -> list[int]:
    numbers = [whole(1)(each) for each in np.atleast_1d(given).tolist()]
    if not numbers:
        raise ValueError
    return numbers


CLUSTERS = Option(
    "clusters",
    "how many initial clusters, or several numbers to try",
    None,
    _check_clusters,
    "a whole number, 1 or more, or several, such as range(1, 21)",
)
METHODS = (
    Method(
        "reporder",
        "records ordered cluster by cluster, split, and ordered again until the loss stops falling",
        "RepOrdMic, Algorithm 1",
        "about O(n^1.5) an iteration",
        _group,
        options=(CLUSTERS,),
        integer=True,
    ),
)
