"""A table that is looked at again and again: opened once, then asked about."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from microagg.actions.inspect import Inspection, inspected
from microagg.base.addresses import without_password
from microagg.base.progress import watch
from microagg.base.reading import Reading
from microagg.columns.coded import Coded
from microagg.columns.summary import attribute
from microagg.engine.choosing import Where, memory_for_table
from microagg.table.classes import count_classes
from microagg.table.opening import Opened, open_head, open_table
from microagg.table.streams import estimated_size

# Rows and letters that are shown, and bars of a column in small.
ROWS, LETTERS, BARS = 8, 40, 24
# Numbers below it are shown without decimals if they have none.
_WHOLE = 1e15
# Of a table that does not fit into memory so many bytes are looked at.
_HEAD = 1 << 28


@dataclass(frozen=True)
class Look:
    """What a person sees of a table before anything is done.

    head: the first rows as text, None where there is no value. layout: what was found out about how
    it is written, by name. bars: of each column, how many records have its values, the largest 1.
    share: of a table too large for memory, which part of it was looked at.
    """

    inspection: Inspection
    head: tuple[tuple[str | None, ...], ...]
    layout: dict[str, str]
    bars: dict[str, tuple[float, ...]] = field(default_factory=dict)
    share: float = 1.0


class LookedAt:
    """A table in memory, to be asked about. It never changes."""

    def __init__(self, address: str, reading: Reading) -> None:
        self.address = address
        with watch("reading") as advance:
            self._opened, self._share = _opened(address, reading, advance)

    def look(self) -> Look:
        """All that is seen at first."""
        bars: dict[str, tuple[float, ...]] = {}

        def see(column: str, coded: Coded) -> None:
            counts = np.array([bar.after for bar in attribute("released", coded).bars], float)
            if coded.categories is not None:
                counts = np.sort(counts)[::-1]
            if counts.size and counts.max() > 0:
                bars[column] = tuple((counts[:BARS] / counts.max()).round(3).tolist())

        found = inspected(self._opened, without_password(self.address), see=see)
        origin = self._opened.origin
        return Look(
            found,
            self._head(),
            origin.format.described(origin.layout) if origin.layout else {},
            bars,
            self._share,
        )

    def alone(self, names: Sequence[str]) -> int:
        """How many records share their values in some columns with no other."""
        columns = {name: self._opened.frame.column(name) for name in names}
        return count_classes(pa.table(columns), list(names)).unique

    def _head(self) -> tuple[tuple[str | None, ...], ...]:
        frame, origin = self._opened.frame, self._opened.origin
        labels = origin.format.labels(origin.layout) if origin.layout else {}
        columns = []
        for name in frame.names:
            cells, known = frame.column(name).slice(0, ROWS).to_pylist(), labels.get(name)
            columns.append([_shown(known.get(cell, cell) if known else cell) for cell in cells])
        return tuple(zip(*columns, strict=True))


def _opened(address: str, reading: Reading, advance: Any) -> tuple[Opened, float]:
    """The whole table, or the first rows of one that does not fit into memory."""
    size, allowed = estimated_size(address), Where().allowed
    if size is not None and allowed is not None and memory_for_table(size) > allowed:
        head = open_head(address, reading, None, _HEAD)
        if head is not None:
            return head
    return open_table(address, reading, advance=advance), 1.0


def _shown(cell: Any) -> str | None:
    if cell is None:
        return None
    whole = isinstance(cell, float) and cell.is_integer() and abs(cell) < _WHOLE
    text = str(int(cell) if whole else cell)
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"
