"""microagg assess"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from microagg.base import texts
from microagg.cli import options
from microagg.cli.saying import say, say_json, say_table

if TYPE_CHECKING:
    import microagg


@options.with_settings("kinds", "orders", "reading")
def assess(
    original: options.Source,
    release: Annotated[
        str, typer.Argument(help="The release, whoever made it.", show_default=False)
    ],
    *,
    recipe: Annotated[
        Path | None,
        typer.Option(help="The recipe of the release; else what stands beside it tells roles."),
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="A column in both that says which record is which.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="The owner's record of the release, which pairs its rows.")
    ] = None,
    quasi_identifiers: Annotated[
        list[str] | None,
        typer.Option(
            "-q",
            "--quasi-identifiers",
            help="Columns to judge; else the recipe's, or those changed.",
        ),
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
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Judge a release against the original: risk and utility, whoever made it."""
    import microagg

    found = microagg.assess(
        original,
        release,
        recipe=recipe,
        quasi_identifiers=_names(quasi_identifiers),
        confidential=_names(confidential),
        key=key,
        record=record,
        known=_names(known),
        sd=sd,
        progress=False if quiet else None,
        **settings,
    )
    if json:
        say_json(found.to_dict())
    else:
        _show(found)


def _names(given: list[str] | None) -> list[str] | None:
    return None if given is None else texts.names(given, "")


def _show(found: "microagg.Assessment") -> None:
    say("")
    say(f"{found.rows_released} records; judged: {', '.join(found.columns)}")
    say(
        f"At least {found.k_found} records share each combination of values; {found.unique} "
        "records share theirs with nobody."
    )
    say(f"Information loss {found.information_loss:.2f} % (0 is none, 100 is one value for all).")
    say_table(
        ("figure", "value", "better", "what it says"),
        [(each.title, value, each.better, each.description) for each, value in found.shown()],
        right=("value",),
        whole=("value", "better"),
    )
    losses, changes = found.attribute_losses, found.attribute_changes
    say_table(
        ("column", "loss %", "changed %"),
        [(name, f"{losses[name]:.2f}", f"{changes[name]:.1f}") for name in found.columns],
        right=("loss %", "changed %"),
        whole=("loss %", "changed %"),
    )
    if found.confidential:
        _show_confidential(found.confidential)
    for note in found.notes:
        say(f"Note: {note}")


def _show_confidential(found: dict[str, dict[str, Any]]) -> None:
    rows = []
    for name, each in found.items():
        diversity, disclosed = each["diversity"], each["disclosed"]
        rows.append(
            (
                name,
                str(diversity["distinct"]["least"]),
                f"{diversity['entropy']['least']:.2f}",
                f"{each['closeness']['largest']:.3f}",
                f"{disclosed['percent']:.2f}",
            )
        )
    figures = ("l (distinct)", "l (entropy)", "t", "disclosed %")
    say_table(("confidential", *figures), rows, right=figures, whole=figures)
