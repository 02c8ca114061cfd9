"""Dates, moments and durations: as coarse after as before."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import OptionError
from microagg.columns.coded import Coded
from microagg.columns.kinds.kind import where_missing
from microagg.columns.kinds.measured import Measured

_TICKS_A_SECOND = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}


class Date(Measured):
    """Dates, times and durations; a group publishes the mean, to the day, hour, ... they have."""

    name = "date"
    treatment = "replaced by the mean date of its group"
    read_as = (pa.date32(), pa.timestamp("s"), pa.timestamp("us"))
    turn = 3
    deviation = "Deviation, days"
    labelled = True

    def is_default_for(self, column_type: pa.DataType) -> bool:
        """Whatever tells a time, but intervals of months."""
        return bool(pa.types.is_temporal(column_type) and not pa.types.is_interval(column_type))

    def encode(self, name: str, array: pa.Array, order: tuple[str, ...] | None) -> Coded:
        """Multiples of the coarsest step that all are multiples of."""
        given = array.type
        if not self.is_default_for(given):
            raise OptionError(f"column {name!r} was declared date, but its type is {given}")
        ticks = (array.cast(pa.int32()) if _is_narrow(given) else array).cast(pa.int64())
        values = ticks.fill_null(0).to_numpy()
        step = _step(values, given)
        return Coded(name, self.name, values // step, True, where_missing(array), given, step=step)

    def decode(self, coded: Coded, values: NDArray, missing: NDArray[np.bool_]) -> pa.Array:
        """Steps in the type they came in."""
        ticks = pa.array(values.astype(np.int64) * coded.step, mask=missing)
        return (ticks.cast(pa.int32()) if _is_narrow(coded.type) else ticks).cast(coded.type)

    def moments(
        self, column: Coded, origin: float | int | np.number, mean: float, deviation: float
    ) -> tuple[float | str | None, float | None]:
        """The mean as text, the deviation in days."""
        if not np.isfinite(deviation):
            return None, None
        # Halves go up, not to even, which would depend on the origin.
        middle = np.array([origin + np.int64(np.floor(mean + 0.5))])
        days = column.step / _ticks_a_day(column.type)
        return self.texts(column, middle)[0], deviation * days

    def edge_texts(self, column: Coded, edges: NDArray[np.float64]) -> list[str]:
        """As dates."""
        # A border may round to just beyond what an integer holds.
        ends = np.iinfo(np.int64)
        edges = np.clip(np.rint(edges), ends.min, np.nextafter(float(ends.max), 0.0))
        return self.texts(column, edges.astype(np.int64))


def are_firsts(column: Coded) -> bool:
    """Whether dates are all the first of a month, which tells the month alone."""
    is_day = pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)
    if not is_day or column.step != _ticks_a_day(column.type):
        return False
    days = column.present.astype("datetime64[D]")
    return bool((days.astype("datetime64[M]").astype("datetime64[D]") == days).all())


def nearest_firsts(days: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first day of a month that is nearest to each day; of two, the earlier."""
    months = days.astype("datetime64[D]").astype("datetime64[M]")
    before, after = ((months + later).astype("datetime64[D]").astype(np.int64) for later in (0, 1))
    return np.where(days - before <= after - days, before, after)


def _is_narrow(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date32(kind) or pa.types.is_time32(kind))


def _ticks_a_day(kind: pa.DataType) -> int:
    if pa.types.is_date32(kind):
        return 1
    return 86400 * _TICKS_A_SECOND["ms" if pa.types.is_date64(kind) else kind.unit]


def _step(ticks: NDArray[np.int64], kind: pa.DataType) -> int:
    """How coarse the moments are: days, hours, ... in ticks, if all of them are such.

    Each step is a multiple of the next, so that of several columns the finest step fits all.
    """
    if pa.types.is_date32(kind):
        return 1
    a_second = _ticks_a_day(kind) // 86400
    for seconds in (86400, 3600, 60, 1):
        if not (ticks % (seconds * a_second)).any():
            return seconds * a_second
    for step in (10**6, 10**3):
        if step < a_second and not (ticks % step).any():
            return step
    return 1


KIND = Date()
