"""An earlier release of the same people, beside this one."""

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.measure.attacks.attack import Earlier
from microagg.release.pairing import Paired, Tables, paired_rows
from microagg.table.classes import class_of
from microagg.table.frames import Frame
from microagg.table.opening import Opened


def earlier_release(
    tables: Tables,
    old: Opened,
    names: Sequence[str],
    protected: Sequence[str],
    key: str | None,
    how: Paired,
) -> Earlier:
    """An earlier release: its classes, whose rows they are, and what both show as it is.

    names: the columns that the classes of this release are told by; protected: those of the earlier
    one. how: what pairs its rows.
    """
    belongs = paired_rows(tables.before, old, key, how)
    whose = np.arange(old.rows) if belongs is None else belongs
    place = np.full(tables.before.rows, -1)
    place[whose[whose >= 0]] = np.flatnonzero(whose >= 0)
    rows = place if tables.rows is None else place[tables.rows]
    if (rows < 0).all():
        raise nobody_there()
    if np.array_equal(rows, np.arange(old.rows)):
        # Rows in one order can be paired by their number.
        columns = pa.table({name: old.frame.column(name) for name in protected})
        return Earlier(class_of(columns, protected), rows, rows, rows)
    return beside_earlier(tables.after, old, names, protected, rows)


def beside_earlier(
    after: Opened,
    old: Opened,
    names: Sequence[str],
    protected: Sequence[str],
    rows: NDArray[np.int64],
) -> Earlier:
    """Classes of an earlier release, and what both show as it is; rows: as in `Earlier`."""
    labels = class_of(pa.table({name: old.frame.column(name) for name in protected}), protected)
    kept = in_both(after.frame, old.frame, [*names, *protected])
    both = Tables(after, old, None)
    table = pa.table({name: pa.concat_arrays(both.column(name)) for name in kept})
    marks = class_of(table, kept) if kept else np.zeros(rows.size + old.rows, np.int64)
    return Earlier(labels, rows, marks[: rows.size], marks[rows.size :])


def in_both(after: Frame, old: Frame, protected: Collection[str]) -> list[str]:
    """The columns that both show as they are, and that can be compared."""
    return [
        name
        for name in after.names
        if name in old.names
        and name not in protected
        and not pa.types.is_nested(old.column(name).type)
    ]


def nobody_there() -> InputError:
    """What is wrong with an earlier release of others."""
    return InputError("nobody of this release is in the earlier one; give one of the same people")
