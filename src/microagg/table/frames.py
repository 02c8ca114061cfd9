"""Tables of any kind: columns out as Arrow arrays, and the same kind of table back."""

import ctypes
import os
from collections.abc import Callable, Collection, Mapping
from numbers import Integral
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError, OptionError
from microagg.base.recipe import Recipe
from microagg.table.checks import check_names, check_rows, trimmed, without_runs
from microagg.table.metadata import only, released_schema


def head_of(table: Any, rows: int) -> pa.Table:
    """The first rows of a table or an Arrow dataset."""
    if hasattr(table, "scanner"):
        return table.head(rows)
    frame = Frame(table.head(rows) if hasattr(table, "head") else table.slice(0, rows))
    return pa.table([frame.column(name) for name in frame.names], frame.names)


def pandas_of(columns: Mapping[str, list[Any]]) -> Any:
    """A pandas table of plain columns."""
    try:
        import pandas
    except ImportError:
        raise OptionError("a data frame needs the package pandas: pip install pandas") from None
    return pandas.DataFrame(columns)


class Frame:
    """A pandas, Polars or Arrow table, or another that narwhals knows and that is in memory.

    notes: what was left out.
    """

    def __init__(self, native: Any, named: Collection[str] = ()) -> None:
        """named: columns that somebody asks for; an index of pandas with such a name is one."""
        if isinstance(native, pa.RecordBatchReader):
            native = native.read_all()
        elif isinstance(native, pa.RecordBatch):
            native = pa.Table.from_batches([native])
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
        self.notes: list[str] = []
        if self._frame.implementation.is_pandas_like():
            native, self.notes = _with_plain_index(self._frame.to_native(), named)
            names = list(native.columns)
            if names and all(isinstance(name, Integral) for name in names):
                native = native.set_axis([str(name) for name in names], axis=1)
                self.notes.append("columns named by numbers are named by their digits: 0 is '0'")
            self._frame = nw.from_native(native, eager_only=True)
        if self._frame.implementation.is_pyarrow():
            self._frame = nw.from_native(without_runs(self._frame.to_native()), eager_only=True)
        self._types: dict[str, pa.DataType] = {}
        self.names: list[str] = list(self._frame.columns)
        self.rows = len(self._frame)
        strange = [name for name in self.names if not isinstance(name, str)]
        if strange:
            raise InputError(
                f"column names must be text, but {len(strange)} of {len(self.names)} are of type "
                f"{type(strange[0]).__name__}; rename them, in pandas by "
                "table.columns = table.columns.map(str)"
            )
        check_names(self.names, "the table")
        check_rows(self.rows, "the table")

    def column(self, name: str) -> pa.Array:
        """One column in one piece."""
        try:
            # narwhals would copy a column that Arrow has at hand.
            arrow = self._frame.implementation.is_pyarrow()
            array = self._frame.to_native().column(name) if arrow else self._frame[name].to_arrow()
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
        kept_rows: NDArray[np.bool_] | None,
        recipe: Recipe,
    ) -> Any:
        """The same kind of table with some columns replaced, some gone, and perhaps fewer rows.

        Replaced columns keep the type they had, unless the new one is of another Arrow type. What
        comes back holds no more than it shows: of categories those that some record has, nothing
        of records or columns that left, and of metadata what the recipe lists.
        """
        names = [name for name in self.names if name not in recipe.identifiers]
        frame = self._frame.select(names)
        if kept_rows is not None:
            frame = frame.filter(kept_rows.tolist())
        same = {name: array.type == self._types.get(name) for name, array in replaced.items()}
        if frame.implementation.is_pyarrow():
            table = frame.to_native()
            schema = released_schema(table.schema, names, recipe)
            return _rebuild_arrow(table, schema, replaced, same)
        new = dict(replaced)
        for name in names:
            if name not in new and _may_hide(frame[name]):
                column = self.column(name)
                new[name] = column if kept_rows is None else column.filter(pa.array(kept_rows))
        table = trimmed(pa.table(new))
        made = [_like(frame[name], in_one_piece(table[name]), same.get(name, True)) for name in new]
        native = _with_own_levels(frame.with_columns(made).to_native())
        if not frame.implementation.is_pandas_like():
            return native
        # A column of pandas may be a view of a block in which columns replaced or dropped live on.
        native = native.copy()
        native.attrs = only(self._frame.to_native().attrs, recipe.keep_metadata)
        return native if kept_rows is None else native.reset_index(drop=True)


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
    table: pa.Table, schema: pa.Schema, replaced: Mapping[str, pa.Array], same: Mapping[str, bool]
) -> pa.Table:
    columns, fields = [], []
    for field, column in zip(schema, table.columns, strict=True):
        new = replaced.get(field.name, column)
        if not same.get(field.name, True):
            field = field.with_type(new.type)
        alike = new.type.equals(field.type, check_metadata=True)
        columns.append(new if alike else new.cast(field.type))
        fields.append(field)
    return trimmed(pa.table(columns, schema=pa.schema(fields, schema.metadata)))


