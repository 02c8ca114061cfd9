"""The sample of a large table: what became of its records, and what that tells of all."""

import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.recipe import Recipe
from microagg.columns.coded import Coded
from microagg.columns.profile import Tally
from microagg.columns.summary import attribute, correlations, understood
from microagg.columns.told import Attribute, Correlations
from microagg.engine.block import Block
from microagg.engine.plan import Plan
from microagg.measure.linkage_parts import Links
from microagg.release.assessment import Assessment, class_figures, sampled_figures
from microagg.table.classes import Classes
from microagg.table.opening import Origin

_LINKED = 1000


class Sampled:
    """The sample of the original, and what became of its records."""

    def __init__(
        self, plan: Plan, table: pa.Table, rows: NDArray[np.int64], measures: bool
    ) -> None:
        self._plan, self._table, self._rows = plan, table, rows
        self.columns = plan.code(table)
        self._after: list[list[Coded]] = []
        self._stays = np.zeros(rows.size, bool)
        self._lock = threading.Lock()
        self._linked = np.arange(0, rows.size, max(1, -(-rows.size // _LINKED)))
        self._links: Links | None = None
        if measures:
            chosen = [column.rows(self._linked) for column in self.columns]
            self._links = Links(plan.place(chosen))

    def see(self, block: Block | None) -> None:
        """Groups of a cell were made; None: they were there already, and nobody saw them."""
        if self._links is None:
            return
        if block is None:
            self._links = None
            return
        centres = self._plan.place(
            [
                coding.as_coded(values, empty if empty.any() else None)
                for coding, values, empty in zip(
                    self._plan.codings, block.centres, block.empty, strict=True
                )
            ]
        )
        with self._lock:
            self._links.add(centres, block.groups.sizes)

    def find(self, after: Sequence[Coded], start: int, kept: NDArray[np.bool_] | None) -> int:
        """Rows from `start` on are published as `after`; the number of the next row."""
        count = after[0].values.size if kept is None else kept.size
        first, last = np.searchsorted(self._rows, [start, start + count])
        rows = self._rows[first:last] - start
        if kept is not None:
            self._stays[first:last] = kept[rows]
            rows = (np.cumsum(kept) - 1)[rows[kept[rows]]]
        else:
            self._stays[first:last] = True
        self._after.append([column.rows(rows) for column in after])
        return start + count

    def confidential(self, recipe: Recipe, origin: Origin, public: bool) -> list[Attribute]:
        """The confidential columns, as those of the sample show them that stay."""
        found = (
            understood(name, self._table[name].combine_chunks(), origin)
            for name in recipe.confidential
        )
        columns = [column.rows(self._stays) for column in found if column is not None]
        same = not public and bool(self._stays.all())
        return [attribute("confidential", column, column if same else None) for column in columns]

    def alone(
        self, recipe: Recipe, origin: Origin, tally: Tally
    ) -> tuple[tuple[Attribute, ...], Correlations | None]:
        """The columns and how they go together, by the release alone.

        The borders of the tally's bars are round numbers near quantiles of the original sample. Of
        a large one these tell of nobody; a small one is the whole table, and shows itself.
        """
        shown = self.confidential(recipe, origin, public=True)
        if self._rows.size < self._plan.rows:
            return (*tally.public_attributes(), *shown), tally.correlations(public=True)
        after = self._published()
        found = [attribute("quasi-identifier", column) for column in after]
        return (*found, *shown), correlations(after, None)

    def _published(self) -> list[Coded]:
        return [_joined(columns) for columns in zip(*self._after, strict=True)]

    def assessment(self, tally: Tally, alike: Classes, plan: Plan, rows: int) -> Assessment:
        """What the sample tells of risk and utility."""
        before = [column.rows(self._stays) for column in self.columns]
        after = self._published()
        figures, judged = sampled_figures(list(zip(before, after, strict=True)))
        notes = [f"Figures other than losses are of a sample of {judged} records."]
        if self._links is not None:
            stays = np.flatnonzero(self._stays[self._linked])
            places = (np.cumsum(self._stays) - 1)[self._linked[stays]]
            self._links.place(stays, plan.place([column.rows(places) for column in after]))
            figures["expected_linkage"] = self._links.expected
            notes.append(
                f"Linkage is of {stays.size} of these, looked for among all {rows} records."
            )
        return Assessment(
            columns=tuple(coding.name for coding in plan.codings),
            rows_original=plan.rows,
            rows_released=rows,
            **class_figures(alike),
            information_loss=tally.total_loss,
            attribute_losses=tally.losses,
            attribute_changes=tally.changes,
            judged=judged,
            judged_columns=tuple(coding.name for coding in plan.codings if coding.numeric),
            figures=figures,
            confidential={},
            notes=tuple(notes),
        )


def _joined(parts: Sequence[Coded]) -> Coded:
    values = np.concatenate([part.values for part in parts])
    missing = None
    if any(part.missing is not None for part in parts):
        missing = np.concatenate(
            [
                np.zeros(part.values.size, bool) if part.missing is None else part.missing
                for part in parts
            ]
        )
    return replace(parts[0], values=values, missing=missing)
