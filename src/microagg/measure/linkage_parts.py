"""Can an intruder find a few known persons in a release that is seen only in parts?"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import silent
from microagg.kernels.compiling import inner, kernel
from microagg.kernels.trees.nearest import Nearest, find_nearest
from microagg.kernels.trees.planting import plant
from microagg.measure.linkage import classes

# An original, a published point as near as any (its hash), its records, and how far it is.
_TIE = np.dtype([("who", "i8"), ("point", "u8"), ("size", "i8"), ("square", "f8")])


class Links:
    """Some original records against every published point, part by part.

    `link` asks it for all records of a table; here the answer is for a sample, of a thousand
    records, say: two decimals of its percentage are luck, the first digits are not. Distances are
    Euclidean between points as they are given, so both come in the same standardised space.

    originals: (m, d), contiguous.

    Each part is indexed and asked for points at least as near as those seen before, and an original
    is given up once something is nearer than what it is published as: about O(g d log g) time for
    a part of g points, and memory for no more than one, and for the points that are just as near.
    """

    def __init__(self, originals: NDArray[np.float64]) -> None:
        m = len(originals)
        self._originals = originals
        self._own = np.full(m, -np.inf)
        self._nearest = np.full(m, np.inf)
        self._ties = np.empty(0, _TIE)

    def place(self, rows: NDArray[np.int64], own: NDArray[np.float64]) -> None:
        """Say what some of the originals are published as; any time before the end."""
        squares = np.zeros(len(rows))
        # Attribute by attribute, as the search does it: equal distances are equal to the last bit.
        for published, original in zip(own.T, self._originals[rows].T, strict=True):
            away = published - original
            squares += away * away
        self._own[rows] = squares
        self._nearest[rows] = np.minimum(squares, self._nearest[rows])

    def add(self, centres: NDArray[np.float64], sizes: NDArray[np.int64]) -> None:
        """Published points, (g, d), and how many records are published as each."""
        undecided = np.flatnonzero(self._nearest >= self._own)
        if len(centres) == 0 or undecided.size == 0:
            return
        labels = classes(centres)
        points = np.ascontiguousarray(centres[np.unique(labels, return_index=True)[1]])
        weights = np.bincount(labels, sizes).astype(np.int64)
        queries = self._originals[undecided]
        found = find_nearest(plant(points), queries, self._nearest[undecided], weights, silent)
        self._nearest[undecided] = found.squares
        tied, at = _all_nearest(points, queries, found, weights)
        ties = np.empty(at.size, _TIE)
        ties["who"], ties["size"], ties["square"] = (
            undecided[tied],
            weights[at],
            found.squares[tied],
        )
        hashes = np.empty(at.size, np.uint64)
        _hash(np.add(points[at], 0.0).view(np.uint64), hashes)
        ties["point"] = hashes
        self._keep(ties)

    def merge(self, other: Self) -> None:
        """Take what another saw of other published points, for the same originals."""
        self._nearest = np.minimum(self._nearest, other._nearest)
        self._keep(other._ties)

    def _keep(self, more: NDArray) -> NDArray:
        ties = np.concatenate([self._ties, more])
        self._ties = ties[ties["square"] == self._nearest[ties["who"]]]
        return self._ties

    @property
    def expected(self) -> float:
        """The share linked rightly by who draws lots among the nearest records, in percent.

        Of those originals that were said to be published as something.
        """
        ties = self._keep(self._ties[:0])
        return self._share(np.bincount(ties["who"], ties["size"], self._own.size))

    @property
    def by_class(self) -> float:
        """The share whose class is found by who draws lots among the nearest ones, in percent."""
        ties = np.unique(self._keep(self._ties[:0])[["who", "point"]])
        return self._share(np.bincount(ties["who"], minlength=self._own.size))

    def _share(self, ties: NDArray) -> float:
        published = int((self._own >= 0.0).sum())
        among = (self._nearest == self._own) & (ties > 0)
        return 100.0 * float((1.0 / ties[among]).sum()) / max(1, published)


def _all_nearest(
    points: NDArray[np.float64],
    queries: NDArray[np.float64],
    found: Nearest,
    weights: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each query and each point that is nearest to it, as two columns."""
    near = np.flatnonzero(found.weights)
    single = found.weights[near] == weights[found.numbers[near]]
    who, at = [near[single]], [found.numbers[near[single]].astype(np.int64)]
    numbers = np.empty(len(points), np.int64)
    for query in near[~single].tolist():
        count = _list_at(points, queries[query], found.squares[query], numbers)
        who.append(np.full(count, query))
        at.append(numbers[:count].copy())
    return np.concatenate(who), np.concatenate(at)


@kernel
def _list_at(points, query, square, numbers):
    """List the points at this distance and none nearer; how many there are."""
    count = 0
    for j in range(len(points)):
        total = 0.0
        for a in range(query.size):
            away = points[j, a] - query[a]
            total += away * away
            if total > square:
                break
        if total == square:
            numbers[count] = j
            count += 1
    return count


@kernel
def _hash(lines, hashes):
    for i in range(len(lines)):
        hashes[i] = _stirred(lines[i])


@inner
def _stirred(entries):
    """A hash of a line of 64 bits each."""
    mixed = np.uint64(0)
    for a in range(entries.size):
        mixed = (mixed ^ entries[a]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32))
