"""Options that several commands have: those of the recipe's settings are made from its fields."""

import inspect
import re
from collections.abc import Callable, Container, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from microagg.base.errors import OptionError
from microagg.base.settings import Setting, setting_options
from microagg.base.texts import command, listed

Command = Callable[..., None]
# What commands are told besides the settings of a recipe, and values as they are written here.
_OF_COMMANDS = {
    "largest",
    "engine",
    "memory",
    "work",
    "resume",
    "master",
    "simulate",
    "accept",
    "bounds",
    "attacks",
    "also_record",
    "targets",
}
_FORMS = {"[...]": "low<middle<high", "(low, high)": "low:high"}

Source = Annotated[
    str,
    typer.Argument(
        help="A file (CSV, Parquet, Arrow, JSON lines, Excel, SPSS, Stata, SAS), a folder of "
        "Parquet files, the URL of a database table "
        "(sqlite:///survey.db#people), or - for standard input.",
        show_default=False,
    ),
]
RecipeFile = Annotated[
    str | None,
    typer.Option("--recipe", help="A TOML file with settings; options go before them."),
]
Memory = Annotated[
    str | None, typer.Option(help="How much memory may be used, such as 4GB; else what is free.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Say the result as JSON, for scripts.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Show no progress, and say nothing of what went well.")
]
Certificate = Annotated[
    Path | None,
    typer.Option(
        help="Where the certificate goes, x.certificate.json, and the record, x.record.json beside "
        "it; else beside the file. A database table has its certificate in a table beside it too, "
        "TABLE_certificate; standard output has none without it."
    ),
]
Report = Annotated[
    Path | None, typer.Option("-r", "--report", help="Where the report goes, an HTML file.")
]


def require_output(output: str | None, json: bool) -> str:
    """Where the release goes; JSON must not go there too."""
    if output is None:
        raise OptionError("-o says where the release goes, for example -o release.csv")
    if json and output == "-":
        raise OptionError("--json and -o - both want standard output; write the release to a file")
    return output


def with_settings(*only: str, without: Container[str] = ()) -> Callable[[Command], Command]:
    """Give a command the options of the recipe's settings, where it has the parameter `settings`.

    It is called with those that somebody gave, as `Recipe` takes them. only: not all settings, but
    these.
    """
    wanted = [
        option
        for option in setting_options()
        if option.setting not in without and (not only or option.setting in only)
    ]

    def give(command: Command) -> Command:
        signature = inspect.signature(command)
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            if parameter.name == "settings":
                parameters += [_parameter(option) for option in wanted]
            else:
                parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY))

        @wraps(command)
        def call(**given: Any) -> None:
            settings: dict[str, Any] = {}
            for option in wanted:
                _put(option, given.pop(option.name), settings)
            command(**given, settings=settings)

        called: Any = call
        called.__signature__ = signature.replace(parameters=parameters)
        return called

    return give


def _parameter(option: Setting) -> inspect.Parameter:
    """As Typer wants it."""
    given = list[str] if option.spelled.parse else option.plain_type
    written = [name for name in (option.spelled.flag, option.option) if name]
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[given | None, typer.Option(*written, help=option.field.description)],
    )


def _put(option: Setting, given: Any, settings: dict[str, Any]) -> None:
    """Among the settings, if somebody gave it."""
    if given is not None:
        option.put(option.parse(given) if option.spelled.parse else given, settings)


def reading_words(reading: Mapping[str, Any]) -> list[str]:
    """The options that say again how a table is read."""
    words = []
    for name, value in reading.items():
        for each in value if isinstance(value, list) else [value]:
            words += [f"--{name.replace('_', '-')}", str(each)]
    return words


def noted(note: str) -> str:
    """A note of the library, as a line on the command line."""
    return f"Note: {in_options(note)}"


def in_options(sentence: str) -> str:
    """A sentence of the library in the words of the command line, quotations left as they are.

    Settings are given there as small_strata="merge" or kinds={'born': 'date'}, here as options.
    """
    names = "|".join({option.name for option in setting_options()} | _OF_COMMANDS)
    lists = "quasi_identifiers|confidential|identifiers|within|missing_values"
    spoken = re.compile(
        rf"(?P<quoted>(?<!=)(?<!\w)'[^']*')"
        rf"|\b(?:{names}|force) \((?P<both>--[a-z-]+)\)"
        rf"|(?:reading\.)?\b(?P<one>{names})=(?P<value>'[^']*'|\"[^\"]*\"|\w+)"
        rf"|\b(?P<each>{names})=\{{(?P<column>'[^']*'|\"[^\"]*\"): (?P<form>[^}}]*)\}}"
        rf"|^(?:reading\.)?(?P<first>{names})(?=: | must be given| names )"
        rf"|(?:(?<=of )|(?<=in )|(?<=among )|(?<=\())(?P<name>{lists})\b"
    )

    def say(match: re.Match[str]) -> str:
        if match["both"]:
            return match["both"]
        named = match["one"] or match["each"] or match["first"] or match["name"]
        if named is None:
            return match[0]
        option = f"-{named}" if named == "k" else f"--{named.replace('_', '-')}"
        if match["one"]:
            value = match["value"].strip("'\"")
            return option if value == "True" else f"{option} {value}"
        if match["each"]:
            form = _FORMS.get(match["form"], match["form"].strip("'"))
            column = listed([match["column"][1:-1]])
            return f"{option} {command(f'{column}={form}')}"
        return option

    return spoken.sub(say, sentence)
