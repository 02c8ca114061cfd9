"""shim"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microagg.table.recount import class_of, count_alike  # noqa
from microagg.table.recount_parts import count_parts


@dataclass(frozen=True, eq=False)
class Classes:
    sizes: NDArray[np.int64]
    times: NDArray[np.int64]
    k: int

    @classmethod
    def of(cls, sizes, units=None):
        s, t = np.unique(sizes, return_counts=True)
        return cls(s, t, int((sizes if units is None else units).min()))

    @property
    def count(self):
        return int(self.times.sum())

    @property
    def rows(self):
        return int((self.sizes * self.times).sum())

    @property
    def smallest(self):
        return int(self.sizes[0])

    @property
    def largest(self):
        return int(self.sizes[-1])

    @property
    def unique(self):
        return int(self.times[self.sizes == 1].sum())

    @property
    def median(self):
        return float(np.median(np.repeat(self.sizes, self.times)))


def count_classes(table, names, entities=None):
    a = count_alike(table, names, entities)
    return Classes.of(a.sizes, a.units)


def count_classes_in_parts(batches, names, rows, folder, advance=lambda s: None):
    a = count_parts(batches, names, rows, folder, advance)
    return Classes.of(a.sizes)
