"""How many records of a whole table share their keys, counted where the table is.

An engine that works in parts answers `alike`: combinations of keys, all records of each, one part
of them after the other. What they add up to is the risk of the table.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.progress import Advance
from microagg.engine.survey import bad_weights
from microagg.measure.risk.exposing import KeyColumn
from microagg.measure.risk.exposure import Whole
from microagg.measure.risk.frequencies import Frequencies
from microagg.measure.risk.tally import Tally, added
from microagg.table.opening import Origin

# Beside the keys, which cannot be called so.
WEIGHT, HOUSEHOLD, ROW = "\0weight", "\0household", "\0row"


class Alike(NamedTuple):
    """Some combinations of keys, all records of each.

    sizes, weights: how many records each has, and what their weights add up to; without weights, as
    many. rows: the records of the sample among them, by their places in it; labels: the combination
    of each of these.
    """

    sizes: NDArray[np.int64]
    weights: NDArray[np.float64]
    rows: NDArray[np.int64]
    labels: NDArray[np.int64]


class Homes(NamedTuple):
    """Some households, all records of each.

    expected: the records of households of which somebody is to be found. rows: the records of the
    sample among them, by their places in it, and the risk of each.
    """

    expected: float
    rows: NDArray[np.int64]
    risks: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Coding:
    """How records are compared: keys, the weight, the household and the place in the sample.

    sampled: the numbers of the sampled rows, ascending. times: how many of the population a record
    stands for, where there are no weights.
    """

    keys: tuple[str, ...]
    weights: str | None
    household: str | None
    times: float
    origin: Origin
    sampled: NDArray[np.int64]

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        more = [name for name in (self.weights, self.household) if name is not None]
        return list(dict.fromkeys([*self.keys, *more]))

    def coded(self, part: pa.RecordBatch, rows: NDArray[np.int64]) -> pa.RecordBatch:
        """Some records as they are compared; rows: their numbers."""
        columns = {name: self._comparable(name, part.column(name)) for name in self.keys}
        if self.weights is not None:
            columns[WEIGHT] = self._weights(part.column(self.weights))
        if self.household is not None:
            home = self._comparable(self.household, part.column(self.household))
            decimal = pa.types.is_decimal(home.type)
            columns[HOUSEHOLD] = home.cast(pa.string()) if decimal else home
        at = np.searchsorted(self.sampled, rows).clip(max=self.sampled.size - 1)
        columns[ROW] = pa.array(at, mask=self.sampled[at] != rows)
        return pa.RecordBatch.from_pydict(columns)

    def _weights(self, column: pa.Array) -> pa.Array:
        column = self.origin.readable(column).cast(pa.float64())
        if column.null_count or pc.any(pc.less(column, 0.0)).as_py():
            raise bad_weights(self.weights or "")
        return column

    def _comparable(self, name: str, column: pa.Array) -> pa.Array:
        """A key as it is compared: without a value where it is NaN, or a text or code says so."""
        origin = self.origin
        column = origin.readable(origin.format.without_codes(column, name, origin.layout))
        if pa.types.is_floating(column.type):
            return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        return column

    def population(self, part: Alike) -> NDArray[np.float64]:
        """How many of the population share each combination."""
        return part.weights * self.times


T = TypeVar("T")


@runtime_checkable
class InParts(Protocol):
    """An engine that counts records which it does not hold."""

    def alike(
        self,
        coding: Coding,
        by: Sequence[str],
        told: Callable[[Alike], T],
        advance: Advance,
    ) -> Iterator[T]:
        """What is told of all combinations of some keys, part by part, by whoever has the part."""

    def households(self, coding: Coding, advance: Advance) -> Iterator[Homes]:
        """Of all households, part by part."""


def counted(engine: InParts, coding: Coding, threshold: float, advance: Advance) -> Whole:
    """What all records add up to, and the frequencies of those sampled.

    A look at the table for all keys, and two for each: alone, and all others. Sums of weights may
    differ from those of a table in memory in the last digits.
    """
    keys, sampled = list(coding.keys), coding.sampled
    looks = 2 * len(keys) + 1 + (coding.household is not None)

    def tally(part: Alike) -> Tally:
        return Tally.of(part.sizes, coding.population(part), threshold)

    def sampled_too(part: Alike) -> tuple[Tally, NDArray, NDArray, NDArray]:
        at = part.labels
        return tally(part), part.rows, part.sizes[at], coding.population(part)[at]

    def look(by: Sequence[str], number: int, told: Callable[[Alike], T]) -> Iterator[T]:
        return engine.alike(coding, by, told, lambda share: advance((number + share) / looks))

    found = Frequencies(np.zeros(sampled.size, np.int64), np.zeros(sampled.size))
    tallies = []
    for each, rows, sizes, people in look(keys, 0, sampled_too):
        found.sample[rows], found.population[rows] = sizes, people
        tallies.append(each)
    whole, columns = added(tallies), []
    for place, name in enumerate(keys):
        others = [each for each in keys if each != name]
        alone = added(list(look([name], 2 * place + 1, tally)))
        if others:
            without = added(list(look(others, 2 * place + 2, tally)))
        else:
            without = Tally.of(np.array([whole.rows]), np.array([whole.population]), threshold)
        columns.append(KeyColumn.of(name, alone, without, None))
    # Rows that are equal in everything may have one number; the first stands for all of these.
    first = np.searchsorted(sampled, sampled)
    by_record = Frequencies(found.sample[first], found.population[first])
    if coding.household is None:
        return Whole(whole, tuple(columns), by_record)
    risks, expected = np.zeros(sampled.size), 0.0
    tell = lambda share: advance((looks - 1 + share) / looks)  # noqa: E731
    for home in engine.households(coding, tell):
        expected += home.expected
        risks[home.rows] = home.risks
    return Whole(whole, tuple(columns), by_record, risks[first], expected)
