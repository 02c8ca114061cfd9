"""A lower bound on the SSE of every partition into groups of at least k."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from microagg.arrays import as_labels, as_records, centred, check_k
from microagg.errors import InputError, OptionError
from microagg.grouping.bound.near import Near, find_near, half_sums
from microagg.grouping.bound.pool import Pool
from microagg.grouping.bound.pricing import Priced, price, square_distances
from microagg.grouping.cluster.mdav import mdav
from microagg.grouping.refine.decompose import decompose
from microagg.grouping.sequence.split import split_sorted
from microagg.groups import Partition
from microagg.progress import Report, silent, watch

# What rounding can add to a bound, relative to it, by a wide margin.
_ROUNDING = 1e-9
# Sets that are charged this much too much, relative to a mean group, are let pass and paid for.
_SLACK = 1e-8
# The smooth phase stops this near its own optimum, the exact one this near the true one.
_SMOOTH_ENOUGH = 1e-4
_OPTIMAL = 1e-6
_HALF_WAY = 0.5
# Pricing keeps the distances of all pairs: 200 megabytes for so many records.
_MOST_RECORDS = 5_000
# Partial sets looked at for one record; more where progress is too slow.
_EFFORT = 1_000
_MOST_EFFORT = 1_000_000


@dataclass(frozen=True)
class Bound:
    """No partition into groups of at least k has a smaller SSE.

    sse: the bound, on z-scores unless standardize=False was asked for.
    information_loss: the bound as 100 * SSE / SST, in percent.
    kind: how it was proved: "exact" (the optimum itself), "columns" (prices that no k records
        together find too high), "neighbours" (distances to the nearest records).
    optimal: it is the optimum (exact), or cannot be raised by better prices (columns).
    columns: how many groups of k were weighed.
    seconds: how long it took.
    """

    sse: float
    information_loss: float
    kind: str
    optimal: bool
    columns: int
    seconds: float


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


def lower_bound(
    X: ArrayLike,
    k: int = 5,
    time_limit: float = 60.0,
    *,
    standardize: bool = True,
    upper: ArrayLike | Partition | None = None,
    progress: bool | None = None,
) -> Bound:
    """How small the SSE of any partition into groups of at least k can be at best.

    X: numbers, (n, d) or (n,), as for `partition`.
    k: the least group size.
    time_limit: seconds; whenever it strikes, what has been proved so far is returned, and valid.
    standardize: as for `partition`: bound the SSE of z-scores, or of the numbers as they are.
    upper: labels or a Partition that is known to be good; it helps to start, and work ends when
        the bound has come up to it.
    progress: show a bar: True always, False never, None when a terminal watches.

    Only groups of exactly k need be looked at. Give the k-subsets of a group of m >= k records
    the weight 1 / C(m - 1, k - 1) each, which covers every member once. Together they cost
    m (k - 1) / (k (m - 1)) <= 1 times the group's SSE, for a pair is in C(m - 2, k - 2) of them.
    So any partition is worth a weighting of sets of k that costs no more, and prices u with
    u(S) <= SSE(S) for all S of k records have a sum below every partition's SSE: this is the dual
    of the set-partitioning linear programme (du Merle, Hansen, Jaumard and Mladenovic 1999 use it
    for k-means; Aloise, Hansen and Rocha for microaggregation), solved by column generation.

    Any prices are made true by one pricing. Let r_i <= 0 bound w(S) = SSE(S) - u(S) from below over
    the S with i. Then w(S) >= max over S of r_i >= sum over S of r_i / k, hence u_i + r_i / k are
    true. So there is a bound at all times: the first prices are half the squared distances to the
    k - 1 nearest records over k, and each pricing may better the best.

    Smoothed prices (see `Pool.balance`) get within a fraction of a percent in seconds for
    thousands of records and small k; linear programmes (HiGHS) then finish the job. With k of ten
    and more pricing is cut short, and the bound is weaker.

    One attribute, k = 1 and n < 2k are solved exactly.
    """
    began = time.monotonic()
    numbers = as_records(X, "X")
    n = len(numbers)
    k = check_k(k, n)
    limit = _check_limit(time_limit)
    labels = None if upper is None else _check_upper(upper, n, k)
    records, unit = _comparable(numbers, standardize)
    total = float(((records - records.mean(axis=0)) ** 2).sum())
    with watch("bounding the loss", progress) as report:
        proof = prove(records, k, began + limit, labels, report)
    sse = max(0.0, proof.total * (1.0 - _ROUNDING))
    return Bound(
        sse=math.ldexp(sse, 2 * unit),
        information_loss=100.0 * sse / total if total > 0.0 else 0.0,
        kind=proof.kind,
        optimal=proof.optimal,
        columns=len(proof.sets),
        seconds=time.monotonic() - began,
    )


def prove(
    records: NDArray[np.float64],
    k: int,
    deadline: float,
    labels: NDArray[np.int64] | None = None,
    report: Report = silent,
) -> Proof:
    """True prices of the records with as large a sum as can be had until `deadline`.

    The deadline is on the monotonic clock. Memory is O(n k), times some dozens.
    """
    n, d = records.shape
    if k == 1 or n < 2 * k or d == 1:
        return _exact(records, k)
    began = time.monotonic()

    def in_time(_share: float = 0.0) -> bool:
        now = time.monotonic()
        report(min(1.0, (now - began) / max(1e-9, deadline - began)))
        return now < deadline

    near = find_near(records, k - 1, in_time)
    halves = half_sums(near, k)
    proof = Proof(halves[k - 1].copy(), np.empty((0, k), np.int32), "neighbours", False)
    if proof.total == 0.0 and in_time():
        # Then every record has k - 1 equals, and groups of equals lose nothing.
        proof.optimal = True
        return proof
    target = math.inf if labels is None else _sse_of(records, labels) * (1.0 - _OPTIMAL)
    if n <= _MOST_RECORDS and in_time():
        if labels is None:
            labels = _start(records, k)
        _Ascent(records, near, halves, k, labels, proof, target, deadline, in_time).run()
    return proof


class _Ascent:
    """From true prices to better ones, by column generation."""

    def __init__(
        self,
        records: NDArray[np.float64],
        near: Near,
        halves: NDArray[np.float64],
        k: int,
        labels: NDArray[np.int64],
        proof: Proof,
        target: float,
        deadline: float,
        in_time: Callable[[], bool],
    ) -> None:
        self.n, self.k = len(records), k
        self.proof = proof
        self.target = target
        self.deadline = deadline
        self.in_time = in_time
        self.slack = _SLACK * proof.total * k / self.n
        self.price = partial(price, square_distances(records), halves, k=k, slack=self.slack)
        self.pool = Pool(records, k)
        self.pool.add(np.column_stack([np.arange(self.n, dtype=np.int32), near.numbers]))
        order = np.argsort(labels, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(labels))[:-1])
        self.pool.add(np.concatenate([_stretches(group, k) for group in groups]))
        self.step = 0.5
        self.effort = _EFFORT

    def run(self) -> None:
        self.smooth()
        self.finish()
        self.proof.sets = self.pool.sets

    def smooth(self) -> None:
        temperature = self.proof.total * self.k / self.n / 10.0
        while self.open():
            # From true prices there is only a way up: no set of the pool objects at the start.
            prices = self.proof.prices.copy()
            blur = self.pool.balance(prices, temperature)
            if not self.in_time():
                return
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
        priced = self.price(prices=there, effort=self.effort)
        if not priced.complete:
            self.step /= 2.0
            if self.step < 0.02:
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
            found = self.pool.solve(best, self.deadline - time.monotonic())
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

    def open(self) -> bool:
        """Whether there is time, and something to be gained."""
        return self.in_time() and self.proof.total < self.target


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
    n = len(records)
    labels = np.zeros(n, np.int64)
    if k == 1:
        labels = np.arange(n)
    elif n >= 2 * k:
        order = np.argsort(records[:, 0], kind="stable")
        sizes = split_sorted(np.ascontiguousarray(records[order, 0]), k)
        labels[order] = np.repeat(np.arange(sizes.size), sizes)
    return Proof(_shares(records, labels), np.empty((0, k), np.int32), "exact", True)


def _sse_of(records: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    return math.fsum(_shares(records, labels))


def _shares(records: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Squared distances of the records to the mean of their group."""
    sizes = np.bincount(labels)[:, np.newaxis]
    means = np.zeros((len(sizes), records.shape[1]))
    np.add.at(means, labels, records)
    return ((records - (means / sizes)[labels]) ** 2).sum(axis=1)


