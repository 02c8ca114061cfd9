"""t-merge, t-swap and t-first: three published ways to t-closeness, to compare with.

Soria-Comas, Domingo-Ferrer, Sánchez and Martínez, "t-Closeness through Microaggregation: Strict
Privacy with Enhanced Utility Preservation", IEEE Transactions on Knowledge and Data Engineering 27
(2015). They order values without ties; here equal values are one value, so the bound of t-first can
be missed by a little, and what does not hold in the end is merged as in t-merge.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from microagg.base.errors import OptionError
from microagg.grouping.cluster.mdav import mdav
from microagg.grouping.demands.book import Book
from microagg.grouping.demands.demand import ORDERED
from microagg.grouping.demands.floor import BEGIN, change_line
from microagg.grouping.demands.judging import gather, reach
from microagg.grouping.method import Groups, Method, Task
from microagg.kernels.compiling import kernel


def t_merge(points: NDArray[np.float64], k: int, book: Book, _rule: int) -> NDArray[np.int64]:
    """MDAV, and then the class farthest from its demands joins the nearest until all keep them.

    Nearest is by centroids. O(n) for each merge.
    """
    order, sizes = mdav(points, k)
    labels = np.empty(len(points), np.int64)
    labels[order] = np.repeat(np.arange(sizes.size), sizes)
    return merge_worst(points, labels, book)


def merge_worst(
    points: NDArray[np.float64], labels: NDArray[np.int64], book: Book
) -> NDArray[np.int64]:
    """Join the group farthest from its demands with the nearest until all keep them."""
    short = book.shortfalls(labels)
    sizes = np.bincount(labels)
    sums = [np.bincount(labels, column) for column in points.T]
    centres = np.column_stack(sums) / sizes[:, None]
    labels = labels.copy()
    while short.any() and np.isfinite(centres[:, 0]).sum() > 1:
        worst = int(short.argmax())
        away = ((centres - centres[worst]) ** 2).sum(axis=1)
        away[worst] = np.inf
        near = int(away.argmin())
        total = sizes[near] + sizes[worst]
        centres[near] += (centres[worst] - centres[near]) * (sizes[worst] / total)
        sizes[near] = total
        centres[worst], short[worst] = np.inf, 0.0
        labels[labels == worst] = near
        members = np.flatnonzero(labels == near)
        part = book.rows(members)
        short[near] = part.shortfalls(np.zeros(members.size, np.int64))[0]
    return np.unique(labels, return_inverse=True)[1]


def t_swap(points: NDArray[np.float64], k: int, book: Book, rule: int) -> NDArray[np.int64]:
    """k-anonymity first: a cluster of the k nearest swaps members while that brings it closer.

    Seeds as in MDAV: the record farthest from the centroid of those left, then the one farthest
    from that. Until the cluster is close enough, the next nearest record left takes the place of
    the member for which that brings the cluster closest to the whole, if it does at all. What is
    not close enough in the end is merged. O(n^2 size) time.
    """
    n, group, seed = len(points), 0, 0
    labels = np.full(n, -1)
    left = np.arange(n)
    room = np.empty(
        (book.units.ranks.shape[0] + 1, (k + 1) * np.diff(book.units.starts).max()), np.int32
    )
    while left.size >= 2 * k:
        around = points[seed] if group % 2 else _centroid(points, left, left.size)
        seed = _farthest(points, left, left.size, around)
        squares = np.zeros(left.size)
        for column in points.T:
            squares += (column[left] - column[seed]) ** 2
        near = left[np.argsort(squares, kind="stable")].astype(np.int32)
        _swap_members(book.rules, book.units, rule, near, k, room)
        labels[near[:k]] = group
        left = left[labels[left] < 0]
        group += 1
    labels[left] = group
    return merge_worst(points, labels, book)


def t_first(points: NDArray[np.float64], k: int, book: Book, rule: int) -> NDArray[np.int64]:
    """t-closeness first: a cluster has a record of each of many parts by value.

    Units are ranked by value and divided into parts of the same size; a cluster takes the unit
    nearest to its seed from each. So many parts, k or more, that t <= (n - k) / (2 (n - 1) k) by
    construction; what is left over is in the middle part. Seeds as in `t_swap`. O(n^2 / k) time.
    """
    labels = first_groups(points, parts_for(len(points), k, book.rules.limits[rule, 0]), book, rule)
    return merge_worst(points, labels, book)


def parts_for(n: int, k: int, t: float) -> int:
    """How many units clusters of `t_first` have, at least k."""
    parts = max(k, int(np.ceil(n / (2.0 * (n - 1) * t + 1.0))))
    # What is left over must find a cluster each.
    return min(n, parts + n % parts // (n // parts)) if parts < n else n


def first_groups(
    points: NDArray[np.float64], parts: int, book: Book, rule: int
) -> NDArray[np.int64]:
    """Clusters with a unit of each of so many parts by value."""
    n = len(points)
    groups = n // parts
    column = book.rules.columns[rule]
    by_rank = np.argsort(book.units.ranks[column, book.units.starts[:-1]], kind="stable")
    sizes = np.full(parts, groups)
    sizes[parts // 2] += n - groups * parts
    part = np.empty(n, np.int64)
    part[by_rank] = np.repeat(np.arange(parts), sizes)
    labels = np.empty(n, np.int64)
    _take_one_of_each(points, part, sizes, groups, labels)
    return labels


@kernel
def _farthest(points, left, count, point):
    """The first of the units left[:count] that is farthest from a point."""
    best, found = -1.0, 0
    for i in range(count):
        square = 0.0
        for a in range(points.shape[1]):
            away = points[left[i], a] - point[a]
            square += away * away
        if square > best:
            best, found = square, left[i]
    return found


@kernel
def _centroid(points, left, count):
    """The mean of the units left[:count]."""
    mean = np.zeros(points.shape[1])
    for i in range(count):
        for a in range(mean.size):
            mean[a] += points[left[i], a] / count
    return mean


@kernel
def _take_one_of_each(points, part, sizes, groups, labels):
    """Clusters around seeds far out, each with the nearest unit of every part."""
    n, parts = part.size, sizes.size
    left = np.arange(n)
    count = n
    waiting = sizes.copy()
    least = np.empty(parts)
    nearest = np.empty(parts, np.int64)
    labels[:] = -1
    seed = 0
    for group in range(groups):
        if group % 2 == 0:
            seed = _farthest(points, left, count, _centroid(points, left, count))
        else:
            seed = _farthest(points, left, count, points[seed])
        # A part with more units than clusters to come gives two.
        for turn in range(2):
            least[:] = np.inf
            for i in range(count):
                unit = left[i]
                if labels[unit] >= 0 or (turn == 1 and waiting[part[unit]] <= groups - group - 1):
                    continue
                square = 0.0
                for a in range(points.shape[1]):
                    away = points[unit, a] - points[seed, a]
                    square += away * away
                if square < least[part[unit]]:
                    least[part[unit]], nearest[part[unit]] = square, unit
            for each in range(parts):
                if least[each] < np.inf:
                    labels[nearest[each]] = group
                    waiting[each] -= 1
            if waiting.max() <= groups - group - 1:
                break
        kept = 0
        for i in range(count):
            if labels[left[i]] < 0:
                left[kept] = left[i]
                kept += 1
        count = kept


@kernel
def _swap_members(rules, units, rule, near, k, room):
    """Have near[:k] be a cluster that is close enough, by swaps with those that follow."""
    column, t = rules.columns[rule], rules.limits[rule, 0]
    line, other = room[column], room[room.shape[0] - 1]
    size = gather(units, near, BEGIN, k, room)
    now = reach(rules, rule, line, size)
    at = k
    while now > t and at < near.size:
        best, leaver = now, -1
        for i in range(k):
            out, into = np.int64(near[i]), np.int64(near[at])
            filled = change_line(units, column, line, size, out, into, other)
            then = reach(rules, rule, other, filled)
            if then < best:
                best, leaver = then, i
        if leaver >= 0:
            near[leaver] = near[at]
            size = gather(units, near, BEGIN, k, room)
            now = best
        at += 1


Way = Callable[[NDArray[np.float64], int, Book, int], NDArray[np.int64]]


def _group(name: str, way: Way, task: Task) -> Groups:
    book = task.demands
    close = [] if book is None else np.flatnonzero(book.rules.kinds == ORDERED).tolist()
    if book is None or not close:
        raise OptionError(f"method {name!r} needs {_NEEDS}")
    labels = way(task.records, task.k, book, close[0])
    task.advance(1.0)
    return np.argsort(labels, kind="stable"), np.bincount(labels)


_NEEDS = "a closeness demand on a column with an order, such as closeness = {income = 0.15}"
_PAPER = "Soria-Comas, Domingo-Ferrer, Sánchez and Martínez 2015"
METHODS = tuple(
    Method(
        name,
        f"{words}; only under a closeness demand",
        _PAPER,
        time,
        partial(_group, name, way),
        bounded=False,
        needs=_NEEDS,
    )
    for name, words, time, way in (
        (
            "t-merge",
            "mdav, then the class farthest from t is merged with its nearest until all are close",
            "O(n^2)",
            t_merge,
        ),
        (
            "t-swap",
            "clusters of the k nearest that swap members until they are close; then merges",
            "O(n^2 k)",
            t_swap,
        ),
        (
            "t-first",
            "clusters with the nearest record of each of as many parts by value as t needs",
            "O(n^2 / k)",
            t_first,
        ),
    )
)
