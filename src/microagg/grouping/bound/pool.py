"""The groups of k found so far, and prices that they bear: the master problem."""

import math

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel

# Steps longer than the exact one speed convergence up severalfold; 2 would not converge.
_RELAXATION = 1.5
_SWEEPS = 100
# Steps below this, times the temperature, no longer matter.
_STILL = 1e-3
# A set this many temperatures below its price has no weight.
_WEIGHTLESS = 40.0
# More columns than this a record are thinned out to half as many.
_MOST_EACH = 40


class Pool:
    """Sets of k records, each once, with their costs."""

    def __init__(self, records: NDArray[np.float64], k: int) -> None:
        n = len(records)
        self.records = records
        self.sets = np.empty((0, k), np.int32)
        self.costs = np.empty(0)
        # A set is told by the sum of its members' random keys.
        self._keys = np.random.default_rng(0).integers(0, 2**64, n, dtype=np.uint64)
        self._known = np.empty(0, np.uint64)

    def add(self, sets: NDArray[np.int32]) -> int:
        """Take in the sets that are new; how many."""
        keys, first = np.unique(self._keys[sets].sum(axis=1), return_index=True)
        new = first[~np.isin(keys, self._known)]
        sets = sets[new]
        costs = np.empty(len(sets))
        _cost(self.records, sets, costs)
        self._known = np.concatenate([self._known, self._keys[sets].sum(axis=1)])
        self.sets = np.concatenate([self.sets, sets])
        self.costs = np.concatenate([self.costs, costs])
        return len(sets)

    def thin(self, prices: NDArray[np.float64]) -> None:
        """Drop the sets that are farthest from being charged their cost, once there are many."""
        most = _MOST_EACH * len(self.records)
        if len(self.sets) > most:
            margins = self.margins(prices)
            kept = np.sort(np.argpartition(margins, most // 2)[: most // 2])
            self.sets, self.costs = self.sets[kept], self.costs[kept]
            self._known = self._known[kept]

    def margins(self, prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cost less what the members pay, of each set."""
        return self.costs - prices[self.sets].sum(axis=1)

    def balance(self, prices: NDArray[np.float64], temperature: float) -> float:
        """Make prices smooth and fair to the sets of the pool; how far from its best they stay.

        The master problem, max sum of u with u(S) <= c(S) for all S of the pool, is softened to
        max sum of u - temperature * sum over S of exp((u(S) - c(S)) / temperature). Each price in
        turn is set to its exact optimum (iterative scaling), and somewhat beyond. At the optimum
        the exponentials weigh the sets so that each record is covered once, every set costs no less
        than its members pay, and the sum of the prices is below the pool's own bound by the blur:
        the temperature times the entropy of the weights. Such prices lie amid the best ones, not at
        a corner as those of the simplex method, and few sets are missing beneath them.
        """
        k = self.sets.shape[1]
        entries = self.sets.ravel()
        order = np.argsort(entries, kind="stable")
        starts = np.searchsorted(entries[order], np.arange(len(prices) + 1))
        levels = -self.margins(prices) / temperature
        columns = (order // k).astype(np.int32)
        _balance(starts, columns, levels, prices, temperature, _SWEEPS)
        heavy = levels[levels > -_WEIGHTLESS]
        return -temperature * float((np.exp(np.minimum(heavy, 0.0)) * heavy).sum())

    def solve(self, prices: NDArray[np.float64], seconds: float) -> NDArray[np.float64] | None:
        """The best prices that all sets of the pool bear; none if time runs out.

        The linear programme is stated relative to the prices given: near the optimum its costs are
        small, and the simplex method has little left to do.
        """
        from scipy.optimize import linprog
        from scipy.sparse import csc_array

        m, k = self.sets.shape
        cover = csc_array(
            (np.ones(m * k), self.sets.ravel(), np.arange(0, m * k + 1, k)),
            shape=(len(prices), m),
        )
        found = linprog(
            self.margins(prices),
            A_eq=cover,
            b_eq=np.ones(len(prices)),
            method="highs-ds",
            options={"time_limit": max(0.0, seconds)},
        )
        return prices + found.eqlin.marginals if found.status == 0 else None


@kernel
def _cost(records, sets, costs):
    """The SSE of each set: the squared distances of all pairs, over k."""
    d = records.shape[1]
    k = sets.shape[1]
    for s in range(costs.size):
        total = 0.0
        for t in range(k):
            for o in range(t):
                for a in range(d):
                    away = records[sets[s, t], a] - records[sets[s, o], a]
                    total += away * away
        costs[s] = total / k


@kernel
def _balance(starts, columns, levels, prices, temperature, sweeps):
    n = prices.size
    for _ in range(sweeps):
        moved = 0.0
        for i in range(n):
            highest = -np.inf
            for e in range(starts[i], starts[i + 1]):
                highest = max(highest, levels[columns[e]])
            total = 0.0
            for e in range(starts[i], starts[i + 1]):
                below = levels[columns[e]] - highest
                if below > -_WEIGHTLESS:
                    total += math.exp(below)
            step = highest + math.log(total)
            moved += abs(step)
            if abs(step) < 1.0:
                step *= _RELAXATION
            prices[i] -= step * temperature
            for e in range(starts[i], starts[i + 1]):
                levels[columns[e]] -= step
        if moved < _STILL * n:
            return
