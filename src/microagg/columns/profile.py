"""What a release did to the quasi-identifiers of a table that is seen in parts: sums, added up."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from microagg.columns.coded import Coded
from microagg.columns.summary import (
    Side,
    Together,
    correlated,
    counted,
    described,
    edges_between,
    middle_of,
    missing_in,
    scatter_of,
)
from microagg.columns.told import Attribute, Correlations


class Tally:
    """Losses, changes, histograms, moments and correlations, the same however the rows are cut.

    sample: the quasi-identifiers of some original records drawn at random, coded as those of every
        part will be, with the same categories and steps. The ranges of histograms come from it:
        0.5 % and 99.5 % quantiles, rounded outward to three digits of the distance between them.
        In a sample of thousands these tell of no single record, so public pages may show them too.
    pivots: a typical value of each column, in the terms of `Coded.values`. Sums are of distances
        from it, so no common offset costs digits.
    shown_from: histograms of a sample of fewer records are not shown to the public: beyond the
        outer quantiles of 10,000 records lie at least fifty of them.
    known: all numbers of a column, where these are few; others that appear are counted.
    rows_at_once: how many rows are counted at a time: their numbers fit into a processor's cache.

    Everything else is exact up to rounding: O(n d + n c^2) time for c columns that are correlated,
    and memory for sums and a few thousand rows. Only of numbers 10^140 times as far out as all of
    the sample no loss (NaN) and no deviation can be told: their squares overflow.
    """

    def __init__(
        self,
        sample: Sequence[Coded],
        pivots: Sequence[float | int],
        shown_from: int = 10_000,
        rows_at_once: int = 1 << 15,
        known: Sequence[Sequence[float] | None] | None = None,
    ) -> None:
        self._shows_bins = sample[0].values.size >= shown_from
        self._rows_at_once = rows_at_once
        known = known or [None] * len(sample)
        self._columns = [_Column(*each) for each in zip(sample, pivots, known, strict=True)]
        self._chosen = correlated(sample)
        self._before, self._after = (Together(len(self._chosen)) for _ in range(2))

    def add(self, before: Sequence[Coded], after: Sequence[Coded]) -> None:
        """A part: the same rows and columns as they were and as they are published."""
        for start in range(0, before[0].values.size, self._rows_at_once):
            rows = slice(start, start + self._rows_at_once)
            with np.errstate(over="ignore", invalid="ignore"):
                self._add([each.rows(rows) for each in before], [each.rows(rows) for each in after])

    def _add(self, before: Sequence[Coded], after: Sequence[Coded]) -> None:
        offsets = [
            column.add(then, now)
            for column, then, now in zip(self._columns, before, after, strict=True)
        ]
        if len(self._chosen) < 2:
            return
        for side, columns, together in ((0, before, self._before), (1, after, self._after)):
            together.add(
                np.stack([offsets[place][side] for place in self._chosen]),
                [columns[place].missing for place in self._chosen],
            )

    def merge(self, other: Self) -> None:
        """What another tally of the same columns, begun with the same sample, has counted."""
        for mine, theirs in zip(self._columns, other._columns, strict=True):
            mine.merge(theirs)
        self._before.sums += other._before.sums
        self._after.sums += other._after.sums

    @property
    def losses(self) -> dict[str, float]:
        """The loss of each column in percent: `numeric_loss` or `category_loss`."""
        return {column.coded.name: column.loss for column in self._columns}

    @property
    def changes(self) -> dict[str, float]:
        """The percentage of records that show another value than before: `share_changed`."""
        return {column.coded.name: column.percent_changed for column in self._columns}

    @property
    def filled(self) -> dict[str, int]:
        """How many records of each column show a value that had none."""
        return {column.coded.name: column.filled for column in self._columns}

    @property
    def invented(self) -> dict[str, int]:
        """How many records of each column with few numbers show one that no record had."""
        return {column.coded.name: column.invented for column in self._columns}

    @property
    def vanished(self) -> dict[str, int]:
        """How many categories of each column no record shows any more."""
        return {
            column.coded.name: int(((column.counts[0] > 0) & (column.counts[1] == 0)).sum())
            for column in self._columns
            if column.coded.categories is not None
        }

    @property
    def total_loss(self) -> float:
        """The mean of the columns' losses: each column counts the same, constant ones do not."""
        losses = [column.loss for column in self._columns if column.varies]
        return float(np.mean(losses)) if losses else 0.0

    def attributes(self, public: bool) -> tuple[Attribute, ...]:
        """The columns as a page shows them, before and after.

        public: only what the release tells, on the same bins; without histograms where the sample
            was so small that their ranges could tell of somebody.
        """
        shows_bins = self._shows_bins or not public
        return tuple(
            described(
                "quasi-identifier",
                column.coded,
                column.edges if shows_bins else None,
                column.side(1),
                *(() if public else (column.side(0), column.loss, column.percent_changed)),
            )
            for column in self._columns
        )

    def correlations(self, public: bool) -> Correlations | None:
        """How numbers go together, after and, if not public, before."""
        if len(self._chosen) < 2:
            return None
        names = tuple(self._columns[place].coded.name for place in self._chosen)
        return Correlations(names, None if public else self._before.table(), self._after.table())


