"""Every screen as a pure function of the state: what a page says, and the page."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from microagg.actions.pages import number, percent
from microagg.app.chooser import Entry
from microagg.app.jobs import Job
from microagg.app.state import (
    BY_COLUMN,
    NO_DEMAND,
    OF_COLUMNS,
    ROLES,
    SETTINGS,
    Run,
    State,
    command_line,
    python_script,
)
from microagg.app.wording import alone_sentence, k_sentence, side_by_side, size
from microagg.base.errors import MicroaggError
from microagg.base.files import suffix_of
from microagg.base.recipe import Recipe
from microagg.base.settings import Setting

if TYPE_CHECKING:
    from jinja2 import Environment

# The steps in their order: page, name, and what it is for.
STEPS = (
    ("table", "Table"),
    ("roles", "Roles"),
    ("risk", "Risk now"),
    ("promise", "Promise"),
    ("compare", "Compare"),
    ("result", "Result"),
    ("takeaway", "Take away"),
)
KINDS = ("continuous", "integer", "ordinal", "nominal", "boolean", "date")
# Settings that the page asks for first; the rest is folded away.
_FIRST = ("aggregate", "row_order", "decimals")
_LABELS = {
    "aggregate": "What groups publish",
    "row_order": "Order of the rows",
    "decimals": "Decimals of means",
    "options": "Options of the method",
    "method": "Grouping method",
    "attribute_weights": "Weights of columns",
    "diversity": "Diversity",
    "closeness": "Closeness",
}
_AGGREGATES = ("mean", "proximity")
# What HTML forbids, which cells may well contain.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Around:
    """What every page needs besides the state.

    token: of forms. jobs: all there were. methods: those that group, with what each does; written:
    suffixes of files that can be written. largest: bytes that may be uploaded.
    """

    token: str
    jobs: Sequence[Job]
    methods: Sequence[dict[str, Any]]
    written: Sequence[str]
    largest: int
    place: str


@dataclass(frozen=True)
class Field:
    """A setting as a form shows it."""

    setting: Setting
    text: str
    key: str
    label: str
    choices: tuple[str, ...] = ()

    @property
    def default(self) -> str:
        """What holds if nothing is said."""
        default = self.setting.field.default
        if default in (None, (), {}) or self.setting.field.is_required():
            return ""
        return ", ".join(self.setting.texts(default))

    @property
    def lines(self) -> bool:
        """Whether it takes several lines."""
        return self.setting.name in ("options", "orders", "missing_values")


def render(page: str, state: State, around: Around, template: str = "", **told: Any) -> str:
    """The page; template: its own is named like it."""
    shown = [job for job in around.jobs if job.under_way]
    last = around.jobs[-1] if around.jobs else None
    if last is not None and last.came_to_nothing:
        own = template == "wait" or last.page.removeprefix("/").partition("/")[0] == page
        first = last.page == "/" and page == "table"
        shown += [last] if own or first or last.is_news else []
    recipe, problem = _recipe(state)
    text = (
        _environment()
        .get_template(f"{template or page}.html")
        .render(
            page=page,
            state=state,
            around=around,
            jobs=shown,
            steps=[
                (each, name, _reachable(each, state) or f"/{each}" in [job.page for job in shown])
                for each, name in STEPS
            ],
            recipe=recipe,
            unfit=problem,
            problem=state.problem if state.problem_page in ("", page) else "",
            alone=alone_sentence(state),
            **told,
        )
    )
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text.encode("utf-8", "replace").decode())


def table(state: State, around: Around, entries: Sequence[Entry], folder: str) -> str:
    """First screen: which table. folder: whose entries are shown, "." if that was asked for."""
    opening, folder = bool(folder), "" if folder == "." else folder
    parts = [part for part in folder.split("/") if part]
    trail = [(part, "/".join(parts[: place + 1])) for place, part in enumerate(parts)]
    reading = [each for each in SETTINGS.values() if each.setting == "reading"]
    given = {} if state.table is None else state.table.reading
    fields = [
        Field(
            each,
            "\n".join(each.texts(given[each.name])) if each.name in given else "",
            each.name,
            each.name.replace("_", " "),
            each.choices,
        )
        for each in reading
    ]
    return render(
        "table",
        state,
        around,
        entries=entries,
        folder=folder,
        opening=opening,
        trail=trail,
        reading=fields,
    )


def waiting(state: State, around: Around, page: str) -> str:
    """A screen that wants a table which is still being read."""
    return render(page, state, around, template="wait", name=dict(STEPS)[page])


def roles(state: State, around: Around) -> str:
    """Second screen: what each column is."""
    return render("roles", state, around, roles=ROLES, kinds=KINDS)


def risk(state: State, around: Around) -> str:
    """Third screen: how risky the table is as it stands."""
    found = state.risk
    stale = found is not None and found.asked != risk_arguments(state)
    return render("risk", state, around, found=found and found.found, stale=stale)


def promise(state: State, around: Around) -> str:
    """Fourth screen: what the release shall keep."""
    by_column = [
        (SETTINGS[name], [_by_column(state, name, column) for column in state.draft.named(role)])
        for name, role in BY_COLUMN.items()
    ]
    others = [
        name
        for name, setting in SETTINGS.items()
        if name not in ("k", *OF_COLUMNS, *BY_COLUMN, *_FIRST) and setting.setting != "reading"
    ]
    return render(
        "promise",
        state,
        around,
        by_column=by_column,
        first=[_field(state, around, name) for name in _FIRST],
        more=[_field(state, around, name) for name in others],
        k=state.draft.entries.get("k", "") or str(Recipe.model_fields["k"].default),
        said=said(state, around.written),
        suffix=release_suffix(state, around.written),
    )


def compare(state: State, around: Around, chosen: int | None) -> str:
    """Fifth screen: risk against loss."""
    found = state.comparison and state.comparison.found
    choice = None
    if found is not None and chosen is not None and 0 <= chosen < len(found["choices"]):
        choice = found["choices"][chosen]
    typed = state.comparing
    tried = [
        (
            SETTINGS[name],
            [
                _tried(state, typed.get("tried", {}), name, column)
                for column in state.draft.named(role)
            ],
        )
        for name, role in BY_COLUMN.items()
    ]
    return render(
        "compare",
        state,
        around,
        found=found,
        stale=state.comparison is not None and state.comparison.asked["table"] != state.tables,
        choice=choice,
        chosen=chosen,
        ks=typed.get("ks", "3, 5, 10, 20"),
        methods=typed.get("methods", ("auto", "mdav", "tsp")),
        tried=tried,
    )


def result(state: State, around: Around, run: Run | None, pair: Sequence[Run]) -> str:
    """Sixth screen: the verdict, the report, and all that was made before."""
    return render("result", state, around, run=run, pair=pair, rows=side_by_side(pair))


def takeaway(state: State, around: Around, run: Run | None) -> str:
    """Last screen: files."""
    script = again = suffix = ""
    if run is not None:
        suffix = suffix_of(run.made["files"]["release"])
        script, output = takeaway_script(run), f"release{suffix}"
        again = command_line(run.recipe, run.table.name, output, f"{output}.record.json")
    return render("takeaway", state, around, run=run, script=script, again=again, suffix=suffix)


def takeaway_script(run: Run) -> str:
    """The script that makes a release again."""
    output = f"release{suffix_of(run.made['files']['release'])}"
    return python_script(run.recipe, run.table.name, output)


def private(state: State, around: Around, given: dict[str, str]) -> str:
    """A side entrance: differential privacy."""
    found = state.private and state.private.found
    return render("private", state, around, given=given, found=found)


def assess(state: State, around: Around) -> str:
    """A side entrance: somebody else's release."""
    return render("assess", state, around, found=state.assessment and state.assessment.found)


