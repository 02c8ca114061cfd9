"""Timing that survives a noisy machine, and tables of it."""

import csv
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


def best_times(jobs: Mapping[str, Callable[[], Any]], rounds: int = 9) -> dict[str, float]:
    """The least seconds of each job, taken in turns so that all meet the same noise."""
    for job in jobs.values():
        job()
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(rounds):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    table = Table(title=title, title_justify="left")
    for number, name in enumerate(header):
        table.add_column(name, justify="left" if number == 0 else "right")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    Console(width=160).print(table)


def save(name: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write benchmarks/results/<name>.csv and .md; a quick run is to see, and writes nothing."""
    if "--quick" in sys.argv:
        return
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    lines = [header, ["---"] * len(header), *rows]
    text = "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
