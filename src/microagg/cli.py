"""The command line: options in, the library called, errors as one sentence."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from microagg.errors import MicroaggError

BAD_INPUT = 2

app = typer.Typer(
    help="Publish microdata without exposing anyone: at least k similar records share one value.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where the two tables go.")] = Path("demo"),
    k: Annotated[int, typer.Option(help="The least number of records in a group.")] = 5,
    records: Annotated[int, typer.Option(help="How many patients to invent.")] = 3000,
    seed: Annotated[int, typer.Option(help="The same seed invents the same patients.")] = 2026,
) -> None:
    """Protect a table of invented patients and show what came out."""
    from microagg.demo import run

    run(folder, k=k, records=records, seed=seed)


@app.command("methods")
def list_methods() -> None:
    """List the grouping methods."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from microagg.grouping.methods import all_methods

    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("method", "what it does", "time", "from"):
        table.add_column(heading, no_wrap=heading == "method")
    for method in all_methods():
        options = "".join(f"\n{name}: {meaning}" for name, meaning in method.options.items())
        table.add_row(method.name, method.description + options, method.time, method.paper)
    Console().print(table)


def main() -> None:
    """Run the command line; exit code 0 done, 2 bad input."""
    try:
        app()
    except MicroaggError as failure:
        print(f"microagg: {failure}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except OSError as failure:
        print(f"microagg: {failure.strerror}: {failure.filename}", file=sys.stderr)
        sys.exit(BAD_INPUT)
