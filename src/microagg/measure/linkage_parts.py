"""Can an intruder find a few known persons in a release that is seen only in parts?"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import silent
from microagg.kernels.trees.nearest import find_nearest
from microagg.kernels.trees.planting import plant


class Links:
    """Some original records against every published point, part by part.

    `link` asks it for all records of a table; here the answer is for a sample, of a thousand
    records, say: two decimals of its percentage are luck, the first digits are not. Distances are
    Euclidean between points as they are given, so both come in the same standardised space.

    originals: (m, d), contiguous.

    Each part is indexed and asked for points at least as near as those seen before, and an original
    is given up once something is nearer than what it is published as: about O(g d log g) time for
    a part of g points, and memory for no more than one.
    """

    def __init__(self, originals: NDArray[np.float64]) -> None:
        m = len(originals)
        self._originals = originals
        self._own = np.full(m, -np.inf)
        self._nearest = np.full(m, np.inf)
        self._ties = np.zeros(m, np.int64)

    def place(self, rows: NDArray[np.int64], own: NDArray[np.float64]) -> None:
        """Say what some of the originals are published as; any time before the end."""
        squares = np.zeros(len(rows))
        # Attribute by attribute, as the search does it: equal distances are equal to the last bit.
        for published, original in zip(own.T, self._originals[rows].T, strict=True):
            away = published - original
            squares += away * away
        self._own[rows] = squares
        unseen = rows[squares < self._nearest[rows]]
        self._nearest[unseen] = self._own[unseen]
        self._ties[unseen] = 0

    def add(self, centres: NDArray[np.float64], sizes: NDArray[np.int64]) -> None:
        """Published points, (g, d), and how many records are published as each."""
        undecided = np.flatnonzero(self._nearest >= self._own)
        if len(centres) == 0 or undecided.size == 0:
            return
        tree = plant(np.ascontiguousarray(centres))
        known = self._nearest[undecided]
        weights = np.ascontiguousarray(sizes, np.int64)
        found = find_nearest(tree, self._originals[undecided], known, weights, silent)
        nearer = found.squares < known
        self._nearest[undecided] = found.squares
        self._ties[undecided] = found.weights + np.where(nearer, 0, self._ties[undecided])

    def merge(self, other: Self) -> None:
        """Take what another saw of other published points, for the same originals."""
        nearer = other._nearest < self._nearest
        equal = other._nearest == self._nearest
        self._ties = np.where(nearer, other._ties, self._ties + np.where(equal, other._ties, 0))
        self._nearest = np.minimum(self._nearest, other._nearest)

    @property
    def expected(self) -> float:
        """The share linked rightly by who draws lots among the nearest, in percent.

        Of those originals that were said to be published as something.
        """
        published = int((self._own >= 0.0).sum())
        among = (self._nearest == self._own) & (self._ties > 0)
        return 100.0 * float((1.0 / self._ties[among]).sum()) / max(1, published)
