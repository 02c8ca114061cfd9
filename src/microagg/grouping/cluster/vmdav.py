"""V-MDAV: groups from the outside in, which grow where records lie close together."""

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.grouping.cluster.outside_in import take_from_outside
from microagg.grouping.cluster.tree import build
from microagg.grouping.method import Method, Option, number
from microagg.kernels.group_passes import group_scatter

# From never growing to what the paper recommends for clustered data; it uses 0.2 for scattered.
_GAMMAS = (0.0, 0.2, 0.5, 0.8, 1.1)
# Gamma is chosen on everything, or on a few neighbourhoods of this size.
_NEIGHBOURHOOD = 1024
_NEIGHBOURHOODS = 4


def vmdav(
    records: NDArray[np.float64],
    k: int,
    advance: Advance = silent,
    gamma: float | None = None,
    *,
    prunes: bool | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Variable-size MDAV: groups of k to 2k - 1, a few more where leftovers join.

    While at least k records are unassigned, the one farthest from the centroid of all records is
    grouped with its k - 1 nearest. Then the group grows: of the unassigned, the record e nearest to
    any member joins if that distance is less than gamma times the distance from e to its nearest
    other unassigned record, until it does not or the group has 2k - 1 members. The last k - 1
    or fewer each join the group with the nearest centroid, before any of them has joined. Ties go
    to the lowest row. Exact, in O(n d) memory, usually far below the O(n^2 d) time of brute force.

    gamma: None tries 0, 0.2, 0.5, 0.8 and 1.1, and takes the one with the least SSE; beyond 4096
    records they are tried on four neighbourhoods of 1024 records, so that this takes no time.

    Solanas and Martinez-Balleste, "V-MDAV: a multivariate microaggregation with variable group
    size" (2006), who leave gamma to the user.
    """
    if gamma is None:
        gamma = _choose_gamma(records, k)
    order, sizes, tree = take_from_outside(records, k, k, gamma, advance, prunes)
    return _join(records, order, sizes, tree.remaining())


def _join(records, order, sizes, leftovers):
    """Let each leftover join the group with the nearest centroid."""
    labels = np.repeat(np.arange(sizes.size), sizes)
    squares = np.zeros((leftovers.size, sizes.size))
    for column in records.T:
        centres = np.bincount(labels, column[order[: labels.size]]) / sizes
        squares += (centres - column[leftovers, np.newaxis]) ** 2
    groups = np.concatenate([labels, squares.argmin(axis=1)])
    order[order.size - leftovers.size :] = leftovers
    return order[np.argsort(groups, kind="stable")], np.bincount(groups)


def _choose_gamma(records: NDArray[np.float64], k: int) -> float:
    """The gamma with the least SSE, the smallest of equally good ones."""
    n = len(records)
    samples = [records]
    size = max(_NEIGHBOURHOOD, 8 * k)
    if n > _NEIGHBOURHOODS * size:
        rows = build(records, np.arange(n), prunes=True).rows
        starts = np.linspace(0, n - size, _NEIGHBOURHOODS).astype(np.int64)
        samples = [records[rows[start : start + size]] for start in starts]
    return min(_GAMMAS, key=lambda gamma: sum(_sse(sample, k, gamma) for sample in samples))


def _sse(records, k, gamma):
    order, sizes = vmdav(records, k, gamma=gamma)
    labels = np.repeat(np.arange(sizes.size), sizes)
    columns = np.ascontiguousarray(records[order].T)
    return sum(group_scatter(column, labels, sizes.size) for column in columns)


GAMMA = Option(
    "gamma",
    "how readily a group is extended, 0 or more; found out when not given",
    None,
    number(lambda gamma: gamma >= 0),
    "a number, 0 or more, usually 0.2 or 1.1",
)
METHODS = (
    Method(
        "vmdav",
        "groups of k to 2k - 1 around the records farthest out, extended while neighbours are near",
        "Solanas and Martinez-Balleste 2006",
        "O(n^2) at worst",
        lambda task: vmdav(task.records, task.k, task.advance, gamma=task.options["gamma"]),
        options=(GAMMA,),
        bounded=False,
    ),
)
