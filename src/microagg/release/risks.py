"""Risk before and after: how many records share their values, in the original and the release."""

import numpy as np
import pyarrow as pa

from microagg.engine.plan import Plan
from microagg.report.story import Risks
from microagg.table.classes import Classes, count_classes

_TO = "\N{EN DASH}"


def classes_before(plan: Plan, sample: pa.Table) -> Classes:
    """How many records of the original share their values in the columns that are counted.

    sample: all of a table of which it holds all, else a sample of it. O(m) time for each column.
    """
    return count_classes(sample, plan.counted)


def risks_of(before: Classes | None, after: Classes, k: int, rows: int) -> Risks:
    """Both side by side; before: None where nobody may know. rows: of the original."""
    starts = [1, *dict.fromkeys(each for each in (2, k, 2 * k, 10 * k))]
    ends = [*(start - 1 for start in starts[1:]), None]
    bars = tuple(
        (_range(start, end), None if before is None else _share(before, start, end),
         _share(after, start, end))
        for start, end in zip(starts, ends, strict=True)
    )  # fmt: skip
    told = [_figures(classes, k) for classes in (before, after) if classes is not None]
    labels = (
        "records whose values nobody shares",
        f"records whose values fewer than {k} share",
        "chance to find the record most at risk",
        "chance to find a record, on average",
    )
    firsts = told[0] if before is not None else (None,) * len(labels)
    counted = 0 if before is None else _records(before)
    note = (
        f"The original is counted on a sample of {counted:,} of its {rows:,} records, of "
        "which more stand alone than of all."
        if 0 < counted < rows
        else ""
    )
    return Risks(bars, tuple(zip(labels, firsts, told[-1], strict=True)), note)


def _records(classes: Classes) -> int:
    return int((classes.sizes * classes.times).sum())


def _share(classes: Classes, start: int, end: int | None) -> float:
    """The percentage of records in classes of so many."""
    chosen = (classes.sizes >= start) & (classes.sizes <= (np.inf if end is None else end))
    records = int((classes.sizes * classes.times)[chosen].sum())
    return 100.0 * records / max(1, _records(classes))


def _figures(classes: Classes, k: int) -> tuple[str, str, str, str]:
    """The percentages that are compared, as text."""
    found = (
        _share(classes, 1, 1),
        _share(classes, 1, k - 1),
        100.0 / max(1, classes.smallest),
        100.0 * classes.count / max(1, _records(classes)),
    )
    alone, few, most, mean = (f"{each:.2f} %" for each in found)
    return alone, few, most, mean


def _range(start: int, end: int | None) -> str:
    if end is None:
        return f"{start}+"
    return "1" if end == 1 else f"{start}" if start == end else f"{start}{_TO}{end}"
