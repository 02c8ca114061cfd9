"""microagg inspect"""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from microagg.base import texts
from microagg.base.texts import command, listed, written_pairs
from microagg.cli import options
from microagg.cli.saying import say, say_json, say_table

if TYPE_CHECKING:
    import microagg
    from microagg.actions.inspect import Inspection

_ROLES = {"identifier": "-i", "quasi-identifier": "-q", "confidential": "-c"}


@options.with_settings("reading")
def inspect(
    source: options.Source,
    *,
    risk: Annotated[
        bool, typer.Option("--risk", help="Also measure how risky the table is as it stands.")
    ] = False,
    quasi_identifiers: Annotated[
        list[str] | None,
        typer.Option(
            "-q", "--quasi-identifiers", help="Columns that others may know; else those suggested."
        ),
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="A column of sampling weights; else one suggested.")
    ] = None,
    household: Annotated[
        str | None, typer.Option(help="A column that says who lives together; else one suggested.")
    ] = None,
    fraction: Annotated[
        float | None,
        typer.Option(help="The share of the population that the table is, without weights."),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(help="What no value is: a value of its own, or a wildcard as in sdcMicro."),
    ] = "value",
    threshold: Annotated[float, typer.Option(help="The risk of a record that is too high.")] = 0.09,
    largest: Annotated[
        int | None,
        typer.Option(help="Look for special uniques of up to so many columns; 0 for none."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="Where it is looked at: memory, disk or spark; auto is memory if it fits."
        ),
    ] = "auto",
    memory: options.Memory = None,
    settings: dict[str, Any],
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Look at a table: columns, kinds, suggested roles, records that stand out, risk."""
    import microagg

    reading = settings.get("reading", {})
    found = microagg.inspect(
        source,
        risk=risk,
        quasi_identifiers=texts.names(quasi_identifiers or [], "-q") or None,
        weights=weights,
        household=household,
        fraction=fraction,
        missing=missing,  # type: ignore[arg-type]
        threshold=threshold,
        largest=largest,
        engine=engine,
        memory=memory,
        progress=False if quiet else None,
        **reading,
    )
    if json:
        say_json(found.to_dict())
        return
    _say_columns(found)
    if found.risk is not None:
        _say_risk(found.risk)
    _say_command(found, reading)


def _say_columns(found: "Inspection") -> None:
    say("")
    say(f"{found.source}: {found.rows} records")
    say_table(
        ("column", "kind", "values", "missing", "suggested role"),
        [
            (each.name, each.kind, str(each.distinct), str(each.missing), each.role)
            for each in found.columns
        ],
        right=("values", "missing"),
        whole=("kind", "values", "missing", "suggested role"),
    )
    because: dict[tuple[str, str], list[str]] = {}
    for each in found.columns:
        because.setdefault((each.role, each.reason), []).append(each.name)
    for (role, reason), names in because.items():
        say(f"{role}: {', '.join(names)} ({reason})")
    for note in found.notes:
        say(options.noted(note))
    known = found.names("quasi-identifier")
    if known and found.risk is None:
        say(
            f"{found.unique} of {found.rows} records are the only ones with their "
            f"{', '.join(known)}."
        )


def _say_risk(risk: "microagg.Risk") -> None:
    say("")
    say(f"Risk by {', '.join(risk.keys)}")
    say_table(
        ("figure", "value", "what it says"),
        [(figure.title, value, figure.description) for figure, value in risk.shown()],
        right=("value",),
        whole=("value",),
    )
    say("Which columns expose: records that each singles out alone, and all without it")
    say_table(
        ("column", "values", "alone", "without", "special uniques"),
        [
            (
                each.name,
                str(each.values),
                str(each.unique_alone),
                str(each.unique_without),
                "" if each.contribution is None else f"{each.contribution:.1f} %",
            )
            for each in risk.columns
        ],
        right=("values", "alone", "without", "special uniques"),
        whole=("values", "alone", "without", "special uniques"),
    )
    if risk.combinations:
        say("Columns that single most records out together, and no fewer of them do")
        say_table(
            ("columns", "records", "share of scores"),
            [
                (", ".join(each.columns), str(each.records), f"{each.contribution:.1f} %")
                for each in risk.combinations
            ],
            right=("records", "share of scores"),
            whole=("records", "share of scores"),
        )
    for note in risk.notes:
        say(options.noted(note))
    say(_suggested(risk))


def _suggested(risk: "microagg.Risk") -> str:
    """The k that is enough, by the individual risk and for somebody who knows who is there."""
    k, certain = risk.suggested_k, math.ceil(1.0 / risk.threshold)
    told = (
        f"With k = {k} or more, no record that is released has an individual risk above "
        f"{risk.threshold:g}"
    )
    return told + (
        "." if k >= certain else f"; for somebody who knows who is there, that takes k = {certain}."
    )


def _say_command(found: "Inspection", reading: dict[str, Any]) -> None:
    say("Roles and kinds are guesses from names and values. You know better what others may know:")
    k = 5 if found.risk is None else max(5, found.risk.suggested_k)
    words = ["microagg", "protect", found.address, "-k", str(k)]
    for role, option in _ROLES.items():
        names = found.names(role)
        if found.risk is not None:
            keys = list(found.risk.keys)
            names = keys if option == "-q" else [name for name in names if name not in keys]
        if names or option == "-q":
            words += [option, listed(names) or "COLUMNS"]
        if option == "-q" and (
            kinds := {name: found.kinds[name] for name in names if name in found.kinds}
        ):
            words += ["--kinds", written_pairs(kinds)]
    if found.household is not None:
        words += ["--household", found.household]
    for name in found.names("weights")[:1]:
        words += ["--weights", name]
    say(command(*words, *options.reading_words(reading), "-o", "release.csv"))
