"""microagg protect"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from microagg.base.recipe import Recipe
from microagg.cli import options
from microagg.cli.saying import listed_files, say, say_json

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
    certificate: options.Certificate = None,
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
    memory: options.Memory = None,
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
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Protect a table: a safe release, its certificate and a report."""
    from microagg.actions.publish import Publication
    from microagg.actions.warm_up import compiling_beside

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
        certificate=certificate,
        report=report,
        public=public,
        save_recipe=save_recipe,
        record=record,
        prove=prove,
        force=force,
    )
    progress = False if quiet else None
    if dry_run:
        estimate = wanted.estimate(progress)
        if json:
            say_json(estimate.to_dict())
        else:
            for line in estimate.sentences():
                say(options.in_options(line))
            say("Nothing was written.", aside=True)
        return
    with compiling_beside():
        made = wanted.make(progress)
    if json:
        told = {**made.certificate.to_dict(), "notes": list(made.record.notes)}
        files = {"files": made.files, "not_for_publication": list(made.private)}
        say_json({**told, **files, "seconds": round(made.seconds, 3)})
    elif not quiet:
        _summary(made, wanted.recipe, aside=output == "-")


def _summary(made: "Outcome", recipe: Recipe, *, aside: bool) -> None:
    found = made.certificate
    asked = "asked" if "k" in recipe.model_fields_set else "by default"
    waited = f", {made.compiling:.0f} s of it compiling, once" if made.compiling > 1 else ""
    lines = [
        f"{found.rows_released} records in {found.groups} groups of {found.smallest_group} to "
        f"{found.largest_group}, by {found.method}.",
        f"Every combination of protected values is shared by at least {found.k_found} "
        f"{found.counts} ({found.k_asked} {asked}), counted on what was written.",
        f"Information loss {found.information_loss:.2f} % (0 is none, 100 is one value for all). "
        f"{made.seconds:.1f} s{waited}.",
    ]
    if found.above_optimum is not None:
        lines.append(
            f"At most {found.above_optimum:.2f} % above the least squared distances that any "
            "groups of this size could have."
        )
    lines += map(options.noted, made.record.notes)
    lines += listed_files(made.files, made.private)
    for line in lines:
        say(line, aside=aside)
