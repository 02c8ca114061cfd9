"""What a recipe demands of confidential columns and means, for whoever makes groups in parts.

All values of the columns are seen first; then a record is told by the ranks of its values among
those of the whole release, wherever it is grouped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.demands import Closeness, Diversity
from microagg.base.errors import InputError
from microagg.base.recipe import Recipe
from microagg.columns.coded import Coded
from microagg.columns.secrets import Room, Secret, SeenValues, counted_at_once
from microagg.engine.survey import piece
from microagg.grouping.demands.demand import (
    Close,
    Confidential,
    Demand,
    Distinct,
    Dominance,
    Entropy,
    Recursive,
    Scales,
    Similar,
    Span,
    places,
)
from microagg.measure.anonymity import AmongAll, WithinClasses
from microagg.measure.exposure import Exposure


@dataclass(frozen=True, eq=False)
class Values:
    """All values of the columns that something is demanded of, among the records that stay.

    seen: what tells ranks of parts; empty where all ranks are known at once.
    """

    recipe: Recipe
    secrets: tuple[Secret, ...] = ()
    among_all: tuple[AmongAll, ...] = ()
    seen: tuple[SeenValues, ...] = ()

    def __post_init__(self) -> None:
        """Refuse to ask for more values than there are."""
        for demand in self.recipe.demands if self.secrets else ():
            if isinstance(demand, Diversity) and not demand.numeric:
                count = self.of(demand.column)[1].counts.size
                if demand.limits[0] > count:
                    raise InputError(
                        f"diversity asks for l = {demand.limits[0]:g} values of {demand.column!r}, "
                        f"but there are only {count}; ask for less"
                    )

    @property
    def numeric(self) -> set[str]:
        """The columns of which differences are asked."""
        demands = self.recipe.demands
        return {each.column for each in demands if isinstance(each, Diversity) and each.numeric}

    def of(self, name: str) -> tuple[Secret, AmongAll]:
        """A column."""
        place = self.recipe.demanded.index(name)
        return self.secrets[place], self.among_all[place]

    @cached_property
    def scales(self) -> Scales:
        """All values as kernels read them, for every cell: one that stands alone is not copied."""
        by_shares = {name: self.of(name)[1] for name in self.recipe.closeness}
        by_numbers = {name: self.of(name)[1] for name in self.numeric}
        return Scales(
            places({name: each.counts.size for name, each in by_shares.items()}),
            _in_line([each.up_to for each in by_shares.values()], self.among_all),
            _in_line([each.summed[:-1] for each in by_shares.values()], self.among_all),
            places({name: each.counts.size for name, each in by_numbers.items()}),
            _in_line(
                [each.numbers.view(np.int64) for each in by_numbers.values()], self.among_all
            ).view(np.float64),
        )

    def ranks(self, part: pa.RecordBatch | pa.Table, stays: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The ranks of some records in each column, (n, columns); 0 for those that do not stay."""
        found = np.zeros((part.num_rows, len(self.seen)), np.int64)
        for place, (secret, seen) in enumerate(zip(self.secrets, self.seen, strict=True)):
            entries = secret.entries(piece(part, secret.name))
            if not stays.all():
                entries = entries.filter(pa.array(stays))
            missing = entries.is_null().to_numpy(zero_copy_only=False)
            found[stays, place] = seen.ranks(seen.coded(entries), missing)
        return found

    def exposures(self, labels: NDArray[np.int64], ranks: NDArray[np.int64]) -> dict[str, Exposure]:
        """What some whole groups give away of each column."""
        return {
            secret.name: Exposure.of(
                WithinClasses(self.among_all[place], labels, np.ascontiguousarray(ranks[:, place]))
            )
            for place, secret in enumerate(self.secrets)
        }

    def demands(
        self,
        ranks: NDArray[np.int64],
        columns: Sequence[Coded],
        weights: NDArray[np.float64] | None,
    ) -> list[Demand | Dominance]:
        """What groups of some records are to keep.

        ranks: as `ranks` gives them; columns: their quasi-identifiers.
        """
        known = {
            secret.name: Confidential(
                secret.name,
                np.ascontiguousarray(ranks[:, place]),
                self.among_all[place].counts,
                scales=self.scales,
            )
            for place, secret in enumerate(self.secrets)
        }
        found: list[Demand | Dominance] = [
            _demand(demand, known[demand.column], self.of(demand.column)[0])
            for demand in self.recipe.demands
        ]
        # Columns of categories have no means.
        for column in columns:
            share = self.recipe.dominance.get(column.name)
            if share is not None and column.categories is None:
                amounts = column.values.astype(np.float64) if column.traits.amounts else None
                found.append(Dominance(column.name, share, amounts, weights, column.missing))
        return found


