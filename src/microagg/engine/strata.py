"""Strata of a table that is seen in parts: which there are, how large, and where a row belongs."""

from collections.abc import Sequence
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError

_MOST = 1_000_000
_COUNT = "count_all"


class ObservedStrata:
    """The combinations of values in some columns, counted part by part in any order."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._found: pa.Table | None = None

    def add(self, part: pa.Table) -> None:
        """Take the next part: the columns of the strata."""
        self._merge(_plain(part).group_by(part.column_names).aggregate([([], _COUNT)]))

    def merge(self, other: Self) -> None:
        """Take what somebody else saw of other parts."""
        if other._found is not None:
            self._merge(other._found)

    def table(self) -> pa.Table:
        """The strata, sorted, one a row, and how many records each has, in the last column."""
        assert self._found is not None
        return self._found.sort_by([(name, "ascending") for name in self.names])

    def _merge(self, counted: pa.Table) -> None:
        if self._found is not None:
            # Names may repeat those of columns, so the count goes by its place.
            both = pa.concat_tables([self._found, counted])
            names = [*self.names, _COUNT]
            counted = both.rename_columns(names).group_by(list(self.names))
            counted = counted.aggregate([(_COUNT, "sum")])
        self._found = counted.rename_columns([*self.names, _COUNT])
        if self._found.num_rows > _MOST:
            raise InputError(
                f"{' and '.join(map(repr, self.names))} make more than {_MOST} strata; take "
                "coarser ones"
            )


class Strata:
    """The strata of a whole table, numbered; see `ObservedStrata.table`."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.names = tuple(table.column_names[:-1])
        self.counts: NDArray[np.int64] = table.column(table.num_columns - 1).to_numpy()
        self._values = [table[name].combine_chunks().unique() for name in self.names]
        self._combinations = self._combine(table)

    def __len__(self) -> int:
        return self.counts.size

    def code(self, part: pa.Table) -> NDArray[np.int64]:
        """The stratum of each row."""
        wanted = self._combine(_plain(part))
        order = np.argsort(self._combinations)
        places = np.searchsorted(self._combinations, wanted, sorter=order)
        found = order[np.minimum(places, order.size - 1)]
        if not np.array_equal(self._combinations[found], wanted):
            raise InputError(
                f"{' and '.join(map(repr, self.names))} hold values now that they did not hold at "
                "first; the input must not be changed while it is protected"
            )
        return found

    def _combine(self, part: pa.Table) -> NDArray[np.int64]:
        combined = np.zeros(part.num_rows, np.int64)
        for name, values in zip(self.names, self._values, strict=True):
            codes = pc.index_in(part[name].combine_chunks(), value_set=values)
            combined *= len(values) + 1
            combined += codes.fill_null(len(values)).to_numpy()
        return combined


def _plain(part: pa.Table) -> pa.Table:
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in part.columns
    ]
    return pa.table(columns, part.column_names)
