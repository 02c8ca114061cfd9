"""Prices of the records whose sum no partition can undercut, by column generation."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microagg.base.groups import Partition
from microagg.base.progress import Advance, silent
from microagg.grouping.bound.cuts import LARGEST, Cutting
from microagg.grouping.bound.near import Near, find_near, half_sums
from microagg.grouping.bound.pool import Pool
from microagg.grouping.bound.pricing import Priced, price, square_distances
from microagg.grouping.bound.semidefinite import MOST_RELAXED, NEIGHBOURS, relax
from microagg.grouping.cluster.mdav import mdav
from microagg.grouping.refine.decompose import decompose
from microagg.grouping.sequence.split import split_sorted
from microagg.kernels.announcing import seconds_compiling

# Sets that are charged this much too much, relative to a mean group, are let pass and paid for.
_SLACK = 1e-8
# The smooth phase stops this near its own optimum, the exact one this near the true one.
_SMOOTH_ENOUGH = 1e-4
_OPTIMAL = 1e-6
_HALF_WAY = 0.5
# Pricing keeps the distances of all pairs: 200 megabytes for so many records.
MOST_RECORDS = 5_000
# Partial sets looked at for one record; more where progress is too slow.
_EFFORT = 1_000
_MOST_EFFORT = 30_000
_SMALL_STEP = 0.02
# Larger k are approached from a relaxation, in this share of the time at most, or from smaller k:
# pricing gets dear with k, and the more so the farther prices are from the best.
_EASY = 5
_RELAXING = 0.5
# How warm the smooth phase begins, relative to a mean group; from prices that are good already less
# warm, and first all of them are raised so much, to see which sets are in the way.
_WARM = 0.1
_COOL = 0.003
_RISES = (0.02, 0.05, 0.1, 0.2)


@dataclass
class Proof:
    """Prices that are true: no k records pay more than the SSE of their group. And how they came.

    `prices` sum to the bound. `sets` are the groups of k that were in the way, the raw material of
    better partitions.
    """

    prices: NDArray[np.float64]
    sets: NDArray[np.int32]
    kind: str
    optimal: bool

    @property
    def total(self) -> float:
        return math.fsum(self.prices)


def prove(
    records: NDArray[np.float64],
    k: int,
    seconds: float,
    labels: NDArray[np.int64] | None = None,
    advance: Advance = silent,
    *,
    pricings: float = math.inf,
    most_records: int = MOST_RECORDS,
    tight: bool = False,
) -> Proof:
    """True prices of the records with as large a sum as can be had in so many seconds.

    Waiting for the compiler does not count. `pricings` limits the work whatever the clock says: so
    many searches for sets that pay too much, dearer ones counted more. Up to `most_records` by
    column generation, in O(n^2) memory; before, by the distances to the nearest. With `tight` other
    relaxations are solved, too: a semidefinite one for large k and beyond `most_records`, which
    gives prices to start from, and cuts for small k in what time is left; where these help, or the
    optimum is known at once, prices only sum to the bound.
    """
    n, d = records.shape
    if k == 1 or n < 2 * k or d == 1:
        return _exact(records, k)
    began = _clock()

    def in_time(_share: float = 0.0) -> bool:
        spent = _clock() - began
        advance(min(1.0, spent / max(1e-9, seconds)))
        return spent < seconds

    cuts = tight and k <= LARGEST
    relaxing = tight and (k > _EASY or n > most_records) and n <= MOST_RELAXED
    wanted = NEIGHBOURS * k if relaxing else 2 * k - 2 if cuts else k - 1
    near = find_near(records, min(n - 1, wanted), in_time)
    proof = _by_neighbours(half_sums(near, k))
    if not in_time():
        return proof
    if proof.total == 0.0:
        # Then every record has k - 1 equals, and groups of equals lose nothing.
        proof.optimal = True
        return proof
    if relaxing:
        share = _RELAXING if n <= most_records else 1.0
        prices = relax(records, k, near, lambda: in_time() and _clock() - began < share * seconds)
        if math.fsum(prices) > proof.total:
            proof.prices, proof.kind = prices, "semidefinite"
    if n > most_records or not in_time():
        return proof
    squares = square_distances(records)
    rungs = [k] if proof.kind == "semidefinite" else _rungs(k)
    for number, rung in enumerate(rungs):
        halves = half_sums(near, rung)
        proof = _climb(proof, halves)
        if not in_time():
            break
        last = rung == k
        now = _clock()
        known = labels if last else None
        start = _start(records, rung) if known is None else known
        target = math.inf if known is None else sse_of(records, known)
        ascent = _Ascent(records, near, squares, halves, rung, start, proof)
        ascent.pricings = pricings / len(rungs)
        share = max(0.0, began + seconds - now) / (len(rungs) - number)
        ascent.run(target, now + share, in_time, last)
    proof = proof if rung == k else _climb(proof, half_sums(near, k))
    target = math.inf if labels is None else sse_of(records, labels) * (1.0 - _OPTIMAL)
    if cuts and proof.optimal:
        work = Cutting(records, near, squares, k, proof.prices, proof.sets, start, ascent.slack)
        work.run(target, in_time, lambda: began + seconds - _clock())
        if work.best.total > proof.total:
            rise = (work.best.total - proof.total) / n
            proof = Proof(proof.prices + rise, proof.sets, "cuts", work.optimal)
    return proof


def _by_neighbours(halves: NDArray[np.float64]) -> Proof:
    """What follows from the distances to the nearest alone."""
    sets = np.empty((0, len(halves)), np.int32)
    return Proof(halves[-1].copy(), sets, "neighbours", False)


def _clock() -> float:
    return time.monotonic() - seconds_compiling()


def _rungs(k: int) -> list[int]:
    """The group sizes to go through: each at least three quarters of the next."""
    rungs = [k]
    while rungs[0] > _EASY:
        rungs.insert(0, max(_EASY, -(-3 * rungs[0] // 4)))
    return rungs


def _climb(low: Proof, halves: NDArray[np.float64]) -> Proof:
    """What follows from the distances, or from prices that are true for smaller groups if better.

    The subsets of s records of a group of l, weighted to cover each member once, cost
    l (s - 1) / (s (l - 1)) times its SSE. So prices may rise by the inverse of that.
    """
    if low.sets.shape[1] == len(halves):
        return low
    high, smaller, larger = _by_neighbours(halves), low.sets.shape[1], len(halves)
    rise = smaller * (larger - 1.0) / (larger * (smaller - 1.0))
    if low.kind == "columns" and low.total * rise > high.total:
        high.prices, high.kind = low.prices * rise, "columns"
    return high


class _Ascent:
    """From true prices to better ones, by column generation."""

    def __init__(
        self,
        records: NDArray[np.float64],
        near: Near,
        squares: NDArray[np.float64],
        halves: NDArray[np.float64],
        k: int,
        labels: NDArray[np.int64],
        proof: Proof,
    ) -> None:
        self.n, self.k = len(records), k
        self.squares, self.halves = squares, halves
        self.proof = proof
        self.slack = _SLACK * proof.total * k / self.n
        self.pool = Pool(records, k)
        self.pool.add(
            np.column_stack([np.arange(self.n, dtype=np.int32), near.numbers[:, : k - 1]])
        )
        order = np.argsort(labels, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(labels))[:-1])
        self.pool.add(np.concatenate([_stretches(group, k) for group in groups]))
        self.step = _HALF_WAY
        self.good = proof.kind == "semidefinite"
        self.effort = _MOST_EFFORT if self.good else _EFFORT
        self.pricings = math.inf

    def run(
        self, target: float, deadline: float, tell: Callable[[], bool], to_the_end: bool
    ) -> None:
        """Better the proof until it comes up to the target, or time is over."""
        self.target = target * (1.0 - _OPTIMAL)
        self.deadline = deadline
        self.tell = tell
        if self.good:
            self.stretch()
        self.smooth()
        if to_the_end:
            self.finish()
        self.proof.sets = self.pool.sets

    def stretch(self) -> None:
        """Raise all prices alike, and take in the sets that are in the way."""
        for rise in _RISES:
            if self.open():
                best = self.proof.prices
                _, priced = self.approach(best + rise * np.abs(best))
                self.pool.add(priced.sets)
        self.step = _HALF_WAY

    def smooth(self) -> None:
        temperature = self.proof.total * self.k / self.n * (_COOL if self.good else _WARM)
        while self.open():
            # From true prices there is only a way up: no set of the pool objects at the start.
            prices = self.proof.prices.copy()
            blur = self.pool.balance(prices, temperature)
            reached, priced = self.approach(prices)
            self.pool.add(priced.sets)
            self.pool.thin(prices)
            missing = float(prices.sum()) - reached
            enough = _SMOOTH_ENOUGH * self.proof.total
            if missing < blur:
                if blur < enough and missing < enough:
                    return
                temperature /= 2.0

    def approach(self, prices: NDArray[np.float64]) -> tuple[float, Priced]:
        """Go from the best true prices some way towards these; the bound found there.

        How far adapts itself: where pricing cannot be completed, nothing is proved.
        """
        best = self.proof.prices
        there = best + self.step * (prices - best)
        self.pricings -= self.effort / _EFFORT
        priced = price(
            self.squares, self.halves, there, self.k, self.slack, self.effort, self.in_time
        )
        if not priced.complete:
            self.step /= 2.0
            if self.step < _SMALL_STEP:
                self.effort = min(2 * self.effort, _MOST_EFFORT)
            return -math.inf, priced
        true = there + priced.least / self.k - self.slack / self.k
        reached = float(true.sum())
        if reached > float(best.sum()):
            self.proof.prices, self.proof.kind = true, "columns"
        self.step = min(1.0, 1.5 * self.step)
        return reached, priced

    def finish(self) -> None:
        """The last fraction of a percent: linear programmes over the pool, and half the way there.

        Half way, a corner of the pool's prices is less of a corner. Where nothing is in the way,
        the whole way is tried.
        """
        self.step = _HALF_WAY
        while self.open():
            best = self.proof.prices
            found = self.pool.solve(best, self.deadline - _clock())
            if found is None:
                return
            ahead = float(found.sum()) - float(best.sum())
            if ahead <= _OPTIMAL * self.proof.total:
                self.proof.optimal = True
                return
            _, priced = self.approach(found)
            new = self.pool.add(priced.sets)
            if priced.complete:
                self.step = _HALF_WAY if new else 1.0

    def in_time(self) -> bool:
        return self.tell() and _clock() < self.deadline

    def open(self) -> bool:
        """Whether there is time, and something to be gained."""
        return self.pricings > 0.0 and self.in_time() and self.proof.total < self.target


def _start(records: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """A fair partition, soon found."""
    order, sizes = decompose(records, *mdav(records, k), k)
    return Partition.from_sequence(order, sizes, k, "start").labels


def _stretches(group: NDArray[np.int64], k: int) -> NDArray[np.int32]:
    """Every k consecutive members around the group: a k-th of each covers each member once.

    They keep the pool's prices from growing for ever: no group pays much more than it costs.
    """
    m = group.size
    starts = np.arange(m if m > k else 1)
    return group[(starts[:, np.newaxis] + np.arange(k)) % m].astype(np.int32)


def _exact(records: NDArray[np.float64], k: int) -> Proof:
    """The optimum itself, where it is easy: each record pays its own squared distance."""
    order = np.argsort(records[:, 0], kind="stable")
    sizes = split_sorted(np.ascontiguousarray(records[order, 0]), k)
    labels = Partition.from_sequence(order, sizes, k, "exact").labels
    return Proof(shares(records, labels), np.empty((0, k), np.int32), "exact", True)


def sse_of(records: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    return math.fsum(shares(records, labels))


def shares(records: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Squared distances of the records to the mean of their group."""
    sizes = np.bincount(labels)[:, np.newaxis]
    means = np.zeros((len(sizes), records.shape[1]))
    np.add.at(means, labels, records)
    return ((records - (means / sizes)[labels]) ** 2).sum(axis=1)
