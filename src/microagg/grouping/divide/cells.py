"""Cells for data of any size: a tree of median splits, planned on a sample, followed by every row.

The plan is made once and kept as plain data. A row's cell then depends on its values and the plan
only: not on the rows that come with it, nor on threads or machines. NumPy arrays in and out; where
rows come from and go to is for the engines to know.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.grouping.divide.blocks import join, join_smallest
from microagg.grouping.divide.reduce import find_axes
from microagg.kernels.compiling import kernel


@dataclass(frozen=True, eq=False)
class CellTree:
    """Splits of space, each at a plane; every part that is left is a cell.

    A row goes to the first child of a split if the sum over the columns of value times weight is at
    most the cut, otherwise to the second. A child is the number of a split, or of a cell as
    -1 - cell; the root is split 0, or cell 0 where nothing is split.
    """

    weights: NDArray[np.float64]  # (splits, d)
    cuts: NDArray[np.float64]  # (splits,)
    children: NDArray[np.int64]  # (splits, 2)
    middles: NDArray[np.float64]  # (cells, d) the sample's mean

    @property
    def n_cells(self) -> int:
        """How many cells there are: 0 to n_cells - 1."""
        return len(self.middles)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers; as JSON they come back to the last bit."""
        return {name: array.tolist() for name, array in vars(self).items()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The tree that `to_dict` wrote down."""
        try:
            middles, cuts = np.array(plain["middles"], np.float64), np.array(plain["cuts"], float)
            (cells, d), (splits,) = middles.shape, cuts.shape
            weights = np.array(plain["weights"], np.float64).reshape(splits, d)
            children = np.array(plain["children"], np.int64).reshape(splits, 2)
            expected = [*range(-cells, 0), *range(1, splits)]
            below = (children < 0) | (children > np.arange(splits)[:, None])
            sound = cells == 1 and splits == 0
            sound |= np.array_equal(np.sort(children, axis=None), expected) and bool(below.all())
        except (KeyError, TypeError, ValueError):
            sound = False
        if not sound:
            raise InputError("the saved plan of cells is damaged; plan the cells anew") from None
        return cls(weights, cuts, children, middles)


def plan_cells(
    sample: NDArray[np.float64],
    capacity: int,
    *,
    total: int | None = None,
    across: NDArray[np.float64] | None = None,
) -> CellTree:
    """Split space until no cell is expected to have more than `capacity` rows.

    sample: rows in units that can be compared, (m, d), finite, m at least 1.
    total: how many rows there are in all.
    across: unit vectors, (m, d), across each other, along which nothing is cut while there is
        another way.

    Each part is halved at the median along its first principal component, or, where no direction
    stands out, along its widest column. Equal rows are never told apart: a point repeated too often
    makes a large cell, see `group_block`. O(m d^2 log m) time.
    """
    sample = np.ascontiguousarray(sample, np.float64)
    m, d = sample.shape
    limit = capacity * m / (m if total is None else max(total, m))
    weights: list[NDArray[np.float64]] = []
    cuts: list[float] = []
    children: list[list[int]] = []
    middles: list[NDArray[np.float64]] = []
    # Rows of a part, and the place in `children` that waits for its number.
    waiting: list[tuple[NDArray[np.float64], int, int]] = [(sample, -1, 0)]
    while waiting:
        rows, parent, side = waiting.pop()
        found = _find_split(rows, across) if len(rows) > max(1, limit) else None
        if found is None:
            number = -1 - len(middles)
            middles.append(rows.mean(axis=0))
        else:
            number = len(cuts)
            weights.append(found[0])
            cuts.append(found[1])
            children.append([0, 0])
            low = found[2]
            waiting += [(rows[~low], number, 1), (rows[low], number, 0)]
        if parent >= 0:
            children[parent][side] = number
    return CellTree(
        np.array(weights).reshape(-1, d),
        np.array(cuts),
        np.array(children, np.int64).reshape(-1, 2),
        np.array(middles),
    )


def dense_part(
    records: NDArray[np.float64], size: int, across: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Rows of at most so many records that lie together, of all kinds along `across`, in order:
    halved as in `plan_cells`, where the lower and the upper half are kept in turn."""
    rows, upper = np.arange(len(records)), False
    while rows.size > size:
        found = _find_split(np.ascontiguousarray(records[rows]), across)
        if found is None:
            return rows[:size]
        rows = rows[found[2] != upper]
        upper = not upper
    return rows


def assign(tree: CellTree, rows: NDArray[np.float64]) -> NDArray[np.int64]:
    """The cell of each row, (n, d); the same however rows are dealt out in batches."""
    cells = np.empty(len(rows), np.int64)
    rows = np.ascontiguousarray(rows, np.float64)
    _assign(rows, tree.weights, tree.cuts, tree.children, cells)
    return cells


def merge_small(
    tree: CellTree,
    counts: NDArray[np.integer],
    k: int,
    is_enough: Callable[[NDArray[np.int64]], bool] | None = None,
) -> NDArray[np.int64]:
    """Merge every cell with fewer than k rows with the nearest one on its branch.

    counts: how many rows each cell has. is_enough: whether some cells together have what else is
    needed; where they have not, they are merged with the nearest likewise.

    Returns for each cell the first of those that it is one with. Branches are gone through from the
    leaves to the root, so a small cell meets its sibling first; nearest is by the middles of cells,
    the lowest number of equals. Only where there are fewer than k rows in all a small cell is left.
    """
    sizes, middles, home = np.array(counts, float), tree.middles.copy(), np.arange(tree.n_cells)
    # Children come after their parents: backwards, each branch is complete when its split is seen.
    branches: list[NDArray[np.int64]] = [np.empty(0, np.int64)] * tree.cuts.size
    for split in range(tree.cuts.size - 1, -1, -1):
        below = [
            branches[child] if child >= 0 else np.array([-1 - child])
            for child in tree.children[split]
        ]
        alive = np.sort(np.concatenate(below))
        alive = join_smallest(alive, sizes, middles, home, k)
        if is_enough is not None:
            alive = _join_lacking(alive, sizes, middles, home, is_enough)
        branches[split] = alive
    _, first, number = np.unique(home, return_index=True, return_inverse=True)
    return first[number]


def _join_lacking(
    alive: NDArray[np.int64],
    sizes: NDArray[np.float64],
    middles: NDArray[np.float64],
    home: NDArray[np.int64],
    is_enough: Callable[[NDArray[np.int64]], bool],
) -> NDArray[np.int64]:
    """Join cells that have not enough with the nearest until all have, or one is left."""
    waiting = alive.tolist()
    while waiting and alive.size > 1:
        cell = waiting.pop(0)
        if is_enough(np.flatnonzero(home == cell)):
            continue
        others = alive[alive != cell]
        nearest = int(others[np.argmin(((middles[others] - middles[cell]) ** 2).sum(axis=1))])
        join(cell, nearest, sizes, middles, home)
        alive = others
        # It had enough without these, but may not have it with them.
        waiting = [nearest, *(each for each in waiting if each != nearest)]
    return alive


def _find_split(rows, across):
    """Weights, cut and which rows are below it; None where all rows are equal."""
    if across is None or not across.size:
        ways = _directions(rows)
    else:
        aside = rows.copy()
        for unit in across:
            along = np.empty(len(rows))
            _score(rows, unit, along)
            aside -= along[:, None] * unit
        ways = chain(
            (_without(weights, across) for weights in _directions(aside)), _directions(rows)
        )
    for weights in ways:
        scores = np.empty(len(rows))
        _score(rows, weights, scores)
        cut = _middle_cut(scores)
        if cut is not None:
            return weights, cut, scores <= cut
    return None


def _without(weights, across):
    for unit in across:
        weights = weights - (weights * unit).sum() * unit
    return weights


def _directions(part):
    """The first principal component where one stands out, then columns from the widest."""
    axes = find_axes(part)
    d = part.shape[1]
    if d > 1 and axes.variances[0] > axes.variances[1] * (1.0 + 1e-9):
        yield axes.loadings[0]
    widths = part.max(axis=0) - part.min(axis=0)
    for column in np.argsort(-widths, kind="stable"):
        if widths[column] > 0:
            yield np.eye(d)[column]


def _middle_cut(scores):
    """A number between two scores, as near to the middle as ties let it; None if all are equal."""
    ordered = np.sort(scores)
    ends = np.flatnonzero(ordered[:-1] < ordered[1:])
    if ends.size == 0:
        return None
    end = ends[np.argmin(np.abs(2 * (ends + 1) - scores.size))]
    below, above = ordered[end], ordered[end + 1]
    cut = below + (above - below) / 2
    return float(cut if cut < above else below)


@kernel(inline="always")
def _weigh(rows, i, weights):
    """Column by column, in order: the same bits wherever and with whomever a row is weighed."""
    score = 0.0
    for a in range(weights.size):
        score += rows[i, a] * weights[a]
    return score


@kernel
def _score(rows, weights, scores):
    for i in range(scores.size):
        scores[i] = _weigh(rows, i, weights)


@kernel
def _assign(rows, weights, cuts, children, found):
    for i in range(found.size):
        split = 0 if cuts.size > 0 else -1
        while split >= 0:
            score = _weigh(rows, i, weights[split])
            split = children[split, 0] if score <= cuts[split] else children[split, 1]
        found[i] = -1 - split
