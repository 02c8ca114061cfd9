"""Recipe: every setting of a release, checked once, to and from TOML."""

import difflib
import hashlib
import inspect
import math
import tomllib
from collections.abc import Callable, Container, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypedDict, TypeVar, get_type_hints

import tomli_w
from pydantic import BeforeValidator, Field, model_validator
from pydantic.fields import FieldInfo

from microagg.base import texts
from microagg.base.demands import Closeness, Diversity, checked_diversity, diversities
from microagg.base.errors import OptionError
from microagg.base.files import content_of, whole_file
from microagg.base.reading import Model, Names, Reading
from microagg.base.texts import Spelled

Function = TypeVar("Function", bound=Callable[..., Any])


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


Option = Annotated[Any, BeforeValidator(_plain)]
Places = Annotated[int, Field(ge=-15, le=15)]
# Whoever knows how far centroids were moved moves them back.
_PROXIMITY = {"distance", "importance", "alpha", "solution", "relative"}
_PRIVATE = {"seed", "orders", "reading", *_PROXIMITY}
# A number for all, or the name of a column that has one for each record.
Preference = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)] | str


class Recipe(Model):
    """Every setting of a release. The same input and the same recipe give the same release."""

    k: Annotated[int, BeforeValidator(_no_truth_value), Spelled(flag="-k")] = Field(
        5, ge=1, le=10**12, description="The least number of records that look alike."
    )
    quasi_identifiers: Annotated[Names, Spelled(texts.names, "-q")] = Field(
        min_length=1, description="Columns others may know, with commas; replaced."
    )
    confidential: Annotated[Names, Spelled(texts.names, "-c")] = Field(
        (), description="Columns kept as they are and reported on."
    )
    identifiers: Annotated[Names, Spelled(texts.names, "-i")] = Field(
        (), description="Columns to drop."
    )
    method: Annotated[str, Spelled(flag="-m")] = Field(
        "auto", description="How records are grouped: `microagg methods`."
    )
    options: Annotated[dict[str, Option], Spelled(texts.options, name="option")] = Field(
        {}, description="An option of the method: name=value."
    )
    seed: int = Field(0, ge=0, lt=1 << 64, description="The same seed gives the same release.")
    effort: Literal["brief", "quick", "balanced", "best"] | None = Field(
        None, description="How long auto and search look: brief, quick, balanced or best."
    )
    refine: Annotated[
        Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)] | bool, Spelled(texts.one)
    ] = Field(
        False,
        description="Search on from the method's groups: true, or for so many seconds (then the "
        "same recipe may give another release).",
    )
    cell_rows: int | None = Field(
        None,
        ge=1,
        description="About how many records are grouped together at most; beyond it a table is "
        "divided into cells of similar records, which no group crosses; 200,000 with method auto, "
        "else the whole table.",
    )
    kinds: Annotated[dict[str, str], Spelled(texts.pairs)] = Field(
        {},
        description="How columns are treated, where their type does not say so: "
        "zip=nominal,grade=ordinal; continuous, integer, ordinal, nominal, boolean, date.",
    )
    orders: Annotated[dict[str, Names], Spelled(texts.orders)] = Field(
        {}, description="Categories of an ordinal column, lowest first: grade=low<middle<high."
    )
    missing: Literal["group", "error"] = Field(
        "group", description="Missing values: group (they may be alike) or error."
    )
    within: Annotated[Names, Spelled(texts.names)] = Field(
        (), description="Columns that no group crosses."
    )
    small_strata: Literal["error", "merge", "drop"] = Field(
        "error",
        description="Strata of fewer than k records: error, merge (groups then publish the stratum "
        "that most of them have) or drop.",
    )
    weights: str | None = Field(None, description="The column of sampling weights.")
    weight_digits: int | None = Field(
        None,
        ge=1,
        le=15,
        description="Publish weights, and wishes of proximity, with so many significant digits; as "
        "they are if not given.",
    )
    entity: str | None = Field(
        None, description="The column that says to whom a row belongs; k counts these."
    )
    household: str | None = Field(
        None,
        description="The column that says to which household a row belongs: k counts different "
        "households, and members keep their own values.",
    )
    attribute_weights: Annotated[
        dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]], Spelled(texts.numbers)
    ] = Field({}, description="How much differences in a column count: income=2.")
    decimals: Annotated[Places | dict[str, Places] | None, Spelled(texts.places)] = Field(
        None, description="Round means of continuous columns: 2, or income=0,height=1."
    )
    diversity: Annotated[
        dict[str, Annotated[Any, BeforeValidator(checked_diversity)]], Spelled(texts.diversity)
    ] = Field(
        {},
        description="How different confidential values must be among records that look alike: "
        "diagnosis=3 (different values), diagnosis=entropy:3, diagnosis=recursive:3:2 (l, c), "
        "income=range:5000 (they span that much), income=similar:500:0.5 (at most that share "
        "within so much of any value).",
    )
    closeness: Annotated[
        dict[str, Annotated[float, Field(ge=0, le=1, strict=True)]], Spelled(texts.numbers)
    ] = Field(
        {},
        description="How far confidential values among records that look alike may be from those "
        "of all records, by the earth mover's distance, 0 to 1 (t-closeness): income=0.15.",
    )
    dominance: Annotated[dict[str, Annotated[float, Field(gt=0, le=1)]], Spelled(texts.numbers)] = (
        Field(
            {},
            description="The largest share of a published mean that one record (entity) may have: "
            "income=0.8.",
        )
    )
    aggregate: str = Field(
        "mean",
        description="What groups publish: mean, or proximity (numbers that keep a distance).",
    )
    distance: Annotated[Preference | dict[str, Preference], Spelled(texts.one_or_each)] = Field(
        0.1,
        description="Proximity: how far from the originals, in deviations: a number, the column "
        "with everybody's own, or age=0.1,income=WISH.",
    )
    importance: Annotated[Preference | dict[str, Preference], Spelled(texts.one_or_each)] = Field(
        0.001, description="Proximity: how dear it is to miss the distance, 0 to below 1; likewise."
    )
    alpha: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Proximity: weight of distances against nearness to the mean, 0 to 1.",
    )
    solution: Literal["global", "local", "random"] = Field(
        "global", description="Proximity: global, local, or random: sides by lot."
    )
    relative: bool = Field(False, description="Proximity: distances are shares of the value.")
    keep_metadata: Annotated[Names, Spelled(texts.names)] = Field(
        (),
        description="What stays of metadata, which are dropped otherwise: names of columns (their "
        "metadata, and labels of values that nobody has) and keys of the table's.",
    )
    row_order: Literal["shuffled", "kept"] = Field(
        "shuffled",
        description="The rows that are written: shuffled, or kept in the order of the input, which "
        "tells about columns that were sorted.",
    )
    reading: Reading = Field(Reading(), description="How the input is read.")

    @model_validator(mode="after")
    def _agree(self) -> Self:
        _check_demands(self)
        _check_roles(self)
        _check_named(self)
        if self.effort is not None and self.method not in ("auto", "search"):
            raise OptionError(
                f'effort is for the methods "auto" and "search", but method is {self.method!r}; '
                "leave it out, or say refine"
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
    def from_settings(cls, settings: Mapping[str, Any], recipe: Self | None = None) -> Self:
        """The recipe of these settings, which go before those of another recipe."""
        if recipe is None:
            return cls(**settings)
        if not isinstance(recipe, cls):
            raise OptionError(
                f"recipe must be a Recipe, but an object of type {type(recipe).__name__} arrived; "
                'Recipe.read("recipe.toml") reads one'
            )
        return cls(**{**recipe.model_dump(exclude_unset=True), **settings}) if settings else recipe

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """A recipe from the text of a TOML file."""
        try:
            settings = tomllib.loads(text)
        except tomllib.TOMLDecodeError as failure:
            raise OptionError(f"the recipe is not valid TOML: {failure}") from None
        except (ValueError, RecursionError):
            raise OptionError(
                "the recipe holds a number of thousands of digits or is nested too deeply"
            ) from None
        return cls(**settings)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """A recipe from a TOML file."""
        try:
            text = content_of(path).decode("utf-8")
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

    def public(self) -> dict[str, Any]:
        """The settings that may be published.

        Not which categories and stand-ins the input has, the query it is, nor what helps to undo
        or to repeat what was done.
        """
        kept = {name: value for name, value in self.to_dict().items() if name not in _PRIVATE}
        kinds = {**self.kinds, **dict.fromkeys(self.orders, "ordinal")}
        return {**kept, **({"kinds": kinds} if kinds else {})}

    def to_toml(self, *, public: bool = False) -> str:
        """The recipe as the text of a TOML file."""
        return tomli_w.dumps(self.public() if public else self.to_dict())

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

    @property
    def units(self) -> str:
        """What k counts."""
        if self.household is not None:
            return "households"
        return "records" if self.entity is None else "entities"

    @property
    def demands(self) -> tuple[Diversity | Closeness, ...]:
        """What is demanded of confidential columns."""
        close = (Closeness(name, t) for name, t in self.closeness.items())
        return (*diversities(self.diversity), *close)

    @property
    def demanded(self) -> tuple[str, ...]:
        """The confidential columns that something is demanded of, each once."""
        return tuple(dict.fromkeys(demand.column for demand in self.demands))

    @property
    def replaced(self) -> tuple[str, ...]:
        """The columns that may publish values of groups in the place of their own."""
        merged = self.within if self.small_strata == "merge" else ()
        return (*self.quasi_identifiers, *merged, *self.rounded)

    @property
    def rounded(self) -> tuple[str, ...]:
        """The columns that are published with fewer digits."""
        return () if self.weight_digits is None else self.side_columns

    @property
    def side_columns(self) -> tuple[str, ...]:
        """The columns of weights and wishes that stay in the release."""
        named = (self.weights, *self.preference_columns())
        apart = (None, *self.identifiers, *self.quasi_identifiers)
        return tuple(dict.fromkeys(name for name in named if name not in apart))  # type: ignore[misc]

    @property
    def understood(self) -> tuple[str, ...]:
        """The columns of a text file that are read as what they say; others stay as they are."""
        return (*self.quasi_identifiers, *self.rounded)

    def columns(self) -> list[str]:
        """Every column that the recipe names, each once."""
        named = [*self.quasi_identifiers, *self.confidential, *self.identifiers, *self.within]
        named += [name for name in (self.weights, self.entity, self.household) if name is not None]
        return list(dict.fromkeys([*named, *self.preference_columns()]))

    def preference_columns(self) -> list[str]:
        """The columns that hold everybody's own distances and importances."""
        asked = [
            preference
            for setting in (self.distance, self.importance)
            for preference in (setting.values() if isinstance(setting, dict) else (setting,))
        ]
        return [preference for preference in asked if isinstance(preference, str)]


class Settings(TypedDict, total=False):
    """The settings of a recipe as keywords, for editors: a twin that a test holds in step."""

    k: int
    quasi_identifiers: str | Iterable[str]
    confidential: str | Iterable[str]
    identifiers: str | Iterable[str]
    method: str
    options: Mapping[str, Any]
    seed: int
    effort: Literal["brief", "quick", "balanced", "best"] | None
    refine: bool | float
    cell_rows: int | None
    kinds: Mapping[str, str]
    orders: Mapping[str, Iterable[str]]
    missing: Literal["group", "error"]
    within: str | Iterable[str]
    small_strata: Literal["error", "merge", "drop"]
    weights: str | None
    weight_digits: int | None
    entity: str | None
    household: str | None
    attribute_weights: Mapping[str, float]
    decimals: int | Mapping[str, int] | None
    diversity: Mapping[str, Any]
    closeness: Mapping[str, float]
    dominance: Mapping[str, float]
    aggregate: str
    distance: float | str | Mapping[str, float | str]
    importance: float | str | Mapping[str, float | str]
    alpha: float
    solution: Literal["global", "local", "random"]
    relative: bool
    keep_metadata: str | Iterable[str]
    row_order: Literal["shuffled", "kept"]
    reading: Mapping[str, Any] | Reading


def describe_settings(*, without: Container[str] = ()) -> Callable[[Function], Function]:
    """Name every setting in the signature and the docstring of a function with `**settings`."""
    named = {name: each for name, each in Recipe.model_fields.items() if name not in without}

    def describe(function: Function) -> Function:
        signature, types = inspect.signature(function), get_type_hints(Settings)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        settings = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if each.is_required() else each.default,
                annotation=types[name],
            )
            for name, each in named.items()
        ]
        described: Any = function
        described.__signature__ = signature.replace(parameters=[*own, *settings])
        described.__doc__ = f"{inspect.getdoc(function)}\n\n{_described(named)}"
        return function

    return describe


