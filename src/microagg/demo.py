"""The main job on a bundled example, told step by step."""

import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from microagg.aggregation.values import aggregate
from microagg.example import CONFIDENTIAL, IDENTIFIERS, QUASI_IDENTIFIERS, patients
from microagg.files import whole_file
from microagg.grouping.partition import partition
from microagg.kernels.compiling import seconds_compiling
from microagg.measure.loss import information_loss

_SHOWN = 4


def run(folder: Path, *, k: int, records: int, seed: int) -> None:
    """Invent patients, protect them, write both tables and show what changed."""
    console = Console()
    original = patients(records, seed)
    known = np.column_stack([original[name] for name in QUASI_IDENTIFIERS])
    start = time.perf_counter()
    groups = partition(known, k)
    compiling = seconds_compiling()
    elapsed = time.perf_counter() - start - compiling
    released = {name: original[name] for name in original if name not in IDENTIFIERS}
    for name in QUASI_IDENTIFIERS:
        column = original[name]
        how = "integer" if column.dtype.kind == "i" else "mean"
        released[name] = np.round(aggregate(column, groups, how), 2)
    _write(folder / "patients.csv", original)
    _write(folder / "protected.csv", released)

    console.print(f"\n[bold]microagg demo[/bold]: {records} invented patients, k = {k}\n")
    console.print(f"  dropped    {', '.join(IDENTIFIERS)} (identifies a person)")
    console.print(f"  protected  {', '.join(QUASI_IDENTIFIERS)} (others may know them)")
    console.print(f"  kept       {', '.join(CONFIDENTIAL)} (confidential, as they are)")
    console.print(
        f"  grouped    by {groups.method} into {groups.n_groups} groups of "
        f"{groups.sizes.min()} to {groups.sizes.max()} patients in {elapsed:.1f} s"
        + (f" ({compiling:.0f} s more to compile, first run only)" if compiling > 1 else "")
        + "\n",
        soft_wrap=True,
    )
    console.print(_changes(original, released, groups.labels))
    console.print(_first_rows(original, released))
    shared = _fewest_alike(released)
    console.print(
        f"\nEvery combination of protected values is now shared by at least [bold]{shared}[/bold] "
        f"patients.\nInformation loss {information_loss(known, groups):.2f} % "
        "(0 is none, 100 is one group of all).\n"
        "This hides who is who among those alike; it does not hide a diagnosis that all share.\n"
    )
    console.print(f"original   {folder / 'patients.csv'}")
    console.print(f"release    {folder / 'protected.csv'}")


def _write(path: Path, table: dict[str, NDArray[Any]]) -> None:
    with whole_file(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))


def _changes(
    original: dict[str, NDArray[Any]], released: dict[str, NDArray[Any]], labels: NDArray[np.int64]
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="What became of each column", title_justify="left")
    for heading in ("column", "mean", "mean after", "deviation", "deviation after", "loss %"):
        table.add_column(heading, justify="left" if heading == "column" else "right")
    for name in QUASI_IDENTIFIERS:
        before, after = original[name], released[name]
        loss = information_loss(before, labels)
        figures = (before.mean(), after.mean(), before.std(), after.std(), loss)
        table.add_row(name, *(f"{figure:,.2f}" for figure in figures))
    return table


def _first_rows(original: dict[str, NDArray[Any]], released: dict[str, NDArray[Any]]) -> Table:
    """A few records before and after: they may be shown, for nobody in them exists."""
    table = Table(box=box.SIMPLE_HEAD, title="The first patients", title_justify="left")
    table.add_column("")
    shown = (*QUASI_IDENTIFIERS, "diagnosis")
    for name in shown:
        table.add_column(name, justify="right", no_wrap=True)
    for row in range(min(_SHOWN, len(original["age"]))):
        table.add_row("before", *(str(original[name][row]) for name in shown), style="dim")
        table.add_row("after", *(str(released[name][row]) for name in shown))
    return table


def _fewest_alike(released: dict[str, NDArray[Any]]) -> int:
    """The least number of records with the same protected values, counted on the release itself."""
    known = np.column_stack([released[name] for name in QUASI_IDENTIFIERS])
    return int(np.unique(known, axis=0, return_counts=True)[1].min())
