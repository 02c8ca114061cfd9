"""What may be said about reading a table."""

import difflib
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from microagg.base import texts
from microagg.base.errors import OptionError

# What people write where a value is missing. An empty field always counts as one.
MISSING_VALUES = ("NA", "N/A", "NaN", "nan", "NULL", "null", "None")

# Day, month and year, each once, with one sign between them; the day may be left out.
_DATE_FORMAT = (
    r"^(%d([-./ ])%m[-./ ]%Y|%m([-./ ])%d[-./ ]%Y|%Y([-./ ])%m[-./ ]%d|%m[-./ ]%Y|%Y[-./ ]%m)$"
)


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
    """Settings that are checked when they are given, and never change.

    home: what stands before their names, where they are part of others.
    """

    home: ClassVar[str] = ""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as failure:
            # Of the members of a union, the one that went deepest is the one that was meant.
            # And a misspelt name, which leaves the right one missing, is the better news.
            deepest = max(
                failure.errors(),
                key=lambda error: (error["type"] == "extra_forbidden", len(error["loc"])),
            )
            raise OptionError(_sentence(deepest, type(self))) from None


class Reading(Model):
    """How to read a file or a database; what is not said is found out."""

    home = "reading."

    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(
        default=None, description="Of a text file; found out otherwise."
    )
    encoding: str | None = Field(default=None, description="Of a text file; found out otherwise.")
    decimal: Literal[".", ","] | None = Field(
        default=None, description='"." or ","; found out otherwise.'
    )
    date_format: Annotated[str, Field(pattern=_DATE_FORMAT)] | None = Field(
        default=None,
        description="Of dates in a text file, such as %d/%m/%Y or %m.%Y; found out otherwise.",
    )
    missing_values: Annotated[Names, texts.Spelled(texts.as_written)] = Field(
        default=MISSING_VALUES, description="Texts that mean missing, besides an empty field."
    )
    sheet: str | None = Field(default=None, description="The sheet of a workbook; else the first.")
    query: str | None = Field(
        default=None, description="What to ask the database, instead of a table."
    )
    query_timeout: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] | None = Field(
        default=600.0, description="Seconds that a database has to answer; 0 for any number."
    )


def _sentence(error: ErrorDetails, model: type[Model]) -> str:
    """Pydantic's first complaint as one sentence."""
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] == "extra_forbidden":
        asked = str(error["loc"][-1])
        name = model.home + asked
        near = difflib.get_close_matches(asked, model.model_fields, n=1)
        hint = (
            f"did you mean {near[0]!r}?" if near else f"there are {', '.join(model.model_fields)}"
        )
        return f"there is no setting {name!r:.60}; {hint}"
    # Places inside a union carry the names of its members, which nobody wrote.
    where = [
        part
        for part in error["loc"]
        if isinstance(part, str) and part.isidentifier() and part not in ("bool", "float", "str")
    ]
    name = model.home + ".".join(where) or "the recipe"
    if error["type"] == "missing" or (name == "quasi_identifiers" and error["type"] == "too_short"):
        return (
            f"{name} must be given: the columns others may know, which are to be protected; "
            "`microagg inspect` suggests some"
        )
    message = error["msg"][0].lower() + error["msg"][1:]
    return f"{name}: {message}, but {error['input']!r:.60} arrived"
