"""Tables of any kind: columns out as Arrow arrays, and the same kind of table back."""

from collections.abc import Collection, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.errors import InputError
from microagg.table.checks import check_names


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
        self.native = native
        self.names: list[str] = list(self._frame.columns)
        self.rows = len(self._frame)
        strange = [name for name in self.names if not isinstance(name, str)]
        if strange:
            raise InputError(
                f"column names must be text, but {len(strange)} of {len(self.names)} are of type "
                f"{type(strange[0]).__name__}; rename them"
            )
        check_names(self.names, "the table")
        if self.rows == 0:
            raise InputError("the table has no rows: there is nothing to group")

    def column(self, name: str) -> pa.Array:
        """One column in one piece."""
        try:
            array = self._frame[name].to_arrow()
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
            raise InputError(
                f"column {name!r} mixes values of different types; make them all of one"
            ) from None
        return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array

    def hashable(self) -> pa.Table:
        """The table as Arrow, with what Arrow has no type for as the text Python has for it."""
        columns = []
        for name in self.names:
            try:
                columns.append(self.column(name))
            except InputError:
                columns.append(pa.array([repr(entry) for entry in self._frame[name].to_list()]))
        return pa.table(columns, self.names)

    def rebuild(
        self,
        replaced: Mapping[str, pa.Array],
        dropped: Collection[str],
        kept_rows: NDArray[np.bool_] | None,
    ) -> Any:
        """The same kind of table with some columns replaced, some gone, and perhaps fewer rows."""
        frame = self._frame
        series = [_like(frame[name], array) for name, array in replaced.items()]
        frame = frame.with_columns(*series)
        frame = frame.select(name for name in self.names if name not in dropped)
        if kept_rows is not None:
            frame = frame.filter(kept_rows.tolist())
        return frame.to_native()


def as_arrow(native: Any) -> pa.Table:
    """The table as Arrow, without what only its own library knows (an index, say)."""
    if isinstance(native, pa.Table):
        return native
    frame = Frame(native)
    return pa.table([frame.column(name) for name in frame.names], frame.names)


def _like(series: Any, array: pa.Array) -> Any:
    """An Arrow array as a series of the same library, type and index as another."""
    native = series.to_native()
    implementation = series.implementation
    if implementation.is_pyarrow():
        return nw.from_native(pa.chunked_array([array]), series_only=True).alias(series.name)
    if implementation.is_pandas_like():
        values = array.to_pandas()
        # A column of integers with gaps becomes floats on the way; its own type takes it back.
        if values.dtype != native.dtype:
            values = _as_pandas(array, native)
        values.index, values.name = native.index, native.name
        return nw.from_native(values, series_only=True)
    made = nw.new_series(series.name, array, backend=implementation)
    return made if made.dtype == series.dtype else made.cast(series.dtype)


def _as_pandas(array: pa.Array, native: Any) -> Any:
    import pandas as pd

    exact = pd.Series(pd.array(array, dtype=pd.ArrowDtype(array.type)))
    if isinstance(native.dtype, pd.CategoricalDtype):
        return pd.Series(pd.Categorical(exact.astype(object), dtype=native.dtype))
    if native.dtype == object:
        return exact.astype(object).where(exact.notna(), None)
    return exact.astype(native.dtype)
