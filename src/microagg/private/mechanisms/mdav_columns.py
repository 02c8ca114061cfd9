"""MDAV_IR_DP: groups of similar values, in each column for itself.

s = D_j given the partitions, one for each column: a record sits in one group of each.
"""

from microagg.base.groups import Partition
from microagg.grouping.doors import partition
from microagg.private.costs import of_neighbours
from microagg.private.method import CONDITIONAL, LINKED, PrivateMethod, Task


def _group(task: Task) -> list[Partition]:
    return [partition(x, task.k, method="mdav", progress=False) for x in task.values.T]


METHOD = PrivateMethod(
    "mdav-columns",
    "MDAV_IR_DP (Algorithm 2)",
    "noisy means of groups of similar values, found by MDAV in each column",
    _group,
    of_neighbours,
    CONDITIONAL,
    LINKED,
)
