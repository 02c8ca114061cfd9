"""A lower bound on the SSE of every partition into groups of at least k."""

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from microagg.base.arrays import as_labels, as_records, centred, check_k
from microagg.base.errors import InputError, OptionError
from microagg.base.groups import Partition
from microagg.base.progress import watch
from microagg.base.showing import Showing
from microagg.grouping.bound.proving import prove

# What rounding can add to a bound, relative to it, by a wide margin.
_ROUNDING = 1e-9


@dataclass(frozen=True, repr=False)
class Bound(Showing):
    """No partition into groups of at least k has a smaller SSE.

    sse: the bound, on z-scores unless standardize=False was asked for.
    information_loss: the bound as 100 * SSE / SST, in percent.
    kind: how it was proved: "exact" (the optimum itself), "cuts" (prices of the records and of
        triples of them), "columns" (prices that no k records together find too high),
        "semidefinite" (such prices from matrices of pairs), "neighbours" (from the distances to
        the nearest records).
    optimal: it is the optimum (exact), or cannot be raised by better prices (columns, cuts).
    columns: how many groups of k were weighed.
    seconds: how long it took.
    """

    sse: float
    information_loss: float
    kind: str
    optimal: bool
    columns: int
    seconds: float

    def _told(self) -> dict[str, object]:
        return {
            "sse": f"{self.sse:.6g}",
            "information_loss": f"{self.information_loss:.4g} %",
            "kind": self.kind,
            "optimal": self.optimal,
            "seconds": f"{self.seconds:.1f}",
        }


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
    time_limit: seconds, not counting compilation on the first run; whenever it strikes, what has
        been proved so far is returned, and valid.
    standardize: as for `partition`: bound the SSE of z-scores, or of the numbers as they are.
    upper: labels or a Partition that is known to be good; it helps to start, and work ends when
        the bound has come up to it.
    progress: show a bar: True always, False never, None when a terminal watches.

    Only groups of exactly k need be looked at. Give the k-subsets of a group of m >= k records
    the weight 1 / C(m - 1, k - 1) each, which covers every member once. Together they cost
    m (k - 1) / (k (m - 1)) <= 1 times the group's SSE, for a pair is in C(m - 2, k - 2) of them.
    So any partition is worth a weighting of sets of k that costs no more, and prices u with
    u(S) <= SSE(S) for all S of k records have a sum below every partition's SSE: this is the dual
    of the set-partitioning linear programme, solved by column generation. Aloise, Hansen, Rocha and
    Santi, "Column generation bounds for numerical microaggregation" (2014), do so too; that groups
    of k suffice, the pricing and the smooth master problem are ours.

    Any prices are made true by one pricing. Let r_i <= 0 bound w(S) = SSE(S) - u(S) from below over
    the S with i. Then w(S) >= max over S of r_i >= sum over S of r_i / k, hence u_i + r_i / k are
    true. So there is a bound at all times: the first prices are half the squared distances to the
    k - 1 nearest records over k, and each pricing may better the best.

    Smoothed prices (see `Pool.balance`) get within a fraction of a percent in seconds for
    thousands of records and small k; linear programmes (HiGHS) then finish the job. What no prices
    can close is closed by cuts for k up to 5 (see `cuts`). From k = 6 on pricing takes too long if
    prices are far from the best: those of a semidefinite relaxation (see `semidefinite`) are the
    start, in half of the time at most. More than 5,000 records have these prices only, more than
    100,000 those of their neighbours.

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
    with watch("bounding the loss", progress) as advance:
        proof = prove(records, k, limit, labels, advance, tight=True)
    sse = max(0.0, proof.total * (1.0 - _ROUNDING))
    return Bound(
        sse=math.ldexp(sse, 2 * unit),
        information_loss=100.0 * sse / total if total > 0.0 else 0.0,
        kind=proof.kind,
        optimal=proof.optimal,
        columns=len(proof.sets),
        seconds=time.monotonic() - began,
    )


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
