"""Do released values come so close to the originals that they give them away?"""

from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from microagg.base.arrays import as_numbers
from microagg.base.errors import InputError, OptionError
from microagg.kernels.threads import run_each
from microagg.measure.statistics import ByColumn, Pair, runs_of

# In percent of a deviation, if nobody says otherwise.
TOO_CLOSE = 5.0


def interval_disclosure(
    pair: Pair,
    width: float = TOO_CLOSE,
    basis: Literal["deviation", "range", "rank"] = "deviation",
    links: NDArray[np.integer] | None = None,
) -> ByColumn:
    """The share of cells whose released value is close to the original, in percent.

    width: how close is too close, in percent of the basis.
    basis: "deviation", |x - x'| <= width / 100 * standard deviation of the original column, which
    is SDID of the P3M paper, section 2.3; "range", the same with its range, largest less least;
    "rank", ranks of x and x' among the original values of the column, the middle one of equals,
    differ by at most width / 100 * n.
    links: the released row whose values each original record is compared with, link(...).rows for
    the nearest one as in the paper's equation 8, -1 for none; its own, as the paper's words have
    it, if not given.

    0 to 100, lower is better; the total is the mean over the columns that vary. O(n d) time, and
    O(n d log n) for ranks.
    """
    if not 0.0 <= width < float("inf"):
        raise OptionError(f"the width must be 0 percent or more, but it is {width}")
    share = width / 100.0
    shares = np.zeros(pair.columns.size)

    def judge(a: int) -> None:
        line, twin = pair.original[a], pair.released[a]
        if basis == "rank":
            before, after = (lines[a] for lines in pair.ascending)
            line, twin = _ranks(line, before, before), _ranks(twin, after, before)
            reach = 2.0 * share * pair.n
        else:
            unit = pair.deviations[a] if basis == "deviation" else line.max() - line.min()
            reach = share * unit
        twin = twin if links is None else twin[links]
        close = np.abs(line - twin) <= reach
        shares[a] = 100.0 * float((close if links is None else close & (links >= 0)).mean())

    run_each([partial(judge, a) for a in range(pair.columns.size)])
    return pair.by_column(shares)


def _ranks(values: NDArray, ordered: NDArray, ascending: NDArray) -> NDArray[np.int64]:
    """Twice the rank, the middle one of equals: how many are less, plus less or equal.

    ordered: the same values in order; ascending: those among which they are ranked.
    """
    ranks, begins = np.empty(values.size, np.int64), runs_of(ordered)
    ends = np.append(begins[1:], ordered.size)
    # Each value once, in order: they are looked up where the last one was.
    below, up_to = begins, ends
    if ordered is not ascending:
        below, up_to = (
            np.searchsorted(ascending, ordered[begins], side) for side in ("left", "right")
        )
    ranks[np.argsort(values)] = np.repeat(below + up_to, ends - begins)
    return ranks


def transparent_disclosure(
    pair: Pair,
    width: float,
    distance: ArrayLike,
    importance: ArrayLike,
    alpha: float,
    *,
    relative: bool = False,
) -> ByColumn:
    """`interval_disclosure` by one who knows how proximity centroids y are made, in percent.

    distance, importance, alpha, relative: as for `proximity_centroids`; known to him, too.

    A tight group around C pays least, but for what keeps mean and variance, where
    (y - C)^2 = distance^2 - (1 - alpha) (1 - importance)^2 / (2 alpha), in deviations: nowhere but
    at C if that is negative. He solves for C, which has two solutions, and guesses y, either of the
    two, the one nearer to the mean of all or the one farther from it; `relative` asks for
    distance * |C|. Whichever is right most often counts, in each column. 0 to 100; lower is better,
    and never below `interval_disclosure`. O(n d) time.
    """
    asked = (distance, importance, alpha)
    told = transparent_guesses(pair, width, *asked, relative=relative)
    return pair.by_column([100.0 * float(each.mean()) for each in told])


def transparent_guesses(
    pair: Pair,
    width: float,
    distance: ArrayLike,
    importance: ArrayLike,
    alpha: float,
    *,
    relative: bool = False,
) -> list[NDArray[np.bool_]]:
    """For each column that varies, whose values his best guess tells; as above."""
    asked, weights = _cells(distance, "distance", pair), _cells(importance, "importance", pair)
    told = []
    for a, column in enumerate(pair.columns):
        z, y = (lines[a] for lines in pair.scores)
        square = asked[:, column] ** 2
        less = (1.0 - alpha) * (1.0 - weights[:, column]) ** 2 / (2.0 * alpha) if alpha else np.inf
        with np.errstate(invalid="ignore", divide="ignore"):
            if relative:
                # C solves (1 - square) C^2 - 2 y C + y^2 + less = 0.
                root = np.sqrt(square * y * y - (1.0 - square) * less)
                low, high = (y - root) / (1.0 - square), (y + root) / (1.0 - square)
            else:
                root = np.sqrt(square - less)
                low, high = y - root, y + root
        low, high = (np.where(np.isfinite(each), each, y) for each in (low, high))
        nearer = np.abs(low) < np.abs(high)
        guesses = (y, low, high, np.where(nearer, low, high), np.where(nearer, high, low))
        right = [np.abs(z - each) <= width / 100.0 for each in guesses]
        told.append(max(right, key=np.count_nonzero))
    return told


def satisfaction(
    pair: Pair, distance: ArrayLike, importance: ArrayLike = 1.0, *, relative: bool = False
) -> float:
    """The satisfaction level SL, in percent: the share of cells as far off as their owners ask.

    distance: what is asked, in deviations of the original column; a number, one a column, or one a
    cell. relative: it is a multiple of the cell's own |z-score|.
    importance: the weight of a cell, 0 or more, in any of these forms.

    P3M paper, equation 13: 100 * (sum of importance where |x - x'| / deviation >= distance) /
    (sum of importance), with 0 / 0 = 1. 0 to 100, higher is better. O(n d) time.
    """
    asked = _cells(distance, "distance", pair)
    weights = _cells(importance, "importance", pair)
    satisfied = total = 0.0
    for a, column in enumerate(pair.columns):
        line, twin = pair.original[a], pair.released[a]
        unit = np.abs(line - pair.pivots[a] - pair.means[a]) if relative else pair.deviations[a]
        weight = weights[:, column]
        satisfied += float(weight[np.abs(line - twin) >= asked[:, column] * unit].sum())
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
