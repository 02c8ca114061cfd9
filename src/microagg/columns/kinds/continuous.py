"""Numbers of which any mean makes sense."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.aggregation.centres import Weights, integers, means
from microagg.columns.kinds.numbers import Numbers


def _means(values: NDArray, labels: NDArray[np.int64], groups: int, weights: Weights) -> NDArray:
    """Of decimals, which are whole numbers of their last place, the nearest such number."""
    exact = values.dtype.kind != "f"
    return (integers if exact else means)(values, labels, groups, weights)


class Continuous(Numbers):
    """Floats and decimals; a group publishes its mean, of decimals to their last place."""

    name = "continuous"
    treatment = "replaced by the mean of its group"
    centre = staticmethod(_means)
    read_as = (pa.float64(),)
    turn = 2

    def is_default_for(self, column_type: pa.DataType) -> bool:
        """Floats and decimals."""
        return bool(pa.types.is_floating(column_type) or pa.types.is_decimal(column_type))

    def settle(self, name: str, values: NDArray, given: pa.DataType) -> tuple[NDArray, pa.DataType]:
        """Integers become floats: their means are not integers."""
        if values.dtype.kind == "f":
            return values, given
        return values.astype(np.float64), pa.float64()


KIND = Continuous()
