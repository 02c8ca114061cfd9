"""The best split of a line, by trying everything, in exact rational arithmetic."""

from collections.abc import Callable, Sequence
from fractions import Fraction

Cost = Callable[[Sequence[Fraction]], Fraction]


def sse(group: Sequence[Fraction]) -> Fraction:
    mean = sum(group, Fraction(0)) / len(group)
    return sum(((x - mean) ** 2 for x in group), Fraction(0))


def nearest_integer(mean: Fraction) -> int:
    """Halves away from zero."""
    half_up = int(abs(mean) + Fraction(1, 2))
    return half_up if mean >= 0 else -half_up


def integer_sse(group: Sequence[Fraction]) -> Fraction:
    centre = nearest_integer(sum(group, Fraction(0)) / len(group))
    return sum(((x - centre) ** 2 for x in group), Fraction(0))


def sse_and_noise(c: Fraction) -> Cost:
    return lambda group: sse(group) + c / len(group)


def absolute(group: Sequence[Fraction]) -> Fraction:
    """Distances to the median, the least there are to any point."""
    median = sorted(group)[len(group) // 2]
    return sum((abs(x - median) for x in group), Fraction(0))


def span(group: Sequence[Fraction]) -> Fraction:
    return max(group) - min(group)


def vector_cost(cost: Cost) -> Callable[[Sequence[Sequence[Fraction]]], Fraction]:
    return lambda group: sum((cost(column) for column in zip(*group, strict=True)), Fraction(0))


def least_cost(line: Sequence, k: int, cost: Callable, longest: int | None = None) -> Fraction:
    """MHM over all arcs: the shortest path from 0 to n, each arc summed from scratch."""
    n = len(line)
    best: list[Fraction | None] = [Fraction(0)] + [None] * n
    for end in range(k, n + 1):
        for start in range(max(0, end - (longest or n)), end - k + 1):
            before = best[start]
            if before is None:
                continue
            total = before + cost(line[start:end])
            if best[end] is None or total < best[end]:
                best[end] = total
    assert best[n] is not None
    return best[n]


def least_cost_of_all_partitions(values: Sequence[Fraction], k: int, cost: Cost) -> Fraction:
    """Over every way to form groups of at least k, consecutive or not; for a dozen values."""

    def search(rest: Sequence[Fraction], groups: list[list[Fraction]]) -> Fraction | None:
        missing = sum(max(0, k - len(group)) for group in groups)
        if missing > len(rest):
            return None
        if not rest:
            return sum((cost(group) for group in groups), Fraction(0))
        first, others = rest[0], rest[1:]
        found = [
            search(others, [*groups[:i], [*group, first], *groups[i + 1 :]])
            for i, group in enumerate(groups)
        ]
        found.append(search(others, [*groups, [first]]))
        return min((total for total in found if total is not None), default=None)

    best = search(values, [])
    assert best is not None
    return best


def cost_of_labels(line: Sequence, labels: Sequence[int], cost: Callable) -> Fraction:
    groups: dict[int, list] = {}
    for x, label in zip(line, labels, strict=True):
        groups.setdefault(int(label), []).append(x)
    return sum((cost(group) for group in groups.values()), Fraction(0))
