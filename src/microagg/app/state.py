"""What the app knows: the table, what is to be done with it, what was made. Tabs share it."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

from microagg.base.errors import OptionError
from microagg.base.recipe import Recipe
from microagg.base.settings import Setting, demands_of, setting_options, words_of
from microagg.base.texts import command, listed

ROLES = ("identifier", "quasi-identifier", "confidential", "keep")
# Settings that say what columns are, which the second screen asks for.
OF_COLUMNS = (
    "quasi_identifiers",
    "confidential",
    "identifiers",
    "kinds",
    "orders",
    "within",
    "weights",
    "entity",
    "household",
)
# Settings by column, and whose columns they are about.
BY_COLUMN: dict[str, str] = {"diversity": "confidential", "closeness": "confidential"}
# How no demand is written among several that are compared.
NO_DEMAND = "none"
SETTINGS = {each.name: each for each in setting_options()}


@dataclass(frozen=True)
class Column:
    """A column of a table that was looked at.

    role, reason: what it might be, and why. bars: how many records have its values, the largest 1.
    """

    name: str
    kind: str
    distinct: int
    missing: int
    role: str
    reason: str
    bars: tuple[float, ...] = ()


@dataclass(frozen=True)
class Look:
    """What was seen of a table; see `microagg.actions.look`, which is heavier to load."""

    rows: int
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    kinds: dict[str, str]
    head: tuple[tuple[str | None, ...], ...]
    layout: dict[str, str]
    share: float = 1.0


@dataclass
class Table:
    """A table that was opened.

    number: tells it from those before, so that a form of another table does nothing. how: path,
    upload, demo or database. look: None until it was looked at. reading: as it was given.
    """

    number: int
    address: str
    name: str
    how: str
    look: Look | None = None
    reading: dict[str, Any] = field(default_factory=dict)


@dataclass
class Draft:
    """What is to be done with a table, as far as it was said, in the words it was said in.

    entries: settings as they were typed, those by column as setting:column.
    """

    roles: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    orders: dict[str, str] = field(default_factory=dict)
    within: list[str] = field(default_factory=list)
    weights: str = ""
    entity: str = ""
    household: str = ""
    entries: dict[str, str] = field(default_factory=dict)

    @classmethod
    def suggested(cls, look: Look) -> "Draft":
        """As the table itself suggests."""
        roles = {
            column.name: column.role if column.role in ROLES else "keep" for column in look.columns
        }
        weights = [column.name for column in look.columns if column.role == "weights"]
        return cls(roles=roles, kinds=dict(look.kinds), weights=next(iter(weights), ""))

    def named(self, role: str) -> list[str]:
        """The columns of a role, in the order of the table."""
        return [name for name, given in self.roles.items() if given == role]

    def recipe(self, reading: dict[str, Any]) -> Recipe:
        """What all of it comes to; an OptionError where it does not fit together."""
        quasi, secret = self.named("quasi-identifier"), self.named("confidential")
        if not quasi:
            raise OptionError(
                "no column is a quasi-identifier yet: say on the page Roles which columns others "
                "may know, for these are protected"
            )
        told = [*quasi, *secret]
        settings: dict[str, Any] = {
            "quasi_identifiers": quasi,
            "confidential": secret,
            "identifiers": self.named("identifier"),
            "kinds": {name: kind for name, kind in self.kinds.items() if kind and name in told},
            "within": [name for name in self.within if name not in quasi],
            "weights": self.weights or None,
            "entity": self.entity or None,
            "household": self.household or None,
            "reading": reading,
        }
        ordinal = {name: text for name, text in self.orders.items() if text and name in told}
        settings["orders"] = {
            name: [each.strip() for each in text.split("<")] for name, text in ordinal.items()
        }
        for name, text in self._texts(self.entries).items():
            SETTINGS[name].put(SETTINGS[name].parse(text), settings)
        return Recipe(**{name: value for name, value in settings.items() if value not in ({}, [])})

    def demands(
        self, tried: Mapping[str, Sequence[str]]
    ) -> dict[str, tuple[dict[str, Any], dict[str, str]]]:
        """Every set of demands that these make, as settings and as entries, by what it is called.

        tried: texts by setting:column, NO_DEMAND for none.
        """
        dominance = self._texts(self.entries).get("dominance")
        found = {}
        for texts in product(*tried.values()):
            entries = {
                key: text for key, text in zip(tried, texts, strict=True) if text != NO_DEMAND
            }
            settings: dict[str, Any] = {}
            given = self._texts(entries) | ({"dominance": dominance} if dominance else {})
            for name, lines in given.items():
                SETTINGS[name].put(SETTINGS[name].parse(lines), settings)
            found[demands_of(Recipe(**settings, **self._columns()))] = settings, entries
        return found if tried else {}

    def _columns(self) -> dict[str, Any]:
        return {
            "quasi_identifiers": self.named("quasi-identifier"),
            "confidential": self.named("confidential"),
        }

    def _texts(self, entries: Mapping[str, str]) -> dict[str, list[str]]:
        """What was typed for each setting, as it would be given on the command line."""
        found: dict[str, list[str]] = {}
        for key, text in entries.items():
            name, _, column = key.partition(":")
            if name not in SETTINGS or not text.strip():
                continue
            if column:
                if self.roles.get(column) == BY_COLUMN.get(name):
                    found.setdefault(name, []).append(f"{listed([column])}={text.strip()}")
            else:
                found[name] = [line for line in text.splitlines() if line.strip()]
        return found


@dataclass
class Run:
    """A release that was made, and never changes; other formats of it may be added.

    made: what `microagg.actions.present` tells of it.
    """

    number: int
    name: str
    table: Table
    recipe: Recipe
    made: dict[str, Any]
    folder: str
    when: float = field(default_factory=time.time)
    formats: dict[str, str] = field(default_factory=dict)

    @property
    def k(self) -> dict[str, Any]:
        """Asked for and found."""
        found: dict[str, Any] = self.made["certificate"]["k"]
        return found

    @property
    def demands(self) -> str:
        """What is promised beyond k."""
        said = [demand.sentence for demand in self.recipe.demands]
        if self.recipe.dominance:
            said.append(
                f"dominance {', '.join(SETTINGS['dominance'].texts(self.recipe.dominance))}"
            )
        return "; ".join(said)

    @property
    def risk(self) -> float | None:
        """Percent of records that an intruder with the originals is expected to link."""
        found = self.made["figures"].get("expected_linkage")
        return found if isinstance(found, float) else None


class Outcome(NamedTuple):
    """What came of a side entrance: a private release, a judgement."""

    asked: dict[str, Any]
    found: dict[str, Any]


@dataclass
class State:
    """Everything, for one person; tabs share it."""

    table: Table | None = None
    draft: Draft = field(default_factory=Draft)
    runs: list[Run] = field(default_factory=list)
    alone: dict[tuple[int, tuple[str, ...]], int] = field(default_factory=dict)
    risk: Outcome | None = None
    comparison: Outcome | None = None
    comparing: dict[str, Any] = field(default_factory=dict)
    private: Outcome | None = None
    assessment: Outcome | None = None
    problem: str = ""
    problem_page: str = ""
    tables: int = 0

    @property
    def ready(self) -> Table | None:
        """The table, once it was looked at."""
        return self.table if self.table is not None and self.table.look is not None else None

    def recipe(self) -> Recipe:
        """The recipe as it stands."""
        if self.ready is None:
            raise OptionError("no table is open yet")
        return self.draft.recipe(self.ready.reading)

    def alone_now(self) -> int | None:
        """How many records are alone with their quasi-identifiers, if that was counted."""
        if self.ready is None:
            return None
        return self.alone.get((self.ready.number, tuple(self.draft.named("quasi-identifier"))))


def command_line(recipe: Recipe, source: str, output: str, record: str | None = None) -> str:
    """The command that does the same."""
    words = words_of(recipe)
    words = ["--recipe", "recipe.toml"] if words is None else words
    again = [] if record is None else ["--record", record]
    return command("microagg", "protect", source, *words, "-o", output, *again)


def python_script(recipe: Recipe, source: str, output: str) -> str:
    """A script that does the same."""
    settings = recipe.model_dump(mode="json", exclude_defaults=True)
    lines = [f"    {name}={value!r}," for name, value in {"k": recipe.k, **settings}.items()]
    return "\n".join(
        [
            '"""Protects a table; made by microagg."""',
            "",
            "import microagg",
            "",
            "release = microagg.protect(",
            f"    {source!r},",
            *lines,
            ")",
            f"release.write({output!r})",
            'release.report("report.html")',
            'release.report("report-public.html", public=True)',
            "print(release.certificate)",
            "",
        ]
    )


def typed(settings: Iterable[Setting], given: dict[str, str]) -> dict[str, Any]:
    """The values of settings that a form gives as text; empty ones are left out."""
    return {
        each.name: each.parse(given[each.name].splitlines())
        for each in settings
        if given.get(each.name, "").strip()
    }
