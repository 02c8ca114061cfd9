"""Arrow's floats, integers and decimals as numbers and back."""

from abc import abstractmethod

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError, OptionError
from microagg.columns.coded import Coded
from microagg.columns.kinds.kind import where_missing
from microagg.columns.kinds.measured import Measured
from microagg.table.checks import plain


class Numbers(Measured):
    """Columns of numbers, whole or not."""

    amounts = True

    @abstractmethod
    def settle(self, name: str, values: NDArray, given: pa.DataType) -> tuple[NDArray, pa.DataType]:
        """The numbers as this kind has them, and the type that it publishes."""

    def encode(self, name: str, array: pa.Array, order: tuple[str, ...] | None) -> Coded:
        """Floats and integers as they are; decimals as whole numbers of their last place."""
        array = plain(array)
        given = array.type
        if pa.types.is_decimal(given):
            return Coded(name, self.name, _unscaled(name, array), True, where_missing(array), given)
        if pa.types.is_floating(given):
            values, missing, nan = _floats(name, array)
        elif pa.types.is_integer(given):
            missing, nan = where_missing(array), False
            wide = pa.uint64() if given == pa.uint64() else pa.int64()
            values = array.fill_null(0).cast(wide).to_numpy()
        else:
            raise OptionError(
                f"column {name!r} was declared {self.name}, but its type is {given}; "
                "only numbers can be so treated"
            )
        values, given = self.settle(name, values, given)
        whole = values.dtype.kind != "f"
        return Coded(name, self.name, values, whole, missing, given, nan=nan)

    def decode(self, coded: Coded, values: NDArray, missing: NDArray[np.bool_]) -> pa.Array:
        """Numbers in the type they came in."""
        if pa.types.is_decimal(coded.type):
            return _as_decimals(values.astype(np.int64), missing, coded.type)
        if coded.nan:
            return pa.array(np.where(missing, np.nan, values), coded.type)
        return pa.array(values, mask=missing).cast(coded.type, safe=False)


def _floats(name: str, array: pa.Array) -> tuple[NDArray, NDArray[np.bool_] | None, bool]:
    """Numbers, zero where missing; where that is, NaN being missing too; whether all are NaN."""
    missing, nan = where_missing(array), False
    values = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise InputError(
            f"column {name!r} holds infinite numbers ({infinite}); "
            "replace them or mark them missing"
        )
    not_numbers = np.isnan(values)
    if not_numbers.any():
        nan, missing = missing is None, not_numbers
        values = np.where(missing, 0.0, values)
    return values, missing, nan


def _unscaled(name: str, array: pa.Array) -> NDArray[np.int64]:
    try:
        wide = array.cast(pa.decimal128(18, array.type.scale))
    except pa.ArrowInvalid:
        raise InputError(
            f"column {name!r} holds decimals of more than 18 digits; make them floats"
        ) from None
    words = np.frombuffer(wide.buffers()[1], np.int64).reshape(-1, 2)
    values = words[wide.offset : wide.offset + len(wide), 0]
    return np.where(wide.is_null().to_numpy(zero_copy_only=False), 0, values)


def _as_decimals(
    values: NDArray[np.int64], missing: NDArray[np.bool_], kind: pa.DataType
) -> pa.Array:
    words = np.column_stack([values, values >> 63])
    buffers = [None, pa.py_buffer(np.ascontiguousarray(words))]
    wide = pa.Array.from_buffers(pa.decimal128(38, kind.scale), values.size, buffers)
    return pc.if_else(pa.array(missing), None, wide).cast(kind)
