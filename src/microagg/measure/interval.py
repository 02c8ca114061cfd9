"""Do released values come so close to the originals that they give them away?"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from microagg.base.arrays import as_numbers
from microagg.base.errors import InputError, OptionError
from microagg.kernels.compiling import kernel
from microagg.kernels.threads import run_both
from microagg.measure.statistics import Pair, as_pair

BASES = ("deviation", "range", "rank")


@dataclass(frozen=True)
class Exposure:
    """The percentage of values at risk: in all, and in each column. Lower is better."""

    total: float
    attributes: tuple[float, ...]


def sdid(
    original: ArrayLike | Pair,
    released: ArrayLike | None = None,
    sd: float = 5.0,
    *,
    links: NDArray[np.integer] | None = None,
) -> Exposure:
    """Interval disclosure by standard deviations, SDID, in percent: 0 to 100, lower is better.

    The share of cells with |x - x'| <= sd / 100 * deviation of the original column. x' is the
    record's own released value, as the words of the P3M paper, section 2.3, have it; or, with
    `links` = link(...).rows, that of the nearest released record, as its equation 8. O(n d) time.
    """
    return interval_disclosure(original, released, width=sd, links=links)


def interval_disclosure(
    original: ArrayLike | Pair,
    released: ArrayLike | None = None,
    *,
    width: float = 5.0,
    basis: str = "deviation",
    links: NDArray[np.integer] | None = None,
) -> Exposure:
    """The share of cells whose released value is close to the original, in percent.

    width: how close is too close, in percent of the basis.
    basis: "deviation", |x - x'| <= width / 100 * standard deviation of the original column;
    "range", the same with its range, largest less least; "rank", ranks of x and x' among the
    original values of the column, the middle one of equals, differ by at most width / 100 * n.
    links: the released row whose values each original record is compared with; its own if not
    given.

    0 to 100, lower is better; the total is the mean over the columns that vary. O(n d) time, and
    O(n d log n) for ranks.
    """
    pair = as_pair(original, released)
    if basis not in BASES:
        raise OptionError(f"basis must be one of {', '.join(BASES)}, but it is {basis!r}")
    if not 0.0 <= width < float("inf"):
        raise OptionError(f"the width must be 0 percent or more, but it is {width}")
    if links is not None and np.shape(links) != (pair.n,):
        raise InputError(
            f"links must be one row a record, {pair.n} in all, but their shape is {np.shape(links)}"
        )
    share = width / 100.0
    shares = np.zeros(pair.columns.size)

    def judge(a: int) -> None:
        line, twin = pair.original[a], pair.released[a]
        if basis == "rank":
            ranks, twin_ranks = np.empty(pair.n, np.int64), np.empty(pair.n, np.int64)
            _rank(line, np.argsort(line), twin, np.argsort(twin), ranks, twin_ranks)
            line, twin = ranks, twin_ranks
            reach = 2.0 * share * pair.n
        else:
            unit = pair.deviations[a] if basis == "deviation" else line.max() - line.min()
            reach = share * unit
        twin = twin if links is None else twin[links]
        shares[a] = 100.0 * float((np.abs(line - twin) <= reach).mean())

    _in_turn(judge, pair.columns.size)
    return Exposure(float(shares.mean()) if shares.size else 0.0, pair.per_column(shares))


def _in_turn(judge: Callable[[int], None], columns: int) -> None:
    """Judge each column, every other one in a second thread."""

    def some(first: int) -> None:
        for a in range(first, columns, 2):
            judge(a)

    run_both(lambda: some(0), lambda: some(1))


@kernel
def _rank(line, order, twin, twin_order, ranks, twin_ranks):
    """Ranks among `line`, twice the middle of equals: how many are less, plus less or equal."""
    n = line.size
    first = 0
    while first < n:
        last = first + 1
        while last < n and line[order[last]] == line[order[first]]:
            last += 1
        for i in range(first, last):
            ranks[order[i]] = first + last
        first = last
    less = 0
    upto = 0
    for i in range(n):
        row = twin_order[i]
        x = twin[row]
        while less < n and line[order[less]] < x:
            less += 1
        while upto < n and line[order[upto]] <= x:
            upto += 1
        twin_ranks[row] = less + upto


def disclosure_risk(linkage: float, interval: float) -> float:
    """DR = (DLD + ID) / 2, in percent: 0 to 100, lower is better (P3M paper, section 2.3)."""
    return (linkage + interval) / 2.0


def scoring_index(risk: float, loss: float) -> float:
    """SI = (DR + IL) / 2, in percent: lower is better (P3M paper, equation 12; IL is PIL there)."""
    return (risk + loss) / 2.0


def satisfaction(
    original: ArrayLike | Pair,
    released: ArrayLike | None = None,
    distance: ArrayLike = 0.1,
    importance: ArrayLike = 1.0,
    *,
    relative: bool = False,
) -> float:
    """The satisfaction level SL, in percent: the share of cells as far off as their owners ask.

    distance: what is asked, in deviations of the original column; a number, one a column, or one a
    cell. relative: it is a multiple of the cell's own |z-score|.
    importance: the weight of a cell, 0 or more, in any of these forms.

    P3M paper, equation 13: 100 * (sum of importance where |x - x'| / deviation >= distance) /
    (sum of importance), with 0 / 0 = 1. 0 to 100, higher is better. O(n d) time.
    """
    pair = as_pair(original, released)
    asked = _cells(distance, "distance", pair)
    weights = _cells(importance, "importance", pair)
    satisfied = total = 0.0
    for a, column in enumerate(pair.columns):
        line, twin = pair.original[a], pair.released[a]
        deviation = pair.deviations[a]
        wanted = asked[:, column] * deviation
        if relative:
            score = (line - pair.pivots[a]) - pair.means[a]
            wanted = asked[:, column] * np.abs(score)
        weight = weights[:, column]
        satisfied += float(weight[np.abs(line - twin) >= wanted].sum())
        total += float(weight.sum())
    return min(100.0, 100.0 * satisfied / total) if total > 0.0 else 100.0


def _cells(values: ArrayLike, name: str, pair: Pair) -> NDArray:
    """One number a cell, from a number, one a column, or one a cell; none negative."""
    one = isinstance(values, int | float | np.number)
    numbers = as_numbers(np.array([values]) if one else values, name, (1, 2))
    if not one and numbers.shape not in ((pair.d,), (pair.n, pair.d)):
        raise InputError(
            f"{name} must be a number, one a column or one a cell, but its shape is "
            f"{numbers.shape} and that of the table ({pair.n}, {pair.d})"
        )
    if numbers.size and numbers.min() < 0:
        raise InputError(f"{name} must not be negative")
    return np.broadcast_to(numbers, (pair.n, pair.d))
