"""What is made in the background: risk, releases, comparisons, judgements."""

from pathlib import Path
from typing import Any

from starlette.datastructures import FormData

from microagg.app import screens
from microagg.app.choosing import save_promise, save_roles
from microagg.app.desk import Desk
from microagg.app.state import BY_COLUMN, Outcome, Run
from microagg.base import texts
from microagg.base.errors import OptionError
from microagg.base.texts import listed

# Ways to protect a table that are compared at once.
_MOST_WAYS = 100


def leave_roles(desk: Desk, form: FormData) -> str:
    """Save the roles and go on: to the risk, which is measured unless it is known, or elsewhere."""
    page = save_roles(desk, form)
    if form.get("next") != "risk":
        return page
    known = desk.state.risk
    if known is not None and known.asked == screens.risk_arguments(desk.state):
        return "/risk"
    return measure_risk(desk, form)


def measure_risk(desk: Desk, form: FormData) -> str:
    """How risky the table is as it stands."""
    desk.table(form)
    asked = screens.risk_arguments(desk.state)
    if not asked["keys"]:
        raise OptionError("say first which columns others may know: no quasi-identifier yet")

    def keep(found: dict[str, Any]) -> None:
        desk.state.risk = Outcome(asked, found)

    desk.jobs.add(desk.maker, "Measuring the risk of the table", "/risk", "risk", asked, keep)
    return "/risk"


def protect(desk: Desk, form: FormData) -> str:
    """Make the release."""
    save_promise(desk, form)
    table, recipe = desk.table(form), desk.state.recipe()
    folder = desk.home.new_run()
    output = folder / f"release{screens.release_suffix(desk.state, desk.written)}"
    name = table.name
    arguments = {
        "address": table.address,
        "recipe": recipe,
        "output": str(output),
        "name": name,
    }

    def keep(made: dict[str, Any]) -> None:
        runs = desk.state.runs
        number = runs[-1].number + 1 if runs else 1
        title = f"{name}, k = {recipe.k}"
        runs.append(Run(number, title, table, recipe, made, str(folder)))

    desk.jobs.add(desk.maker, f"Protecting {name}", "/result", "protect", arguments, keep)
    return "/result"


def compare(desk: Desk, form: FormData) -> str:
    """Several k, methods and demands."""
    table, recipe = desk.table(form), desk.state.recipe()
    methods = [str(each) for each in form.getlist("methods")]
    names = list(desk.state.draft.roles)
    tried = {
        f"{setting}:{name}": _several(form.get(f"{setting}:{names.index(name)}", ""))
        for setting, role in BY_COLUMN.items()
        for name in desk.state.draft.named(role)
    }
    desk.state.comparing = {"ks": str(form.get("ks", "")), "methods": methods, "tried": tried}
    try:
        ks = [int(text) for text in _several(form.get("ks", ""))]
    except ValueError:
        raise OptionError("k are whole numbers with commas, for example 3, 5, 10") from None
    sets = desk.state.draft.demands({key: texts for key, texts in tried.items() if texts})
    ways = len(ks) * len(methods) * max(1, len(sets))
    if ways > _MOST_WAYS:
        raise OptionError(f"these are {ways} ways; compare at most {_MOST_WAYS} at once")
    arguments = {
        "address": table.address,
        "recipe": recipe,
        "ks": ks,
        "methods": methods,
        "demands": [settings for settings, _ in sets.values()],
        "link": "/compare?choice=",
    }
    entries = {told: given for told, (_, given) in sets.items()}
    asked = {"sets": entries, "table": table.number}

    def keep(found: dict[str, Any]) -> None:
        desk.state.comparison = Outcome(asked, found)

    desk.jobs.add(
        desk.maker, "Comparing ways to protect it", "/compare", "compare", arguments, keep
    )
    return "/compare"


def _several(text: Any) -> list[str]:
    """What is given with commas, each once."""
    return list(dict.fromkeys(each.strip() for each in str(text).split(",") if each.strip()))


