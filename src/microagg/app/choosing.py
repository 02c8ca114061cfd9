"""What somebody chooses: the roles of columns, and what the release shall promise."""

from typing import Any

from starlette.datastructures import FormData

from microagg.app import screens
from microagg.app.desk import Desk
from microagg.app.state import BY_COLUMN, OF_COLUMNS, ROLES, SETTINGS
from microagg.app.wording import alone_sentence
from microagg.base.errors import MicroaggError, OptionError


def save_roles(desk: Desk, form: FormData) -> str:
    """What each column is."""
    with desk.changing:
        desk.table(form)
        draft = desk.state.draft
        names = list(draft.roles)
        for place, name in enumerate(names):
            role = str(form.get(f"role:{place}", draft.roles[name]))
            if role not in ROLES:
                raise OptionError(f"there is no role {role!r:.40}; there are {', '.join(ROLES)}")
            draft.roles[name] = role
            for kept, key in ((draft.kinds, "kind"), (draft.orders, "order")):
                kept[name] = str(form.get(f"{key}:{place}", kept.get(name, ""))).strip()
        draft.weights = _named(names, form.get("weights", ""))
        draft.entity = _named(names, form.get("entity", ""))
        draft.household = _named(names, form.get("household", ""))
        draft.within = [_named(names, each) for each in form.getlist("within")]
    return "/roles" if not form.get("next") else "/promise"


def told_of_roles(desk: Desk) -> dict[str, Any]:
    """How many are alone, and whether the roles fit together."""
    sentence = count_alone(desk)
    problem = ""
    try:
        desk.state.recipe()
    except MicroaggError as failure:
        problem = str(failure)
    return {"alone": sentence, "problem": problem}


def count_alone(desk: Desk) -> str:
    """The sentence about records that stand out, counted if need be."""
    table, names = desk.state.ready, tuple(desk.state.draft.named("quasi-identifier"))
    if table is not None and names and desk.state.alone_now() is None:
        asked = {"address": table.address, "reading": table.reading, "names": list(names)}
        desk.state.alone[table.number, names] = desk.holder.call("alone", asked)
    return alone_sentence(desk.state)


def save_promise(desk: Desk, form: FormData) -> str:
    """What the release shall keep."""
    with desk.changing:
        desk.table(form)
        draft = desk.state.draft
        names = list(draft.roles)
        for key, text in form.items():
            name, _, place = key.partition(":")
            plain = name in SETTINGS and name not in OF_COLUMNS and not place
            if (plain and SETTINGS[name].setting != "reading") or key == "format":
                draft.entries[key] = str(text)
            elif name in BY_COLUMN and place.isdecimal() and int(place) < len(names):
                draft.entries[f"{name}:{names[int(place)]}"] = str(text)
        for name, setting in SETTINGS.items():
            # A box that is not ticked is not sent.
            is_box = setting.plain_type is bool and not setting.spelled.parse
            if is_box and name not in form and form.get("all"):
                draft.entries[name] = ""
    return "/promise"


def told_of_promise(desk: Desk) -> dict[str, Any]:
    """The command, the recipe, or why there is none."""
    return screens.said(desk.state, desk.written)


def _named(names: list[str], place: Any) -> str:
    """The column that a form means by its place."""
    text = str(place)
    return names[int(text)] if text.isdecimal() and int(text) < len(names) else ""
