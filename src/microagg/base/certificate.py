"""The certificate: what was promised, what was counted on the release itself, and the verdict."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from microagg.base.errors import PromiseError
from microagg.base.files import write_json
from microagg.base.record import losses
from microagg.base.showing import Rows, Showing


@dataclass(frozen=True)
class Found:
    """What was asked of a column and what was found: the figure of the worst class."""

    column: str
    asked: dict[str, Any]
    found: float | None


@dataclass(frozen=True)
class Check:
    """One promise, and whether the release keeps it; found: by column, where figures tell."""

    promise: str
    kept: bool
    found: tuple[Found, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        told = {"promise": self.promise, "kept": self.kept}
        return {**told, "found": [asdict(each) for each in self.found]} if self.found else told


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate(Showing):
    """What a release promises and what was found when it was counted anew; made to be published.

    recipe is what may be published of it. k_found is the least number of records (of entities
    or households, where `counts` says so) that share their protected values; sizes are of
    the groups so found. Losses are rounded to two digits: exact ones confirm guesses at the
    original. above_optimum is by how many percent at most the squared distances within the groups
    exceed the least that any groups of k could have, if that was proved. release_sha256 is of the
    release once it is written, with its rows in the order of the input or shuffled. Notes follow
    from the recipe alone.
    """

    version: str
    recipe: dict[str, Any]
    method: str
    counts: str
    k_asked: int
    k_found: int
    groups: int
    smallest_group: int
    median_group: float
    largest_group: int
    rows_released: int
    row_order: str
    columns: tuple[str, ...]
    information_loss: float
    attribute_losses: dict[str, float]
    above_optimum: float | None = None
    release_sha256: str | None = None
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    made: str

    @property
    def passed(self) -> bool:
        """Whether every promise is kept."""
        return all(check.kept for check in self.checks)

    def _told(self) -> dict[str, object]:
        return {
            "verdict": "passed" if self.passed else "failed",
            "k_found": self.k_found,
            "k_asked": self.k_asked,
            "records": self.rows_released,
            "groups": self.groups,
            "information_loss": f"{self.information_loss:.2f} %",
        }

    def _rows(self) -> Rows:
        kept = [(check.promise, "yes" if check.kept else "NO") for check in self.checks]
        return ("promise", "kept"), kept

    def refuse_broken(self) -> None:
        """Refuse to publish a release that does not keep what it promises."""
        broken = "; ".join(check.promise for check in self.checks if not check.kept)
        if broken:
            raise PromiseError(
                f"the release fails its check, so it was not published: not so: {broken}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as in the JSON file."""
        return {
            "microagg": self.version,
            "made": self.made,
            "verdict": "passed" if self.passed else "failed",
            "k": {"asked": self.k_asked, "found": self.k_found, "counts": self.counts},
            "groups": {
                "count": self.groups,
                "smallest": self.smallest_group,
                "median": self.median_group,
                "largest": self.largest_group,
            },
            "information_loss": losses(
                self.information_loss, self.attribute_losses, self.above_optimum
            ),
            "rows": {"released": self.rows_released},
            "row_order": self.row_order,
            "columns": list(self.columns),
            "method": self.method,
            "recipe": self.recipe,
            "sha256": {"release": self.release_sha256},
            "checks": [check.to_dict() for check in self.checks],
            "notes": list(self.notes),
        }

    def write(self, path: Path) -> None:
        """Write the certificate as JSON."""
        write_json(path, self.to_dict())