def use(desk: Desk, form: FormData) -> str:
    """Take one of the ways that were compared."""
    desk.table(form)
    entries, comparison = desk.state.draft.entries, desk.state.comparison
    for name in ("k", "method"):
        entries[name] = str(form.get(name, ""))
    sets = comparison.asked["sets"] if comparison else {}
    if (demands := str(form.get("demands", ""))) in sets:
        for key in [key for key in entries if key.partition(":")[0] in BY_COLUMN]:
            del entries[key]
        entries.update(sets[demands])
    return "/promise"


def cancel(desk: Desk, form: FormData) -> str:
    """End a job."""
    number = str(form.get("job", ""))
    job = desk.jobs.find(int(number)) if number.isdecimal() else None
    if job is not None:
        desk.jobs.cancel(job)
    return str(form.get("page", "/"))


def rename(desk: Desk, form: FormData) -> str:
    """Call a release by another name."""
    run = desk.run(form)
    run.name = str(form.get("name", "")).strip()[:100] or run.name
    return f"/result/{run.number}"


def write_as(desk: Desk, form: FormData) -> str:
    """A release that was made, in another format too."""
    run, suffix = desk.run(form), str(form.get("format", ""))
    if suffix not in desk.written:
        raise OptionError(f"files that end with {suffix!r:.20} cannot be written")
    output = Path(run.folder) / f"release{suffix}"
    if str(output) in (run.made["files"]["release"], *run.formats.values()):
        return f"/takeaway/{run.number}"
    arguments = {
        "address": run.table.address,
        "recipe": run.recipe,
        "output": str(output),
        "record": run.made["files"]["record"],
    }

    def keep(path: str) -> None:
        run.formats[f"release{suffix}"] = path

    page = f"/takeaway/{run.number}"
    desk.jobs.add(desk.maker, f"Writing {run.name} as {suffix}", page, "write_as", arguments, keep)
    return page


def private(desk: Desk, form: FormData) -> str:
    """A release with differential privacy."""
    table = desk.table(form)
    given = desk.private_given = {key: str(value) for key, value in form.items()}
    names = list(desk.state.draft.roles)
    bounds = [
        f"{listed([name])}={given[f'bounds:{place}']}"
        for place, name in enumerate(names)
        if given.get(f"bounds:{place}", "").strip()
    ]
    if not bounds:
        raise OptionError(
            "give at least one column its bounds: what it may hold, known without the data"
        )
    try:
        epsilon = float(given.get("epsilon", ""))
    except ValueError:
        raise OptionError("epsilon is a number above 0, for example 1") from None
    folder = desk.home.new_run()
    arguments: dict[str, Any] = {
        "address": table.address,
        "output": str(folder / f"release{screens.release_suffix(desk.state, desk.written)}"),
        "report": str(folder / "report.html"),
        "epsilon": epsilon,
        "bounds": texts.bounds(bounds, "bounds"),
        "method": given.get("method", "marginals"),
        "reading": table.reading,
    }

    def keep(found: dict[str, Any]) -> None:
        desk.state.private = Outcome(given, found)

    desk.jobs.add(desk.maker, "Releasing with noise", "/private", "private", arguments, keep)
    return "/private"


def assess(desk: Desk, given: dict[str, str], files: dict[str, Path]) -> str:
    """Somebody else's release of the table."""
    table = desk.state.ready
    if table is None or given.get("table") != str(table.number):
        raise OptionError("open the original first: the release is judged against it")
    if "release" not in files:
        raise OptionError("choose the file of the release")
    arguments: dict[str, Any] = {"original": table.address, "released": str(files["release"])}
    arguments["reading"] = table.reading or None
    if given.get("key"):
        arguments["key"] = given["key"]
    if "record" in files:
        arguments["record"] = str(files["record"])
    else:
        arguments["quasi_identifiers"] = desk.state.draft.named("quasi-identifier") or None
        arguments["confidential"] = desk.state.draft.named("confidential")

    def keep(found: dict[str, Any]) -> None:
        desk.state.assessment = Outcome(given, found)

    desk.jobs.add(desk.maker, "Judging the release", "/assess", "assess", arguments, keep)
    return "/assess"
