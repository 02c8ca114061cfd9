"""How results are said: as JSON for scripts, as tables for people."""

import json
import math
from collections.abc import Container, Iterable, Sequence
from typing import Any


def say_json(result: Any) -> None:
    """Print a result for scripts, in letters that every terminal and pipe lets through."""
    print(json.dumps(_finite(result), indent=2, allow_nan=False))


def _finite(result: Any) -> Any:
    """JSON has no NaN and no infinity."""
    if isinstance(result, dict):
        return {name: _finite(value) for name, value in result.items()}
    if isinstance(result, list | tuple):
        return [_finite(value) for value in result]
    if isinstance(result, float) and not math.isfinite(result):
        return None
    return result


def say_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Container[str] = (),
    whole: Container[str] = (),
    bold: int | None = None,
) -> None:
    """Print a table. right: columns of figures; whole: those never wrapped; bold: a row."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for name in headings:
        justify = "right" if name in right else "left"
        table.add_column(name, justify=justify, no_wrap=name in whole)  # type: ignore[arg-type]
    for place, row in enumerate(rows):
        table.add_row(*map(Text, row), style="bold" if place == bold else None)
    Console(highlight=False).print(table)
