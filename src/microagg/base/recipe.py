"""Recipe: every setting of a release, checked once, to and from TOML."""

import difflib
import hashlib
import math
import tomllib
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import tomli_w
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from microagg.base.errors import OptionError
from microagg.base.files import whole_file
from microagg.base.reading import MISSING_VALUES, Reading

KINDS = ("continuous", "integer", "ordinal", "nominal", "boolean", "date")
Kind = Literal["continuous", "integer", "ordinal", "nominal", "boolean", "date"]


def _as_names(value: Any) -> Any:
    """One name may stand for a list of one; what lists several may be any sequence."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, set | frozenset):
        # The order of a set differs from one run to the next, that of a release must not.
        return tuple(sorted(value, key=str))
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, dict) else value


def _no_truth_value(value: Any) -> Any:
    """True is 1 to Python, but nobody who says k=True means 1."""
    if isinstance(value, bool):
        raise OptionError("k must be a whole number, but a truth value arrived; for example k=5")
    return value


def _plain(value: Any) -> Any:
    """What a TOML file can say: numbers, texts and lists of these."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise OptionError(
        "options may be finite numbers, texts and lists of these, but one is an object of type "
        f"{type(value).__name__}"
    )


Names = Annotated[tuple[str, ...], BeforeValidator(_as_names)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_as_names)]
Option = Annotated[Any, BeforeValidator(_plain)]
# A number for all, or the name of a column that has one for each record.
Preference = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)] | str


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class ReadingSettings(_Settings):
    """How the input is read; see `microagg.base.reading.Reading`."""

    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    encoding: str | None = None
    decimal: Literal[".", ","] | None = None
    missing_values: Texts = MISSING_VALUES
    sheet: str | None = None
    query: str | None = None

    def as_reading(self) -> Reading:
        return Reading(**self.model_dump())


class Recipe(_Settings):
    """Every setting of a release. The same input and the same recipe give the same release.

    k: the least number of records (of entities, where `entity` is given) that look alike.
    quasi_identifiers: columns others may know; grouped and replaced.
    confidential: columns kept as they are and reported on.
    identifiers: columns dropped.
    method, options, seed: how records are grouped, see `microagg.methods()`.
    effort: how long the methods "auto" and "search" look for less loss: quick, balanced or best.
    refine: search on from the method's groups: true, or for so many seconds (then the same recipe
        may give another release).
    kinds: how a quasi-identifier is treated where its type does not say so: continuous, integer,
        ordinal, nominal, boolean or date.
    orders: the categories of each ordinal column, lowest first.
    missing: "group" lets records without a value be similar to each other, and a group publishes
        one value for all; "error" refuses missing values in quasi-identifiers.
    within: columns that no group crosses.
    small_strata: what to do where fewer than k records share the columns of `within`: "error",
        "merge" them with others or "drop" them.
    weights: the column of sampling weights.
    entity: the column that says to whom a row belongs.
    attribute_weights: how much differences in a column count; 1 otherwise.
    aggregate: "mean", or "proximity": published numbers keep a distance from the originals, and
        the column keeps its mean and variance; `distance`, `importance`, `alpha`, `solution` and
        `relative` say how, see `microagg.aggregate`. The first two are a number, the name of a
        column with everybody's own, or one of these a quasi-identifier.
    decimals: round means of continuous columns to so many places; one number or one a column.
    reading: how the input is read.
    """

    k: Annotated[int, BeforeValidator(_no_truth_value)] = Field(5, ge=1)
    quasi_identifiers: Names = Field(min_length=1)
    confidential: Names = ()
    identifiers: Names = ()
    method: str = "auto"
    options: dict[str, Option] = {}
    seed: int = Field(0, ge=0)
    effort: Literal["quick", "balanced", "best"] | None = None
    refine: bool | Annotated[float, Field(ge=0, allow_inf_nan=False)] = False
    kinds: dict[str, Kind] = {}
    orders: dict[str, Texts] = {}
    missing: Literal["group", "error"] = "group"
    within: Names = ()
    small_strata: Literal["error", "merge", "drop"] = "error"
    weights: str | None = None
    entity: str | None = None
    attribute_weights: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = {}
    cell_rows: Annotated[int, Field(ge=1)] | None = None
    decimals: (
        Annotated[int, Field(ge=-15, le=15)]
        | dict[str, Annotated[int, Field(ge=-15, le=15)]]
        | None
    ) = None
    aggregate: Literal["mean", "proximity"] = "mean"
    distance: Preference | dict[str, Preference] = 0.1
    importance: Preference | dict[str, Preference] = 0.001
    alpha: float = Field(0.5, ge=0, le=1)
    solution: Literal["global", "local"] = "global"
    relative: bool = False
    reading: ReadingSettings = ReadingSettings()

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
            raise OptionError(_sentence(deepest)) from None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        _check_roles(self)
        for setting in ("kinds", "orders", "attribute_weights"):
            _check_named(self, setting, getattr(self, setting))
        if isinstance(self.decimals, dict):
            _check_named(self, "decimals", self.decimals)
        for setting in ("distance", "importance"):
            if isinstance(getattr(self, setting), dict):
                _check_named(self, setting, getattr(self, setting))
        if self.effort is not None and self.method not in ("auto", "search"):
            raise OptionError(
                f'effort is for the methods "auto" and "search", but method is {self.method!r}; '
                "leave it out, or say refine"
            )
        if self.aggregate == "proximity" and self.weights is not None:
            raise OptionError(
                'aggregate="proximity" keeps plain means and variances, not weighted totals; '
                "leave out weights, or take means"
            )
        for name in self.orders:
            if self.kinds.get(name, "ordinal") != "ordinal":
                raise OptionError(
                    f"orders names {name!r}, but kinds says it is {self.kinds[name]}; "
                    "only ordinal columns have an order"
                )
            if len(set(self.orders[name])) < len(self.orders[name]):
                raise OptionError(f"orders lists a category of {name!r} twice; list each once")
        return self

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """A recipe from the text of a TOML file."""
        try:
            settings = tomllib.loads(text)
        except tomllib.TOMLDecodeError as failure:
            raise OptionError(f"the recipe is not valid TOML: {failure}") from None
        return cls(**settings)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """A recipe from a TOML file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise OptionError(f"the recipe {Path(path).name} is not UTF-8 text") from None
        return cls.from_toml(text)

    def to_dict(self) -> dict[str, Any]:
        """The settings that differ from the defaults, k, method and seed always, as plain data."""
        return {
            "k": self.k,
            "method": self.method,
            "seed": self.seed,
            **self.model_dump(mode="json", exclude_defaults=True),
        }

    def to_toml(self) -> str:
        """The recipe as the text of a TOML file."""
        return tomli_w.dumps(self.to_dict())

    def write(self, path: str | PathLike[str]) -> None:
        """Write the recipe to a TOML file."""
        with whole_file(Path(path)) as stream:
            stream.write(self.to_toml())

    @property
    def sha256(self) -> str:
        """Of the recipe as TOML."""
        return hashlib.sha256(self.to_toml().encode()).hexdigest()

    def method_options(self) -> dict[str, Any]:
        """What the method is told."""
        return self.options if self.effort is None else {**self.options, "effort": self.effort}

    def columns(self) -> list[str]:
        """Every column that the recipe names, each once."""
        named = [*self.quasi_identifiers, *self.confidential, *self.identifiers, *self.within]
        named += [name for name in (self.weights, self.entity) if name is not None]
        return list(dict.fromkeys([*named, *self.preference_columns()]))

    def preference_columns(self) -> list[str]:
        """The columns that hold everybody's own distances and importances."""
        asked = [
            preference
            for setting in (self.distance, self.importance)
            for preference in (setting.values() if isinstance(setting, dict) else (setting,))
        ]
        return [preference for preference in asked if isinstance(preference, str)]


