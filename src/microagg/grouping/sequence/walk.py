"""MDAV-MHM and CBFS-MHM: the groups of another method walked one after the other, and split.

Domingo-Ferrer et al., "Efficient multivariate data-oriented microaggregation" (2006), as reviewed
by Mortazavi. The walk begins at the record farthest from the centroid of all, goes on to the
nearest record of the same group, and from the last of a group to the nearest of those not visited.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from microagg.base.groups import Partition
from microagg.base.progress import Advance, silent
from microagg.grouping.cluster.cbfs import cbfs
from microagg.grouping.cluster.mdav import mdav
from microagg.grouping.method import Groups, Method, Task
from microagg.grouping.sequence.orderings import farthest_from_centroid
from microagg.grouping.sequence.split import split_task
from microagg.kernels.compiling import kernel
from microagg.kernels.trees.nearest import hide, make_space, nearest
from microagg.kernels.trees.planting import LEAF, NONE, plant

_RECORDS_A_CALL = 1 << 14


def walk_groups(
    records: NDArray[np.float64],
    order: NDArray[np.integer],
    sizes: NDArray[np.integer],
    advance: Advance = silent,
) -> NDArray[np.int32]:
    """One line through given groups; ties go to the lowest row.

    O(k n d) within groups, and O(n / k) queries of a tree for the next one, O(n d) each at worst.
    """
    n = order.size
    tree = plant(records)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    groups = np.array(order, np.int64)
    labels = Partition.from_sequence(groups, sizes, 1, "walk").labels
    line = np.empty(n, np.int64)
    line[0] = farthest_from_centroid(records)
    filled = 0
    while filled < n:
        until = min(n, filled + _RECORDS_A_CALL)
        filled = _walk(tree, records, groups, starts, labels, line, filled, until)
        advance(filled / n)
    return line.astype(np.int32)


@kernel
def _walk(tree, records, groups, starts, labels, line, filled, until):
    """Put whole groups in line until `until` records stand there; return how many do."""
    space = make_space(1, np.empty(0, np.int64))
    while filled < until:
        if filled > 0:
            last = line[filled - 1]
            nearest(tree, records[last], tree.slots[last] // LEAF, NONE, math.inf, space)
            line[filled] = space.rows[0]
        members = groups[starts[labels[line[filled]]] : starts[labels[line[filled]] + 1]]
        for row in members:
            hide(tree, row)
        for left in range(members.size, 0, -1):
            current = line[filled]
            filled += 1
            # The visited ones go to the end.
            for i in range(left):
                if members[i] == current:
                    members[i], members[left - 1] = members[left - 1], members[i]
                    break
            least = math.inf
            for i in range(left - 1):
                row = members[i]
                square = 0.0
                for a in range(records.shape[1]):
                    away = records[row, a] - records[current, a]
                    square += away * away
                if square < least or (square == least and row < line[filled]):
                    least = square
                    line[filled] = row
    return filled


def _by_walk(name: str, group: Callable[..., Groups]) -> Method:
    """A method that walks the groups of another, each to the nearest next, and splits the walk."""

    def walk(task: Task) -> Groups:
        groups = group(task.records, task.k, lambda share: task.advance(0.5 * share))
        order = walk_groups(task.records, *groups, lambda share: task.advance(0.5 + 0.5 * share))
        return split_task(task, order)

    return Method(
        f"{name}-mhm",
        f"the groups of {name} walked one after the other, split optimally",
        "IMHMI, section 2.2; RepOrdMic, section 3",
        f"as {name}",
        walk,
        integer=True,
    )


METHODS = (_by_walk("mdav", mdav), _by_walk("cbfs", cbfs))
