"""Counts: numbers that stay whole."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.columns.kinds.numbers import Numbers


class Integer(Numbers):
    """Integers; a group publishes the one nearest to its mean."""

    name = "integer"
    treatment = "replaced by the whole number nearest to the mean of its group"
    read_as = (pa.int64(),)
    turn = 1

    def is_default_for(self, column_type: pa.DataType) -> bool:
        """Integers of any width."""
        return bool(pa.types.is_integer(column_type))

    def settle(self, name: str, values: NDArray, given: pa.DataType) -> tuple[NDArray, pa.DataType]:
        """Floats that hold nothing but integers become such."""
        if values.dtype.kind != "f":
            return values, given
        broken = int((values != np.floor(values)).sum()) + int((np.abs(values) >= 2.0**62).sum())
        if broken:
            raise InputError(
                f"column {name!r} was declared integer, but {broken} of its values have a fraction "
                f"or are too large; say kinds={{{name!r}: 'continuous'}}"
            )
        return values.astype(np.int64), given


KIND = Integer()