def _with_plain_index(native: Any, named: Collection[str]) -> tuple[Any, list[str]]:
    """A table of pandas whose index only counts its rows.

    Levels of another index are columns if their name is asked for, and are left out otherwise,
    which a note says.
    """
    index, levels = native.index, list(native.index.names)
    asked = [
        name
        for name in levels
        if name in named and name not in native.columns and levels.count(name) == 1
    ]
    others = [place for place, name in enumerate(levels) if name not in asked]
    notes = []
    if not asked:
        if type(index).__name__ == "RangeIndex":
            return native, []
        whole = len(levels) == 1 and index.dtype.kind in "iu"
        if whole and np.array_equal(index.to_numpy(), np.arange(len(index))):
            return native.reset_index(drop=True), []
    if others:
        native = native.reset_index(level=others, drop=True)
        notes = [
            "the index of the table was left out, since it does more than count the rows; to treat "
            "it like a column, give it a name and name that in a role"
        ]
    return native.reset_index() if asked else native, notes


def _may_hide(series: Any) -> bool:
    """Whether something may lie under the gaps of a column, or in a dictionary, that is not shown.

    Columns of NumPy have gaps that are values, and hide nothing.
    """
    if not series.implementation.is_pandas_like():
        return series.dtype != nw.Object and (series.dtype.is_nested() or series.null_count() > 0)
    import pandas as pd

    kind = series.to_native().dtype
    masked = isinstance(kind, pd.ArrowDtype | pd.StringDtype) or hasattr(kind, "numpy_dtype")
    return masked and (series.null_count() > 0 or isinstance(kind, pd.ArrowDtype))


def _with_own_levels(native: Any) -> Any:
    """The same table, its categories those that some record has, in their order."""
    if hasattr(native, "select_dtypes"):
        categories = native.select_dtypes("category")
        return native.assign(
            **{name: categories[name].cat.remove_unused_categories() for name in categories}
        )
    if not hasattr(native, "with_columns"):
        return native
    import polars as pl

    casts = []
    for name, kind in native.schema.items():
        series = native[name]
        own = _with_levels(series, kind, _used)
        if own != kind:
            # Polars casts arrays of levels to texts and back, but not to other levels.
            texts = _with_levels(series, kind, lambda *_: pl.String)
            casts.append(series.cast(texts).cast(own))
    return native.with_columns(casts) if casts else native


def _with_levels(series: Any, kind: Any, change: Callable[[Any, Any], Any]) -> Any:
    """A type of Polars with every Enum in it as `change` makes it, from its values and itself."""
    import polars as pl

    if isinstance(kind, pl.Enum):
        return change(series, kind)
    if isinstance(kind, pl.List):
        return pl.List(_with_levels(series.drop_nulls().explode(), kind.inner, change))
    if isinstance(kind, pl.Array):
        return pl.Array(_with_levels(series.drop_nulls().explode(), kind.inner, change), kind.size)
    if isinstance(kind, pl.Struct):
        return pl.Struct(
            {
                field.name: _with_levels(series.struct.field(field.name), field.dtype, change)
                for field in kind.fields
            }
        )
    return kind


def _used(series: Any, kind: Any) -> Any:
    used = set(series.unique())
    return type(kind)([level for level in kind.categories if level in used])


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
