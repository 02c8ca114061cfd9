"""Tables of any kind: columns out as Arrow arrays, and the same kind of table back."""

import ctypes
import os
from collections.abc import Collection, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.table.checks import check_names, check_rows, trimmed


class Frame:
    """A pandas, Polars or Arrow table, or another that narwhals knows and that is in memory."""

    def __init__(self, native: Any) -> None:
        try:
            self._frame = nw.from_native(native, eager_only=True)
        except TypeError:
            hint = "; collect it first" if hasattr(native, "collect") else ""
            raise InputError(
                "the table must be a pandas, Polars or Arrow table or the path of a file, "
                f"but an object of type {type(native).__name__} arrived{hint}"
            ) from None
        except ValueError:
            # narwhals refuses pandas tables whose column names repeat.
            raise InputError("column names repeat in the table; give each column its own") from None
        self._types: dict[str, pa.DataType] = {}
        self.names: list[str] = list(self._frame.columns)
        self.rows = len(self._frame)
        strange = [name for name in self.names if not isinstance(name, str)]
        if strange:
            raise InputError(
                f"column names must be text, but {len(strange)} of {len(self.names)} are of type "
                f"{type(strange[0]).__name__}; rename them"
            )
        check_names(self.names, "the table")
        check_rows(self.rows, "the table")

    def column(self, name: str) -> pa.Array:
        """One column in one piece."""
        try:
            # narwhals would copy a column that Arrow has at hand.
            arrow = self._frame.implementation.is_pyarrow()
            array = (self._frame[name].to_native if arrow else self._frame[name].to_arrow)()
        except (pa.ArrowException, TypeError, OverflowError):
            raise InputError(
                f"column {name!r} mixes values of different types or holds some that tables have "
                "no type for; make them all numbers, text or dates"
            ) from None
        array = in_one_piece(array) if isinstance(array, pa.ChunkedArray) else array
        if array.type == pa.string_view():
            # Few functions know views; `rebuild` makes it one again.
            array = array.cast(pa.large_string())
        self._types[name] = array.type
        return array

    def hashable(self) -> pa.Table:
        """The table as Arrow, with what Arrow has no type for as the text Python has for it."""
        columns = []
        for name in self.names:
            try:
                columns.append(self.column(name))
            except InputError:
                columns.append(pa.array([repr(entry) for entry in self._frame[name].to_list()]))
        return pa.table(columns, self.names)

    def like(self, columns: Mapping[str, NDArray]) -> Any:
        """A table of the same kind with other columns."""
        table = pa.table({name: pa.array(column) for name, column in columns.items()})
        return nw.from_arrow(table, backend=self._frame.implementation).to_native()

    def rebuild(
        self,
        replaced: Mapping[str, pa.Array],
        dropped: Collection[str],
        kept_rows: NDArray[np.bool_] | None,
    ) -> Any:
        """The same kind of table with some columns replaced, some gone, and perhaps fewer rows.

        Replaced columns keep the type they had, unless the new one is of another Arrow type. What
        comes back shares no memory with columns that are not in it any more.
        """
        frame = self._frame.select(name for name in self.names if name not in dropped)
        if kept_rows is not None:
            frame = frame.filter(kept_rows.tolist())
        same = {name: array.type == self._types.get(name) for name, array in replaced.items()}
        if frame.implementation.is_pyarrow():
            return _rebuild_arrow(frame.to_native(), replaced, same)
        frame = frame.with_columns(
            _like(frame[name], array, same[name]) for name, array in replaced.items()
        )
        native = frame.to_native()
        # A column of pandas may be a view of a block in which columns replaced or dropped live on.
        return native.copy() if frame.implementation.is_pandas_like() else native


def values_of(name: str, array: pa.Array) -> NDArray:
    """A column as float64, or as texts where it holds texts, categories or truth values.

    What is missing is NaN or None.
    """
    kind = array.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if pa.types.is_temporal(kind):
        raise InputError(
            f"column {name!r} holds dates; turn them into numbers first, such as years or days"
        )
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
    if not any(fits(kind) for fits in (*texts, pa.types.is_boolean, pa.types.is_null)):
        raise InputError(f"column {name!r} is of type {kind}; make it numbers or text")
    entries = array.to_pylist()
    return np.array([None if entry is None else str(entry) for entry in entries], object)


def in_one_piece(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece, copied only if it is in several."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def give_back_memory() -> None:
    """Return freed memory that is kept for later use: Arrow's, and the C library's where it can."""
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


def as_arrow(native: Any) -> pa.Table:
    """The table as Arrow, without what only its own library knows (an index, say)."""
    if isinstance(native, pa.Table):
        return native
    frame = Frame(native)
    return pa.table([frame.column(name) for name in frame.names], frame.names)


def _rebuild_arrow(
    table: pa.Table, replaced: Mapping[str, pa.Array], same: Mapping[str, bool]
) -> pa.Table:
    columns, fields = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        new = replaced.get(field.name)
        if new is None:
            columns.append(_own(column))
        else:
            field = field if same[field.name] else field.with_type(new.type)
            columns.append(trimmed(pa.table([new.cast(field.type)], ["new"])).column(0))
        fields.append(field)
    return pa.table(columns, schema=pa.schema(fields, table.schema.metadata))


def _own(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column read from a file may be a window on the whole of it; a copy is not."""
    buffers = (buffer for chunk in column.chunks for buffer in chunk.buffers())
    if any(buffer is not None and buffer.parent is not None for buffer in buffers):
        return column.take(pa.array(np.arange(len(column))))
    return column


def _like(series: Any, array: pa.Array, same_type: bool) -> Any:
    """An Arrow array as a series of the same library and index as another, and of its type."""
    if series.implementation.is_pandas_like():
        native = series.to_native()
        values = _as_pandas(array, native) if same_type else array.to_pandas()
        values.index, values.name = native.index, native.name
        return nw.from_native(values, series_only=True)
    made = nw.new_series(series.name, array, backend=series.implementation)
    return made.cast(series.dtype) if same_type and made.dtype != series.dtype else made


def _as_pandas(array: pa.Array, native: Any) -> Any:
    import pandas as pd

    values = array.to_pandas()
    # Categories are equal in any order, but the order they came in stays.
    if values.dtype == native.dtype and not isinstance(native.dtype, pd.CategoricalDtype):
        return values
    # A column of integers with gaps becomes floats on the way; its own type takes it back.
    exact = pd.Series(pd.array(array, dtype=pd.ArrowDtype(array.type)))
    if isinstance(native.dtype, pd.CategoricalDtype):
        return pd.Series(pd.Categorical(exact.astype(object), dtype=native.dtype))
    if native.dtype == object:
        return exact.astype(object).where(exact.notna(), None)
    return exact.astype(native.dtype)
