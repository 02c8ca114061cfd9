"""One-to-one linkage: everybody is somewhere in the release, and nobody twice.

Taking the nearest record for each person lets many take the same one. Who knows all people can do
better: find the assignment of people to records that costs least in all (Herranz, Nin, Rodríguez
and Tassa, 2015). The cost is the squared distance, so that it is the likeliest assignment if all
columns were disturbed alike.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.kernels.compiling import inner, kernel
from microagg.kernels.threads import run_blocks
from microagg.kernels.trees.nearest import find_several
from microagg.kernels.trees.planting import plant
from microagg.measure.attacks.attack import Attack, Found, Scene, Share
from microagg.measure.attacks.linking import learnt
from microagg.measure.attacks.words import listed, right_about, share
from microagg.measure.linkage import Records

# So many of the nearest classes each person may go to.
_CANDIDATES = 128
# What a bid is above the least that wins, in mean squared distances to the nearest class.
_INCREMENT = 0.01
# So many people exchange their places exactly.
_BLOCK = 1000


class Assignment(NamedTuple):
    """Who goes where: the class of each original record, as many to each as it has records.

    above: by how much the squared distances add up to more than the least, in percent, at most.
    """

    classes: NDArray[np.int64]
    above: float


def assigned_exactly(records: Records, labels: NDArray[np.int64]) -> Assignment:
    """The assignment of original records to released ones that costs least in all.

    labels: the class of each released row. The optimum, by the Hungarian method as improved by
    Jonker and Volgenant; O(n^3) time and O(n^2) memory.
    """
    rows = np.arange(len(labels))
    return Assignment(labels[_least(records, rows, rows, labels)], 0.0)


def _least(
    records: Records,
    people: NDArray[np.int64],
    rows: NDArray[np.int64],
    labels: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Which of some released rows each of as many people goes to, at the least cost in all."""
    from scipy.optimize import linear_sum_assignment

    _, firsts, places = np.unique(labels[rows], return_index=True, return_inverse=True)
    costs = np.zeros((people.size, firsts.size))
    for line, twin, scale in zip(*(each.T for each in records[:2]), records.scales, strict=True):
        costs += np.square((line[people, np.newaxis] - twin[rows[firsts]]) * scale)
    return rows[linear_sum_assignment(costs[:, places])[1]]


