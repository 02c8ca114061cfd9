"""Options that several commands have: those of the recipe's settings are made from its fields."""

import inspect
import re
from collections.abc import Callable, Container, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args

import typer
from pydantic.fields import FieldInfo

from microagg.base.errors import OptionError
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.base.texts import Spelled, command, listed

Command = Callable[..., None]
# What commands are told besides the settings of a recipe, and values as they are written here.
_OF_COMMANDS = {"engine", "memory", "work", "resume", "master", "simulate", "accept", "bounds"}
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
AsJson = Annotated[bool, typer.Option("--json", help="Say the result as JSON, for scripts.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Show no progress, and say nothing of what went well.")
]
Certificate = Annotated[
    Path | None,
    typer.Option(
        help="Where the certificate goes, x.certificate.json, and the record, x.record.json beside "
        "it; else beside the file. A database or standard output has none without it."
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
                parameters += [option.parameter() for option in wanted]
            else:
                parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY))

        @wraps(command)
        def call(**given: Any) -> None:
            settings: dict[str, Any] = {}
            for option in wanted:
                option.put(given.pop(option.name), settings)
            command(**given, settings=settings)

        called: Any = call
        called.__signature__ = signature.replace(parameters=parameters)
        return called

    return give


class SettingOption(NamedTuple):
    """The option of a recipe's setting, or of one of the settings within it."""

    setting: str
    name: str
    field: FieldInfo

    @property
    def spelled(self) -> Spelled:
        return next((each for each in self.field.metadata if isinstance(each, Spelled)), Spelled())

    @property
    def option(self) -> str:
        """As it is written on the command line."""
        return f"--{(self.spelled.name or self.name).replace('_', '-')}"

    def parameter(self) -> inspect.Parameter:
        """As Typer wants it."""
        given = list[str] if self.spelled.parse else _plain_type(self.field.annotation)
        written = [name for name in (self.spelled.flag, self.option) if name]
        option = typer.Option(*written, help=self.field.description)
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[given | None, option],
        )

    def put(self, given: Any, settings: dict[str, Any]) -> None:
        """Among the settings, if somebody gave it."""
        if given is None:
            return
        parse = self.spelled.parse
        value = given if parse is None else parse(given, self.option)
        home = settings if self.setting == self.name else settings.setdefault(self.setting, {})
        home[self.name] = value


def setting_options() -> list[SettingOption]:
    """An option for every field of the recipe, and for every field of its `reading`."""
    return [
        option
        for setting, field in Recipe.model_fields.items()
        for option in (
            [SettingOption(setting, *each) for each in Reading.model_fields.items()]
            if field.annotation is Reading
            else [SettingOption(setting, setting, field)]
        )
    ]


def _plain_type(annotation: Any) -> type:
    """What one word on the command line is for a setting of this type, `None` put aside."""
    types = [each for each in get_args(annotation) or (annotation,) if each is not type(None)]
    return types[0] if types[0] in (bool, int, float) else str


def reading_words(reading: Mapping[str, Any]) -> list[str]:
    """The options that say again how a table is read."""
    words = []
    for name, value in reading.items():
        for each in value if isinstance(value, list) else [value]:
            words += [f"--{name.replace('_', '-')}", str(each)]
    return words


def in_options(sentence: str) -> str:
    """A sentence of the library in the words of the command line, quotations left as they are.

    Settings are given there as small_strata="merge" or kinds={'born': 'date'}, here as options.
    """
    names = "|".join({option.name for option in setting_options()} | _OF_COMMANDS)
    lists = "quasi_identifiers|confidential|identifiers|within|missing_values"
    spoken = re.compile(
        rf"(?P<quoted>(?<!=)(?<!\w)'[^']*')"
        rf"|(?:reading\.)?\b(?P<one>{names})=(?P<value>'[^']*'|\"[^\"]*\"|\w+)"
        rf"|\b(?P<each>{names})=\{{(?P<column>'[^']*'|\"[^\"]*\"): (?P<form>[^}}]*)\}}"
        rf"|^(?:reading\.)?(?P<first>{names})(?=: | must be given| names )"
        rf"|(?:(?<=of )|(?<=in )|(?<=among )|(?<=\())(?P<name>{lists})\b"
    )

    def say(match: re.Match[str]) -> str:
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
