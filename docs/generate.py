"""Write the pages that the code itself knows best: python docs/generate.py"""

import os
from pathlib import Path

HERE = Path(__file__).parent


def methods_page() -> str:
    from microagg.grouping.methods import all_methods

    lines = [
        "# Methods",
        "",
        "Made by `docs/generate.py` from the registry. Names in the column *from*: IMHMI is "
        'Mortazavi, "Improved',
        'Univariate Microaggregation for Integer Values"; RepOrdMic is Mortazavi\'s "Repeated '
        'record ordering"; P3M is the',
        "paper on proximity-aware centroids.",
        "",
        "| method | what it does | time | from | options |",
        "| --- | --- | --- | --- | --- |",
    ]
    for method in all_methods():
        options = "; ".join(f"`{name}`: {meaning}" for name, meaning in method.options.items())
        cells = (f"`{method.name}`", method.description, method.time, method.paper, options)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def command_line_page() -> str:
    from typer.testing import CliRunner

    from microagg.cli import app

    plain = {**os.environ, "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "96"}
    text = "# Command line\n\nMade by `docs/generate.py` from `--help`.\n"
    for command in ((), ("demo",), ("methods",)):
        asked = [*command, "--help"]
        shown = CliRunner().invoke(app, asked, env=plain, prog_name="microagg").output
        body = "\n".join(line.rstrip() for line in shown.strip().splitlines())
        text += f"\n## {' '.join(('microagg', *command))}\n\n```\n{body}\n```\n"
    return text


PAGES = {"methods.md": methods_page, "command-line.md": command_line_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
