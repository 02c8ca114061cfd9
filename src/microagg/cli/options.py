"""Options that several commands have, and how their texts become settings."""

import ast
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from microagg.base.errors import OptionError

Source = Annotated[
    str,
    typer.Argument(
        help="A file (CSV, Parquet, Arrow, Excel, SPSS, Stata, SAS), a folder of Parquet files, "
        "the URL of a database table "
        "(sqlite:///survey.db#people), or - for standard input.",
        show_default=False,
    ),
]
K = Annotated[
    int | None, typer.Option("-k", "--k", help="The least number of records that look alike.")
]
QuasiIdentifiers = Annotated[
    list[str] | None,
    typer.Option(
        "-q", "--quasi-identifiers", help="Columns others may know, with commas; replaced."
    ),
]
Confidential = Annotated[
    list[str] | None,
    typer.Option("-c", "--confidential", help="Columns kept as they are and reported on."),
]
Identifiers = Annotated[
    list[str] | None, typer.Option("-i", "--identifiers", help="Columns to drop.")
]
MethodName = Annotated[
    str | None, typer.Option("-m", "--method", help="How records are grouped: `microagg methods`.")
]
Seed = Annotated[int | None, typer.Option(help="The same seed gives the same release.")]
Effort = Annotated[
    str | None, typer.Option(help="How long auto and search look: quick, balanced or best.")
]
Refine = Annotated[
    float | None, typer.Option(help="Search on from the method's groups for so many seconds.")
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        help="How columns are treated, where their type does not say so: "
        "zip=nominal,grade=ordinal; continuous, integer, ordinal, nominal, boolean, date."
    ),
]
Orders = Annotated[
    list[str] | None,
    typer.Option(help="Categories of an ordinal column, lowest first: grade=low<middle<high."),
]
Missing = Annotated[
    str | None, typer.Option(help="Missing values: group (they may be alike) or error.")
]
Within = Annotated[list[str] | None, typer.Option(help="Columns that no group crosses.")]
SmallStrata = Annotated[
    str | None,
    typer.Option(help="Strata of fewer than k records: error, merge or drop."),
]
Weights = Annotated[str | None, typer.Option(help="The column of sampling weights.")]
Entity = Annotated[
    str | None, typer.Option(help="The column that says to whom a row belongs; k counts these.")
]
AttributeWeights = Annotated[
    list[str] | None, typer.Option(help="How much differences in a column count: income=2.")
]
Decimals = Annotated[
    list[str] | None,
    typer.Option(help="Round means of continuous columns: 2, or income=0,height=1."),
]
Aggregate = Annotated[
    str | None,
    typer.Option(help="What groups publish: mean, or proximity (numbers that keep a distance)."),
]
Distance = Annotated[
    list[str] | None,
    typer.Option(
        help="Proximity: how far from the originals, in deviations: a number, the column with "
        "everybody's own, or age=0.1,income=WISH."
    ),
]
Importance = Annotated[
    list[str] | None,
    typer.Option(help="Proximity: how dear it is to miss the distance, 0 to below 1; likewise."),
]
Alpha = Annotated[
    float | None,
    typer.Option(help="Proximity: weight of distances against nearness to the mean, 0 to 1."),
]
Solution = Annotated[str | None, typer.Option(help="Proximity: global or local.")]
Relative = Annotated[
    bool | None,
    typer.Option("--relative", help="Proximity: distances are shares of the value."),
]
Options = Annotated[
    list[str] | None, typer.Option("--option", help="An option of the method: name=value.")
]
RecipeFile = Annotated[
    str | None,
    typer.Option("--recipe", help="A TOML file with settings; options go before them."),
]
Delimiter = Annotated[str | None, typer.Option(help="Of a text file; found out otherwise.")]
Encoding = Annotated[str | None, typer.Option(help="Of a text file; found out otherwise.")]
Decimal = Annotated[str | None, typer.Option(help='"." or ","; found out otherwise.')]
MissingValues = Annotated[
    list[str] | None, typer.Option(help="Texts that mean missing, besides an empty field.")
]
Sheet = Annotated[str | None, typer.Option(help="The sheet of a workbook; else the first.")]
Query = Annotated[str | None, typer.Option(help="What to ask the database, instead of a table.")]
AsJson = Annotated[bool, typer.Option("--json", help="Say the result as JSON, for scripts.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


def names(given: Iterable[str] | None) -> list[str] | None:
    """Column names from options that may list several, with commas."""
    if given is None:
        return None
    return [name.strip() for text in given for name in text.split(",") if name.strip()]


def pairs(given: Iterable[str] | None, option: str) -> dict[str, str] | None:
    """name=value from options that may list several, with commas."""
    if given is None:
        return None
    found = {}
    for text in names(given) or ():
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise OptionError(f"--{option} takes name=value, but {text!r} arrived")
        found[name.strip()] = value.strip()
    return found


def numbers(given: dict[str, str] | None, option: str) -> dict[str, float] | None:
    """Pairs whose values are numbers."""
    if given is None:
        return None
    try:
        return {name: float(value) for name, value in given.items()}
    except ValueError:
        raise OptionError(f"--{option} takes name=number") from None


def decimals(given: Iterable[str] | None) -> int | dict[str, int] | None:
    """One number of places for all columns, or one a column."""
    texts = names(given)
    if texts is None:
        return None
    try:
        if len(texts) == 1 and "=" not in texts[0]:
            return int(texts[0])
        return {name: int(value) for name, value in (pairs(texts, "decimals") or {}).items()}
    except ValueError:
        raise OptionError("--decimals takes a number of places, or name=places") from None


def preference(given: Iterable[str] | None, option: str) -> Any:
    """One number or column for all quasi-identifiers, or one of these each."""
    texts = names(given)
    if texts is None:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return _number_or_text(texts[0])
    return {name: _number_or_text(value) for name, value in (pairs(texts, option) or {}).items()}


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def orders(given: Iterable[str] | None) -> dict[str, list[str]] | None:
    """name=low<middle<high, one column an option; categories may hold commas."""
    if given is None:
        return None
    found = {}
    for text in given:
        name, equals, categories = text.partition("=")
        if not equals or "<" not in categories:
            raise OptionError(f"--orders takes name=low<middle<high, but {text!r} arrived")
        found[name.strip()] = [category.strip() for category in categories.split("<")]
    return found


def method_options(given: Iterable[str] | None) -> dict[str, Any] | None:
    """name=value, where a value may be a number, true, false or text."""
    if given is None:
        return None
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise OptionError(f"--option takes name=value, but {text!r} arrived")
        try:
            found[name.strip()] = ast.literal_eval(value.strip().capitalize())
        except (ValueError, SyntaxError):
            found[name.strip()] = value.strip()
    return found


def only_given(**settings: Any) -> dict[str, Any]:
    """The settings that somebody gave."""
    return {name: value for name, value in settings.items() if value is not None}


@contextmanager
def library_prints_to_stderr() -> Iterator[None]:
    """Keep standard output for results: a solver beneath prints there what it should not."""
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:
        yield
        return
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def say_json(result: Any) -> None:
    """Print a result for scripts, in letters that every terminal and pipe lets through."""
    print(json.dumps(_finite(result), indent=2, allow_nan=False))


def _finite(result: Any) -> Any:
    """JSON has no NaN and no infinity."""
    if isinstance(result, dict):
        return {name: _finite(value) for name, value in result.items()}
    if isinstance(result, list | tuple):
        return [_finite(value) for value in result]
    if isinstance(result, float) and not math.isfinite(result):
        return None
    return result
