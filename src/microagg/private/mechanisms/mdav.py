"""MDAV_DP: groups of similar records.

s = D_j given the partition: one record sits in one group, so a substitution changes one sum, by D_j
at most. The partition itself is worked out from the data and shows in the release.
"""

from microagg.base.groups import Partition
from microagg.grouping.doors import partition
from microagg.private.costs import PowerCost, Setting, of_records
from microagg.private.method import CONDITIONAL, LINKED, PrivateMethod, Task


def _group(task: Task) -> list[Partition]:
    found = partition(task.values, task.k, method="mdav", progress=False)
    return [found] * len(task.ranges)


def _cost(setting: Setting) -> PowerCost:
    """Groups of uniform records in d columns are taken for cubes of volume k / n."""
    n, power = setting.n, 2.0 / len(setting.widths)
    cubes = n * setting.squares / 12.0 * n**-power
    return of_records(setting, PowerCost(n, cubes, power, setting.noise))


METHOD = PrivateMethod(
    "mdav",
    "MDAV_DP (Algorithm 1)",
    "noisy means of groups of similar records, found by MDAV",
    _group,
    _cost,
    CONDITIONAL,
    LINKED,
)
