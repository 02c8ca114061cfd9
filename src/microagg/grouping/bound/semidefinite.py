"""True prices from a semidefinite relaxation: good ones for groups of any size, in seconds.

A partition is a matrix Z with Z_ij = 1 / size where i and j share a group, 0 elsewhere (Peng and
Wei 2007, for k-means). Its SSE is the sum of Z_ij C_ij, where C_ij is half the squared distance.
Z is positive semidefinite, its rows sum to 1, and its entries lie in [0, 1 / k]. The least cost of
all such matrices bounds every partition from below.

Duals. Let S be any positive semidefinite matrix, u any numbers, and W_ij = u_i + u_j - C_ij + S_ij.
A group G of m >= k records costs 1/m times the sum of C_ij over its pairs, and that of S_ij is no
less than 0. So its cost is at least

    2 u(G) - 1/m sum of W_ij  >=  the sum over its members of p_i = 2 u_i - 1/k sum_j max(0, W_ij).

The p are true prices (see `lower_bound`), whatever u and S: column generation can go on from them.

Regions. S is a matrix of all pairs, too large for thousands of records. But a sum of positive
semidefinite matrices that each live on a few hundred records near each other is one, too. So
records are divided into regions, and S is 0 between them. For k = 10 this costs a third of a
percent on EIA, which consists of clusters, if 17 regions replace 5, but 3.4 percent on Census if
two replace one: regions are as large as time allows. Of pairs from two regions only near ones are
looked at on the way. If u_i is at most a quarter of the squared distance to the farthest of these,
and u_j too, then W_ij <= 0 for the others; in the end, records for which this fails are compared
with all.

Ascent. Alternating directions (ADMM): one copy of Z has entries and row sums in the right range,
which is a concave problem of u, smooth, by Newton's method; the other one is semidefinite in every
region, a weight times N, and S is what is left of a matrix without its negative part -N.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.bound.near import Near
from microagg.grouping.bound.regions import regions_of
from microagg.kernels.compiling import kernel
from microagg.kernels.threads import run_each

# More records take too much memory.
MOST_RELAXED = 100_000
# Neighbours that are looked at, times k, wherever their region.
NEIGHBOURS = 4
# Regions are as large as n times the square of their size may be: some tenths of a second a step.
_WORK = 1.5e9
# Entries of Z for a unit of u, k and a mean cost given; how far beyond its step a copy goes.
_WEIGHT = 0.2
_RELAXATION = 1.6
# After so many steps it is asked whether they gained enough.
_STEPS = 16
_ENOUGH = 1e-3
# Newton's method: at first, later, how far row sums may be off, and its own linear systems.
_FIRST_TURNS = 100
_TURNS = 8
_OFF = 1e-3
_DAMPING = 0.3
_INNER_TURNS = 30
_INNER_OFF = 1e-2
# In the end so many pairs are compared that are not near.
_COMPARED = 1_000_000_000
# Pairs that can be remembered as movable, for each record and k.
_MOVABLE = 8


class _Region(NamedTuple):
    """Costs between its records, and the two halves of the last matrix: S, and N beneath it."""

    rows: NDArray[np.int64]
    costs: NDArray[np.float64]
    above: NDArray[np.float64]
    below: NDArray[np.float64]


class _Pairs(NamedTuple):
    """Near pairs from two regions, both ways, by the first; their share of the last Z by weight."""

    ones: NDArray[np.int32]
    others: NDArray[np.int32]
    costs: NDArray[np.float64]
    below: NDArray[np.float64]


class _Movable(NamedTuple):
    """Pairs whose entries of Z are strictly in their range."""

    ones: NDArray[np.int32]
    others: NDArray[np.int32]


def relax(
    records: NDArray[np.float64],
    k: int,
    near: Near,
    in_time: Callable[[], bool],
    *,
    region: int | None = None,
    enough: float = _ENOUGH,
) -> NDArray[np.float64]:
    """True prices of the records, good ones if there is time for some dozen steps.

    near: some more than k neighbours of each record. region: records in each at most, fewer the
    more there are if it is not said. A step solves an eigenvalue problem in every
    region, O(n region^2) time; O(n region) memory. Ends when steps gain less than `enough`.
    """
    if region is None:
        region = max(2 * k, int(math.sqrt(_WORK / len(records))))
    ascent = _Ascent(records, k, near, region)
    before, done = -np.inf, 0
    while in_time():
        total = ascent.step()
        done += 1
        if done % _STEPS == 0:
            if total - before < enough * abs(total):
                break
            before = total
    return ascent.prices()


class _Ascent:
    def __init__(self, records: NDArray[np.float64], k: int, near: Near, region: int) -> None:
        n = len(records)
        self.k, self.n = k, n
        self.regions = [
            _Region(rows, *np.zeros((3, rows.size, rows.size)))
            for rows in regions_of(records, region)
        ]
        self.run(lambda _, own: _measure(records, own.rows, own.costs))
        self.pairs = _pairs(records, near, self.regions)
        self.records = records
        self.safe = near.squares[:, -1] / 4.0
        self.u = near.squares[:, k // 2] / 4.0
        self.weight = _WEIGHT / (k * float(near.squares[:, : k - 1].sum()) / (2.0 * k * n))
        self.movable = _Movable(*np.empty((2, _MOVABLE * k * n), np.int32))
        self.turns, self.damping = _FIRST_TURNS, _DAMPING

    def run(self, job: Callable[[int, _Region], None]) -> None:
        run_each([partial(job, number, own) for number, own in enumerate(self.regions)])

    def step(self) -> float:
        """One turn of both copies; what is proved on the way but for rounding and far pairs."""
        self.fit()
        over = np.empty(len(self.regions))

        def divide(number: int, own: _Region) -> None:
            matrix = np.empty_like(own.costs)
            over[number] = _mix(own, self.u, self.weight, 1.0 / self.k, matrix)
            own.below[:] = _negative(matrix)
            own.above[:] = matrix + own.below

        self.run(divide)
        rest = _mix_pairs(self.pairs, self.u, self.weight, 1.0 / self.k)
        return float(2.0 * self.u.sum() - (over.sum() + rest) / self.k)

    def fit(self) -> None:
        """Numbers u such that the rows of Z sum to 1, nearly."""
        u, value, rows, count = self.u, *self.weigh(self.u)
        for _ in range(self.turns):
            off = 1.0 - rows
            if np.abs(off).max() < _OFF:
                break
            way = np.zeros(self.n)
            _solve(self.movable, count, self.damping, off / self.weight, way)
            there = self.weigh(u + way)
            if there[0] > value:
                u, value, rows, count = u + way, *there
                self.damping = max(_DAMPING, self.damping / 4.0)
            else:
                # Too far: entries that were at the end of their range were not when it got there.
                self.damping *= 4.0
                value, rows, count = self.weigh(u)
        self.u, self.turns = u, _TURNS

    def weigh(self, u: NDArray[np.float64]) -> tuple[float, NDArray[np.float64], int]:
        """What u is worth, the row sums of its Z, and how many pairs are movable."""
        rows = np.zeros(self.n)
        total, count = 0.0, 0
        given = u, self.weight, 1.0 / self.k, rows, self.movable
        for own in self.regions:
            worth, count = _weigh(own, *given, count)
            total += worth
        worth, count = _weigh_pairs(self.pairs, *given, count)
        return 2.0 * self.weight * float(u.sum()) - total - worth, rows, count

    def prices(self) -> NDArray[np.float64]:
        """What is proved by now.

        A factorisation says that S is semidefinite, if so much is added to its diagonal; and a
        group gains at most that, for its sum over the group is divided by its size.
        """
        far = np.flatnonzero(self.u > self.safe)
        allowed = max(0, _COMPARED // self.n)
        if len(self.regions) == 1:
            far = far[:0]
        elif far.size > allowed:
            excess = self.u[far] / np.maximum(self.safe[far], np.finfo(float).tiny)
            far = np.sort(far[np.argsort(-excess, kind="stable")[:allowed]])
            kept = self.safe.copy()
            kept[far] = np.inf
            self.u = np.minimum(self.u, kept)
        over, region = np.zeros(self.n), np.empty(self.n, np.int64)
        for number, own in enumerate(self.regions):
            region[own.rows] = number
            over[own.rows] += _lift(own.above)
            _charge(own, self.u, over)
        _charge_pairs(self.pairs, self.u, over)
        starts = np.searchsorted(self.pairs.ones, np.arange(self.n + 1))
        _charge_far(self.records, far, region, starts, self.pairs.others, self.u, over)
        return 2.0 * self.u - over / self.k


def _lift(matrix: NDArray[np.float64]) -> float:
    """What makes a matrix positive definite, if it is added to its diagonal."""
    b = len(matrix)
    size = max(float(np.abs(matrix).max()), np.finfo(float).tiny)
    # Rounding of the factorisation itself is below this (Higham 2002, Theorem 10.3).
    rounding = 4.0 * (b + 2.0) * np.finfo(float).eps * b * size
    lift = rounding
    while True:
        try:
            np.linalg.cholesky(matrix + lift * np.eye(b))
        except np.linalg.LinAlgError:
            lift *= 8.0
        else:
            return lift + rounding


def _negative(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The negative part of a symmetric matrix, as a positive one."""
    from scipy.linalg import eigh

    values, vectors = eigh(matrix, subset_by_value=(-np.inf, 0.0), check_finite=False)
    return (vectors * -values) @ vectors.T


