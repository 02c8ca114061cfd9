"""microagg methods and microagg demo"""

from pathlib import Path
from typing import Annotated

import typer

from microagg.cli import options


def demo(
    folder: Annotated[Path, typer.Option(help="Where tables and report go.")] = Path("demo"),
    k: Annotated[int, typer.Option(help="The least number of records that look alike.")] = 5,
    records: Annotated[int, typer.Option(help="How many patients to invent.")] = 3000,
    seed: Annotated[int, typer.Option(help="The same seed invents the same patients.")] = 2026,
    json: options.AsJson = False,
) -> None:
    """Protect a table of invented patients and show what came out."""
    from microagg.actions.demo import run

    run(folder, k=k, records=records, seed=seed, as_json=json)


def list_methods(json: options.AsJson = False) -> None:
    """List the grouping methods."""
    from microagg.grouping.methods import all_methods

    if json:
        options.say_json(
            [
                {
                    "name": method.name,
                    "description": method.description,
                    "time": method.time,
                    "paper": method.paper,
                    "options": {option.name: option.meaning for option in method.options},
                }
                for method in all_methods()
            ]
        )
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("method", "what it does", "time", "from"):
        table.add_column(heading, no_wrap=heading == "method")
    for method in all_methods():
        meanings = "".join(f"\n{option.name}: {option.meaning}" for option in method.options)
        table.add_row(method.name, method.description + meanings, method.time, method.paper)
    Console().print(table)
