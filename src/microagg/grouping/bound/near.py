"""The nearest records of every record, and the bound that follows from their distances alone."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel
from microagg.kernels.threads import run_blocks
from microagg.kernels.trees.nearest import make_space, nearest
from microagg.kernels.trees.planting import LEAF, NONE, plant

_LEAVES_AT_ONCE = 64


class Near(NamedTuple):
    """The nearest others of each record, by distance."""

    numbers: NDArray[np.int32]  # (n, q)
    squares: NDArray[np.float64]  # (n, q) ascending


def find_near(
    records: NDArray[np.float64], q: int, in_time: Callable[[float], bool] = lambda _share: True
) -> Near:
    """The q nearest others of each record, q < n, exactly.

    `in_time` is called now and then with the share done. Once it says no, the records that are left
    get no neighbours, at no distance: this weakens what follows from them but keeps it true.
    """
    n = len(records)
    near = Near(np.full((n, q), -1, np.int32), np.zeros((n, q)))
    tree = plant(records)
    late = False

    def find(first: int, last: int) -> None:
        if not late:
            _find_near(tree, records, first, last, near)

    def tell(share: float) -> None:
        nonlocal late
        late = late or not in_time(share)

    tell(0.0)
    run_blocks(find, len(tree.cells), _LEAVES_AT_ONCE, tell)
    return near


def half_sums(near: Near, k: int) -> NDArray[np.float64]:
    """What records pay at least in a group of k, to 0, 1, ..., k - 1 of the others; (k, n).

    The SSE of k records is the sum of the squared distances of all pairs over k. A pair is paid
    half by each, so a record pays at least its nearest squared distances over 2k. All k - 1 of
    them, summed over the records, bound the SSE of every partition: with these shares no group of k
    costs less than its members pay.
    """
    sums = np.zeros((k, len(near.squares)))
    np.cumsum(near.squares[:, : k - 1].T, axis=0, out=sums[1:])
    return sums / (2.0 * k)


@kernel
def _find_near(tree, records, first, last, near):
    """The nearest others of the records in the leaves first to last - 1."""
    space = make_space(near.numbers.shape[1], np.empty(0, np.int64))
    for leaf in range(first, last):
        for row in tree.rows[leaf * LEAF : (leaf + 1) * LEAF]:
            if row != NONE:
                nearest(tree, records[row], leaf, row, np.inf, space)
                near.numbers[row] = space.rows
                near.squares[row] = space.squares