def _described(fields: Mapping[str, FieldInfo]) -> str:
    return "\n".join(f"{name}: {field.description}" for name, field in fields.items())


Recipe.__doc__ = f"{inspect.getdoc(Recipe)}\n\n{_described(Recipe.model_fields)}"


def _check_demands(recipe: Recipe) -> None:
    """Columns that something is demanded of are confidential, if nobody says so."""
    if recipe.k == 1 and not recipe.demands:
        raise OptionError("k is 1, so every record would be published as it is; say k=2 or more")
    for setting in ("diversity", "closeness"):
        for name in getattr(recipe, setting):
            for role, why in (
                ("quasi_identifiers", "and is replaced"),
                ("identifiers", "and is dropped"),
                ("within", "of which every record that looks alike has the same value"),
            ):
                if name in getattr(recipe, role):
                    raise OptionError(
                        f"{setting} names {name!r}, which stands in {role} {why}; demands are for "
                        "confidential columns, which are kept as they are"
                    )
    confidential = tuple(dict.fromkeys([*recipe.confidential, *recipe.demanded]))
    if recipe.demanded and len(set(recipe.confidential)) == len(recipe.confidential):
        recipe.__dict__["confidential"] = confidential


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
    for setting, kept, role, done in (
        ("within", recipe.within, "quasi_identifiers", "replaced"),
        ("weights", (recipe.weights,), "quasi_identifiers", "replaced"),
        ("within", recipe.within, "identifiers", "dropped"),
    ):
        for name in kept:
            if name is not None and role_of.get(name) == role:
                raise OptionError(
                    f"column {name!r} stands in {role} and in {setting}; a column of {setting} is "
                    f"kept as it is, so it cannot be {done}"
                )
    for name in recipe.within if recipe.small_strata == "merge" else ():
        if role_of.get(name) == "confidential":
            raise OptionError(
                f"column {name!r} stands in confidential and in within, and small strata are to be "
                'merged, which replaces values of within; say small_strata="drop", or name it once'
            )
    for setting in ("entity", "household"):
        if getattr(recipe, setting) in recipe.quasi_identifiers:
            raise OptionError(
                f"column {getattr(recipe, setting)!r} is the {setting} and cannot be a "
                "quasi-identifier too"
            )
    if recipe.entity is not None and recipe.household is not None:
        raise OptionError(
            "entity and household are both given, but k counts one thing: entity keeps the rows of "
            "a person together, household lets its members keep their own values; give one"
        )


def _check_named(recipe: Recipe) -> None:
    named_by = ("kinds", "orders", "attribute_weights", "decimals", "dominance", "distance")
    for setting in (*named_by, "importance"):
        named = getattr(recipe, setting)
        # Kinds also say which confidential columns have an order.
        secret = recipe.confidential if setting in ("kinds", "orders") else ()
        for name in named if isinstance(named, dict) else ():
            if name not in (*recipe.quasi_identifiers, *secret):
                near = difflib.get_close_matches(name, recipe.quasi_identifiers, n=1)
                hint = f"did you mean {near[0]!r}?" if near else "add it there or leave it out"
                raise OptionError(
                    f"{setting} names {name!r}, which is not among quasi_identifiers; {hint}"
                )
