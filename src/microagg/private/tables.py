"""Tables of any kind for private releases: columns out as arrays, the same kind of table back."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.base.arrays import as_records
from microagg.base.errors import InputError, OptionError

PutBack = Callable[[Mapping[str, NDArray]], Any]


def take_apart(table: Any, bounds: Any) -> tuple[Mapping[str, Any], PutBack]:
    """The columns of a table by name, and how columns become such a table again.

    A mapping or an array is taken whole. Of a data frame, a file or a database table only the
    columns that `bounds` names are taken: what has no bounds is not released.
    """
    if isinstance(table, Mapping):
        return table, dict
    if isinstance(table, np.ndarray | list | tuple):
        columns = as_records(table, "table").T
        flat = np.ndim(table) == 1
        return {str(number): column for number, column in enumerate(columns)}, _stack(flat)
    return _from_frame(table, bounds)


def _stack(flat: bool) -> PutBack:
    def put_back(columns: Mapping[str, NDArray]) -> NDArray:
        together = np.column_stack(list(columns.values()))
        return together[:, 0] if flat else together

    return put_back


def _from_frame(table: Any, bounds: Any) -> tuple[Mapping[str, Any], PutBack]:
    from microagg.base.reading import Reading
    from microagg.table.opening import check_columns, open_table

    named = list(map(str, bounds)) if isinstance(bounds, Mapping) else None
    source = open_table(table, Reading(), typed=named)
    if named is not None:
        check_columns(named, source.frame.names)
        if not named:
            raise OptionError("bounds name no column; name each column to release")
    chosen = named or source.frame.names
    columns = {name: _as_array(name, source.frame.column(name)) for name in chosen}
    return columns, source.frame.like


def _as_array(name: str, array: Any) -> NDArray:
    """Numbers, or texts of categories; dates and the like are refused with a hint."""
    from microagg.columns.coded import encode

    if array.null_count:
        raise InputError(
            f"column {name!r} has {array.null_count} missing values, and a private release can "
            "have none; drop those records or fill them by a rule that looks at no other record"
        )
    column = encode(name, array)
    if column.kind == "date":
        raise InputError(
            f"column {name!r} holds dates; turn them into numbers first, such as years or days"
        )
    if column.categories is not None:
        texts = np.array([str(entry) for entry in column.categories.to_pylist()], object)
        return texts[column.values]
    if column.whole and column.kind == "continuous":
        return column.values * 10.0**-array.type.scale
    return column.values
