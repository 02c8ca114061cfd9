"""Can an intruder who knows the originals find a person's record in the release?"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.kernels.compiling import read_only
from microagg.kernels.labelling import Words, label
from microagg.kernels.trees.few import nearest_among
from microagg.measure.statistics import Pair

# Records and classes are counted in one go: the former below, the latter from this bit on.
_CLASS = 32


class Records(NamedTuple):
    """Original and released records as points of one space, row by row; (n, d) each.

    scales: what a difference is multiplied by, coordinate by coordinate.
    """

    original: NDArray[np.float64]
    released: NDArray[np.float64]
    scales: NDArray[np.float64]

    @classmethod
    def of_numbers(cls, pair: Pair) -> Self:
        """Numbers, in deviations of the original columns."""
        return cls(pair.original.T, pair.released.T, 1.0 / pair.deviations)


@dataclass(frozen=True, eq=False)
class Linkage:
    """What an intruder finds who takes the released record nearest to each original one.

    percent: DLD, the share of records linked to themselves, 0 to 100; lower is better.
    expected: the same for one who draws lots among equally near records; lower is better.
    by_class: the share whose class is found by one who draws lots among equally near classes.
    rows: the released row that each original record is linked to.
    """

    percent: float
    expected: float
    by_class: float
    rows: NDArray[np.int64]


def link(records: Records, advance: Advance = silent) -> Linkage:
    """Link every original record to the nearest released one: DLD, in percent.

    P3M paper, section 2.3, equation 7: DLD = 100 * #{i : i = i'} / n, where i' is the released
    record nearest to original record i, the one with the lowest number if several are. In a
    k-anonymous release that finds at most one record of a class, whoever it is: never more than
    100 / k. `expected` is 100 / n * sum of 1 / ties over the records i that are themselves among
    their nearest, which is what a person's risk to be picked out really is, below 100 / k as well.
    `by_class` counts the classes of equal released records in the place of records: whose class is
    found, all that its members share is known of. Distances are Euclidean, with the same scales for
    both tables: the paper scales each table by its own deviations, which is the same for releases
    that keep them.

    Exact. Equal records of either table are searched once, and the search starts from a record's
    own: mostly there is little left to look at. About O(n log n) time for few columns, more for
    many.
    """
    original, released, scales = records
    n, d = original.shape
    if d == 0:
        return Linkage(100.0 / n, 100.0 / n, 100.0, np.zeros(n, np.int64))
    labels, kinds = classes(released), classes(original)
    firsts, asked = _first_rows(labels), _first_rows(kinds)
    own = np.zeros(n)
    # Column by column, as the search does it: equal distances are equal to the last bit.
    for line, twin, scale in zip(original.T, released.T, scales, strict=True):
        away = (twin - line) * scale
        own += away * away
    within = np.full(asked.size, np.inf)
    np.minimum.at(within, kinds, own)
    points, queries = np.ascontiguousarray(released[firsts]), np.ascontiguousarray(original[asked])
    weights = np.bincount(labels) + (1 << _CLASS)
    found = nearest_among(points, scales, queries, within, weights, advance)
    # Classes are numbered as they appear, so the lowest number has the lowest row.
    rows = firsts[found.numbers[kinds]]
    among, ties = found.squares[kinds] == own, found.weights[kinds]
    return Linkage(
        percent=100.0 * float((rows == np.arange(n)).sum()) / n,
        expected=100.0 * float((among / (ties & ((1 << _CLASS) - 1))).sum()) / n,
        by_class=100.0 * float((among / (ties >> _CLASS)).sum()) / n,
        rows=rows,
    )


def _first_rows(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    firsts = np.empty(int(labels.max()) + 1, np.int64)
    firsts[labels[::-1]] = np.arange(labels.size - 1, -1, -1)
    return firsts


def classes(records: NDArray[np.float64]) -> NDArray[np.int64]:
    """The class, 0 to c - 1, of each record: records are in one if they agree in every column.

    Exact; the two zeros are one. Classes are numbered as they appear. Expected O(n d) time.
    """
    entries = read_only(np.ascontiguousarray(records, np.float64).view(np.uint64))
    return label([Words(entries, True)], len(records))