def _comparable(numbers: NDArray, standardize: bool) -> tuple[NDArray[np.float64], int]:
    """Columns to take distances on, and the power of two that they were divided by."""
    varying = numbers[:, (numbers != numbers[0]).any(axis=0)]
    n, d = varying.shape
    if d == 0:
        return np.zeros((n, 1)), 0
    columns = np.column_stack([centred(column) for column in varying.T])
    columns -= columns.mean(axis=0)
    if standardize:
        return columns / columns.std(axis=0), 0
    powers = np.array([_power(column) for column in varying.T])
    return np.ldexp(columns, powers - powers.max()), int(powers.max())


def _power(column: NDArray) -> int:
    """The power of two that `centred` divides a column by."""
    low, high = column.min(), column.max()
    if column.dtype.kind == "f":
        halved = 0.5 if max(abs(low), abs(high)) > 2.0**1000 else 1.0
        return math.frexp(high * halved - low * halved)[1] + (halved < 1.0)
    return math.frexp(float(int(high) - int(low)))[1]


def _check_limit(time_limit: float) -> float:
    try:
        limit = float(time_limit)
    except (TypeError, ValueError):
        limit = math.nan
    if not limit >= 0.0:
        raise OptionError("time_limit must be a number of seconds, 0 or more")
    return limit


def _check_upper(upper: ArrayLike | Partition, n: int, k: int) -> NDArray[np.int64]:
    labels, _ = as_labels(upper, n)
    if np.bincount(labels).min() < k:
        raise InputError(
            f"upper has a group of fewer than {k} records; pass a partition for this k, or none"
        )
    return labels
