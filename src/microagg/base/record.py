"""The owner's record of a release: what would help others to guess, and what makes it again."""

import hmac
import json
import secrets
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Self

from microagg.base.errors import InputError
from microagg.base.files import content_of, write_json

_SECRET_BYTES = 32
_ABOVE = "percent_above_optimum_at_most"


@dataclass(frozen=True, kw_only=True)
class Record:
    """What the owner of the data keeps of a release; never to be published.

    secret: random, in hexadecimal; from it comes the order of the rows, and by it the input is
    told from another (`input_hmac`), which nobody without it can do. Losses are exact here.
    dominance is the largest share of a published mean that one record has, by column. engine is
    where it was made, which changes nothing that is published; cells is in how many cells of
    similar records groups were formed, of about cell_rows records each where these are limited.
    Hashes are sha256: of the plan that cells and columns were read by, of the recipe, and of the
    release once it is written.
    """

    version: str
    made: str
    secret: str = field(repr=False)
    row_order: str
    recipe: dict[str, Any]
    method: str
    engine: str
    cells: int
    cell_rows: int | None
    rows_read: int
    rows_released: int
    columns: tuple[str, ...]
    information_loss: float
    attribute_losses: dict[str, float]
    above_optimum: float | None = None
    dominance: dict[str, float]
    input_hmac: str
    recipe_sha256: str
    plan_sha256: str
    release_sha256: str | None = None
    notes: tuple[str, ...] = ()

    def is_of_input(self, sha256: str) -> bool:
        """Whether it is the record of an input."""
        return hmac.compare_digest(self.input_hmac, input_hmac(self.secret, sha256))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as in the JSON file."""
        return {
            "microagg": self.version,
            "made": self.made,
            "secret": self.secret,
            "row_order": self.row_order,
            "recipe": self.recipe,
            "method": self.method,
            "where": {"engine": self.engine},
            "cells": {"count": self.cells, "rows": self.cell_rows},
            "rows": {"read": self.rows_read, "released": self.rows_released},
            "columns": list(self.columns),
            "information_loss": losses(
                self.information_loss, self.attribute_losses, self.above_optimum
            ),
            "dominance": self.dominance,
            "hmac_sha256": {"input": self.input_hmac},
            "sha256": {
                "recipe": self.recipe_sha256,
                "plan": self.plan_sha256,
                "release": self.release_sha256,
            },
            "notes": list(self.notes),
        }

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """The record in a file that `Release.write` left beside a release."""
        try:
            told = json.loads(content_of(path))
            loss, hashes = told["information_loss"], told["sha256"]
            return cls(
                version=told["microagg"],
                made=told["made"],
                secret=bytes.fromhex(told["secret"]).hex(),
                row_order=told["row_order"],
                recipe=told["recipe"],
                method=told["method"],
                engine=told["where"]["engine"],
                cells=told["cells"]["count"],
                cell_rows=told["cells"]["rows"],
                rows_read=told["rows"]["read"],
                rows_released=told["rows"]["released"],
                columns=tuple(told["columns"]),
                information_loss=loss["total"],
                attribute_losses=loss["attributes"],
                above_optimum=loss.get(_ABOVE),
                dominance=told["dominance"],
                input_hmac=told["hmac_sha256"]["input"],
                recipe_sha256=hashes["recipe"],
                plan_sha256=hashes["plan"],
                release_sha256=hashes["release"],
                notes=tuple(told["notes"]),
            )
        except (ValueError, TypeError, LookupError):
            raise InputError(
                f"{Path(path).name} is no record of a release; that of release.csv is called "
                "release.csv.record.json"
            ) from None

    def write(self, path: str | PathLike[str]) -> None:
        """Write the record as JSON, for one user only."""
        write_json(Path(path), self.to_dict(), mode=0o600)


def losses(total: float, attributes: dict[str, float], above: float | None) -> dict[str, Any]:
    """Losses as files tell them."""
    proved = {} if above is None else {_ABOVE: above}
    return {"total": total, "attributes": attributes, **proved}


def new_secret() -> str:
    """Nobody else has it, and no seed gives it."""
    return secrets.token_hex(_SECRET_BYTES)


def order_key(secret: str, row_order: str) -> bytes | None:
    """The key by which rows are shuffled, 16 bytes; None where they keep their order."""
    return _keyed(secret, "row order")[:16] if row_order == "shuffled" else None


def input_hmac(secret: str, sha256: str) -> str:
    """Tells an input, by its hash, from another, but only to whoever has the secret."""
    return _keyed(secret, f"input {sha256}").hex()


def _keyed(secret: str, text: str) -> bytes:
    return hmac.digest(bytes.fromhex(secret), text.encode(), "sha256")
