"""Which groups of k cost less than their members' prices: the pricing of column generation.

Prices u are true (dual feasible) if no k records together pay more than the SSE of their group:
c(S) >= u(S) for every S of k records. Then their sum bounds the SSE of every partition. This module
finds the sets for which it fails; none is missed.

Let w(i, j) = |x_i - x_j|^2 / k - (u_i + u_j) / (k - 1). Then c(S) - u(S) is the sum of w over the
pairs of S. Call it w(S), and the sum of w between one member and the others the member's part.

Chains. Parts sum to 2 w(S), so leaving out the member with the largest part takes away 2 w(S) / m
or more: if m members have w(S) <= t, the others have w <= t (m - 2) / m. Hence every S of k members
with w(S) <= t < 0 grows from a pair by way of sets of m members with w at most
t m (m - 1) / (k (k - 1)), and always by the member with the largest part so far. Only such chains
are followed: they start from few pairs and meet each set once (reverse search).

Completion. If S holds P, then k c(S) = sum of squared distances within P, from P to the others, and
among the others; each of the others pays at least half its nearest distances of the last kind. So
w(S) >= pairs(P) / k - u(P) + the k - |P| least of [distances to P / k + nearest halves - u]. The
records that can be in such an S at all are few; the search goes on among them.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import inner, kernel
from microagg.kernels.threads import run_each

_ROWS_AT_ONCE = 32


class Priced(NamedTuple):
    """For each record the least w(S) over all S with it, 0 if none is below `-slack`.

    `sets` are the sets where it is least; only if `complete` is nothing missing.
    """

    least: NDArray[np.float64]
    sets: NDArray[np.int32]
    complete: bool


class Fines(NamedTuple):
    """What sets pay on top of their cost, once for each cut of which they hold two records or more.

    starts, cuts: the cuts that each record is in, those of record i from starts[i] on; costs: what
    each cut costs; met: room to count in, all 0.
    """

    starts: NDArray[np.int64]
    cuts: NDArray[np.int64]
    costs: NDArray[np.float64]
    met: NDArray[np.int64]

    @classmethod
    def of(cls, triples: NDArray[np.int64], costs: NDArray[np.float64], n: int) -> "Fines":
        """Cuts are three records each."""
        rows = triples.ravel()
        order = np.argsort(rows, kind="stable")
        starts = np.searchsorted(rows[order], np.arange(n + 1))
        return cls(starts, order // 3, costs, np.zeros(len(triples), np.int64))


def square_distances(records: NDArray[np.float64]) -> NDArray[np.float64]:
    """Between all records, (n, n)."""
    table = np.empty((len(records), len(records)))
    _measure(np.ascontiguousarray(records.T), table)
    return table


def price(
    squares: NDArray[np.float64],
    halves: NDArray[np.float64],
    prices: NDArray[np.float64],
    k: int,
    slack: float,
    effort: int,
    in_time: Callable[[], bool] = lambda: True,
    fines: Fines | None = None,
) -> Priced:
    """Find the sets of k records that are charged more than they cost, by more than `slack`.

    `squares` are the distances of all records, `halves` what `half_sums` says. `effort` limits how
    many partial sets are looked at for one record; `in_time` is asked now and then. `fines` add to
    what sets cost; they are looked at in the end, for the search knows nothing of them. Near the
    optimum about O(n^2) time for small k, exponential in k at worst.
    """
    n = len(squares)
    least = np.zeros((2, n))
    worst = np.full((2, n, k), -1, np.int32)
    given_up = np.zeros(2, np.int64)
    if fines is None:
        fines = Fines.of(np.empty((0, 3), np.int64), np.empty(0), n)
    own = [fines._replace(met=fines.met.copy()) for _ in range(2)]

    def search(half: int, first: int, last: int) -> None:
        limits = slack, effort, first + half, last
        given_up[half] += _search(
            squares, halves, prices, k, *limits, own[half], least[half], worst[half]
        )

    for first in range(0, n, _ROWS_AT_ONCE):
        last = min(n, first + _ROWS_AT_ONCE)
        run_each([partial(search, half, first, last) for half in range(2)])
        if not in_time():
            break
    found = worst.reshape(-1, k)
    complete = last == n and not given_up.any()
    return Priced(least.min(axis=0), found[found[:, 0] >= 0], complete)


@kernel
def _measure(columns, table):
    d, n = columns.shape
    for i in range(n):
        row = table[i]
        for j in range(n):
            row[j] = 0.0
        for a in range(d):
            column = columns[a]
            x = column[i]
            for j in range(n):
                away = column[j] - x
                row[j] += away * away


@kernel
def _search(squares, halves, prices, k, slack, effort, start, end, fines, least, worst):
    """Follow the chains from pairs that begin at every other record; how many had to be left."""
    n = prices.size
    share = 1.0 / (k - 1.0)
    # Parts that differ by less may be equal but for rounding.
    tie = 1e-3 * slack
    given_up = 0
    gains = np.empty(n)
    small = np.empty(k)
    members = np.empty(k, np.int64)
    # What is known at each number of members: candidates, distances to them, and the set so far.
    candidates = np.empty((k + 1, n), np.int64)
    sums = np.empty((k + 1, n))
    counts = np.zeros(k + 1, np.int64)
    places = np.zeros(k + 1, np.int64)
    parts = np.empty((k + 1, k))
    pairs = np.zeros(k + 1)
    paid = np.zeros(k + 1)
    limits = np.empty(k + 1)
    for m in range(k + 1):
        limits[m] = -slack * m * (m - 1) / (k * (k - 1.0))
    for i in range(start, end, 2):
        left = effort
        members[0] = i
        for j in range(i + 1, n):
            first = squares[i, j] / k - (prices[i] + prices[j]) * share
            if first > limits[2]:
                continue
            members[1] = j
            pairs[2] = squares[i, j]
            paid[2] = prices[i] + prices[j]
            if k == 2:
                first += _fine(members, fines)
                if first <= -slack:
                    _keep(members, first, least, worst)
                continue
            if left <= 0:
                break
            left -= 1
            parts[2, 0] = first
            parts[2, 1] = first
            rest = k - 2
            for t in range(rest):
                small[t] = np.inf
            _weigh(squares[i], squares[j], halves[rest - 1], prices, 1.0 / k, sums[2], gains)
            gains[i] = np.inf
            gains[j] = np.inf
            for extra in range(n):
                if gains[extra] < small[rest - 1]:
                    t = rest - 1
                    while t > 0 and small[t - 1] > gains[extra]:
                        small[t] = small[t - 1]
                        t -= 1
                    small[t] = gains[extra]
            total = pairs[2] / k - paid[2]
            for t in range(rest - 1):
                total += small[t]
            if total + small[rest - 1] > -slack:
                continue
            count = 0
            for extra in range(n):
                if total + gains[extra] <= -slack:
                    candidates[2, count] = extra
                    sums[2, count] = sums[2, extra]
                    count += 1
            counts[2] = count
            places[2] = 0
            m = 2
            while m >= 2:
                if m == k - 1:
                    left -= 1
                    for p in range(counts[m]):
                        extra = candidates[m, p]
                        value = (pairs[m] + sums[m, p]) / k - paid[m] - prices[extra]
                        if value <= -slack:
                            left -= 1
                            members[m] = extra
                            value += _fine(members, fines)
                            if value <= -slack:
                                _keep(members, value, least, worst)
                    m -= 1
                    continue
                if places[m] >= counts[m] or left <= 0:
                    m -= 1
                    continue
                at = places[m]
                places[m] += 1
                extra = candidates[m, at]
                part = sums[m, at] / k - (paid[m] + m * prices[extra]) * share
                if pairs[m] / k - (m - 1) * share * paid[m] + part > limits[m + 1]:
                    continue
                largest = True
                for t in range(m):
                    member = members[t]
                    other = squares[member, extra] / k - (prices[member] + prices[extra]) * share
                    other += parts[m, t]
                    parts[m + 1, t] = other
                    # Two that tie but for rounding may both be the last: the set is met twice.
                    if other > part + tie:
                        largest = False
                        break
                if not largest:
                    continue
                left -= 1
                parts[m + 1, m] = part
                members[m] = extra
                pairs[m + 1] = pairs[m] + sums[m, at]
                paid[m + 1] = paid[m] + prices[extra]
                rest = k - m - 1
                for t in range(rest):
                    small[t] = np.inf
                for p in range(counts[m]):
                    o = candidates[m, p]
                    gain = np.inf
                    if o != extra:
                        gain = (
                            (sums[m, p] + squares[extra, o]) / k + halves[rest - 1, o] - prices[o]
                        )
                    gains[p] = gain
                    if gain < small[rest - 1]:
                        t = rest - 1
                        while t > 0 and small[t - 1] > gain:
                            small[t] = small[t - 1]
                            t -= 1
                        small[t] = gain
                total = pairs[m + 1] / k - paid[m + 1]
                for t in range(rest - 1):
                    total += small[t]
                if total + small[rest - 1] > -slack:
                    continue
                count = 0
                for p in range(counts[m]):
                    if total + gains[p] <= -slack:
                        o = candidates[m, p]
                        candidates[m + 1, count] = o
                        sums[m + 1, count] = sums[m, p] + squares[extra, o]
                        count += 1
                m += 1
                counts[m] = count
                places[m] = 0
        given_up += left <= 0
    return given_up


@inner
def _weigh(one, other, halves, prices, inverse, sums, gains):
    """Distances of all records to a pair, and what they would add to its w at least."""
    for extra in range(gains.size):
        total = one[extra] + other[extra]
        sums[extra] = total
        gains[extra] = total * inverse + halves[extra] - prices[extra]


@kernel
def _fine(members, fines):
    total = 0.0
    for member in members:
        for at in range(fines.starts[member], fines.starts[member + 1]):
            cut = fines.cuts[at]
            fines.met[cut] += 1
            if fines.met[cut] == 2:
                total += fines.costs[cut]
    for member in members:
        for at in range(fines.starts[member], fines.starts[member + 1]):
            fines.met[fines.cuts[at]] = 0
    return total


@kernel
def _keep(members, value, least, worst):
    for member in members:
        if value < least[member]:
            least[member] = value
            for t in range(members.size):
                worst[member, t] = members[t]
