"""Private releases the plain way: Algorithm 3 with all its edges, and neighbours by trying them."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from microagg.private import release


def least_error(values: Sequence[Fraction], c: Fraction) -> Fraction:
    """Algorithm 3: the shortest path over all pairs of boundaries; a group costs SSE + c / size."""
    line = sorted(values)
    best = [Fraction(0)]
    for end in range(1, len(line) + 1):
        found = []
        total = squares = Fraction(0)
        for start in range(end - 1, -1, -1):
            total += line[start]
            squares += line[start] ** 2
            size = end - start
            found.append(best[start] + squares - total**2 / size + c / size)
        best.append(min(found))
    return best[-1]


def error_of(values: Sequence[Fraction], labels: Sequence[int], c: Fraction) -> Fraction:
    """What a given partition costs."""
    cost = Fraction(0)
    for label in set(labels):
        group = [x for x, own in zip(values, labels, strict=True) if own == label]
        mean = sum(group, Fraction(0)) / len(group)
        cost += sum((x - mean) ** 2 for x in group) + c / len(group)
    return cost


def neighbours(domain: Sequence[tuple[int, ...]], n: int) -> Iterator[tuple[tuple, tuple]]:
    """Every table of n records from a small domain, with every table one substitution away."""
    for table in product(domain, repeat=n):
        for row, other in product(range(n), domain):
            yield table, (*table[:row], other, *table[row + 1 :])


def largest_change(
    group_sums: Callable[[np.ndarray], np.ndarray], domain: Sequence[tuple[int, ...]], n: int
) -> np.ndarray:
    """For each column, the most that all its group sums together change between neighbours."""
    worst = np.zeros(len(domain[0]))
    sums = {table: group_sums(np.array(table, float)) for table in product(domain, repeat=n)}
    for one, other in neighbours(domain, n):
        change = np.abs(sums[one] - sums[other]).sum(axis=0)
        worst = np.maximum(worst, change)
    return worst


def simulated_error(
    x: np.ndarray,
    method: str,
    epsilon: float,
    k: int | None = None,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    runs: int = 200,
) -> np.ndarray:
    """The squared error of each of many simulated releases; x is sorted, far from its bounds."""
    errors = []
    for seed in range(runs):
        made = release(
            x,
            epsilon=epsilon,
            bounds={"0": bounds},
            method=method,
            k=k,
            accept="partition-conditional",
            simulate=True,
            seed=seed,
        )
        # What was shuffled is put into order again: the groups stand from low to high.
        whole = made.marginals and np.repeat(made.marginals["0"].values, made.marginals["0"].counts)
        errors.append((((made.data if whole is None else whole) - x) ** 2).sum())
    return np.array(errors)
