"""Columns that stay in a release and give protected ones away, or people: found on a sample.

A rescaled copy of a quasi-identifier, a code beside its name, a number that everybody has his own
of: k is counted without them, so somebody must be told.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.columns.coded import Coded
from microagg.columns.digits import words_of
from microagg.columns.naming import named_like, named_like_id
from microagg.columns.summary import understood
from microagg.columns.text import is_text
from microagg.engine.plan import Plan
from microagg.measure.attacks.words import listed
from microagg.table.opening import Origin

_SAME_ORDER = 0.98
_TELLS = 0.95
_OWN_VALUES = 0.9


def giveaways(plan: Plan, sample: pa.Table, origin: Origin) -> tuple[list[str], list[str]]:
    """Notes on the columns that stay, by what some records hold of them and of the protected ones;
    and those that say no more than the release itself shows to everybody.

    sample: of the original, with every column that is not dropped.

    O((p + q) m log m + p q m) time for p protected and q other columns of m records, of which those
    with few values are sorted together.
    """
    protected = [_Seen(column) for column in plan.code(sample)]
    apart = {*plan.recipe.quasi_identifiers, *plan.recipe.identifiers}
    names = [name for name in sample.column_names if name not in apart]
    columns = (understood(name, sample[name].combine_chunks(), origin) for name in names)
    kept = [_Seen(column) for column in columns if column is not None]
    notes = [
        f"{column.name} stays in the release and tells {known.name}: {how}."
        for column in kept
        for known in protected
        if (how := _how_told(column, known)) is not None
    ]
    own = [seen.name for seen in kept if _identifies(seen.column)]
    known_by_others = {*plan.recipe.confidential, *own, plan.recipe.weights}
    others = [column for column in kept if column.name not in known_by_others]
    notes += _alone_by(others)
    return notes, [
        f"{name} stays in the release, and nearly every record has its own value of it: if it "
        "identifies people, drop it as an identifier."
        for name in own
    ]


class _Seen:
    """A column of the sample, and what many pairs of columns need of it, each found once."""

    def __init__(self, column: Coded) -> None:
        self.column, self.name = column, column.name

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The values numbered from 0; a missing one is a value of its own."""
        found = np.unique(self.column.values, return_inverse=True)[1] + 1
        if self.column.missing is not None:
            found[self.column.missing] = 0
        return found - int(found.min(initial=1))

    @cached_property
    def ranks(self) -> "_Ranks":
        """Of all its values, where none is missing."""
        return _Ranks.of(self.column.values)


class _Ranks(NamedTuple):
    """Places in order about their mean, and their deviation; equal values share their middle."""

    centred: NDArray[np.float64]
    deviation: float

    @classmethod
    def of(cls, values: NDArray) -> Self:
        _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - counts / 2.0)[places]
        if not ranks.size:
            return cls(ranks, 0.0)
        return cls(ranks - ranks.mean(), float(ranks.std()))


def _how_told(column: _Seen, known: _Seen) -> str | None:
    """How a column that stays tells a protected one, if it does."""
    values, protected = column.classes, known.classes
    if values.max(initial=0) == 0 or protected.max(initial=0) == 0:
        return None
    numeric = column.column.numeric and known.column.numeric
    if numeric and _rank_correlation(column, known) > _SAME_ORDER:
        return f"they rise and fall together (rank correlation above {_SAME_ORDER})"
    # Where nearly all have a value of their own, any column tells any other of the sample.
    if 2 * int(values.max()) > values.size:
        return None
    width = int(protected.max()) + 1
    pairs, counts = np.unique(values * width + protected, return_counts=True)
    told = np.zeros(int(values.max()) + 1, np.int64)
    np.maximum.at(told, pairs // width, counts)
    right, at_best = int(told.sum()) / values.size, np.bincount(protected).max() / values.size
    if right - at_best <= _TELLS * (1.0 - at_best):
        return None
    if pairs.size == told.size:
        return "each of its values goes with one value there"
    return f"it is right for {100 * right:.0f} % of the records"


def _rank_correlation(column: _Seen, known: _Seen) -> float:
    """Of the records that have both values."""
    gaps = [seen.column.missing for seen in (column, known) if seen.column.missing is not None]
    if gaps:
        there = ~np.logical_or.reduce(gaps)
        first, second = (_Ranks.of(seen.column.values[there]) for seen in (column, known))
    else:
        first, second = column.ranks, known.ranks
    if min(first.deviation, second.deviation) == 0.0:
        return 0.0
    together = abs(float(first.centred @ second.centred))
    return together / (first.centred.size * first.deviation * second.deviation)


def _identifies(column: Coded) -> bool:
    """Whether nearly every record has its own value of something that names people."""
    values = column.present
    if values.size < 2 or np.unique(values).size < _OWN_VALUES * values.size:
        return False
    names = column.categories is not None and is_text(column.categories.type)
    words = words_of(column.name)
    return names or (column.whole and (named_like(words, "identifier") or named_like_id(words)))


def _alone_by(columns: Sequence[_Seen]) -> Iterator[str]:
    """A note if records are alone with what they hold in columns that nobody protects."""
    if not columns:
        return
    classes = np.zeros(columns[0].classes.size, np.int64)
    for column in columns:
        values = column.classes
        classes = np.unique(classes * (int(values.max()) + 1) + values, return_inverse=True)[1]
    alone = 100.0 * float((np.bincount(classes) == 1).sum()) / classes.size
    if alone > 0.0:
        names = listed([column.name for column in columns])
        one = len(columns) == 1
        held = f"{'a value' if one else 'a combination'} of {names}"
        known = (
            "this column, which stays as it is" if one else "these columns, which stay as they are"
        )
        share = "fewer than 0.1" if alone < 0.1 else f"{alone:.1f}"
        yield (
            f"{share} % of the records have {held} that no other has, as far as a sample of "
            f"{classes.size} shows: who knows {known}, may recognise them."
        )
