"""What the figures of a release are computed from."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from microagg.base.progress import Advance, silent
from microagg.measure.anonymity import Disclosure
from microagg.measure.dominance import Dominance
from microagg.measure.interval import TOO_CLOSE, interval_disclosure, transparent_disclosure
from microagg.measure.linkage import Linkage, Records, link
from microagg.measure.models.usefulness import Learnt, Usefulness
from microagg.measure.probabilistic_loss import ProbabilisticLoss, probabilistic_loss
from microagg.measure.statistics import (
    ByColumn,
    Changes,
    Pair,
    changes,
    kolmogorov_smirnov,
    release_loss,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """What is known of a release; what several figures share is worked out once, when asked for.

    numbers: the records that have all numbers before and after (see `paired`); complete: which
    these are, if not all.
    points: all records as points, whatever their columns are; the numbers if not given.
    k, unique: the size of the smallest class of records that share their released values, and the
    records that share theirs with nobody. dominance: how much of means is one record's doing.
    confidential: what classes give away of each confidential
    column. useful: columns of all kinds, and the targets that models are to tell.
    distance, importance, relative: what owners ask for (see `satisfaction`). alpha: how much that
    weighed when centroids were moved, if it is known (see `transparent_disclosure`).
    sd: how close a released value may not come, in percent (see `interval_disclosure`).
    The time goes into linkage, whose share done is told by `advance`.
    """

    numbers: Pair | None = None
    complete: NDArray[np.bool_] | None = None
    points: Records | None = None
    k: int | None = None
    unique: int | None = None
    dominance: Dominance | None = None
    confidential: Mapping[str, Disclosure] | None = None
    useful: Usefulness | None = None
    distance: ArrayLike | None = None
    importance: ArrayLike = 1.0
    relative: bool = False
    alpha: float | None = None
    sd: float = TOO_CLOSE
    advance: Advance = silent

    @property
    def pair(self) -> Pair:
        """The numbers, for figures that need them."""
        assert self.numbers is not None
        return self.numbers

    @cached_property
    def records(self) -> Records | None:
        """What is linked."""
        if self.points is None and self.numbers is not None:
            return Records.of_numbers(self.numbers)
        return self.points

    @cached_property
    def links(self) -> Linkage:
        """Whom an intruder finds who knows the originals."""
        assert self.records is not None
        return link(self.records, self.advance)

    @property
    def linked_numbers(self) -> NDArray[np.int64]:
        """For each of the numbers' records the one it is linked to; -1 where that is incomplete."""
        if self.complete is None:
            return self.links.rows
        places = np.where(self.complete, np.cumsum(self.complete) - 1, -1)
        return places[self.links.rows[self.complete]]

    @cached_property
    def interval(self) -> ByColumn:
        """How many released values are close to the originals."""
        return interval_disclosure(self.pair, self.sd)

    @cached_property
    def transparent_interval(self) -> float:
        """How many are close to what is guessed by one who knows how centroids were moved."""
        assert self.distance is not None
        assert self.alpha is not None
        asked = (self.distance, self.importance, self.alpha)
        return transparent_disclosure(self.pair, self.sd, *asked, relative=self.relative).total

    @property
    def risk(self) -> float:
        """DR = (DLD + SDID) / 2 (P3M paper, section 2.3)."""
        return (self.links.percent + self.interval.total) / 2.0

    @property
    def transparent_risk(self) -> float:
        """DR by one who knows how centroids were moved."""
        return (self.links.percent + self.transparent_interval) / 2.0

    @property
    def scoring_index(self) -> float:
        """SI = (DR + PIL) / 2 (P3M paper, equation 12)."""
        return (self.risk + self.probabilistic_loss.total) / 2.0

    @cached_property
    def loss(self) -> ByColumn:
        """The information loss of the numbers."""
        return release_loss(self.pair)

    @cached_property
    def changes(self) -> Changes:
        """How the usual statistics changed."""
        return changes(self.pair)

    @cached_property
    def distributions(self) -> ByColumn:
        """How far apart the distributions of columns are."""
        return kolmogorov_smirnov(self.pair)

    @cached_property
    def probabilistic_loss(self) -> ProbabilisticLoss:
        """PIL and its parts."""
        return probabilistic_loss(self.pair)

    @property
    def disclosures(self) -> Mapping[str, Disclosure]:
        """What classes give away, for figures that need it."""
        assert self.confidential is not None
        return self.confidential

    @property
    def tables(self) -> NDArray[np.float64] | None:
        """How far two-way tables of categories moved, if there are any."""
        return None if self.useful is None else self.useful.tables

    @property
    def two_way(self) -> NDArray[np.float64]:
        """The same, for figures that need it."""
        assert self.tables is not None
        return self.tables

    @property
    def judged_by_models(self) -> Usefulness:
        """What models are asked, for figures that need it."""
        assert self.useful is not None
        return self.useful

    @property
    def numbers_told(self) -> dict[str, Learnt] | None:
        """What models learn of targets that are numbers, if there are any."""
        return self._told(numbers=True)

    @property
    def categories_told(self) -> dict[str, Learnt] | None:
        """What models learn of targets that are categories, if there are any."""
        return self._told(numbers=False)

    def _told(self, *, numbers: bool) -> dict[str, Learnt] | None:
        learnt = {} if self.useful is None else self.useful.learnt
        return {name: each for name, each in learnt.items() if each.number == numbers} or None
