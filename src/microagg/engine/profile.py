"""What became of a table: before and after, added up cell by cell."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.columns.coded import Coded
from microagg.columns.profile import Tally
from microagg.columns.published import Kept
from microagg.engine.block import Block
from microagg.engine.plan import Plan
from microagg.engine.sample import row_hashes
from microagg.measure.dominance import DOMINATES, Dominance
from microagg.measure.exposure import Exposure, merged
from microagg.measure.linkage_parts import Links

LINKED = 1000
_ROWS = 1 << 17


@dataclass(frozen=True, eq=False)
class Sampled:
    """The records of a sample that stay in the release.

    places: which of the sample they are; after: what they publish, column by column.
    """

    places: NDArray[np.int64]
    after: list[Coded]


class Profile:
    """Sums over all records, what sampled ones publish, and how well some can be linked.

    Cells are added each to a profile of its own (`begin`), and these are merged in the order of
    cells: the same sums to the last bit, wherever and in whatever order cells were done. It holds
    nothing of single originals but where `LINKED` of them stand, in `links`.

    figures: of centroids that keep their distance, where somebody asked, in percent: the share of
        values as far from the original as asked, by importance, and of those that somebody guesses
        who knows how the centroids were made.
    exposures: what groups of k alone gave away of columns that more is demanded of.
    """

    def __init__(
        self, plan: Plan, sample: pa.Table, rows: NDArray[np.int64], linked: int = LINKED
    ) -> None:
        """rows: the numbers of the sampled rows, in order; linked: how many of them to link."""
        columns = plan.code(sample)
        # Records that are left out do not show in the ranges of what is told.
        stays = np.flatnonzero(plan.stays(sample)) if plan.dropped else slice(None)
        self.tally = Tally(
            [column.rows(stays) for column in columns],
            [coding.place.origin for coding in plan.codings],
            known=[coding.few for coding in plan.codings],
        )
        self._rows = rows
        self._last = row_hashes(rows).max()
        self._places: list[NDArray[np.int64]] = []
        self._after: list[list[Coded]] = []
        self.dominance = Dominance(
            [plan.recipe.dominance.get(coding.name, DOMINATES) for coding in plan.codings]
        )
        self.figures: dict[str, float] = {}
        self.exposures: dict[str, Exposure] = {}
        self.links: Links | None = None
        self.linked = np.zeros(0, np.int64)
        if linked:
            self.linked = np.arange(0, rows.size, max(1, -(-rows.size // linked)))
            linked_columns = [column.rows(self.linked) for column in columns]
            self.links = Links(plan.place(linked_columns, weighted=False))

    def begin(self) -> Self:
        """An empty profile of the same table, for a cell."""
        fresh = copy.copy(self)
        fresh.tally, fresh.links = copy.deepcopy(self.tally), copy.deepcopy(self.links)
        fresh.dominance = copy.deepcopy(self.dominance)
        fresh.exposures = {}
        fresh._places, fresh._after = [], []
        return fresh

    def add(
        self, plan: Plan, rows: NDArray[np.int64], before: Sequence[Coded], block: Block
    ) -> None:
        """The records of a cell, in order; rows: their numbers."""
        # Part by part: what all records publish is as large as the table.
        for start in range(0, rows.size, _ROWS):
            part = slice(start, start + _ROWS)
            then = [column.rows(part) for column in before]
            self._add(rows[part], then, block.records(plan, part))
        self.dominance.add(block.shares, block.groups.n_groups)
        self.exposures = merged(self.exposures, block.exposures)
        if self.links is not None:
            self.links.add(block.points(plan), block.groups.sizes)

    def add_records(
        self,
        plan: Plan,
        rows: NDArray[np.int64],
        before: Sequence[Coded],
        after: Sequence[Coded],
        dominance: Dominance,
        exposures: Mapping[str, Exposure],
    ) -> None:
        """The same of records whose groups are not at hand; the rest was found when they were."""
        self._add(rows, before, after)
        self.dominance.merge(dominance)
        self.exposures = merged(self.exposures, exposures)
        if self.links is not None:
            self.links.add(plan.place(after, weighted=False), np.ones(rows.size, np.int64))

    def _add(
        self, rows: NDArray[np.int64], before: Sequence[Coded], after: Sequence[Coded]
    ) -> None:
        self.tally.add(before, after)
        there, places = self._sampled(rows)
        self._places.append(places)
        self._after.append([column.rows(there) for column in after])

    def keep_distances(self, kept: Sequence[Kept]) -> None:
        """What centroids that keep their distance come to, column by column."""
        if kept:
            total = sum(each.importance for each in kept)
            level = 100.0 * sum(each.satisfied for each in kept) / total if total > 0.0 else 100.0
            guessed = [each.transparent for each in kept if each.transparent is not None]
            close = float(np.mean(guessed)) if guessed else 0.0
            self.figures = {"satisfaction": level, "transparent_interval": close}

    def merge(self, other: Self) -> None:
        """What was added to the profile of the next cell."""
        self.tally.merge(other.tally)
        self.dominance.merge(other.dominance)
        self.exposures = merged(self.exposures, other.exposures)
        self._places += other._places
        self._after += other._after
        if self.links is not None and other.links is not None:
            self.links.merge(other.links)

    def sampled(self) -> Sampled:
        """The sampled records that stay, in the order of the sample."""
        places = np.concatenate(self._places)
        order = np.argsort(places, kind="stable")
        columns = [_joined(parts).rows(order) for parts in zip(*self._after, strict=True)]
        return Sampled(places[order], columns)

    def _sampled(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which of some rows are in the sample, and their places there.

        Rows without numbers of their own share one with their equals: as many are taken as the
        sample has.
        """
        there = np.flatnonzero(row_hashes(rows) <= self._last)
        keys = rows[there]
        nth = np.arange(keys.size) - np.searchsorted(keys, keys)
        places = np.searchsorted(self._rows, keys) + nth
        known = places < self._rows.size
        known[known] = self._rows[places[known]] == keys[known]
        return there[known], places[known]


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
