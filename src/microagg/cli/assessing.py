"""microagg assess"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from microagg.base import texts
from microagg.cli import options

if TYPE_CHECKING:
    from microagg.release.assessment import Assessment


@options.with_settings("kinds", "orders", "reading")
def assess(
    original: options.Source,
    release: Annotated[
        str, typer.Argument(help="The release, whoever made it.", show_default=False)
    ],
    *,
    key: Annotated[
        str | None, typer.Option(help="A column in both that says which record is which.")
    ] = None,
    quasi_identifiers: Annotated[
        list[str] | None,
        typer.Option("-q", "--quasi-identifiers", help="Columns to judge; else those changed."),
    ] = None,
    confidential: Annotated[
        list[str] | None,
        typer.Option("-c", "--confidential", help="Columns whose diversity is measured."),
    ] = None,
    known: Annotated[
        list[str] | None, typer.Option(help="Columns an intruder knows who links records.")
    ] = None,
    sd: Annotated[float, typer.Option(help="How close is too close, in percent.")] = 5.0,
    settings: dict[str, Any],
    json: options.AsJson = False,
) -> None:
    """Judge a release against the original: risk and utility, whoever made it."""
    import microagg

    found = microagg.assess(
        original,
        release,
        quasi_identifiers=_names(quasi_identifiers),
        confidential=_names(confidential) or (),
        key=key,
        known=_names(known),
        sd=sd,
        **settings,
    )
    if json:
        options.say_json(found.to_dict())
    else:
        _show(found)


def _names(given: list[str] | None) -> list[str] | None:
    return None if given is None else texts.names(given, "")


def _show(found: "Assessment") -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from microagg.measure.figures import shown

    console = Console(highlight=False)
    console.print(
        f"\n{found.rows_released} records; judged: {', '.join(found.columns)}\n"
        f"At least {found.k_found} records share each combination of values; "
        f"{found.unique} records share theirs with nobody.\n"
        f"Information loss {found.information_loss:.2f} % (0 is none, 100 is one value for all).",
        markup=False,
        soft_wrap=True,
    )
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("figure", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("better", no_wrap=True)
    table.add_column("what it says")
    for figure, value in shown(found.figures):
        table.add_row(Text(figure.title), value, figure.better, figure.description)
    console.print(table)
    columns = Table(box=box.SIMPLE_HEAD)
    columns.add_column("column")
    columns.add_column("loss %", justify="right")
    columns.add_column("changed %", justify="right")
    for name in found.columns:
        loss, changed = found.attribute_losses[name], found.attribute_changes[name]
        columns.add_row(Text(name), f"{loss:.2f}", f"{changed:.1f}")
    console.print(columns)
    for note in found.notes:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)
