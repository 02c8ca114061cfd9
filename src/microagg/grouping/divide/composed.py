"""Methods made of parts: cells, fewer dimensions in each, and any method there.

The algorithms of Casanova, "Computational methods for large-scale microdata anonymization" (2015):
PCA & MDAV, Piecewise PCA, Hybrid Lloyd & PCA, and what they are compared with. Groups are formed
where the option says, by MDAV unless `then` names another method; centroids and loss are always
those of the records themselves.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from microagg.base.errors import OptionError
from microagg.grouping.divide.blocks import Group, group_block, group_blocks
from microagg.grouping.divide.lloyd import coarse_cells, lloyd_cells
from microagg.grouping.divide.lloyd_pca import lloyd_pca_cells
from microagg.grouping.divide.reduce import Reduction, reduce
from microagg.grouping.method import Groups, Method, Option, Task, number, whole
from microagg.grouping.methods import find, naming, plainly

THEN = naming("then", "the method that forms the groups")
CELLS = Option(
    "cells",
    "how many cells, by default one for 10,000 k records, at least 2",
    None,
    whole(1),
    "a whole number, 1 or more",
)
ENERGY = Option(
    "energy",
    "the share of the variance to keep, 0.99 by default",
    None,
    number(lambda share: 0 < share <= 1),
    "a share of the variance, above 0 and at most 1",
)
DIMENSIONS = Option(
    "dimensions",
    "how many dimensions to keep, in place of a share",
    None,
    whole(1),
    "a whole number, 1 or more",
)


def _pca_mdav(task: Task) -> Groups:
    return group_block(task, _then(task, _reduction(task)))


def _lloyd_mdav(task: Task) -> Groups:
    return group_blocks(task, lloyd_cells(task.records, _cells(task), task.rng), _then(task))


def _mdav_mdav(task: Task) -> Groups:
    return group_blocks(task, coarse_cells(task.records, _cells(task)), _then(task))


def _piecewise_pca(task: Task) -> Groups:
    cell_of = lloyd_cells(task.records, _cells(task), task.rng)
    return group_blocks(task, cell_of, _then(task, _reduction(task)))


def _lloyd_pca(task: Task) -> Groups:
    cell_of, kept = lloyd_pca_cells(task.records, task.k, _cells(task), _reduction(task), task.rng)
    return group_blocks(task, cell_of, _then(task, Reduction(dimensions=kept)))


def _then(task: Task, reduction: Reduction | None = None) -> Group:
    """The method that forms the groups of a cell, in fewer dimensions if these are wanted."""
    group = plainly(task.options["then"])
    if reduction is None:
        return group
    return lambda cell: group(replace(cell, records=reduce(cell.records, reduction), orders={}))


def _cells(task: Task) -> int:
    n, k = len(task.records), task.k
    return min(task.options["cells"] or max(2, round(n / (10_000 * k))), n // k)


def _reduction(task: Task) -> Reduction:
    return Reduction(task.options["energy"] or 0.99, task.options["dimensions"])


def _agree(options: Mapping[str, Any], d: int) -> None:
    dimensions = options.get("dimensions")
    if dimensions is not None and options["energy"] is not None:
        raise OptionError("give energy or dimensions, not both")
    if find(options["then"]).one_column and d > 1 and dimensions != 1:
        raise OptionError(
            f"then={options['then']!r} groups one column at a time; keep dimensions=1, or name "
            "another"
        )


METHODS = (
    Method(
        "pca-mdav",
        "mdav on the principal components that keep a share of the variance",
        "PCA, section 4.3",
        "O(n d^2), then as mdav in fewer dimensions",
        _pca_mdav,
        options=(ENERGY, DIMENSIONS, THEN),
        agree=_agree,
    ),
    Method(
        "lloyd-mdav",
        "Lloyd's cells, then mdav in each",
        "PCA, section 5.2 (algorithm A)",
        "O(n cells d), then as mdav in cells",
        _lloyd_mdav,
        options=(CELLS, THEN),
        agree=_agree,
    ),
    Method(
        "mdav-mdav",
        "coarse mdav groups as cells, then mdav in each",
        "PCA, section 5.2 (algorithm B)",
        "O(n cells d), then as mdav in cells",
        _mdav_mdav,
        options=(CELLS, THEN),
        agree=_agree,
    ),
    Method(
        "piecewise-pca",
        "Lloyd's cells, then mdav on the principal components of each",
        "PCA, section 4.4",
        "O(n d (cells + d)), then as mdav in cells",
        _piecewise_pca,
        options=(CELLS, ENERGY, DIMENSIONS, THEN),
        agree=_agree,
    ),
    Method(
        "lloyd-pca",
        "cells that suit their principal components, then mdav on those",
        "PCA, section 4.5",
        "O(n cells d^2), then as mdav in cells",
        _lloyd_pca,
        options=(CELLS, ENERGY, DIMENSIONS, THEN),
        agree=_agree,
    ),
)
