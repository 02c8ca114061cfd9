"""Information loss: how much of the variation in the data the groups wipe out."""

import math

import numpy as np
from numpy.typing import ArrayLike

from microagg.base.arrays import as_labels, as_records, centred
from microagg.base.groups import Partition
from microagg.kernels.group_passes import group_scatter


def information_loss(X: ArrayLike, labels: ArrayLike | Partition) -> float:
    """The loss IL = 100 * SSE / SST on z-scored columns, in percent.

    X: the original numbers, (n,) or (n, d).
    labels: the group, 0 to g - 1, of each record; a Partition will do.

    SSE is the sum of squared distances of the records to their group's mean, SST to the mean of
    all; z-scores give each column the same weight. 0 is no loss (groups of equal records), 100 is
    one group. Constant columns have nothing to lose and are left out. O(n d) time.
    """
    numbers = as_records(X, "X")
    groups_of, groups = as_labels(labels, numbers.shape[0])
    one_group = np.zeros_like(groups_of)
    losses = []
    for column in numbers.T:
        offsets = centred(column)
        total = group_scatter(offsets, one_group, 1)
        if total > 0.0:
            losses.append(group_scatter(offsets, groups_of, groups) / total)
    return 100.0 * math.fsum(losses) / len(losses) if losses else 0.0
