"""What the child process does when it is asked: an action each, plain data out."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import microagg
from microagg.actions.demo import write_patients
from microagg.actions.look import LookedAt
from microagg.actions.methods import describe_methods
from microagg.actions.pages import comparison_map
from microagg.actions.present import present
from microagg.actions.publish import Publication
from microagg.app.state import Column, Look
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe

# The table that was looked at last, as long as the child lives.
_held: dict[str, LookedAt] = {}


def methods() -> list[dict[str, Any]]:
    """The grouping methods, with what each does."""
    return describe_methods()


def look(address: str, reading: dict[str, Any], demo: bool = False) -> Look:
    """Open a table and see what it is; it is held for `alone`. demo: invent the patients first."""
    if demo:
        write_patients(Path(address))
    _held.clear()
    _held[""] = table = LookedAt(address, Reading(**reading))
    seen = table.look()
    found = seen.inspection
    columns = tuple(
        Column(**asdict(column), bars=seen.bars.get(column.name, ())) for column in found.columns
    )
    return Look(found.rows, columns, found.notes, found.kinds, seen.head, seen.layout, seen.share)


def alone(address: str, reading: dict[str, Any], names: list[str]) -> int:
    """How many records nobody else shares their values with."""
    table = _held.get("")
    if table is None or table.address != address:
        # The child that had it was killed.
        _held.clear()
        _held[""] = table = LookedAt(address, Reading(**reading))
    return table.alone(names)


def risk(address: str, reading: dict[str, Any], keys: list[str], **known: Any) -> dict[str, Any]:
    """How risky the table is as it stands."""
    found = microagg.risk(address, keys, **known, **reading)
    figures = [(figure.title, value, figure.description) for figure, value in found.shown()]
    return {**found.to_dict(), "shown": figures}


def protect(
    address: str, recipe: Recipe, output: str, name: str, record: str | None = None
) -> dict[str, Any]:
    """A release with all that goes with it."""
    wanted = Publication(
        source=address,
        output=output,
        recipe=recipe,
        where={"work": None},
        record=None if record is None else Path(record),
    )
    return asdict(present(wanted, name))


def write_as(address: str, recipe: Recipe, output: str, record: str) -> str:
    """The same release in another format: in the same order, by its record."""
    Publication(
        source=address, output=output, recipe=recipe, where={"work": None}, record=Path(record)
    ).make()
    for beside in (".certificate.json", ".record.json"):
        Path(output + beside).unlink(missing_ok=True)
    return output


def compare(
    address: str,
    recipe: Recipe,
    ks: list[int],
    methods: list[str],
    demands: list[dict[str, Any]],
    link: str,
) -> dict[str, Any]:
    """Several ways to protect the table, with a map whose points lead somewhere."""
    found = microagg.compare(address, ks, methods, demands=demands or None, recipe=recipe)
    choices = [{**each.to_dict(), "label": each.label} for each in found.choices]
    place = found.choices.index(found.recommended)
    told = {"choices": choices, "best": place, "demanded": found.demanded}
    return {**found.to_dict(), **told, "map": comparison_map(found, link)}


def private(
    address: str,
    output: str,
    report: str,
    **settings: Any,
) -> dict[str, Any]:
    """A differentially private release, its certificate and its report."""
    found = microagg.private.release(address, output=output, **settings)
    certificate = found.write(output)
    found.report(report)
    files = {"release": output, "report": report}
    return {
        "lines": list(found.guarantee.lines),
        "guarantee": found.guarantee.to_dict(),
        "files": files if certificate is None else {**files, "certificate": os.fspath(certificate)},
    }


def assess(original: str, released: str, **settings: Any) -> dict[str, Any]:
    """Every figure of risk and utility of somebody's release."""
    found = microagg.assess(original, released, **settings)
    figures = [
        {"title": each.title, "value": value, "better": each.better, "means": each.description,
         "group": each.group}
        for each, value in found.shown()
    ]  # fmt: skip
    return {**asdict(found), "shown": figures}
