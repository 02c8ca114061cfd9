"""ONA*: groups dissolved, records moved and exchanged until nothing of the kind lowers the loss.

After Soria-Comas, Domingo-Ferrer and Mulero, "Efficient Near-Optimal Variable-Size
Microaggregation" (2019), and Thaeter and Reischuk, "Scalable k-Anonymous Microaggregation" (2021),
from their descriptions: a record leaves a group of more than k for its nearest one, a group is
dissolved into its neighbours, one of 2k is split, whatever lowers the SSE. Where each record's
group is full at k, only an exchange of two records can help. All this takes turns until a local
optimum is reached.
"""

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.grouping.method import Groups, Method, Task
from microagg.grouping.methods import START, check_start, plainly
from microagg.grouping.refine.decompose import CERTAIN, decompose
from microagg.kernels.compiling import kernel
from microagg.kernels.trees.nearest import make_space, nearest, put
from microagg.kernels.trees.planting import LEAF, NONE, plant

# Exchanges are sought with so many groups around a record.
NEIGHBOURS = 4
_GROUPS_A_CALL = 1024


def exchange_and_decompose(
    records: NDArray[np.float64],
    order: NDArray[np.integer],
    sizes: NDArray[np.integer],
    k: int,
    advance: Advance = silent,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows group by group, and the sizes of the groups: k to 2k - 1 records each.

    The SSE never rises. What `decompose` does costs what it says; a pass of exchanges looks at
    O(k) partners of each record in a few near groups, O(n k d), and as many queries of a tree.
    """
    rounds = 0

    def tell(share: float) -> None:
        advance(1.0 - 0.8 ** (rounds + share))

    while True:
        order, sizes = decompose(records, order, sizes, k, tell)
        rounds += 1
        if not exchange(records, order, sizes, tell):
            advance(1.0)
            return order, sizes
        rounds += 1


def exchange(
    records: NDArray[np.float64],
    order: NDArray[np.int64],
    sizes: NDArray[np.int64],
    advance: Advance = silent,
) -> bool:
    """Exchange records of near groups, in place, until no exchange helps; whether any did."""
    if sizes.size == 1:
        return False
    starts = np.concatenate([[0], np.cumsum(sizes)])
    centres = np.empty((sizes.size, records.shape[1]))
    _centre(records, order, starts, np.arange(sizes.size), centres)
    tree = plant(centres)
    exchanged, again = False, True
    while again:
        again = False
        for first in range(0, sizes.size, _GROUPS_A_CALL):
            last = min(sizes.size, first + _GROUPS_A_CALL)
            again |= _exchange(records, order, starts, centres, tree, first, last)
            advance(last / sizes.size)
        exchanged |= again
    return exchanged


@kernel
def _exchange(records, order, starts, centres, tree, first, last):
    """Give each member of these groups the partner that lowers the SSE most, if any does."""
    space = make_space(min(NEIGHBOURS, starts.size - 2), np.empty(0, np.int64))
    pair = np.empty(2, np.int64)
    exchanged = False
    for group in range(first, last):
        for place in range(starts[group], starts[group + 1]):
            row = order[place]
            nearest(tree, records[row], tree.slots[group] // LEAF, np.int32(group), np.inf, space)
            partner, other, least = -1, -1, 0.0
            for found in space.rows:
                if found == NONE:
                    break
                for at in range(starts[found], starts[found + 1]):
                    change = _change(records, centres, starts, group, found, row, order[at])
                    if change < least:
                        partner, other, least = at, found, change
            if partner >= 0:
                exchanged = True
                order[place], order[partner] = order[partner], row
                pair[0], pair[1] = group, other
                _centre(records, order, starts, pair, centres)
                for slot in pair:
                    put(tree, slot, centres[slot])
    return exchanged


@kernel
def _centre(records, order, starts, groups, centres):
    for group in groups:
        first, last = starts[group], starts[group + 1]
        for a in range(records.shape[1]):
            pivot = records[order[first], a]
            drift = 0.0
            for place in range(first, last):
                drift += records[order[place], a] - pivot
            centres[group, a] = pivot + drift / (last - first)


@kernel
def _change(records, centres, starts, group, other, row, partner):
    """What an exchange adds to the SSE; nothing, if rounding could feign it."""
    before = after = apart = 0.0
    for a in range(records.shape[1]):
        x, y = records[row, a], records[partner, a]
        before += (x - centres[group, a]) ** 2 + (y - centres[other, a]) ** 2
        after += (y - centres[group, a]) ** 2 + (x - centres[other, a]) ** 2
        apart += (x - y) ** 2
    after -= apart / (starts[group + 1] - starts[group])
    after -= apart / (starts[other + 1] - starts[other])
    return after - before if after < before * (1.0 - CERTAIN) else 0.0


def _group(task: Task) -> Groups:
    start = plainly(task.options["start"])(task)
    return exchange_and_decompose(task.records, *start, task.k, task.advance)


METHODS = (
    Method(
        "ona",
        "groups dissolved, records moved and exchanged until nothing of the kind lowers the loss",
        "Soria-Comas, Domingo-Ferrer and Mulero 2019; Thaeter and Reischuk 2021",
        "as the start, and about O(k n log n) a pass",
        _group,
        options=(START,),
        agree=lambda options, d: check_start("ona", options, d),
    ),
)
