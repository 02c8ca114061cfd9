"""What may be said about reading a table."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from microagg.base import texts

# What people write where a value is missing. An empty field always counts as one.
MISSING_VALUES = ("NA", "N/A", "NaN", "nan", "NULL", "null", "None")


def _as_names(value: Any) -> Any:
    """One name may stand for a list of one; what lists several may be any sequence."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, set | frozenset):
        # The order of a set differs from one run to the next, that of a release must not.
        return tuple(sorted(value, key=str))
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, dict) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_as_names)]


class Model(BaseModel):
    """Settings that are checked when they are given, and never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Reading(Model):
    """How to read a file or a database; what is not said is found out."""

    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(
        default=None, description="Of a text file; found out otherwise."
    )
    encoding: str | None = Field(default=None, description="Of a text file; found out otherwise.")
    decimal: Literal[".", ","] | None = Field(
        default=None, description='"." or ","; found out otherwise.'
    )
    missing_values: Annotated[Names, texts.Spelled(texts.as_written)] = Field(
        default=MISSING_VALUES, description="Texts that mean missing, besides an empty field."
    )
    sheet: str | None = Field(default=None, description="The sheet of a workbook; else the first.")
    query: str | None = Field(
        default=None, description="What to ask the database, instead of a table."
    )
