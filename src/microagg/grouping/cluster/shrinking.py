"""An index that is kept fit while records leave it."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.cluster.tree import LEAF, Tree, build, recentre

# Measured: below this many records times k + 1, a plain scan is as fast. Larger groups need fewer
# searches, but as much upkeep; and with more than ten attributes boxes tell ever less.
_PRUNE_FROM = 1000
# Measured: opening a node costs as much as reading a leaf, and reading leaves here and there, with
# boxes to maintain, costs more than reading them all in a row.
_PAYS_BELOW = 0.5
# Build anew when this share of the records is left, and draw closer every now and then before.
_REBUILD_AT = 0.7
_RECENTRE_AT = 0.95
# A scan returns to its caller after reading about this many numbers.
_SCANNED_AT_ONCE = 5e8


def shrinking(
    records: NDArray[np.float64],
    k: int,
    stop: int,
    *,
    prunes: bool | None = None,
    prune_from: int = _PRUNE_FROM,
) -> Iterator[tuple[Tree, int]]:
    """Hand out an index of the records that are left, and the number to let go down to.

    Whoever asks removes groups of k or so while at least that many are left, then asks again; it
    ends when fewer than `stop` are. Whether the index prunes is tried out on the data, by counting
    what is read, and given up for good where it does not pay: the answers are the same. `prunes`
    forces it.
    """
    d = records.shape[1]
    rows = np.arange(len(records))
    while rows.size >= stop:
        worth_trying = prune_from * (k + 1) * max(1.0, d / 10) ** 2
        tries = rows.size >= worth_trying if prunes is None else prunes
        tree = build(records, rows, prunes=tries)
        rebuild_at = stop if not tries else max(stop, int(_REBUILD_AT * rows.size))
        # A short first stretch shows what pruning is worth.
        target = rows.size - rows.size // 100
        while True:
            yield tree, max(rebuild_at, min(target, tree.left))
            if tree.left < rebuild_at:
                break
            if not tree.prunes:
                target = tree.left - int(_SCANNED_AT_ONCE / (d * tree.left))
            elif prunes is None and not _pays(tree):
                prunes = False
                tree = build(records, tree.remaining(), prunes=False)
            else:
                recentre(tree)
                target = int(_RECENTRE_AT * tree.left)
        rows = tree.remaining()


def close_groups(order: NDArray[np.int64], tree: Tree, k: int) -> NDArray[np.int64]:
    """Put what is left at the end of `order`, as the last group; the sizes of all, k but for it."""
    order[order.size - tree.left :] = tree.remaining()
    sizes = np.full(order.size // k, k)
    sizes[-1] += order.size % k
    return sizes


def _pays(tree: Tree) -> bool:
    searches, leaves, nodes = tree.work
    return bool(leaves + nodes < _PAYS_BELOW * searches * (tree.left / LEAF))
