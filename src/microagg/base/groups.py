"""Partition: the shared word for "who is grouped with whom"."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from microagg.base.showing import Showing
from microagg.kernels.group_passes import scatter_labels
from microagg.kernels.threads import run_blocks

_GROUPS_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False, repr=False)
class Partition(Showing):
    """Records divided into groups of at least k.

    `labels[i]` is the group, 0 to g - 1, of the record in row i of the input.
    """

    labels: NDArray[np.int64]
    k: int
    method: str

    def __post_init__(self) -> None:
        self.labels.flags.writeable = False

    @classmethod
    def from_sequence(
        cls, order: NDArray[np.integer], sizes: NDArray[np.integer], k: int, method: str
    ) -> Self:
        """Give the records `order[0]`, `order[1]`, ... to consecutive groups of these sizes.

        The only place where a sort or an ordering is undone.
        """
        labels = np.empty(order.size, np.int64)
        starts = np.zeros(-(-sizes.size // _GROUPS_AT_ONCE) + 1, np.int64)
        np.cumsum(np.add.reduceat(sizes, np.arange(0, sizes.size, _GROUPS_AT_ONCE)), out=starts[1:])

        def scatter(first: int, last: int) -> None:
            start, end = starts[first // _GROUPS_AT_ONCE : first // _GROUPS_AT_ONCE + 2]
            scatter_labels(order[start:end], sizes[first:last], first, labels)

        run_blocks(scatter, sizes.size, _GROUPS_AT_ONCE)
        return cls(labels, k, method)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many records each group has."""
        sizes = np.bincount(self.labels)
        sizes.flags.writeable = False
        return sizes

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return self.sizes.size

    def __len__(self) -> int:
        return self.labels.size

    def _told(self) -> dict[str, object]:
        return {
            "n": len(self), "k": self.k, "n_groups": self.n_groups, "method": repr(self.method)
        }  # fmt: skip