def _check_roles(recipe: Recipe) -> None:
    role_of: dict[str, str] = {}
    for role in ("quasi_identifiers", "confidential", "identifiers"):
        for name in getattr(recipe, role):
            if name in role_of:
                said = (
                    f"twice in {role}"
                    if role_of[name] == role
                    else f"in {role_of[name]} and in {role}"
                )
                raise OptionError(f"column {name!r} stands {said}; give each column one role")
            role_of[name] = role
    if len(set(recipe.within)) < len(recipe.within):
        raise OptionError("within names a column twice; name each once")
    for setting, names in (("within", recipe.within), ("weights", (recipe.weights,))):
        for name in names:
            if name in recipe.quasi_identifiers:
                raise OptionError(
                    f"column {name!r} stands in quasi_identifiers and in {setting}; "
                    f"a column of {setting} is kept as it is, so it cannot be replaced"
                )
    for name in recipe.within:
        if name in recipe.identifiers:
            raise OptionError(
                f"column {name!r} stands in identifiers and in within; a column of within is kept "
                "as it is, so it cannot be dropped"
            )
    if recipe.entity in recipe.quasi_identifiers:
        raise OptionError(
            f"column {recipe.entity!r} is the entity and cannot be a quasi-identifier too"
        )


def _check_named(recipe: Recipe, setting: str, named: dict[str, Any]) -> None:
    for name in named:
        if name not in recipe.quasi_identifiers:
            near = difflib.get_close_matches(name, recipe.quasi_identifiers, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "add it there or leave it out"
            raise OptionError(
                f"{setting} names {name!r}, which is not among quasi_identifiers; {hint}"
            )


def _sentence(error: ErrorDetails) -> str:
    """Pydantic's first complaint as one sentence."""
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    # Places inside a union carry the names of its members, which nobody wrote.
    where = [part for part in error["loc"] if isinstance(part, str) and part.isidentifier()]
    name = ".".join(where) or "the recipe"
    if error["type"] == "extra_forbidden":
        fields = ReadingSettings.model_fields if where[0] == "reading" else Recipe.model_fields
        near = difflib.get_close_matches(where[-1], fields, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(fields)}"
        return f"there is no setting {name!r}; {hint}"
    if error["type"] == "missing" or (name == "quasi_identifiers" and error["type"] == "too_short"):
        return (
            f"{name} must be given: the columns others may know, which are to be protected; "
            "`microagg inspect` suggests some"
        )
    message = error["msg"][0].lower() + error["msg"][1:]
    return f"{name}: {message}, but {error['input']!r:.60} arrived"
