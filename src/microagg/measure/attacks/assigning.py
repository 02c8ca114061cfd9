"""One-to-one linkage: everybody is somewhere in the release, and nobody twice.

Taking the nearest record for each person lets many take the same one. Who knows all people can do
better: find the assignment of people to records that costs least in all (Herranz, Nin, Rodríguez
and Tassa, 2015). The cost is the squared distance, so that it is the likeliest assignment if all
columns were disturbed alike.
"""

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.kernels.compiling import inner, kernel
from microagg.kernels.trees.nearest import find_several
from microagg.kernels.trees.planting import plant
from microagg.measure.attacks.attack import Attack, Found, Scene, Share
from microagg.measure.attacks.linking import learnt
from microagg.measure.attacks.words import listed, right_about, share
from microagg.measure.linkage import Records

_CANDIDATES = 16
# What a bid is above the least that wins, in mean squared distances to the nearest class.
_INCREMENT = 0.02


def assigned_exactly(records: Records, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The class of each original record in the assignment to released records that costs least.

    labels: the class of each released row. The optimum, by the Hungarian method as improved by
    Jonker and Volgenant; O(n^3) time and O(n^2) memory.
    """
    from scipy.optimize import linear_sum_assignment

    _, firsts = np.unique(labels, return_index=True)
    costs = np.zeros((len(labels), firsts.size))
    for line, twin, scale in zip(*(each.T for each in records[:2]), records.scales, strict=True):
        costs += np.square((line[:, np.newaxis] - twin[firsts]) * scale)
    return labels[linear_sum_assignment(costs[:, labels])[1]]


def assigned_nearly(
    records: Records,
    labels: NDArray[np.int64],
    candidates: int = _CANDIDATES,
    increment: float = _INCREMENT,
    advance: Advance = silent,
) -> NDArray[np.int64]:
    """The same to nearby classes only, nearly: -1 where all candidates are better used by others.

    Each original may go to one of so many nearest classes, or nowhere at the price of the farthest
    of them. By an auction (Bertsekas and Castañón, 1989) in which classes have as many places as
    records: the total is at most n * increment * (the mean square to the nearest class) above the
    least. About O(n log n) time.
    """
    _, firsts = np.unique(labels, return_index=True)
    points = np.ascontiguousarray(records.released[firsts])
    tree = plant(points, scales=records.scales)
    count = min(candidates, len(points))
    originals = np.ascontiguousarray(records.original)
    near, squares = find_several(tree, originals, count, advance)
    nearest = float(squares[:, 0].mean()) or float(squares.mean()) or 1.0
    step = increment * nearest
    if count < len(points):
        nowhere = squares[:, -1].copy()
    else:
        # There is a place for everybody: dearer than any chain of classes that make room.
        nowhere = np.full(len(squares), (count + 2) * (float(squares.max()) + step))
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    return np.asarray(_auction(near, squares, nowhere, starts, step))


@kernel
def _auction(near, squares, nowhere, starts, step):
    """Who outbids whom: the class of each bidder, or -1."""
    n, count = near.shape
    prices = np.zeros(starts[-1])  # of the places of each class, the cheapest first: heaps
    owners = np.full(starts[-1], -1)
    given = np.full(n, -1)
    waiting = np.arange(n - 1, -1, -1)
    left = n
    while left > 0:
        left -= 1
        bidder = waiting[left]
        best, second = np.inf, nowhere[bidder]
        at = -1
        for i in range(count):
            cost = squares[bidder, i] + prices[starts[near[bidder, i]]]
            if cost < best:
                second = min(second, best)
                best = cost
                at = near[bidder, i]
            elif cost < second:
                second = cost
        if best > nowhere[bidder]:
            continue
        place = starts[at]
        if owners[place] >= 0:
            given[owners[place]] = -1
            waiting[left] = owners[place]
            left += 1
        given[bidder] = at
        owners[place] = bidder
        prices[place] += second - best + step
        _sink(prices, owners, place, starts[at + 1])
    return given


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
        how = "to the released records one to one, at the least distance in all"
        given = assigned_exactly(records, looks)
    else:
        how = (
            f"one to one to one of the {_CANDIDATES} nearest classes each, at nearly the least "
            "distance in all (an approximation)"
        )
        given = assigned_nearly(records, looks, advance=scene.advance)
    right = (given == looks) / np.bincount(looks)[looks]
    found = Share(100.0 * float(right.sum()) / n, 100.0 / n)
    values = learnt(columns, given, looks, scene.sd)
    words = (
        f"Who knows {listed(scene.known)} of everybody and assigns all people {how}, has the right "
        f"record for {share(found)} of the records"
    )
    return [Found(words + right_about(values) + scope, found, values)]


ASSIGNMENT = Attack(
    "assignment",
    "One-to-one linkage",
    ("singling out", "linkability"),
    "The known columns of everybody, and that everybody is in the release.",
    "All people are assigned to the released records one to one, so that the squared distances add "
    "up to the least: the optimum up to 3,000 records, beyond it an approximation by the 16 "
    "nearest classes of each.",
    "those assigned to themselves, by lot among equal records",
    "values of columns not known that the assigned record tells",
    "a record drawn by lot",
    _one_to_one,
    ("records",),
)
