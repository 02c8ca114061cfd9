"""INS_DP: groups of records in line from a corner, with noise for a change in every group.

s = g D_j for g groups; for a mean, (n / k) (D_j / k) at most, as g <= n / k.

Records stand in line by their distance to the corner of all lower bounds, each column measured by
its width, and row numbers break ties; the line is cut into groups of public sizes, none below k.
Proof of s: the key of a record depends on that record alone. So a substitution takes one record out
of the line, at place p, and puts another in, at place q, while all others keep their order. Those
between p and q move up by one place, so each group from the one of p to that of q loses one member
and gains one, and no other group changes: corresponding groups differ in one member at most, which
is what Soria-Comas et al. (VLDB Journal 2014) call insensitive. One member more and one less
changes a group's sum by D_j at most, and there are g groups. In more than one dimension nothing
telescopes: neighbours in line may lie at far ends of a column. When k divides n, a mean changes by
D_j / k and n / k of them do: (n / k) (D_j / k), as in the paper.

This holds for the line of noisy groups. Their members must not be told, or the release would say
who is grouped with whom: for (0, 1, 9, 10) and k = 2 rows 1 and 2 share a group; when row 2 becomes
11 they do not. So the rows of the release are not those of the table.
"""

from dataclasses import replace

import numpy as np

from microagg.base.groups import Partition
from microagg.private.costs import PowerCost, Setting, of_records
from microagg.private.method import GROUPED, STANDARD, PrivateMethod, Task, public_sizes


def _group(task: Task) -> list[Partition]:
    keys = np.zeros(len(task.values))
    for x, known in zip(task.values.T, task.ranges, strict=True):
        keys += ((x - known.low) / known.width) ** 2
    order = np.argsort(keys, kind="stable")
    line = Partition.from_sequence(order, public_sizes(order.size, task.k), task.k, "insensitive")
    return [line] * len(task.ranges)


def _cost(setting: Setting) -> PowerCost:
    """The line narrows down one direction in d only; n / k groups scale the noise by n / k."""
    n, d = setting.n, len(setting.widths)
    across = n * setting.squares / 12.0 * (1.0 - 1.0 / d)
    line = PowerCost(n, setting.squares / (12.0 * d * n), 2.0, setting.noise, spare=across)
    return replace(of_records(setting, line), noise=setting.noise * n**2, noise_power=4.0)


METHOD = PrivateMethod(
    "insensitive",
    "INS_DP",
    "noisy means of groups of records in line from a corner, not linked to the input rows",
    _group,
    _cost,
    STANDARD,
    GROUPED,
    sensitivity=lambda width, groups: width * groups,
)
