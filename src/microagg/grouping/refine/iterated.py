"""IMHM as an iterated method: groups, a line through them, its best split, and all over again.

Mortazavi, Jalili and Gohargazi, "Multivariate microaggregation by iterative optimization" (Applied
Intelligence 39, 2013), the column IMHM of RepOrdMic's Table 2, from its descriptions: constrained
clustering and the optimal split of a line take turns, from several starts.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from microagg.base.groups import Partition
from microagg.base.progress import Advance, silent
from microagg.grouping.method import Groups, Method, Task
from microagg.grouping.methods import plainly
from microagg.grouping.refine.exchange import exchange_and_decompose
from microagg.grouping.sequence.reorder import Rounds, repeat_rounds
from microagg.kernels.threads import run_all
from microagg.kernels.trees.planting import Tree, plant

# Unlike each other: outliers first, the nearest next, the shortest way, one direction.
STARTS = ("mdav", "npn", "tsp", "pca")
# Less than this share of the SSE is no gain.
_ENOUGH = 1e-9


def iterate(
    tree: Tree,
    records: NDArray[np.float64],
    groups: Groups,
    k: int,
    advance: Advance = silent,
) -> Rounds:
    """From these groups: exchange and decompose, order and split, until the SSE no longer falls.

    Both steps cost what they say and neither raises the SSE; some ten rounds are usual. The tree
    has all records.
    """
    order, sizes = groups
    best = Rounds(math.inf, order.astype(np.int64), sizes.astype(np.int32), 0)
    while True:

        def tell(share: float, rounds: int = best.rounds) -> None:
            advance(1.0 - 0.9 ** (rounds + share))

        clustered = exchange_and_decompose(records, best.line, best.sizes, k)
        labels = Partition.from_sequence(*clustered, k, "imhm").labels
        found = repeat_rounds(tree, records, labels, k, True, tell)
        if not found.sse < best.sse * (1.0 - _ENOUGH):
            return best
        best = found._replace(rounds=best.rounds + found.rounds)


def _group(task: Task) -> Groups:
    tree = plant(task.records)
    found: dict[int, Rounds] = {}

    def begin(place: int, advance: Advance) -> None:
        start = replace(task, rng=np.random.default_rng([seed, place]), advance=silent, orders={})
        groups = plainly(STARTS[place])(start)
        found[place] = iterate(tree, task.records, groups, task.k, advance)

    seed = int(task.rng.integers(2**63))
    run_all(begin, np.ones(len(STARTS), np.int64), task.advance)
    best = min(range(len(STARTS)), key=lambda place: found[place].sse)
    return found[best].line, found[best].sizes


METHODS = (
    Method(
        "imhm",
        "groups refined, walked and split again until the loss stops falling; the best of "
        f"{len(STARTS)} starts",
        "Mortazavi, Jalili and Gohargazi 2013; RepOrdMic, Table 2",
        "as reporder, and O(n^2) at worst for npn",
        _group,
    ),
)
