"""What pages say of figures, in words."""

from collections.abc import Sequence
from typing import Any

from microagg.actions.pages import number, percent
from microagg.app.state import Run, State


def k_sentence(k: int, units: str = "records") -> str:
    """What a k means."""
    one = {"records": "record", "entities": "person", "households": "household"}[units]
    others = "one other" if k == 2 else f"at least {number(k - 1)} others"
    return (
        f"Every {one} looks like {others}: whoever searches for somebody by the quasi-identifiers "
        f"finds {number(k)} and is right once in {number(k)} guesses ({percent(100 / k)})."
    )


def alone_sentence(state: State) -> str:
    """How many stand out, if that is known."""
    alone, ready = state.alone_now(), state.ready
    names = state.draft.named("quasi-identifier")
    if ready is None or ready.look is None:
        return ""
    if not names:
        return "No column is a quasi-identifier yet."
    if alone is None:
        return ""
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    rows = ready.look.rows
    share = f" ({percent(100 * alone / rows)})" if rows else ""
    verb = "is" if alone == 1 else "are"
    return f"{number(alone)} of {number(rows)} records{share} {verb} alone with their {listed}."


def side_by_side(pair: Sequence[Run]) -> list[tuple[str, list[str]]]:
    """Two runs, line by line; settings only where they differ."""
    if not pair:
        return []
    rows = [
        ("k asked, found", [f"{run.k['asked']}, {run.k['found']}" for run in pair]),
        ("demands beyond k", [run.demands or "none" for run in pair]),
        ("information loss", [percent(run.made["loss"]) for run in pair]),
        ("expected linkage", [percent(run.risk) for run in pair]),
        ("groups", [number(run.made["certificate"]["groups"]["count"]) for run in pair]),
        ("seconds", [number(run.made["seconds"], 1) for run in pair]),
    ]
    losses = [run.made["certificate"]["information_loss"]["attributes"] for run in pair]
    names = dict.fromkeys(name for each in losses for name in each)
    rows += [(f"loss of {name}", [percent(each.get(name)) for each in losses]) for name in names]
    settings = [run.recipe.to_dict() for run in pair]
    for name in dict.fromkeys(name for each in settings for name in each):
        values = [each.get(name, "as usual") for each in settings]
        if name != "k" and any(value != values[0] for value in values):
            rows.append((name.replace("_", " "), [_plain(value) for value in values]))
    return rows


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_plain(each)}" for name, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def size(count: float) -> str:
    """Bytes, in the unit that suits them."""
    for unit, one in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= one:
            return f"{number(count / one, 0 if count % one == 0 else 1)} {unit}"
    return f"{number(int(count))} bytes"
