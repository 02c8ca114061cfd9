"""Marginals: each column sorted and cut into groups of public sizes; categories counted.

s = D_j for all groups of a column together. Proof: let a record's value rise from a to b. Then no
order statistic falls, and together they rise by b - a; so no group sum falls, and together they
rise by b - a <= D_j. A fall is the same the other way round. Counts of categories change by two
together: a record leaves one category and enters another.
"""

import numpy as np

from microagg.base.groups import Partition
from microagg.private.costs import of_neighbours
from microagg.private.method import SHUFFLED, STANDARD, PrivateMethod, Task, public_sizes


def _group(task: Task) -> list[Partition]:
    sizes = public_sizes(len(task.values), task.k)
    return [
        Partition.from_sequence(np.argsort(x, kind="stable"), sizes, task.k, "marginals")
        for x in task.values.T
    ]


METHOD = PrivateMethod(
    "marginals",
    "ours",
    "noisy means by rank in each column and counts of categories, nothing linked",
    _group,
    of_neighbours,
    STANDARD,
    SHUFFLED,
    categories=True,
)
