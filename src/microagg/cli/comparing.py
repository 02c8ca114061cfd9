"""microagg compare"""

from pathlib import Path
from typing import Annotated, Any

import typer

from microagg.base import texts
from microagg.base.errors import OptionError
from microagg.base.recipe import Recipe
from microagg.cli import options
from microagg.cli.saying import say, say_json, say_table

_FIGURES = ("k", "groups", "information loss %", "linkage %", "risk and loss", "seconds")


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
    quiet: options.Quiet = False,
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
        progress=False if quiet else None,
        **settings,
    )
    if report is not None:
        found.report(report)
    if json:
        say_json(found.to_dict())
        return
    say_table(
        ("method", *_FIGURES),
        [
            (
                each.asked + ("" if each.method == each.asked else f" ({each.method})"),
                str(each.k),
                str(each.groups),
                f"{each.information_loss:.2f}",
                f"{each.risk:.2f}",
                f"{each.risk_and_loss:.2f}",
                f"{each.seconds:.2f}",
            )
            for each in found.choices
        ],
        right=_FIGURES,
        bold=found.choices.index(found.recommended),
    )
    if found.recommended.plain_loss is not None:
        headings = ("loss with k alone %", *found.recommended.costs, "with all %")
        say_table(
            ("method", "k", *headings),
            [
                (
                    each.asked,
                    str(each.k),
                    f"{each.plain_loss:.2f}",
                    *(f"{cost:+.2f}" for cost in each.costs.values()),
                    f"{each.information_loss:.2f}",
                )
                for each in found.choices
            ],
            right=("k", *headings),
        )
    for sentence in found.recommendation:
        say(sentence)
    if report is not None:
        say(f"  map         {report}")