class SeenDemanded:
    """The values of demanded columns as they come, part by part."""

    def __init__(self, recipe: Recipe, secrets: Sequence[Secret], room: Room | None = None) -> None:
        self._recipe, self._secrets = recipe, demanded_secrets(recipe, secrets)
        self._seen = tuple(SeenValues(secret, room or Room()) for secret in self._secrets)

    def counted(
        self, part: pa.RecordBatch | pa.Table, stays: NDArray[np.bool_]
    ) -> list[tuple[pa.Array, NDArray[np.int64], int]]:
        """The different values of each column in a part, how often each occurs, and none does."""
        found = []
        for secret in self._secrets:
            entries = secret.entries(piece(part, secret.name))
            entries = entries if stays.all() else entries.filter(pa.array(stays))
            counts = entries.drop_null().value_counts()
            times = counts.field("counts").to_numpy()
            found.append((counts.field("values"), times, entries.null_count))
        return found

    def add(self, counted: Sequence[tuple[pa.Array, NDArray[np.int64], int]]) -> None:
        """Take what was counted in a part."""
        for seen, each in zip(self._seen, counted, strict=True):
            seen.add_counts(*each)

    def values(self) -> Values:
        """All of them, now that every part was seen."""
        among_all = tuple(seen.among_all() for seen in self._seen)
        return Values(self._recipe, self._secrets, among_all, self._seen)


def values_at_once(
    recipe: Recipe, secrets: Sequence[Secret], part: pa.RecordBatch, stays: NDArray[np.bool_]
) -> tuple[Values, NDArray[np.int64]]:
    """The values of a whole table, and the ranks of all its records; see `Values.ranks`."""
    own = demanded_secrets(recipe, secrets)
    ranks, among_all = np.zeros((part.num_rows, len(own)), np.int64), []
    for place, secret in enumerate(own):
        entries = secret.entries(part.column(secret.name))
        entries = entries if stays.all() else entries.filter(pa.array(stays))
        among, ranks[stays, place] = counted_at_once(secret, entries)
        among_all.append(among)
    return Values(recipe, own, tuple(among_all)), ranks


def demanded_secrets(recipe: Recipe, secrets: Sequence[Secret]) -> tuple[Secret, ...]:
    """How the columns are read that something is demanded of, in the order of the recipe."""
    known = {secret.name: secret for secret in secrets}
    for demand in recipe.demands:
        setting = "closeness" if isinstance(demand, Closeness) else "diversity"
        if demand.column not in known:
            raise InputError(
                f"{setting} names {demand.column!r}, whose values cannot be compared; demands are "
                "for numbers, texts, dates and truth values"
            )
        if isinstance(demand, Diversity) and demand.numeric and not known[demand.column].is_amount:
            raise InputError(
                f"diversity asks for {demand.kind} of {demand.column!r}, which does not hold "
                "numbers; say how many different values instead, such as 3"
            )
    return tuple(known[name] for name in recipe.demanded)


def _in_line(lines: Sequence[NDArray[np.int64]], among_all: Sequence[AmongAll]) -> NDArray:
    """Lines one after the other, where there is room for them."""
    if len(lines) == 1:
        return np.asarray(lines[0])
    sizes = [line.size for line in lines]
    room = among_all[0].room(sum(sizes)) if lines else np.empty(0, np.int64)
    for line, end in zip(lines, np.cumsum(sizes).tolist(), strict=True):
        room[end - line.size : end] = line
    return np.asarray(room)


def _demand(demand: Diversity | Closeness, column: Confidential, secret: Secret) -> Demand:
    if isinstance(demand, Closeness):
        return Close(column, demand.t, secret.ordered)
    kinds = {
        "distinct": Distinct, "entropy": Entropy, "recursive": Recursive, "range": Span,
        "similar": Similar,
    }  # fmt: skip
    made: Demand = kinds[demand.kind](column, *demand.limits)
    return made
