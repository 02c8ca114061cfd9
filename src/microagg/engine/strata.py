"""Strata of a table that is seen in parts: which there are, how large, and where a row belongs."""

from collections.abc import Sequence
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.columns.households import Households
from microagg.table.classes import class_of

_MOST = 1_000_000
# What is counted of each: records, and what k counts, which may be entities.
_COUNTS = ("records", "units")


class ObservedStrata:
    """The combinations of values in some columns, counted part by part in any order."""

    def __init__(self, names: Sequence[str], most: int = _MOST, held: int | None = None) -> None:
        """most: strata that there may be; held: of how many households of each is told, all if
        None."""
        self.names = tuple(names)
        self._most, self._held = most, held
        self._counted: pa.Table | None = None
        # A few households of each stratum, beside its values.
        self._households: pa.Table | None = None

    def add(
        self,
        part: pa.Table,
        units: NDArray[np.int64] | None = None,
        households: NDArray[np.int64] | None = None,
    ) -> None:
        """Take the next part: the columns of the strata; units: a row of each unit."""
        is_unit = np.ones(part.num_rows, np.int64)
        if units is not None:
            is_unit[:] = 0
            is_unit[units] = 1
        ones = pa.array(np.ones(part.num_rows, np.int64))
        values = without_levels(part).columns
        self._merge(pa.table([*values, ones, pa.array(is_unit)], self._columns))
        if households is not None:
            self._merge_households(pa.table([*values, pa.array(households)], self._with_code))

    def merge(self, other: Self) -> None:
        """Take what somebody else saw of other parts."""
        if other._counted is not None:
            self._merge(other._counted)
        if other._households is not None:
            self._merge_households(other._households)

    def numbered(self, enough: int) -> "Strata":
        """The strata, sorted by their values; enough: more households than these do not count."""
        assert self._counted is not None
        order = [(name, "ascending") for name in self._columns[: len(self.names)]]
        table = self._counted.sort_by(order).rename_columns([*self.names, *_COUNTS])
        if self._households is None:
            return Strata(table)
        *values, codes = self._households.columns
        households = Households()
        households.add(Strata(table).code(pa.table(values, list(self.names))), codes.to_numpy())
        # Beyond what is enough it depends on who counts.
        counts = pa.array(np.minimum(households.counts(table.num_rows), enough))
        return Strata(table.set_column(table.num_columns - 1, _COUNTS[1], counts), households)

    @property
    def _columns(self) -> list[str]:
        # By place: names may be anything, also those of the counts.
        return [f"c{place}" for place in range(len(self.names))] + list(_COUNTS)

    @property
    def _with_code(self) -> list[str]:
        return [*self._columns[: len(self.names)], "code"]

    def _merge_households(self, found: pa.Table) -> None:
        if self._households is not None:
            found = pa.concat_tables([self._households, found])
        held = Households(self._held)
        rows = held.add(class_of(found, found.column_names[:-1]), found.column(-1).to_numpy())
        self._households = found.take(pa.array(rows))

    def _merge(self, counted: pa.Table) -> None:
        if self._counted is not None:
            counted = pa.concat_tables([self._counted, counted])
        names = self._columns
        try:
            summed = counted.group_by(names[: len(self.names)], use_threads=False).aggregate(
                [(name, "sum") for name in _COUNTS]
            )
        except pa.ArrowNotImplementedError:
            raise InputError(
                f"{' or '.join(map(repr, self.names))} is of a type whose values cannot be "
                "compared; make it numbers, text or dates, or leave it out of within"
            ) from None
        self._counted = summed.rename_columns(names)
        if self._counted.num_rows > self._most:
            raise InputError(
                f"{' and '.join(map(repr, self.names))} make more than {self._most} strata; take "
                "coarser ones"
            )


class Strata:
    """The strata of a whole table, numbered; see `ObservedStrata.numbered`.

    rows: how many records each has; counts: how many units.
    """

    def __init__(self, table: pa.Table, households: Households | None = None) -> None:
        self.table, self._households = table, households
        self.names = tuple(table.column_names[: -len(_COUNTS)])
        self.rows, self.counts = (
            table.column(table.num_columns - place).to_numpy() for place in (2, 1)
        )
        self._values = [
            table.column(place).combine_chunks().unique() for place in range(len(self.names))
        ]
        # For each column, the combinations of its values with those of the columns before it.
        self._combinations: list[NDArray[np.int64]] = []
        combined = np.zeros(table.num_rows, np.int64)
        for place in range(len(self.names)):
            known, combined = np.unique(self._next(table, place, combined), return_inverse=True)
            self._combinations.append(known)
        self._numbers = np.argsort(combined)

    def __len__(self) -> int:
        return self.counts.size

    def units_in(self, some: NDArray[np.bool_]) -> int:
        """How many units some strata have together."""
        if self._households is not None:
            return self._households.together(some)
        return int(self.counts[some].sum())

    def code(self, part: pa.Table) -> NDArray[np.int64]:
        """The stratum of each row."""
        part = without_levels(part)
        combined = np.zeros(part.num_rows, np.int64)
        for place, known in enumerate(self._combinations):
            wanted = self._next(part, place, combined)
            combined = np.minimum(np.searchsorted(known, wanted), known.size - 1)
            if not np.array_equal(known[combined], wanted):
                raise InputError(
                    f"{' and '.join(map(repr, self.names))} hold values now that they did not hold "
                    "at first; the input must not be changed while it is protected"
                )
        return self._numbers[combined]

    def column(self, name: str) -> pa.Array:
        """The values of the strata in one of their columns."""
        return self.table.column(self.names.index(name)).combine_chunks()

    def _next(self, part: pa.Table, place: int, combined: NDArray[np.int64]) -> NDArray[np.int64]:
        """Combinations with the values of one column more."""
        values = self._values[place]
        codes = pc.index_in(part.column(place).combine_chunks(), value_set=values)
        return combined * (len(values) + 1) + codes.fill_null(len(values)).to_numpy()


def without_levels(part: pa.Table) -> pa.Table:
    """The same columns, dictionaries as the values that they stand for."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in part.columns
    ]
    return pa.table(columns, part.column_names)
