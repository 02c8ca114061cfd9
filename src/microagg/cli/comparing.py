"""microagg compare"""

from pathlib import Path
from typing import Annotated, Any

import typer

from microagg.base import texts
from microagg.base.errors import OptionError
from microagg.base.recipe import Recipe
from microagg.cli import options


@options.with_settings(without=("k", "method"))
def compare(
    source: options.Source,
    *,
    k: Annotated[
        list[str] | None, typer.Option("-k", "--k", help="Several k, with commas: 3,5,10.")
    ] = None,
    methods: Annotated[
        list[str] | None, typer.Option("--methods", help="Several methods, with commas.")
    ] = None,
    settings: dict[str, Any],
    recipe: options.RecipeFile = None,
    report: Annotated[
        Path | None,
        typer.Option("-r", "--report", help="Where a page with a map goes, an HTML file."),
    ] = None,
    force: options.Force = False,
    json: options.AsJson = False,
) -> None:
    """Compare methods and k on a table: risk, loss, time, and a recommendation."""
    import microagg
    from microagg.actions.publish import refuse_outputs

    try:
        ks = [int(text) for text in texts.names(k or (), "-k") or ("3", "5", "10")]
    except ValueError:
        raise OptionError("-k takes whole numbers with commas, for example -k 3,5,10") from None
    if report is not None:
        refuse_outputs(source, None, [report], force)
    found = microagg.compare(
        source,
        ks,
        texts.names(methods or (), "--methods") or ("auto", "mdav", "tsp"),
        recipe=None if recipe is None else Recipe.read(recipe),
        **settings,
    )
    if report is not None:
        found.report(report)
    if json:
        options.say_json(found.to_dict())
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("method", "k", "groups", "information loss %", "linkage %", "seconds"):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for choice in found.choices:
        used = "" if choice.method == choice.asked else f" ({choice.method})"
        table.add_row(
            choice.asked + used,
            str(choice.k),
            str(choice.groups),
            f"{choice.information_loss:.2f}",
            "" if choice.risk is None else f"{choice.risk:.2f}",
            f"{choice.seconds:.2f}",
            style="bold" if choice == found.recommended else None,
        )
    console.print(table)
    for sentence in found.recommendation:
        console.print(sentence, soft_wrap=True)
    if report is not None:
        console.print(f"  map         {report}", soft_wrap=True)
