"""A tree's records in single precision: half the instructions, and how much that may be off.

Numbers are moved and scaled to lie from -1 to 1, by a power of two, so that no square overflows or
vanishes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import inner
from microagg.kernels.trees.planting import Tree

# Of the widest attribute, as a power of two.
_PLAIN = 200
# Two numbers and their difference are rounded, in all by less than this.
_OFF = np.float32(2.0**-21)
_ULP = np.float32(2.0**-23)


class Single(NamedTuple):
    """How numbers become such in single precision."""

    middle: NDArray[np.float64]
    scales: NDArray[np.float64]
    unit: float

    def of(self, numbers: NDArray[np.float64], axis: int) -> NDArray[np.float32]:
        """These numbers, of which one axis has the attributes."""
        shape = [1] * numbers.ndim
        shape[axis] = self.middle.size
        made = numbers - self.middle.reshape(shape)
        made *= self.scales.reshape(shape)
        return made.astype(np.float32)


def single_precision(
    tree: Tree, low: NDArray[np.float64], high: NDArray[np.float64]
) -> Single | None:
    """For points within the tree's box and from `low` to `high`; None where squares could overflow
    or vanish."""
    d, box = tree.scales.size, tree.boxes[0, :, 1]
    low, high = np.minimum(low, box[:d]), np.maximum(high, box[d:])
    reach = float(((high / 2 - low / 2) * tree.scales).max())
    if not 2.0**-_PLAIN < reach < 2.0**_PLAIN:
        return None
    unit = 2.0 ** -int(np.frexp(reach)[1])
    return Single(low / 2 + high / 2, tree.scales * unit, unit)


@inner(forceinline=True)
def beyond(square, d):
    """What is farther than this in single precision is farther than the square for certain.

    Each is off by what its coordinates are, and by as many roundings as there are attributes.
    """
    off = np.float32(d) * _OFF
    more = np.sqrt(square) * (np.float32(1.0) + np.float32(d + 8) * _ULP) + off
    return more * more