def _pairs(records: NDArray[np.float64], near: Near, regions: list[_Region]) -> _Pairs:
    """Pairs of different regions of which one is near the other."""
    n, q = near.numbers.shape
    region = np.empty(n, np.int32)
    for number, own in enumerate(regions):
        region[own.rows] = number
    ones = np.repeat(np.arange(n, dtype=np.int64), q)
    others = near.numbers.ravel().astype(np.int64)
    apart = region[ones] != region[others]
    ones, others = ones[apart], others[apart]
    keys = np.unique(np.minimum(ones, others) * n + np.maximum(ones, others))
    low, high = (keys // n).astype(np.int32), (keys % n).astype(np.int32)
    costs = np.empty(keys.size)
    _measure_pairs(records, low, high, costs)
    firsts, seconds = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.argsort(firsts, kind="stable")
    costs = np.tile(costs, 2)[order]
    return _Pairs(firsts[order], seconds[order], costs, np.zeros(order.size))


@kernel
def _measure(records, rows, costs):
    """Half the squared distances."""
    for a in range(rows.size):
        for b in range(a):
            total = 0.0
            for t in range(records.shape[1]):
                away = records[rows[a], t] - records[rows[b], t]
                total += away * away
            costs[a, b] = costs[b, a] = total / 2.0


@kernel
def _measure_pairs(records, low, high, costs):
    for p in range(low.size):
        total = 0.0
        for t in range(records.shape[1]):
            away = records[low[p], t] - records[high[p], t]
            total += away * away
        costs[p] = total / 2.0


@kernel
def _weigh(own, u, weight, top, rows, movable, count):
    """Z of a region for these u: its smooth penalty and row sums; pairs strictly in range."""
    total = 0.0
    for a in range(own.rows.size):
        i = own.rows[a]
        for b in range(own.rows.size):
            j = own.rows[b]
            z = weight * (u[i] + u[j] - own.costs[a, b] + own.above[a, b] + own.below[a, b])
            if z >= top:
                rows[i] += top
                total += top * (z - top / 2.0)
            elif z > 0.0:
                rows[i] += z
                total += z * z / 2.0
                if count < movable.ones.size:
                    movable.ones[count] = i
                    movable.others[count] = j
                    count += 1
    return total, count


@kernel
def _weigh_pairs(pairs, u, weight, top, rows, movable, count):
    total = 0.0
    for p in range(pairs.ones.size):
        i, j = pairs.ones[p], pairs.others[p]
        z = weight * (u[i] + u[j] - pairs.costs[p] + pairs.below[p])
        if z >= top:
            rows[i] += top
            total += top * (z - top / 2.0)
        elif z > 0.0:
            rows[i] += z
            total += z * z / 2.0
            if count < movable.ones.size:
                movable.ones[count] = i
                movable.others[count] = j
                count += 1
    return total, count


@kernel
def _solve(movable, count, damping, right, x):
    """Newton's way, by conjugate gradients: each movable pair couples its two records."""
    n = right.size
    diagonal = np.full(n, damping)
    for p in range(count):
        diagonal[movable.ones[p]] += 1.0
    rest = right.copy()
    scaled = rest / diagonal
    along = scaled.copy()
    size = (rest * scaled).sum()
    least = _INNER_OFF**2 * (rest * rest).sum()
    for _ in range(_INNER_TURNS):
        image = diagonal * along
        for p in range(count):
            image[movable.ones[p]] += along[movable.others[p]]
        bend = (along * image).sum()
        if bend <= 0.0:
            return
        x += size / bend * along
        rest -= size / bend * image
        if (rest * rest).sum() <= least:
            return
        scaled = rest / diagonal
        now = (rest * scaled).sum()
        along = scaled + now / size * along
        size = now


@kernel
def _mix(own, u, weight, top, matrix):
    """What the next S and N are the parts of; how much W is above 0."""
    over = 0.0
    for a in range(own.rows.size):
        i = own.rows[a]
        for b in range(own.rows.size):
            j = own.rows[b]
            above, below = own.above[a, b], own.below[a, b]
            rest = above - own.costs[a, b]
            over += max(0.0, u[i] + u[j] + rest)
            z = min(max(weight * (u[i] + u[j] + rest + below), 0.0), top) / weight
            matrix[a, b] = above - _RELAXATION * z - (1.0 - _RELAXATION) * below
    return over


@kernel
def _mix_pairs(pairs, u, weight, top):
    over = 0.0
    for p in range(pairs.ones.size):
        i, j = pairs.ones[p], pairs.others[p]
        over += max(0.0, u[i] + u[j] - pairs.costs[p])
        z = weight * (u[i] + u[j] - pairs.costs[p] + pairs.below[p])
        pairs.below[p] = min(max(z, 0.0), top) / weight
    return over


@kernel
def _charge(own, u, over):
    for a in range(own.rows.size):
        for b in range(own.rows.size):
            w = u[own.rows[a]] + u[own.rows[b]] - own.costs[a, b] + own.above[a, b]
            over[own.rows[a]] += max(0.0, w)


@kernel
def _charge_pairs(pairs, u, over):
    for p in range(pairs.ones.size):
        i, j = pairs.ones[p], pairs.others[p]
        over[i] += max(0.0, u[i] + u[j] - pairs.costs[p])


@kernel
def _charge_far(records, far, region, starts, others, u, over):
    """Pairs of a far record and another one that are neither near nor of one region."""
    n = u.size
    seen = np.full(n, -1)
    is_far = np.zeros(n, np.bool_)
    for i in far:
        is_far[i] = True
    for i in far:
        for p in range(starts[i], starts[i + 1]):
            seen[others[p]] = i
        for j in range(n):
            if region[j] == region[i] or seen[j] == i or (is_far[j] and j < i):
                continue
            most = 2.0 * (u[i] + u[j])
            total = 0.0
            for t in range(records.shape[1]):
                away = records[i, t] - records[j, t]
                total += away * away
                if total >= most:
                    break
            if total < most:
                over[i] += (most - total) / 2.0
                over[j] += (most - total) / 2.0
