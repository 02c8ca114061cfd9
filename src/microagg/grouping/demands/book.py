"""Demands on some units, ready for kernels."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.grouping.demands.demand import Demands
from microagg.grouping.demands.judging import (
    Rules,
    Units,
    in_order,
    largest_part,
    reach,
    rules_of,
    shortfall,
    shortfalls,
    units_of,
)


@dataclass(frozen=True, eq=False)
class Book:
    """Demands on some units: records, or entities with all of theirs."""

    demands: Demands
    rules: Rules
    units: Units

    @classmethod
    def of(cls, demands: Demands, n: int, entities: NDArray[np.int64] | None = None) -> Self:
        """Demands on n records, or on their entities."""
        return cls(demands, rules_of(demands), units_of(demands, n, entities))

    @property
    def count(self) -> int:
        """How many units there are."""
        return self.units.starts.size - 1

    def rows(self, units: NDArray[np.integer]) -> Self:
        """The same demands on some of the units, in this order."""
        own = self.units
        counts = np.diff(own.starts)[units]
        starts = np.concatenate([[0], np.cumsum(counts)])
        records = np.arange(starts[-1]) + np.repeat(own.starts[units] - starts[:-1], counts)
        ranks, parts = own.ranks[:, records], own.parts[:, :, units]
        return replace(
            self, units=Units(starts, np.ascontiguousarray(ranks), np.ascontiguousarray(parts))
        )

    @property
    def middles(self) -> NDArray[np.int32]:
        """The rank of each unit's value in each column, (columns, units); of several the middle."""
        starts = self.units.starts
        return np.asarray(self.units.ranks[:, (starts[:-1] + starts[1:] - 1) // 2])

    def shortfalls(self, labels: NDArray[np.integer]) -> NDArray[np.float64]:
        """How far each group, 0 to g - 1, is from keeping its demands: 0 where it does."""
        members = np.argsort(labels, kind="stable").astype(np.int32)
        starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
        records = np.add.reduceat(np.diff(self.units.starts)[members], starts[:-1])
        lines = np.empty((self.units.ranks.shape[0], records.max()), np.int32)
        return np.asarray(shortfalls(self.rules, self.units, members, starts, lines))

    def check_possible(self, where: str = "") -> None:
        """One sentence if all units together do not keep a demand: then no groups can."""
        everybody = np.arange(self.count, dtype=np.int32)
        lines = np.sort(self.units.ranks, axis=1)
        on_columns, shared = in_order(self.demands)
        for rule, demand in enumerate(on_columns):
            line = lines[self.rules.columns[rule]]
            if shortfall(self.rules, rule, line, line.size) > 0.0:
                reached = reach(self.rules, rule, line, line.size)
                raise _impossible(demand.falls_short(reached), where)
        for place, limit in enumerate(shared):
            reached = largest_part(self.units.parts, place, everybody, 0, everybody.size)
            if reached > limit.share:
                raise _impossible(limit.falls_short(reached), where)


def _impossible(sentence: str, where: str) -> InputError:
    together = f" for all records {where} together" if where else " for all records together"
    return InputError(f"groups are to keep {sentence}{together}; ask for less, or leave it out")
