"""MDAV in many small cells side by side: groups to go on from, soon and on every core."""

import numpy as np
from numpy.typing import NDArray

from microagg.grouping.cluster.mdav import mdav
from microagg.grouping.divide.blocks import group_blocks
from microagg.grouping.divide.cells import assign, plan_cells
from microagg.grouping.method import Groups, Method, Task

# Records a cell, and groups at least: what is lost at the borders a search wins back.
_CELL, _GROUPS = 5_000, 200
# Records a cell that say where to cut.
_SAMPLE = 200


def small_cells(records: NDArray[np.float64], k: int) -> int:
    """How many cells: fewer than two where records are few."""
    return len(records) // max(_CELL, _GROUPS * k)


def mdav_in_small_cells(task: Task) -> Groups:
    """The groups of mdav in cells of about 5,000 records, in larger ones where k is large."""
    records, cells = task.records, small_cells(task.records, task.k)
    n = len(records)
    if cells < 2:
        return mdav(records, task.k, task.advance)
    sample = records[:: max(1, n // (_SAMPLE * cells))]
    tree = plan_cells(sample, -(-n // cells), total=n)
    return group_blocks(
        task, assign(tree, records), lambda part: mdav(part.records, part.k, part.advance)
    )


# What a search starts from where nobody says; not one of the methods to choose from.
IN_SMALL_CELLS = Method(
    "mdav in small cells",
    "mdav in cells of about 5,000 records",
    "microagg",
    "as mdav in cells",
    mdav_in_small_cells,
)
