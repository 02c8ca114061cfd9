"""Optimal microaggregation of one attribute."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from microagg.base.arrays import as_numbers, as_whole_numbers, check_k
from microagg.base.errors import OptionError
from microagg.base.groups import Partition
from microagg.grouping.method import Groups, Method, Task
from microagg.grouping.sequence.sorting import sort_stably
from microagg.grouping.sequence.split import split_by_distances, split_sorted

COSTS = ("sse", "integer", "absolute", "range")


def optimal_univariate(
    x: ArrayLike, k: int, *, cost: str = "sse", size_cost: float = 0.0
) -> Partition:
    """Divide one attribute into groups of at least k values at the least total cost.

    x: numbers, one a record: a list, a NumPy array, a pandas, Polars or Arrow column. Without
        missing or infinite values.
    k: the least group size.
    cost: "sse", the sum of squared distances to the group means; "integer", to the nearest
        integers to the means, for integer data that must be published as integers; "absolute", the
        sum of distances to the group medians; or "range", the sum of the groups' ranges, the
        largest distance of two members.
    size_cost: with c > 0 each group of m values costs c / m on top of its SSE. This is what noise
        on the published mean costs, and groups may then grow to any size.

    The result is the exact optimum. With "integer" all arithmetic is exact, or the data are
    refused. Otherwise costs are computed to a few units in the last place whatever the offset of
    the data. Where several partitions are optimal the same one is found for the same values, in
    whatever order they come; equal values that fall into different groups are told apart by their
    row numbers. Without `size_cost` groups have at most 2k - 1 members.

    O(n log n) time, most of it the sort; O(n) memory. Mortazavi, "Improved Univariate
    Microaggregation for Integer Values", gives MHM, IMHM and IMHMI, whose optima these are; the
    algorithms here need no time that grows with k.
    """
    values = as_numbers(x, "x", (1,))
    k = check_k(k, values.size)
    if cost not in COSTS:
        raise OptionError(f"cost must be one of {', '.join(COSTS)}, but it is {cost!r}")
    size_cost = _check_size_cost(size_cost, cost)
    if cost == "integer":
        values = as_whole_numbers(values, "x")
    return group_values(values, k, cost=cost, size_cost=size_cost)


def group_values(
    values: NDArray, k: int, *, cost: str = "sse", size_cost: float = 0.0, **limits: int
) -> Partition:
    """`optimal_univariate` of numbers that were checked; `limits` are those of `split_sorted`."""
    order, line = sort_stably(_offsets(values))
    if line.dtype.kind == "u" and int(line[-1]) < 2**53:
        line = line.astype(np.float64)
    if cost in ("absolute", "range"):
        sizes = split_by_distances(line, k, cost)
    else:
        sizes = split_sorted(line, k, integer=cost == "integer", size_cost=size_cost, **limits)
    return Partition.from_sequence(order, sizes, k, "optimal_univariate")


def _offsets(values: NDArray) -> NDArray:
    """Integers as distances from the least of them, for floats lose digits; floats as they are."""
    values = np.ascontiguousarray(values)
    if values.dtype.kind == "f":
        return values
    bits = values.view(np.uint64)
    return bits - bits[values.argmin()]


def _check_size_cost(size_cost: float, cost: str) -> float:
    try:
        number = float(size_cost)
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise OptionError("size_cost must be a number, 0 or more")
    if number > 0.0 and cost != "sse":
        raise OptionError("size_cost goes with cost='sse' only")
    return number


def _group(task: Task) -> Groups:
    column = (task.records if task.whole is None else task.whole)[:, 0]
    order, line = sort_stably(np.ascontiguousarray(column))
    return order, split_sorted(line, task.k, integer=task.whole is not None)


METHODS = (
    Method(
        "univariate",
        "one attribute, at the least loss there is; several with partition_columns",
        "IMHMI, section 3",
        "O(n log n)",
        _group,
        integer=True,
        one_column=True,
    ),
)
