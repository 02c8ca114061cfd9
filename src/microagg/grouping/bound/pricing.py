"""Which groups of k cost less than their members' prices: the pricing of column generation.

Prices u are true (dual feasible) if no k records together pay more than the SSE of their group:
c(S) >= u(S) for every S of k records. Then their sum bounds the SSE of every partition. This module
finds the sets for which it fails, all of them, or none that matters is missed.

Let w(i, j) = |x_i - x_j|^2 / k - (u_i + u_j) / (k - 1). Then c(S) - u(S) is the sum of w over the
pairs of S. Call it w(S), and the sum of w between one member and the others the member's part.

Chains. Parts sum to 2 w(S), so leaving out the member with the largest part takes away 2 w(S) / m
or more: of m members with w(S) <= t, the others have w <= t (m - 2) / m. Hence every S of k members
with w(S) <= t < 0 grows from a pair by way of sets of m members with w <= t m (m - 1) / (k (k - 1)),
and always by the member with the largest part so far. Only such chains are followed, which starts
from few pairs and meets each set once (reverse search).

Completion. If S holds P, then k c(S) = sum of squared distances within P, from P to the others, and
among the others; each of the others pays at least half its nearest distances of the last kind. So
w(S) >= pairs(P) / k - u(P) + the k - |P| least of [distances to P / k + nearest halves - u].

Neighbours. A record that is in neither list of near records of a pair is at least as far as both
reach; it matters only if its price is high. Such records are tried by falling price until the rest
cannot matter: the search is exact whatever the length of the lists.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.bound.near import Near
from microagg.kernels.compiling import kernel
from microagg.kernels.threads import run_both

# Candidates for one pair; with more, the pair is given up.
_MOST_CANDIDATES = 400


class Priced(NamedTuple):
    """For each record the worst set it is in, by how much, and whether the search was complete.

    `least` is the least w(S) over all S with this record, or 0 if none is below `-slack`; `sets`
    are the distinct sets found.
    """

    least: NDArray[np.float64]
    sets: NDArray[np.int32]
    complete: bool


def price(
    records: NDArray[np.float64],
    near: Near,
    halves: NDArray[np.float64],
    prices: NDArray[np.float64],
    k: int,
    slack: float,
    effort: int,
) -> Priced:
    """Find the sets of k records that are charged more than they cost, by more than `slack`.

    `effort` limits the partial sets looked at for one record; it is complete if that never struck.
    About O(n q d) time for k = 3 near the optimum, q the length of the lists; exponential in k.
    """
    n = len(records)
    by_price = np.argsort(-prices, kind="stable")
    worth = prices - halves[:, max(0, k - 3)]
    by_worth = np.argsort(-worth, kind="stable")
    least = np.zeros((2, n))
    worst = np.full((2, n, k), -1, np.int32)
    given_up = np.zeros(2, np.int64)

    def search(half: int) -> None:
        given_up[half] = _search(
            records,
            near.numbers,
            near.squares,
            near.reach,
            halves,
            prices,
            by_price,
            worth,
            by_worth,
            k,
            slack,
            effort,
            half,
            least[half],
            worst[half],
        )

    run_both(partial(search, 0), partial(search, 1))
    found = worst.reshape(-1, k)
    return Priced(least.min(axis=0), found[found[:, 0] >= 0], not given_up.any())


@kernel
def _search(
    records,
    numbers,
    squares,
    reach,
    halves,
    prices,
    by_price,
    worth,
    by_worth,
    k,
    slack,
    effort,
    half,
    least,
    worst,
):
    """Try all pairs whose first record has this parity; how many records were given up."""
    n, d = records.shape
    q = numbers.shape[1]
    given_up = 0
    share = 1.0 / (k - 1.0)
    most = prices[by_price[0]]
    pair_limit = -slack * 2.0 / (k * (k - 1.0))
    cap = min(n, _MOST_CANDIDATES)
    stamps = np.full(n, -1, np.int64)
    stamp = 0
    small = np.empty(k)
    pool = np.empty(n, np.int64)
    gains = np.empty(n)
    sums = np.empty(n)
    members = np.empty(k, np.int64)
    apart = np.empty((cap, cap))
    chosen = np.empty(cap, np.int64)
    level_at = np.empty((k + 1, cap), np.int64)
    level_sums = np.empty((k + 1, cap))
    level_gains = np.empty(cap)
    counts = np.zeros(k + 1, np.int64)
    places = np.zeros(k + 1, np.int64)
    locals_ = np.empty(k, np.int64)
    parts = np.empty((k + 1, k))
    pairs = np.zeros(k + 1)
    paid = np.zeros(k + 1)
    for i in range(half, n, 2):
        left = effort
        # First the near ones, then those far away whose price is high.
        for turn in range(q + n):
            if turn < q:
                j = np.int64(numbers[i, turn])
                square = squares[i, turn]
                if square / k - (prices[i] + most) * share > pair_limit:
                    break
                if square / k - (prices[i] + prices[j]) * share > pair_limit:
                    continue
                if j < i and square < reach[j]:
                    continue
            else:
                if reach[i] == np.inf:
                    break
                j = by_price[turn - q]
                if reach[i] / k - (prices[i] + prices[j]) * share > pair_limit:
                    break
                if j <= i:
                    continue
                square = 0.0
                for a in range(d):
                    away = records[i, a] - records[j, a]
                    square += away * away
                if square < reach[i] or square < reach[j]:
                    continue
                if square / k - (prices[i] + prices[j]) * share > pair_limit:
                    continue
            members[0] = i
            members[1] = j
            if k == 2:
                _keep(members, square / k - prices[i] - prices[j], least, worst)
                continue
            if left <= 0:
                break
            left -= 1
            rest = k - 2
            base = square / k - prices[i] - prices[j]
            for t in range(rest):
                small[t] = np.inf
            stamp += 1
            stamps[i] = stamp
            stamps[j] = stamp
            size = 0
            beyond = (reach[i] + reach[j]) / k
            for trial in range(2 * q + n):
                if trial < 2 * q:
                    l = np.int64(numbers[i if trial < q else j, trial if trial < q else trial - q])
                    if stamps[l] == stamp:
                        continue
                else:
                    if beyond == np.inf:
                        break
                    l = by_worth[trial - 2 * q]
                    nearest = beyond - worth[l]
                    if nearest > small[rest - 1]:
                        total = base + nearest
                        for t in range(rest - 1):
                            total += small[t]
                        if total > -slack:
                            break
                    if stamps[l] == stamp:
                        continue
                stamps[l] = stamp
                total = 0.0
                for a in range(d):
                    away = records[l, a] - records[i, a]
                    other = records[l, a] - records[j, a]
                    total += away * away + other * other
                gain = total / k - worth[l]
                pool[size] = l
                sums[size] = total
                gains[size] = gain
                size += 1
                if gain < small[rest - 1]:
                    t = rest - 1
                    while t > 0 and small[t - 1] > gain:
                        small[t] = small[t - 1]
                        t -= 1
                    small[t] = gain
            total = base
            for t in range(rest - 1):
                total += small[t]
            if total + small[rest - 1] > -slack:
                continue
            if k == 3:
                for p in range(size):
                    if base + gains[p] <= -slack:
                        members[2] = pool[p]
                        _keep(members, base + gains[p], least, worst)
                continue
            count = 0
            for p in range(size):
                if total + gains[p] <= -slack:
                    if count == cap:
                        break
                    chosen[count] = pool[p]
                    level_at[2, count] = count
                    level_sums[2, count] = sums[p]
                    count += 1
            if count == cap and cap < n:
                left = 0
            for p in range(count):
                apart[p, p] = 0.0
                for o in range(p):
                    total = 0.0
                    for a in range(d):
                        away = records[chosen[p], a] - records[chosen[o], a]
                        total += away * away
                    apart[p, o] = total
                    apart[o, p] = total
            counts[2] = count
            places[2] = 0
            pairs[2] = square
            paid[2] = prices[i] + prices[j]
            parts[2, 0] = square / k - paid[2] * share
            parts[2, 1] = parts[2, 0]
            m = 2
            while m >= 2:
                if m == k - 1:
                    left -= 1
                    for p in range(counts[m]):
                        l = chosen[level_at[m, p]]
                        value = (pairs[m] + level_sums[m, p]) / k - paid[m] - prices[l]
                        if value <= -slack:
                            members[m] = l
                            _keep(members, value, least, worst)
                            left -= 1
                    m -= 1
                    continue
                if places[m] >= counts[m] or left <= 0:
                    m -= 1
                    continue
                at = places[m]
                places[m] += 1
                own = level_at[m, at]
                l = chosen[own]
                part = level_sums[m, at] / k - (paid[m] + m * prices[l]) * share
                before = pairs[m] / k - (m - 1) * share * paid[m]
                if before + part > -slack * (m + 1) * m / (k * (k - 1.0)):
                    continue
                largest = True
                for t in range(m):
                    member = members[t]
                    if t < 2:
                        square_to = 0.0
                        for a in range(d):
                            away = records[member, a] - records[l, a]
                            square_to += away * away
                    else:
                        square_to = apart[locals_[t], own]
                    other = parts[m, t] + square_to / k - (prices[member] + prices[l]) * share
                    parts[m + 1, t] = other
                    if other > part or (other == part and member > l):
                        largest = False
                        break
                if not largest:
                    continue
                left -= 1
                parts[m + 1, m] = part
                members[m] = l
                locals_[m] = own
                pairs[m + 1] = pairs[m] + level_sums[m, at]
                paid[m + 1] = paid[m] + prices[l]
                rest = k - m - 1
                for t in range(rest):
                    small[t] = np.inf
                for p in range(counts[m]):
                    o = level_at[m, p]
                    gain = np.inf
                    if o != own:
                        gain = (level_sums[m, p] + apart[own, o]) / k
                        gain += halves[chosen[o], rest - 1] - prices[chosen[o]]
                    level_gains[p] = gain
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
                    if total + level_gains[p] <= -slack:
                        o = level_at[m, p]
                        level_at[m + 1, count] = o
                        level_sums[m + 1, count] = level_sums[m, p] + apart[own, o]
                        count += 1
                m += 1
                counts[m] = count
                places[m] = 0
        given_up += left <= 0
    return given_up


@kernel
def _keep(members, value, least, worst):
    for member in members:
        if value < least[member]:
            least[member] = value
            for t in range(members.size):
                worst[member, t] = members[t]