def said(state: State, written: Sequence[str]) -> dict[str, str]:
    """What stands beside the promise: the command and the recipe, or why there is none."""
    recipe, problem = _recipe(state)
    if recipe is None or state.ready is None:
        return {"problem": problem, "command": "", "recipe": "", "k": "", "now": "not yet"}
    output = f"release{release_suffix(state, written)}"
    return {
        "problem": "",
        "command": command_line(recipe, state.ready.name, output),
        "recipe": recipe.to_toml(),
        "k": k_sentence(recipe.k, recipe.units),
        "now": f"k = {recipe.k}",
    }


def risk_arguments(state: State) -> dict[str, Any]:
    """What the risk of the table as it stands is asked by."""
    assert state.ready is not None
    draft = state.draft
    known = {"weights": draft.weights or None, "household": draft.household or None}
    return {
        "address": state.ready.address,
        "reading": dict(state.ready.reading),
        "keys": draft.named("quasi-identifier"),
        **{name: value for name, value in known.items() if value},
    }


def release_suffix(state: State, written: Sequence[str]) -> str:
    """The format of the release: what was asked for, or that of the table."""
    asked = state.draft.entries.get("format", "")
    own = "" if state.ready is None else suffix_of(state.ready.address).lower()
    return next((each for each in (asked, own) if each in written), ".csv")


def _recipe(state: State) -> tuple[Recipe | None, str]:
    if state.ready is None:
        return None, ""
    try:
        return state.recipe(), ""
    except MicroaggError as problem:
        return None, str(problem)


def _reachable(step: str, state: State) -> bool:
    if step == "table":
        return True
    if step in ("result", "takeaway"):
        return bool(state.runs)
    return state.ready is not None


def _field(state: State, around: Around, name: str) -> Field:
    setting = SETTINGS[name]
    choices = setting.choices
    if name == "method":
        choices = tuple(method["name"] for method in around.methods)
    elif name == "aggregate":
        choices = _AGGREGATES
    label = _LABELS.get(name, name.replace("_", " ").capitalize())
    return Field(setting, state.draft.entries.get(name, ""), name, label, choices)


def _by_column(state: State, name: str, column: str) -> Field:
    place = list(state.draft.roles).index(column)
    text = state.draft.entries.get(f"{name}:{column}", "")
    return Field(SETTINGS[name], text, f"{name}:{place}", column)


def _tried(state: State, asked: dict[str, list[str]], name: str, column: str) -> Field:
    """Several demands on a column, to be compared: at first none, and that of the promise."""
    field, key = _by_column(state, name, column), f"{name}:{column}"
    first = f"{NO_DEMAND}, {field.text}" if field.text else ""
    return replace(field, text=", ".join(asked[key]) if key in asked else first)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("microagg.app"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, percent=percent, size=size)
    return environment
