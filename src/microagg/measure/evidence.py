"""What the figures of a release are computed from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from numpy.typing import ArrayLike

from microagg.base.progress import Advance, silent
from microagg.measure.anonymity import Disclosure
from microagg.measure.interval import interval_disclosure
from microagg.measure.linkage import Linkage, link
from microagg.measure.probabilistic_loss import ProbabilisticLoss, probabilistic_loss
from microagg.measure.statistics import ByColumn, Changes, Pair, changes, release_loss


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """What is known of a release; what several figures share is worked out once, when asked for.

    numbers: the records that have all numbers before and after (see `paired`).
    k, unique: the size of the smallest class of records that share their released values, and the
    records that share theirs with nobody. confidential: what classes give away of each confidential
    column.
    distance, importance: what owners ask for (see `satisfaction`).
    sd: how close a released value may not come, in percent (see `interval_disclosure`).
    known: the columns an intruder knows (see `link`). The time goes into linkage, whose share done
    is told by `advance`.
    """

    numbers: Pair | None = None
    k: int | None = None
    unique: int | None = None
    confidential: Mapping[str, Disclosure] | None = None
    distance: ArrayLike | None = None
    importance: ArrayLike = 1.0
    sd: float = 5.0
    known: Sequence[int] | None = None
    advance: Advance = silent

    @property
    def pair(self) -> Pair:
        """The numbers, for figures that need them."""
        assert self.numbers is not None
        return self.numbers

    @cached_property
    def links(self) -> Linkage:
        """Whom an intruder finds who knows the originals."""
        return link(self.pair, known=self.known, advance=self.advance)

    @cached_property
    def interval(self) -> ByColumn:
        """How many released values are close to the originals."""
        return interval_disclosure(self.pair, self.sd)

    @property
    def risk(self) -> float:
        """DR = (DLD + SDID) / 2 (P3M paper, section 2.3)."""
        return (self.links.percent + self.interval.total) / 2.0

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
    def probabilistic_loss(self) -> ProbabilisticLoss:
        """PIL and its parts."""
        return probabilistic_loss(self.pair)

    @property
    def disclosures(self) -> Mapping[str, Disclosure]:
        """What classes give away, for figures that need it."""
        assert self.confidential is not None
        return self.confidential
