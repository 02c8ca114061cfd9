"""microagg protect"""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from microagg.base.errors import OptionError
from microagg.base.recipe import Recipe
from microagg.cli import options

if TYPE_CHECKING:
    from microagg.actions.large import LargeRelease
    from microagg.actions.spark import SparkRelease
    from microagg.release.release import Release


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
    report: Annotated[
        Path | None, typer.Option("-r", "--report", help="Where the report goes, an HTML file.")
    ] = None,
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
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where a run on disk was cut off.")
    ] = False,
    master: Annotated[
        str | None, typer.Option(help="The Spark cluster, such as spark://host:7077.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan, with time and memory; write nothing.")
    ] = False,
    force: options.Force = False,
    json: options.AsJson = False,
) -> None:
    """Protect a table: a safe release, its certificate and a report."""
    if output is None and not dry_run:
        raise OptionError("-o says where the release goes, for example -o release.csv")
    if json and output == "-":
        raise OptionError("--json and -o - both want standard output; write the release to a file")
    chosen = Recipe.from_settings(settings, None if recipe is None else Recipe.read(recipe))
    where = _Where(engine, memory, resume, master)
    if dry_run:
        _plan(source, chosen, json, where.settled(source, "", prove))
        return
    assert output is not None
    _run(source, chosen, output, report, public, save_recipe, prove, force, json, where)


class _Where(NamedTuple):
    engine: str
    memory: str | None
    resume: bool
    master: str | None

    def settled(self, source: str, output: str, prove: float) -> str:
        """The engine that is to be used, once it is clear that it can."""
        from microagg.actions.large import engine_for

        engine = engine_for(source, self.engine, self.memory, self.resume)
        if self.resume and engine != "disk":
            raise OptionError("--resume goes on with a run on disk; leave it out here")
        if self.master is not None and engine != "spark":
            raise OptionError("--master names a Spark cluster; say --engine spark too")
        if engine != "memory":
            if prove:
                raise OptionError("--prove needs the whole table in memory; leave it out")
            if output == "-":
                raise OptionError("in parts a release goes to a file, not to standard output")
        return engine


def _run(
    source: str,
    recipe: Any,
    output: str,
    report: Path | None,
    public: bool,
    save_recipe: Path | None,
    prove: float,
    force: bool,
    json: bool,
    where: _Where,
) -> None:
    from microagg.kernels.compiling import seconds_compiling
    from microagg.release.release import certificate_path, refuse_early, refuse_overwriting
    from microagg.table.formats import format_of

    started, compiled = time.perf_counter(), seconds_compiling()
    to_stream = output == "-"
    is_file = not to_stream and format_of(output).is_file
    written = [path for path in (report, save_recipe) if path is not None]
    engine = where.settled(source, output, prove)
    if engine == "spark":
        # What it writes, a folder on some file system, it looks after itself.
        for path in written:
            refuse_overwriting(path, None, force)
    else:
        refuse_early(source, output, written, force)
    release = _released(source, output, recipe, engine, where, prove, force)
    if report is not None:
        release.report(report, public=public)
    if save_recipe is not None:
        recipe.write(save_recipe)
    files = {"release": output if not to_stream else "standard output"}
    if is_file:
        files["certificate"] = str(certificate_path(Path(output)))
    if engine != "memory":
        files["plan"] = f"{output}.plan.json"
    if report is not None:
        files["report"] = str(report)
    if save_recipe is not None:
        files["recipe"] = str(save_recipe)
    seconds = time.perf_counter() - started
    if json:
        result = release.certificate.to_dict()
        options.say_json({**result, "files": files, "seconds": round(seconds, 3)})
    else:
        _summary(release, files, seconds, seconds_compiling() - compiled, to_stream)


def _released(
    source: str, output: str, recipe: Any, engine: str, where: _Where, prove: float, force: bool
) -> "Release | LargeRelease | SparkRelease":
    """The release, written."""
    if engine == "spark":
        from microagg.actions.spark import protect_path

        return protect_path(source, output, recipe, master=where.master, force=force)
    if engine == "disk":
        from microagg.actions.large import protect_large

        return protect_large(
            source, output, recipe=recipe, memory=where.memory, resume=where.resume, force=force
        )
    import microagg

    with options.library_prints_to_stderr():
        release = microagg.protect(source, recipe=recipe, prove=prove)
    release.write(output, force=force)
    return release


def _summary(
    release: "Release | LargeRelease | SparkRelease",
    files: dict[str, str],
    seconds: float,
    compiling: float,
    to_stream: bool,
) -> None:
    from rich.console import Console

    console = Console(stderr=to_stream, highlight=False)
    found = release.certificate
    compiled = f", {compiling:.0f} s of it compiling, once" if compiling > 1 else ""
    console.print(
        f"[bold]{found.rows_released} records[/bold] in {found.groups} groups of "
        f"{found.smallest_group} to {found.largest_group}, by {found.method}.\n"
        f"Every combination of protected values is shared by at least "
        f"[bold]{found.k_found}[/bold] {found.counts} ({found.k_asked} asked), counted on what "
        f"was written.\n"
        f"Information loss [bold]{found.information_loss:.2f} %[/bold] "
        f"(0 is none, 100 is one value for all). {seconds:.1f} s{compiled}.",
        soft_wrap=True,
    )
    if found.above_optimum is not None:
        console.print(
            f"At most [bold]{found.above_optimum:.2f} %[/bold] above the least squared distances "
            "that any groups of this size could have.",
            soft_wrap=True,
        )
    for note in found.notes:
        console.print(f"Note: {note}", soft_wrap=True, markup=False)
    for what, where in files.items():
        console.print(f"  {what:<12}{where}", soft_wrap=True, markup=False)


def _plan(source: str, recipe: Any, json: bool, engine: str) -> None:
    from microagg.actions.estimate import plan, plan_on_disk

    if engine == "spark":
        raise OptionError("--dry-run tries methods here, not on Spark; leave one of them out")
    found = plan(source, recipe) if engine == "memory" else plan_on_disk(source, recipe)
    if json:
        options.say_json(found.to_dict())
        return
    for line in found.sentences():
        print(line)
    print("Nothing was written.", file=sys.stderr)
