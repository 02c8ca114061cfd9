"""What every engine answers: five verbs, and nothing of certificates or pages."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from microagg.aggregation.values import find_aggregate
from microagg.base.errors import OptionError
from microagg.base.groups import Partition
from microagg.base.progress import Advance
from microagg.base.recipe import Recipe
from microagg.columns.secrets import Secret
from microagg.engine.counting import Counts, Wanted
from microagg.engine.lacking import Judge
from microagg.engine.plan import Plan
from microagg.engine.survey import Survey
from microagg.table.classes import Classes
from microagg.table.opening import Origin

if TYPE_CHECKING:
    from microagg.engine.profile import Profile


@dataclass(frozen=True)
class Place:
    """Where a draft of a release is written before it takes its name.

    address: what the release will be called: a path, a database URL or "-".
    path: the file or folder to write to; None for a database.
    certificate, record: the files to write these to, where there are any; what is in the first
    when a table of a database takes its name goes into a table beside it.
    """

    address: str = field(repr=False)
    path: Path | None
    force: bool
    certificate: Path | None = None
    record: Path | None = None


@dataclass(frozen=True, eq=False)
class Recount:
    """What was counted on a release: on what was written, where it has been written.

    classes: of records equal in the columns counted; None where these are not all there.
    complete: whether every row and column is there; None before it is written.
    same: by column, whether it holds what was meant.
    counts: of confidential columns within classes, those that were asked for.
    dominance: by column, the largest share of a published mean that one record has, which only who
        made the groups can tell.
    """

    classes: Classes | None
    complete: bool | None = None
    same: dict[str, bool] = field(default_factory=dict)
    sha256: str | None = None
    counts: Counts = field(default_factory=dict)
    dominance: dict[str, float] = field(default_factory=dict)


class Engine(Protocol):
    """Where a release is made. What is published never depends on it.

    names: of the columns of the input; rows: how many records it has.
    sha256: what tells the input from another; known once it was surveyed.
    writes_folders: a release is a folder of files.
    memory: bytes that there are for a cell; None where it is this machine's.
    """

    name: str
    origin: Origin
    rows: int
    writes_folders: bool

    @property
    def memory(self) -> int | None: ...

    @property
    def notes(self) -> Sequence[str]: ...

    @property
    def sha256(self) -> str: ...

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the release."""

    @property
    def data(self) -> Any:
        """The release as a table."""

    @property
    def partition(self) -> Partition:
        """Who was grouped with whom."""

    def survey(self, advance: Advance) -> Survey:
        """One look at every record."""

    def count(
        self, plan: Plan, advance: Advance, secrets: Sequence[Secret] = ()
    ) -> tuple[NDArray[np.int64], Judge | None]:
        """How many units each leaf of the plan has, and where more is demanded than k, who judges
        which leaves can keep it.

        Where k counts households: how many records, and none where these are of fewer than k.
        secrets: how confidential columns are read.
        """

    def publish(
        self, plan: Plan, profile: "Profile", advance: Advance, order: bytes | None = None
    ) -> None:
        """Group the records of every cell and publish; what became of them goes to the profile.

        order: the key by which rows are shuffled when they are written; None keeps their order.
        """

    def forget(self) -> None:
        """Let go of the original, once it is published."""

    def write(self, place: Place, advance: Advance) -> AbstractContextManager[Any]:
        """A draft of the release at a place; good until the block ends."""

    def recount(self, draft: Any | None, wanted: Wanted, advance: Advance) -> Recount:
        """Read the draft back and count it; without one, count what would be written."""

    def close(self) -> None:
        """Let go of whatever is not part of a written release."""


def refuse_bound(recipe: Recipe, prove: float) -> None:
    """Refuse to prove what no bound is known for."""
    if prove and (recipe.within or recipe.entity is not None):
        raise OptionError("prove bounds groups of all records: leave out within and entity, or it")


def refuse_in_parts(recipe: Recipe, prove: float) -> None:
    """Refuse what needs all records in one place: the only list of such things."""
    needed = {
        "entity": recipe.entity is not None,
        f'aggregate="{recipe.aggregate}"': find_aggregate(
            recipe.aggregate, "aggregate"
        ).all_at_once,
        "prove": prove > 0,
    }
    for setting, is_asked in needed.items():
        if is_asked:
            raise OptionError(
                f"{setting} needs all records in one place, which only engine=memory has; leave it "
                "out, or take that engine"
            )
