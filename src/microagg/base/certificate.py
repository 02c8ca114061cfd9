"""The certificate: what was promised, what was counted on the release itself, and the verdict."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from microagg.base.errors import PromiseError
from microagg.base.files import write_json


@dataclass(frozen=True)
class Check:
    """One promise, and whether the release keeps it."""

    promise: str
    kept: bool


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What a release promises and what was found when it was counted anew.

    k_found is the least number of records (of entities, where `counts` says so) that share their
    protected values; sizes are of the groups so found. above_optimum is by how many percent at most
    the squared distances within the groups exceed the least that any groups of k could have, if
    that was proved. engine is where it was made, which changes nothing but perhaps the order of
    rows; cells is in how many cells of similar records groups were formed, of about cell_rows
    records each where these are limited. Hashes are sha256: of the plan that cells and columns were
    read by, which depends on input and recipe alone, and of the release once it is written.
    """

    version: str
    recipe: dict[str, Any]
    method: str
    seed: int
    counts: str
    k_asked: int
    k_found: int
    groups: int
    smallest_group: int
    median_group: float
    largest_group: int
    rows_read: int
    rows_released: int
    columns: tuple[str, ...]
    information_loss: float
    attribute_losses: dict[str, float]
    above_optimum: float | None = None
    engine: str
    cells: int
    cell_rows: int | None
    plan_sha256: str
    input_sha256: str
    recipe_sha256: str
    release_sha256: str | None = None
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    made: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def passed(self) -> bool:
        """Whether every promise is kept."""
        return all(check.kept for check in self.checks)

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
            "information_loss": {
                "total": self.information_loss,
                "attributes": self.attribute_losses,
                **(
                    {}
                    if self.above_optimum is None
                    else {"percent_above_optimum_at_most": self.above_optimum}
                ),
            },
            "rows": {"read": self.rows_read, "released": self.rows_released},
            "columns": list(self.columns),
            "where": {"engine": self.engine},
            "method": self.method,
            "seed": self.seed,
            "cells": {"count": self.cells, "rows": self.cell_rows},
            "recipe": self.recipe,
            "sha256": {
                "input": self.input_sha256,
                "recipe": self.recipe_sha256,
                "plan": self.plan_sha256,
                "release": self.release_sha256,
            },
            "checks": [{"promise": check.promise, "kept": check.kept} for check in self.checks],
            "notes": list(self.notes),
        }

    def write(self, path: Path) -> None:
        """Write the certificate as JSON."""
        write_json(path, self.to_dict())
