"""What an attack is, what it is told, and what it finds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.measure.compared import Compared
from microagg.measure.evidence import Evidence
from microagg.measure.linkage import classes

Criterion = Literal["singling out", "linkability", "inference"]


@dataclass(frozen=True, eq=False)
class Earlier:
    """An earlier release of the same people.

    labels: the class of each of its rows. rows: for each row of this release the earlier one of the
    same person, -1 where there is none.
    marks, earlier_marks: numbers that are equal where the columns that both show as they are agree,
    of each row of this release and of the earlier one.
    """

    labels: NDArray[np.int64]
    rows: NDArray[np.int64]
    marks: NDArray[np.int64]
    earlier_marks: NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """What an intruder sees of a release and knows of people; rows are in the released order.

    evidence: with `points` of the columns that he knows, see `Evidence`.
    columns: those that were protected; confidential: those that are secret. known: the names of
    those that he knows.
    labels: the class of each row, by the protected columns.
    exact: so many records are assigned one to one exactly; most: of more a sample is taken.
    """

    evidence: Evidence
    columns: Sequence[Compared]
    known: Sequence[str]
    labels: NDArray[np.int64]
    confidential: Sequence[Compared] = ()
    earlier: Earlier | None = None
    exact: int = 5000
    most: int = 100_000
    advance: Advance = silent

    @property
    def n(self) -> int:
        """How many records there are."""
        return self.labels.size

    @property
    def sd(self) -> float:
        """How close a guess of a number must be, in percent of a deviation."""
        return self.evidence.sd

    @property
    def unknown(self) -> list[Compared]:
        """What he does not know yet."""
        protected = [column for column in self.columns if column.name not in self.known]
        return [*protected, *self.confidential]

    @property
    def numbers(self) -> list[Compared]:
        """The protected columns whose values have distances, and vary."""
        return [column for column in self.columns if column.numeric and column.deviation > 0.0]

    @property
    def secrets(self) -> Sequence[Compared] | None:
        """The confidential columns, if there are any."""
        return self.confidential or None

    @property
    def measured(self) -> Sequence[Compared] | None:
        """The protected numbers, if there are any."""
        return self.numbers or None

    @property
    def records(self) -> Any:
        """What is linked."""
        return self.evidence.records

    @property
    def moved(self) -> bool | None:
        """Whether it is known how proximity centroids were made."""
        evidence = self.evidence
        told = (evidence.numbers, evidence.distance, evidence.alpha)
        return None if any(each is None for each in told) else True

    @cached_property
    def looks(self) -> NDArray[np.int64]:
        """The class of each released row by the columns that he knows."""
        assert self.evidence.records is not None
        released = self.evidence.records.released
        return classes(released) if released.shape[1] else np.zeros(self.n, np.int64)


@dataclass(frozen=True)
class Share:
    """What an attack discloses, in percent, and what chance does."""

    percent: float
    chance: float


@dataclass(frozen=True)
class Found:
    """What an attack found: shares of the records and of the values, as far as it is after them.

    words: what that means. column: the one that was attacked, if it was one.
    """

    words: str
    records: Share | None = None
    values: Share | None = None
    column: str | None = None


@dataclass(frozen=True)
class Attack:
    """What an intruder can try.

    criteria: what it speaks to, of the three by which data protection judges anonymity.
    knows: what he must know. records, values: what counts as disclosed. chance: what it is held
    against.
    needs: the fields of the scene without which it cannot be tried.
    """

    name: str
    title: str
    criteria: tuple[Criterion, ...]
    knows: str
    description: str
    records: str
    values: str
    chance: str
    run: Callable[[Scene], list[Found]]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """An attack and what it found."""

    attack: Attack
    found: Found

    @property
    def title(self) -> str:
        """What it is called."""
        column = self.found.column
        return self.attack.title + ("" if column is None else f" of {column}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        told: dict[str, Any] = {
            "attack": self.attack.name,
            "criteria": list(self.attack.criteria),
            "column": self.found.column,
        }
        for what in ("records", "values"):
            share: Share | None = getattr(self.found, what)
            told[what] = share and {"percent": share.percent, "chance": share.chance}
        return {**told, "knows": self.attack.knows, "words": self.found.words}
