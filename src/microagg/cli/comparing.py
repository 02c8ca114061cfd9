"""microagg compare"""

from pathlib import Path
from typing import Annotated

import typer

from microagg.base.errors import OptionError
from microagg.cli import options


def compare(
    source: options.Source,
    k: Annotated[
        list[str] | None, typer.Option("-k", "--k", help="Several k, with commas: 3,5,10.")
    ] = None,
    methods: Annotated[
        list[str] | None, typer.Option("--methods", help="Several methods, with commas.")
    ] = None,
    quasi_identifiers: options.QuasiIdentifiers = None,
    recipe: options.RecipeFile = None,
    report: Annotated[
        Path | None,
        typer.Option("-r", "--report", help="Where a page with a map goes, an HTML file."),
    ] = None,
    seed: options.Seed = None,
    kinds: options.Kinds = None,
    orders: options.Orders = None,
    missing: options.Missing = None,
    within: options.Within = None,
    small_strata: options.SmallStrata = None,
    entity: options.Entity = None,
    attribute_weights: options.AttributeWeights = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    decimal: options.Decimal = None,
    missing_values: options.MissingValues = None,
    sheet: options.Sheet = None,
    query: options.Query = None,
    force: options.Force = False,
    json: options.AsJson = False,
) -> None:
    """Compare methods and k on a table: risk, loss, time, and a recommendation."""
    import microagg
    from microagg.base.recipe import Recipe
    from microagg.release.release import refuse_overwriting

    try:
        ks = [int(text) for text in options.names(k) or ("3", "5", "10")]
    except ValueError:
        raise OptionError("-k takes whole numbers with commas, for example -k 3,5,10") from None
    if report is not None:
        refuse_overwriting(report, Path(source), force)
    settings = options.only_given(
        quasi_identifiers=options.names(quasi_identifiers),
        seed=seed,
        kinds=options.pairs(kinds, "kinds"),
        orders=options.orders(orders),
        missing=missing,
        within=options.names(within),
        small_strata=small_strata,
        entity=entity,
        attribute_weights=options.numbers(
            options.pairs(attribute_weights, "attribute-weights"), "attribute-weights"
        ),
        reading=options.only_given(
            delimiter=delimiter,
            encoding=encoding,
            decimal=decimal,
            missing_values=missing_values,
            sheet=sheet,
            query=query,
        )
        or None,
    )
    found = microagg.compare(
        source,
        ks,
        options.names(methods) or ("auto", "mdav", "tsp"),
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
