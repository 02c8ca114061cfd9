"""A column that says which record is which: the same one in two tables."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.table.checks import plain


def as_key(column: pa.Array) -> pa.Array:
    """A column as it is compared with that of another table."""
    return plain(column).cast(pa.string())


def rows_by_key(
    before: pa.Array, after: pa.Array, key: str, *, all_there: bool = True
) -> NDArray[np.int64]:
    """For each released row the row of the original that has the same key; -1 if none may.

    before, after: the whole columns, as `as_key` gives them; key: what they are called.
    """
    for array, what in ((before, "original"), (after, "release")):
        if array.null_count or len(array.unique()) < len(array):
            raise no_key(key, what)
    rows = pc.index_in(after, value_set=before)
    if rows.null_count and all_there:
        raise not_there(key, rows.null_count)
    return np.asarray(rows.fill_null(-1).to_numpy(), np.int64)


def no_key(key: str, what: str) -> InputError:
    """What is wrong with a column that does not tell the records of a table apart."""
    return InputError(
        f"the key {key!r} is missing or repeated in the {what}; "
        "a key has its own value in every record"
    )


def not_there(key: str, count: int) -> InputError:
    """What is wrong with a release of others than are in the original."""
    return InputError(
        f"{count} records of the release have a key {key!r} that the original does not have"
    )
