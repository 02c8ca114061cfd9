"""microagg methods, microagg demo and microagg warm-up"""

from pathlib import Path
from typing import Annotated

import typer

from microagg.cli import options
from microagg.cli.saying import say, say_json, say_table


def demo(
    folder: Annotated[Path, typer.Option(help="Where tables and report go.")] = Path("demo"),
    k: Annotated[int, typer.Option(help="The least number of records that look alike.")] = 5,
    records: Annotated[int, typer.Option(help="How many patients to invent.")] = 3000,
    seed: Annotated[int, typer.Option(help="The same seed invents the same patients.")] = 2026,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Protect a table of invented patients and show what came out."""
    from microagg.actions.demo import run
    from microagg.actions.warm_up import compiling_beside

    with compiling_beside():
        run(folder, k=k, records=records, seed=seed, as_json=json, quiet=quiet)


def list_methods(json: options.AsJson = False) -> None:
    """List the grouping methods."""
    from microagg.actions.methods import describe_methods

    methods = describe_methods()
    if json:
        say_json(methods)
        return
    rows = []
    for method in methods:
        meanings = [f"{name}: {said}" for name, said in method["options"].items()]
        said = [method["description"], *meanings]
        rows.append((method["name"], said, method["time"], method["paper"]))
    say_table(("method", "what it does", "time", "from"), rows, whole=("method",))


def warm_up(quiet: options.Quiet = False, json: options.AsJson = False) -> None:
    """Compile all kernels now, on every core, so that no later run has to: for images."""
    from microagg.actions.warm_up import warm_up as compile_all
    from microagg.base.progress import watch

    with watch("compiling", False if quiet or json else None) as advance:
        rehearsals = compile_all(advance)
    if json:
        say_json({"rehearsals": rehearsals})
    elif not quiet:
        say("All kernels are compiled; the next run starts at once.")
