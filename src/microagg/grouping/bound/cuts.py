"""Beyond the linear programme: cuts that no partition minds, and weightings of sets do.

The linear programme over sets of k may cover four records by their four triples, a third each, for
8/9 of what the group of four costs. But of three records, at most one group of a partition holds
two or more (subset-row cuts: Jepsen, Petersen, Spoorendonk and Pisinger 2008). With such cuts a
group of more than k is no longer worth a weighting of its subsets: sets of k to 2k - 1 are priced.

The dual: prices u and fines f >= 0 of the cuts with u(S) <= SSE(S) + the fines of the cuts that S
holds two records of, for every S. Then the sum of the prices less that of the fines bounds the SSE
of every partition. Any prices and fines are made true by one pricing, as in `lower_bound`: let
r_i <= 0 bound what is missing for the S with i, then u_i + r_i / k will do, for S has k members at
least.
"""

import math
from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.bound.near import Near, half_sums
from microagg.grouping.bound.pool import Pool
from microagg.grouping.bound.pricing import Fines, price

# Larger groups are priced too slowly.
LARGEST = 5
# Partial sets looked at for one record; sets that only fines keep from being too cheap count.
_EFFORT = 100_000
# Cuts that are taken in at once, for each record, and how much they must be violated.
_CUTS_EACH = 0.3
_VIOLATED = 0.02
_HALF_WAY = 0.5
_OPTIMAL = 1e-5


class Dual(NamedTuple):
    """Prices of the records, fines of the cuts, and the bound that they prove if they are true."""

    prices: NDArray[np.float64]
    fines: NDArray[np.float64]

    @property
    def total(self) -> float:
        return math.fsum(self.prices) - math.fsum(self.fines)


class Cutting:
    """A linear programme over known sets and cuts, and true duals that approach its own."""

    def __init__(
        self,
        records: NDArray[np.float64],
        near: Near,
        squares: NDArray[np.float64],
        k: int,
        prices: NDArray[np.float64],
        sets: NDArray[np.int32],
        labels: NDArray[np.int64],
        slack: float,
    ) -> None:
        self.n, self.k, self.squares, self.slack = len(records), k, squares, slack
        self.pools = {size: Pool(records, size) for size in range(k, 2 * k)}
        self.halves = {size: half_sums(near, size) for size in self.pools}
        self.cuts = np.empty((0, 3), np.int64)
        self.best = Dual(prices, np.empty(0))
        self.pools[k].add(sets)
        order = np.argsort(labels, kind="stable")
        for group in np.split(order, np.cumsum(np.bincount(labels))[:-1]):
            if group.size in self.pools:
                self.pools[group.size].add(group[np.newaxis].astype(np.int32))
        self.step = _HALF_WAY
        self.optimal = False

    def run(self, target: float, in_time: Callable[[], bool], left: Callable[[], float]) -> None:
        """Raise the bound until it comes up to the target, or time is over, or nothing helps."""
        while in_time() and self.best.total < target:
            solved = self.solve(left())
            if solved is None:
                return
            dual, weights = solved
            ahead = dual.total - self.best.total
            new = self.approach(dual, in_time)
            self.step = _HALF_WAY if new else 1.0
            if ahead < 0.1 * max(0.0, target - self.best.total) or not new:
                cut = self.separate(weights)
                if not cut and ahead <= _OPTIMAL * self.best.total:
                    self.optimal = True
                    return

    def solve(self, seconds: float) -> tuple[Dual, list[NDArray[np.float64]]] | None:
        """The best duals that all known sets bear, and the weights of the sets, by size."""
        from scipy.optimize import linprog
        from scipy.sparse import csc_array, hstack

        covers = []
        for pool in self.pools.values():
            m, size = pool.sets.shape
            entries = pool.sets.ravel(), np.arange(0, m * size + 1, size)
            covers.append(csc_array((np.ones(m * size), *entries), shape=(self.n, m)))
        cover = hstack(covers, format="csc")
        limits = {}
        if len(self.cuts):
            starts = np.arange(0, self.cuts.size + 1, 3)
            held = csc_array(
                (np.ones(self.cuts.size), self.cuts.ravel(), starts), (self.n, len(self.cuts))
            )
            twice = held.T @ cover
            twice.data = (twice.data >= 2.0).astype(float)
            limits = {"A_ub": twice, "b_ub": np.ones(len(self.cuts))}
        # Relative to the best prices: near the optimum the simplex method has little left to do.
        margins = [pool.margins(self.best.prices) for pool in self.pools.values()]
        found = linprog(
            np.concatenate(margins),
            A_eq=cover,
            b_eq=np.ones(self.n),
            **limits,
            method="highs-ds",
            options={"time_limit": max(0.0, seconds)},
        )
        if found.status != 0:
            return None
        fines = np.maximum(0.0, -found.ineqlin.marginals) if len(self.cuts) else np.empty(0)
        firsts = np.cumsum([len(pool.sets) for pool in self.pools.values()])[:-1]
        dual = Dual(self.best.prices + found.eqlin.marginals, fines)
        return dual, np.split(found.x, firsts)

    def approach(self, dual: Dual, in_time: Callable[[], bool]) -> int:
        """Go some way from the best true duals to these, make them true, and keep what was cheap.

        How many sets were new.
        """
        best = self.best
        prices = best.prices + self.step * (dual.prices - best.prices)
        costs = best.fines + self.step * (dual.fines - best.fines)
        fines = Fines.of(self.cuts, costs, self.n)
        least = np.zeros(self.n)
        new, complete = 0, True
        for size, pool in self.pools.items():
            given = self.squares, self.halves[size], prices, size, self.slack
            priced = price(*given, _EFFORT, in_time, fines)
            complete &= priced.complete
            least = np.minimum(least, priced.least)
            new += pool.add(priced.sets)
        true = Dual(prices + (least - self.slack) / self.k, costs)
        if complete and true.total > best.total:
            self.best = true
        return new

    def separate(self, weights: list[NDArray[np.float64]]) -> int:
        """Take in the cuts that these weights violate most; how many."""
        together: dict[tuple[int, int], float] = {}
        triples: dict[tuple[int, int, int], float] = {}
        mates: dict[int, set[int]] = {}
        for pool, own in zip(self.pools.values(), weights, strict=True):
            for column in np.flatnonzero(own > 1e-6):
                rows = sorted(pool.sets[column].tolist())
                for pair in combinations(rows, 2):
                    together[pair] = together.get(pair, 0.0) + own[column]
                    mates.setdefault(pair[0], set()).add(pair[1])
                    mates.setdefault(pair[1], set()).add(pair[0])
                for triple in combinations(rows, 3):
                    triples[triple] = triples.get(triple, 0.0) + own[column]
        known = set(map(tuple, self.cuts.tolist()))
        found = []
        for one, other in together:
            for third in mates[one] | mates[other]:
                first, second, last = sorted((one, other, third))
                triple = (first, second, last)
                if third in (one, other) or triple in known:
                    continue
                held = sum(together.get(pair, 0.0) for pair in combinations(triple, 2))
                held -= 2.0 * triples.get(triple, 0.0)
                if held > 1.0 + _VIOLATED:
                    known.add(triple)
                    found.append((held, triple))
        found.sort(key=lambda each: (-each[0], each[1]))
        chosen = [triple for _, triple in found[: max(10, int(_CUTS_EACH * self.n))]]
        if chosen:
            self.cuts = np.concatenate([self.cuts, np.array(chosen, np.int64)])
            self.best = self.best._replace(
                fines=np.concatenate([self.best.fines, np.zeros(len(chosen))])
            )
        return len(chosen)
