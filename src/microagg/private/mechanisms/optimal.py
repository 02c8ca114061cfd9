"""OPT_DP: the groups of each column that have the least SSE plus noise.

s = D_j given the partitions: a record sits in one group of each column.

m records that share noise of variance 2 (D_j / (m epsilon_j))^2 cost 2 (D_j / epsilon_j)^2 / m. The
paper's Algorithm 3 tries all pairs of boundaries, in n^2 time; sums of squares plus c / m are Monge
costs on sorted values, and n log n is enough for the same optimum.
"""

from microagg.base.groups import Partition
from microagg.grouping.sequence.univariate import optimal_univariate
from microagg.private.costs import of_neighbours
from microagg.private.method import CONDITIONAL, LINKED, PrivateMethod, Task


def _group(task: Task) -> list[Partition]:
    partitions = []
    for x, known, epsilon in zip(task.values.T, task.ranges, task.shares, strict=True):
        # Lengths in units of the width: squares neither overflow nor vanish.
        places = (x - known.low) / known.width
        partitions.append(optimal_univariate(places, task.k, size_cost=2.0 / epsilon**2))
    return partitions


METHOD = PrivateMethod(
    "optimal",
    "OPT_DP (Algorithm 3)",
    "noisy means of the groups with the least error plus noise in each column",
    _group,
    of_neighbours,
    CONDITIONAL,
    LINKED,
    sizes="the least group size ({k}), ",
    groups_adapt=True,
)
