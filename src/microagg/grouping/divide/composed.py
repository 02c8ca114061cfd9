"""Methods made of parts: cells, fewer dimensions in each, and any method there.

The algorithms of Casanova, "Computational methods for large-scale microdata anonymization" (2015):
PCA & MDAV, Piecewise PCA, Hybrid Lloyd & PCA, and what they are compared with. Groups are formed
where the option says, by MDAV unless `then` names another method; centroids and loss are always
those of the records themselves.
"""

import operator
from dataclasses import replace
from typing import Any

import numpy as np

from microagg.base.errors import OptionError
from microagg.grouping.divide.blocks import Group, group_block, group_blocks
from microagg.grouping.divide.lloyd import coarse_cells, lloyd_cells
from microagg.grouping.divide.lloyd_pca import lloyd_pca_cells
from microagg.grouping.divide.reduce import Reduction, reduce
from microagg.grouping.methods import Groups, Task, find

THEN = {"then": "the method that forms the groups, mdav by default"}
CELLS = {"cells": "how many cells, by default one for 10,000 k records, at least 2"}
REDUCTION = {
    "energy": "the share of the variance to keep, 0.99 by default",
    "dimensions": "how many dimensions to keep, in place of a share",
}


def pca_mdav(task: Task) -> Groups:
    """Groups on the leading principal components. Section 4.3."""
    reduction = _reduction(task)
    return group_block(task, _reduced(reduction, _then(task, reduction)))


def lloyd_mdav(task: Task) -> Groups:
    """Groups in Lloyd's cells. Section 5.2, algorithm A."""
    cells, group = _cells(task), _then(task)
    return group_blocks(task, lloyd_cells(task.records, cells, task.rng), group)


def mdav_mdav(task: Task) -> Groups:
    """Groups in cells that are large groups of MDAV. Section 5.2, algorithm B."""
    cells, group = _cells(task), _then(task)
    return group_blocks(task, coarse_cells(task.records, cells), group)


def piecewise_pca(task: Task) -> Groups:
    """Groups in Lloyd's cells, on the leading principal components of each. Section 4.4."""
    cells, reduction = _cells(task), _reduction(task)
    group = _reduced(reduction, _then(task, reduction))
    return group_blocks(task, lloyd_cells(task.records, cells, task.rng), group)


def lloyd_pca(task: Task) -> Groups:
    """Groups in cells that suit their principal components, on those. Section 4.5."""
    cells, reduction = _cells(task), _reduction(task)
    then = _then(task, reduction)
    cell_of, kept = lloyd_pca_cells(task.records, task.k, cells, reduction, task.rng)
    return group_blocks(task, cell_of, _reduced(Reduction(dimensions=kept), then))


def _reduced(reduction: Reduction, group: Group) -> Group:
    return lambda task: group(replace(task, records=reduce(task.records, reduction), orders={}))


def _then(task: Task, reduction: Reduction | None = None) -> Group:
    """The method that is to form the groups, as it is without options of its own."""
    method = find(task.options.get("then", "mdav"))
    lines = task.records.shape[1] == 1 or (reduction is not None and reduction.dimensions == 1)
    if method.one_column and not lines:
        raise OptionError(
            f"then={method.name!r} groups one column at a time; keep dimensions=1, or name another"
        )

    def group(part: Task) -> Groups:
        chosen = method
        if method.choose is not None:
            n, d = part.records.shape
            chosen = find(method.choose(n, d, part.k, False))
        return chosen.group(replace(part, options={}))

    return group


def _cells(task: Task) -> int:
    n, k = len(task.records), task.k
    cells = task.options.get("cells")
    if cells is None:
        cells = max(2, round(n / (10_000 * k)))
    return min(_whole(cells, "cells"), n // k)


def _reduction(task: Task) -> Reduction:
    energy, dimensions = task.options.get("energy"), task.options.get("dimensions")
    if dimensions is not None:
        if energy is not None:
            raise OptionError("give energy or dimensions, not both")
        return Reduction(dimensions=_whole(dimensions, "dimensions"))
    if energy is None:
        return Reduction()
    if isinstance(energy, bool) or not (
        isinstance(energy, int | float | np.number) and 0 < energy <= 1
    ):
        raise OptionError("energy must be a share of the variance, above 0 and at most 1")
    return Reduction(energy=float(energy))


def _whole(number: Any, name: str) -> int:
    try:
        number = operator.index(number)
    except TypeError:
        number = 0
    if number < 1:
        raise OptionError(f"{name} must be a whole number, 1 or more")
    return int(number)
