"""Can an intruder who knows the originals find a person's record in the release?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.kernels.compiling import kernel
from microagg.kernels.trees.nearest import find_nearest
from microagg.kernels.trees.planting import plant
from microagg.measure.statistics import Pair


@dataclass(frozen=True, eq=False)
class Linkage:
    """What an intruder finds who takes the released record nearest to each original one.

    percent: DLD, the share of records linked to themselves, 0 to 100; lower is better.
    expected: the same for one who draws lots among equally near records; lower is better.
    rows: the released row that each original record is linked to.
    """

    percent: float
    expected: float
    rows: NDArray[np.int64]


def link(pair: Pair, *, known: Sequence[int] | None = None, advance: Advance = silent) -> Linkage:
    """Link every original record to the nearest released one: DLD, in percent.

    known: numbers of the columns that the intruder knows; all of them if not given.

    P3M paper, section 2.3, equation 7: DLD = 100 * #{i : i = i'} / n, where i' is the released
    record nearest to original record i, the one with the lowest number if several are. In a
    k-anonymous release that finds at most one record of a class, whoever it is; `expected` is
    100 / n * sum of 1 / ties over the records i that are themselves among their nearest, which is
    what a person's risk really is. Distances are Euclidean in deviations of the original columns,
    for both tables: the paper scales each table by its own deviations, which is the same for
    releases that keep them.

    Exact. Equal released records are searched once, and the search starts from a record's own:
    mostly there is little left to look at. About O(n log n) time for few columns, more for many.
    """
    if known is not None:
        pair = pair.only(known)
    n = pair.n
    if pair.columns.size == 0:
        return Linkage(100.0 / n, 100.0 / n, np.zeros(n, np.int64))
    labels = classes(pair.released.T)
    firsts = np.empty(int(labels.max()) + 1, np.int64)
    firsts[labels[::-1]] = np.arange(n - 1, -1, -1)
    records = np.ascontiguousarray(pair.original.T)
    points = np.ascontiguousarray(pair.released[:, firsts].T)
    scales = 1.0 / pair.deviations
    own = np.zeros(n)
    # Column by column, as the search does it: equal distances are equal to the last bit.
    for line, twin, scale in zip(pair.original, pair.released, scales, strict=True):
        away = (twin - line) * scale
        own += away * away
    tree = plant(points, scales=scales)
    found = find_nearest(tree, records, own, np.bincount(labels), advance)
    # Classes are numbered as they appear, so the lowest number has the lowest row.
    rows = firsts[found.numbers]
    among = found.squares == own
    return Linkage(
        percent=100.0 * float((rows == np.arange(n)).sum()) / n,
        expected=100.0 * float((among / found.weights).sum()) / n,
        rows=rows,
    )


def classes(records: NDArray[np.float64]) -> NDArray[np.int64]:
    """The class, 0 to c - 1, of each record: records are in one if they agree in every column.

    Exact; the two zeros are one. Classes are numbered as they appear. Expected O(n d) time, by
    hashing.
    """
    n = len(records)
    keys = np.add(records, 0.0, order="C").view(np.uint64)  # makes a negative zero positive
    labels = np.empty(n, np.int64)
    _label(keys, np.full(1 << max(1, (2 * n - 1).bit_length()), -1, np.int32), labels)
    return labels


@kernel
def _label(keys, table, labels):
    """`table` has a power of two of places, more than records: each class's first row."""
    n, d = keys.shape
    mask = np.uint64(table.size - 1)
    count = 0
    for i in range(n):
        mixed = np.uint64(0)
        for a in range(d):
            mixed = (mixed ^ keys[i, a]) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        slot = (mixed ^ (mixed >> np.uint64(32))) & mask
        while True:
            row = table[slot]
            if row < 0:
                table[slot] = i
                labels[i] = count
                count += 1
                break
            same = True
            for a in range(d):
                if keys[row, a] != keys[i, a]:
                    same = False
                    break
            if same:
                labels[i] = labels[row]
                break
            slot = (slot + np.uint64(1)) & mask
