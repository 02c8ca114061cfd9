"""How results are said: as JSON for scripts, as lines and tables for people.

All that people see goes through here, where names lose the power to move or colour the terminal.
"""

import json
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from microagg.base.texts import printable

# Words as long as this are wrapped, where a table is narrow.
_LONG_WORD = 20


def say(line: str, *, aside: bool = False) -> None:
    """Print one line; aside: on standard error, as what is not the result.

    On a terminal no word of a sentence is cut where a line ends; commands, and what is set in, stay
    as they are, to be copied.
    """
    stream, line = sys.stderr if aside else sys.stdout, printable(line)
    # There is no stream if it was closed before the program began.
    if stream and stream.isatty() and not line.startswith((" ", "microagg ")):
        width = max(20, shutil.get_terminal_size((80, 24)).columns)
        wrapped = textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
        line = "\n".join(wrapped)
    print(line, file=stream)


def say_wrapped(line: str) -> None:
    """Print a sentence as a paragraph, no wider than the terminal, what follows set in."""
    width = min(80, shutil.get_terminal_size((80, 24)).columns)
    wrapped = textwrap.wrap(printable(line), max(width, 20), subsequent_indent="  ")
    print("\n".join(wrapped))


def listed_files(files: Mapping[str, str], private: Container[str]) -> list[str]:
    """A line for each file; private: those that are not for publication."""
    return [
        f"  {what:<12}{where}" + (" (not for publication)" if what in private else "")
        for what, where in files.items()
    ]


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
    rows: Iterable[Sequence[str | list[str]]],
    *,
    right: Container[str] = (),
    whole: Container[str] = (),
    bold: int | None = None,
) -> None:
    """Print a table, whose cells are texts or lines of them.

    right: columns of figures; whole: those never wrapped; bold: a row.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    rows = list(rows)
    for place, name in enumerate(headings):
        table.add_column(
            name,
            justify="right" if name in right else "left",
            no_wrap=name in whole,
            min_width=_longest_word(name, [row[place] for row in rows]),
            # Nothing is cut off: a word that is too long goes on in the next line.
            overflow="fold",
        )
    for place, row in enumerate(rows):
        cells = ([cell] if isinstance(cell, str) else cell for cell in row)
        texts = (Text("\n".join(map(printable, lines))) for lines in cells)
        table.add_row(*texts, style="bold" if place == bold else None)
    plain = bool(os.environ.get("NO_COLOR"))
    Console(highlight=False, color_system=None if plain else "auto").print(table)


def _longest_word(heading: str, cells: Iterable[str | list[str]]) -> int:
    """The letters of the longest word of a column, up to where it is no word any more."""
    texts = [heading, *(" ".join([cell] if isinstance(cell, str) else cell) for cell in cells)]
    return min(_LONG_WORD, max(len(word) for text in texts for word in text.split() or [""]))