class _Column:
    """One column: what was counted of it before (0) and after (1)."""

    def __init__(self, sample: Coded, pivot: float | int, known: Sequence[float] | None) -> None:
        self.known = None if known is None else np.array(known)
        self.filled = self.invented = 0
        self.coded = replace(sample, values=sample.values[:0].copy(), missing=None)
        self.edges = _rounded_edges(sample) if sample.categories is None else None
        self.pivot = sample.values.dtype.type(pivot)
        self.scale = _scale(sample.present, self.pivot)
        self.rows = 0
        self.changed = 0
        self.missing = np.zeros(2, np.int64)
        self.counts = np.stack([counted(self.coded, self.edges)] * 2)
        self.least: float | int = math.inf
        self.most: float | int = -math.inf
        # Of the originals that have a value: how many are published as another, or as none.
        self.other = 0
        self.blank = 0
        self.squared_changes = 0.0
        # Sums and sums of squares: of values before, after, and before where none is after.
        self.sums = np.zeros((3, 2))

    def add(self, before: Coded, after: Coded) -> tuple[NDArray[np.float64], ...]:
        """Count a part; its offsets from the pivot before and after, if values have distances."""
        self.rows += before.values.size
        self.missing += missing_in(before), missing_in(after)
        self.counts += counted(before, self.edges), counted(after, self.edges)
        originals = before.present
        if originals.size:
            self.least = min(self.least, originals.min().item())
            self.most = max(self.most, originals.max().item())
        # A single False where nothing is missing: it chooses no row.
        gone = np.False_ if before.missing is None else before.missing
        none = np.False_ if after.missing is None else after.missing
        blank = none & ~gone
        other = int(((before.values != after.values) & ~(gone | none)).sum())
        self.other += other
        self.blank += int(blank.sum())
        self.changed += other + int((gone != none).sum())
        self.filled += int((gone & ~none).sum())
        if self.known is not None:
            self.invented += int((~np.isin(after.present, self.known)).sum())
        if not self.coded.numeric:
            return ()
        then = _offsets(before, self.pivot, self.scale)
        now = _offsets(after, self.pivot, self.scale)
        change = then - now
        change[gone | none] = 0.0
        self.squared_changes += float((change * change).sum())
        for sums, offsets in zip(self.sums, (then, now, then[blank]), strict=True):
            sums += offsets.sum(), (offsets * offsets).sum()
        return then, now

    def merge(self, other: Self) -> None:
        self.rows += other.rows
        self.changed += other.changed
        self.missing += other.missing
        self.counts += other.counts
        self.least = min(self.least, other.least)
        self.most = max(self.most, other.most)
        self.filled += other.filled
        self.invented += other.invented
        self.other += other.other
        self.blank += other.blank
        self.squared_changes += other.squared_changes
        self.sums += other.sums

    @property
    def varies(self) -> bool:
        return self.least < self.most

    @property
    def percent_changed(self) -> float:
        return 100.0 * self.changed / self.rows if self.rows else 0.0

    @property
    def loss(self) -> float:
        if not self.varies:
            return 0.0
        count = self.rows - int(self.missing[0])
        if not self.coded.numeric:
            others = count - int(self.counts[0].max())
            return 100.0 * (self.other + self.blank) / others
        (total, squares), _, (blank_total, blank_squares) = self.sums.tolist()
        spread = float(scatter_of(count, total, squares))
        if spread == 0.0:
            return 0.0
        # What is blank loses as much as the mean of all in its place.
        mean = total / count
        blanked = blank_squares - 2.0 * mean * blank_total + self.blank * mean * mean
        return 100.0 * (self.squared_changes + max(0.0, blanked)) / spread

    def side(self, which: int) -> Side:
        """What was counted before (0) or after (1)."""
        missing, counts = int(self.missing[which]), self.counts[which]
        count = self.rows - missing
        if count == 0 or self.coded.categories is not None:
            return Side(missing, counts)
        total, squares = self.sums[which].tolist()
        deviation = math.sqrt(float(scatter_of(count, total, squares)) / count)
        moments = self.coded.traits.moments(
            self.coded, self.pivot, total / count / self.scale, deviation / self.scale
        )
        return Side(missing, counts, *moments)


def _rounded_edges(sample: Coded) -> NDArray[np.float64] | None:
    values = sample.present
    if values.size == 0:
        return None
    low, high = middle_of(values)
    if 0.0 < high - low < math.inf:
        digit = 10.0 ** max(-300.0, math.floor(math.log10(high - low)) - 2.0)
        digit = max(1.0, digit) if sample.whole else digit
        low, high = math.floor(low / digit) * digit, math.ceil(high / digit) * digit
    return edges_between(sample, low, high)


def _scale(values: NDArray, pivot: Any) -> float:
    """A power of two that brings distances from the pivot to about one, lest squares overflow."""
    if values.dtype.kind != "f" or values.size == 0:
        return 1.0
    part = 0.25 if np.abs(values).max() > 2.0**1000 else 1.0
    exponent = math.frexp(float(np.abs(values * part - pivot * part).max()))[1]
    return 2.0 ** -min(max(exponent, -1000), 1000)


def _offsets(column: Coded, pivot: Any, scale: float) -> NDArray[np.float64]:
    """Distances from the pivot, zero where missing; of whole numbers exact as long as they are."""
    values = column.values
    if values.dtype.kind == "f":
        offsets = values * scale - pivot * scale
    else:
        reach = max(int(values.max()) - int(pivot), int(pivot) - int(values.min()))
        # Beyond 63 bits a float has no digit for ones anyway.
        drop = 1 if reach >= 2**63 else 0
        wrapped = (values >> drop) - (pivot >> drop)
        offsets = wrapped.view(np.int64).astype(np.float64)
        offsets *= 1 << drop
    if column.missing is not None:
        offsets[column.missing] = 0.0
    return offsets
