"""microagg methods and microagg demo"""

from pathlib import Path
from typing import Annotated

import typer

from microagg.cli import options
from microagg.cli.saying import say_json, say_table


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
