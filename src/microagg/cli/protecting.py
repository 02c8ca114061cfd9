"""microagg protect"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from microagg.base.recipe import Recipe
from microagg.cli import options
from microagg.cli.saying import say_json

if TYPE_CHECKING:
    from microagg.actions.publish import Outcome


@options.with_settings()
def protect(
    source: options.Source,
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="Where the release goes; the suffix says the format, - is stdout.",
        ),
    ] = None,
    report: options.Report = None,
    public: Annotated[
        bool, typer.Option("--public", help="The report shows only what the release shows.")
    ] = False,
    recipe: options.RecipeFile = None,
    save_recipe: Annotated[
        Path | None, typer.Option(help="Write the settings used to a TOML file.")
    ] = None,
    settings: dict[str, Any],
    prove: Annotated[
        float,
        typer.Option(help="Spend so many seconds on proving how near to the least loss it is."),
    ] = 0.0,
    engine: Annotated[
        str,
        typer.Option(
            help="Where the work is done: memory, disk (in parts, for tables of any size) or "
            "spark; auto is memory if the table fits."
        ),
    ] = "auto",
    memory: Annotated[
        str | None,
        typer.Option(help="How much memory may be used, such as 4GB; else what is free."),
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(help="The folder that the disk engine works in; else beside the release."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where a run on disk was cut off.")
    ] = False,
    master: Annotated[
        str | None, typer.Option(help="The Spark cluster, such as spark://host:7077.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(help="The record of this release, made before: the same to the byte."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan, with time and memory; write nothing.")
    ] = False,
    force: options.Force = False,
    json: options.AsJson = False,
) -> None:
    """Protect a table: a safe release, its certificate and a report."""
    from microagg.actions.publish import Publication

    output = options.require_output("" if dry_run and output is None else output, json)

    wanted = Publication(
        source=source,
        output=output,
        recipe=Recipe.from_settings(settings, None if recipe is None else Recipe.read(recipe)),
        where={
            "engine": engine,
            "memory": memory,
            "work": work,
            "resume": resume,
            "master": master,
        },
        report=report,
        public=public,
        save_recipe=save_recipe,
        record=record,
        prove=prove,
        force=force,
    )
    if dry_run:
        estimate = wanted.estimate()
        if json:
            say_json(estimate.to_dict())
        else:
            print(*estimate.sentences(), sep="\n")
            print("Nothing was written.", file=sys.stderr)
        return
    made = wanted.make()
    if json:
        told = {**made.certificate.to_dict(), "notes": list(made.record.notes)}
        say_json({**told, "files": made.files, "seconds": round(made.seconds, 3)})
    else:
        _summary(made, to_stream=output == "-")


def _summary(made: "Outcome", *, to_stream: bool) -> None:
    from rich.console import Console

    console = Console(stderr=to_stream, highlight=False)
    found = made.certificate
    waited = f", {made.compiling:.0f} s of it compiling, once" if made.compiling > 1 else ""
    console.print(
        f"[bold]{found.rows_released} records[/bold] in {found.groups} groups of "
        f"{found.smallest_group} to {found.largest_group}, by {found.method}.\n"
        f"Every combination of protected values is shared by at least "
        f"[bold]{found.k_found}[/bold] {found.counts} ({found.k_asked} asked), counted on what "
        f"was written.\n"
        f"Information loss [bold]{found.information_loss:.2f} %[/bold] "
        f"(0 is none, 100 is one value for all). {made.seconds:.1f} s{waited}.",
        soft_wrap=True,
    )
    if found.above_optimum is not None:
        console.print(
            f"At most [bold]{found.above_optimum:.2f} %[/bold] above the least squared distances "
            "that any groups of this size could have.",
            soft_wrap=True,
        )
    for note in made.record.notes:
        console.print(f"Note: {note}", soft_wrap=True, markup=False)
    for what, where in made.files.items():
        console.print(f"  {what:<12}{where}", soft_wrap=True, markup=False)
    if "record" in made.files:
        console.print("Publish release and certificate; the record stays with you.")
