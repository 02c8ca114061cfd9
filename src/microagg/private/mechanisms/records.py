"""Plain noise on every value of every record, which groups are measured against.

s = D_j: the sums are the values, and a substitution changes one of each column.
"""

import numpy as np

from microagg.base.groups import Partition
from microagg.private.costs import PowerCost, Setting
from microagg.private.method import LINKED, STANDARD, PrivateMethod, Task


def _group(task: Task) -> list[Partition]:
    return [Partition(np.arange(len(task.values)), 1, "records")] * len(task.ranges)


def _cost(setting: Setting) -> PowerCost:
    return PowerCost(setting.n, 0.0, 1.0, setting.noise)


METHOD = PrivateMethod(
    "records",
    "plain Laplace, k = 1",
    "noise on every value of every record, the baseline",
    _group,
    _cost,
    STANDARD,
    LINKED,
    sizes="",
    only_k=1,
)