def assigned_nearly(
    records: Records,
    labels: NDArray[np.int64],
    candidates: int = _CANDIDATES,
    increment: float = _INCREMENT,
    block: int = _BLOCK,
    advance: Advance = silent,
) -> Assignment:
    """The same for many records: nearly the least, and how near.

    First everybody bids for one of the nearest classes, so many of them, and gives up where all are
    dearer than the farthest of these is far. By an auction (Bertsekas and Castañón, 1989) in which
    classes have as many places as records. Who gave up takes what is left; then people near each
    other exchange their places at the least cost, a block of them at a time.

    How near follows from the prices: whatever the assignment, everybody pays at least the least of
    distance and price together, over all classes, and the prices of all places are paid. Of classes
    that are no candidates it is at least the distance to the farthest candidate. About O(n log n)
    time.
    """
    _, firsts = np.unique(labels, return_index=True)
    tree = plant(np.ascontiguousarray(records.released[firsts]), scales=records.scales)
    count = min(candidates, firsts.size)
    near, squares = find_several(tree, np.ascontiguousarray(records.original), count, advance)
    step = increment * (float(squares[:, 0].mean()) or float(squares.mean()) or 1.0)
    # With all classes shown there is a place for everybody, whatever it costs.
    far = squares[:, -1] if count < firsts.size else np.full(len(squares), np.inf)
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    given, prices = _auction(near, squares, far, starts, step)
    places = _places(labels, given)
    rows = plant(np.ascontiguousarray(records.original), scales=records.scales).rows
    order = rows[rows < labels.size].astype(np.int64)
    left = order[given[order] < 0]
    # Half a block further, as neighbours may be on both sides of a border.
    for people, begin in ((left, 0), (order, 0), (order, block // 2)):
        _mend(records, labels, places, people[begin:], block)
    given = labels[places]
    paid = np.minimum((squares + prices[near]).min(axis=1), far)
    least = float(paid.sum() - (prices * np.diff(starts)).sum())
    return Assignment(given, _above(_cost(records, firsts[given]), least))


def _places(labels: NDArray[np.int64], given: NDArray[np.int64]) -> NDArray[np.int64]:
    """A released row of its own for everybody, of the class that is given; any left for others."""
    rows = np.empty(labels.size, np.int64)
    free, asked = np.argsort(labels, kind="stable"), np.argsort(given, kind="stable")
    asked = asked[given[asked] >= 0]
    sizes, taken = (
        np.bincount(each, minlength=labels.max() + 1) for each in (labels, given[asked])
    )
    within = np.arange(asked.size) - np.repeat(np.cumsum(taken) - taken, taken)
    at = (np.cumsum(sizes) - sizes)[given[asked]] + within
    rows[asked] = free[at]
    rows[given < 0] = np.delete(free, at)
    return rows


def _mend(
    records: Records,
    labels: NDArray[np.int64],
    places: NDArray[np.int64],
    people: NDArray[np.int64],
    block: int,
) -> None:
    """Exchange places at the least cost in all, among so many people at a time."""

    def exchange(first: int, last: int) -> None:
        some = people[first:last]
        places[some] = _least(records, some, places[some], labels)

    run_blocks(exchange, people.size, block)


def _cost(records: Records, rows: NDArray[np.int64]) -> float:
    """The squared distances of everybody to some released row, added up."""
    columns = zip(records.original.T, records.released.T, records.scales, strict=True)
    return sum(float(np.square((line - twin[rows]) * scale).sum()) for line, twin, scale in columns)


def _above(total: float, least: float) -> float:
    """By how much a total is above what is least at least, in percent."""
    if total <= least:
        return 0.0
    return 100.0 * (total / least - 1.0) if least > 0.0 else np.inf


@kernel
def _auction(near, squares, far, starts, step):
    """Who outbids whom: the class of each bidder, or -1; and what a place of each class costs."""
    n, count = near.shape
    prices = np.zeros(starts[-1])  # of the places of each class, the cheapest first: heaps
    owners = np.full(starts[-1], -1)
    given = np.full(n, -1)
    waiting = np.arange(n - 1, -1, -1)
    left = n
    while left > 0:
        left -= 1
        bidder = waiting[left]
        best, second = np.inf, far[bidder]
        at = -1
        for i in range(count):
            cost = squares[bidder, i] + prices[starts[near[bidder, i]]]
            if cost < best:
                second = min(second, best)
                best = cost
                at = near[bidder, i]
            elif cost < second:
                second = cost
        if best > far[bidder]:
            continue
        place = starts[at]
        if owners[place] >= 0:
            given[owners[place]] = -1
            waiting[left] = owners[place]
            left += 1
        given[bidder] = at
        owners[place] = bidder
        # Where there is one class for all, nothing is to be outbid.
        prices[place] += step if second == np.inf else second - best + step
        _sink(prices, owners, place, starts[at + 1])
    return given, prices[starts[:-1]]


@inner
def _sink(prices, owners, first, last):
    """Let what stands at the top of a heap find its place, the cheapest on top."""
    at = first
    while True:
        child = first + 2 * (at - first) + 1
        if child >= last:
            return
        if child + 1 < last and prices[child + 1] < prices[child]:
            child += 1
        if prices[child] >= prices[at]:
            return
        prices[at], prices[child] = prices[child], prices[at]
        owners[at], owners[child] = owners[child], owners[at]
        at = child


def _one_to_one(scene: Scene) -> list[Found]:
    records, looks, columns = scene.records, scene.looks, scene.unknown
    scope = ""
    if scene.n > scene.most:
        rows = np.sort(np.random.default_rng(0).permutation(scene.n)[: scene.most])
        records = Records(records.original[rows], records.released[rows], records.scales)
        looks = np.unique(looks[rows], return_inverse=True)[1]
        columns = [column.rows(rows) for column in columns]
        scope = f" Of a sample of {rows.size} records, in which everybody is easier to find."
    n = looks.size
    if n <= scene.exact:
        given, above = assigned_exactly(records, looks)
        how = "at the least distance in all"
    else:
        given, above = assigned_nearly(records, looks, advance=scene.advance)
        how = "at nearly the least distance in all (an approximation"
        how += f": squares add up to at most {above:.2f} % more)" if above < np.inf else ")"
    right = (given == looks) / np.bincount(looks)[looks]
    found = Share(100.0 * float(right.sum()) / n, 100.0 / n)
    values = learnt(columns, given, looks, scene.sd)
    words = (
        f"Who knows {listed(scene.known)} of everybody and assigns all people to the released "
        f"records one to one, {how}, has the right record for {share(found)} of the records"
    )
    return [Found(words + right_about(values) + scope, found, values)]


ASSIGNMENT = Attack(
    "assignment",
    "One-to-one linkage",
    ("singling out", "linkability"),
    "The known columns of everybody, and that everybody is in the release.",
    "All people are assigned to the released records one to one, so that the squared distances add "
    "up to the least: the optimum up to 5,000 records, beyond it an approximation by an auction "
    "for the 128 nearest classes and exchanges among neighbours, which says how near it is.",
    "those assigned to themselves, by lot among equal records",
    "values of columns not known that the assigned record tells",
    "a record drawn by lot",
    _one_to_one,
    ("records",),
)
