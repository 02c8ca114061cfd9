"""The main job on a bundled example: a table in, a release, its certificate and a report out."""

import csv
import json
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from microagg.actions.example import CONFIDENTIAL, IDENTIFIERS, QUASI_IDENTIFIERS, patients
from microagg.actions.protect import protect
from microagg.base.arrays import check_k, check_seed
from microagg.base.files import whole_file
from microagg.base.recipe import Recipe
from microagg.base.texts import printable
from microagg.kernels.announcing import seconds_compiling
from microagg.release.output import certificate_path, record_path
from microagg.release.release import Release

_SHOWN = 4
_FIRST = "The first patients (in the release rows are shuffled)"


def run(
    folder: Path, *, k: int, records: int, seed: int, as_json: bool = False, quiet: bool = False
) -> None:
    """Invent patients, protect them, write everything and show what changed."""
    check_seed(seed)
    check_k(k, records)
    recipe = Recipe.from_settings(
        {
            "k": k,
            "quasi_identifiers": QUASI_IDENTIFIERS,
            "confidential": CONFIDENTIAL,
            "identifiers": IDENTIFIERS,
            "decimals": 2,
        }
    )
    original = folder / "patients.csv"
    write_patients(original, records, seed)
    release = protect(original, recipe=recipe, progress=False if quiet else None)
    files = {"original": original}
    files["release"] = folder / "release.csv"
    files["certificate"] = certificate_path(files["release"])
    files["record"] = record_path(files["release"])
    files["report"] = folder / "report.html"
    files["public report"] = folder / "report-public.html"
    files["recipe"] = folder / "recipe.toml"
    release.write(files["release"], force=True)
    release.report(files["report"])
    release.report(files["public report"], public=True)
    release.recipe.write(files["recipe"])
    if as_json:
        named = {what: str(path) for what, path in files.items()}
        print(json.dumps({**release.certificate.to_dict(), "files": named}, indent=2))
    elif not quiet:
        _show(release, files)


def _show(release: Release, files: dict[str, Path]) -> None:
    console = Console(highlight=False)
    found, compiling = release.certificate, seconds_compiling()
    console.print(
        f"\n[bold]microagg demo[/bold]: {found.rows_released} invented patients, "
        f"k = {found.k_asked}\n"
    )
    console.print(f"  dropped    {', '.join(IDENTIFIERS)} (identifies a person)")
    console.print(f"  protected  {', '.join(QUASI_IDENTIFIERS)} (others may know them)")
    console.print(f"  kept       {', '.join(CONFIDENTIAL)} (confidential, as they are)")
    console.print(
        f"  grouped    by {found.method} into {found.groups} groups of {found.smallest_group} to "
        f"{found.largest_group} patients"
        + (f" ({compiling:.0f} s to compile, first run only)" if compiling > 1 else "")
        + "\n",
        soft_wrap=True,
    )
    console.print(_changes(release))
    console.print(_first_rows(files["original"], release))
    console.print(
        f"\nEvery combination of protected values is shared by at least "
        f"[bold]{found.k_found}[/bold] patients, counted on what was written.\n"
        f"Information loss {found.information_loss:.2f} % "
        "(0 is none, 100 is one value for all).\n"
        "This hides who is who among those alike; it does not hide a diagnosis that all share.\n",
        soft_wrap=True,
    )
    for what, path in files.items():
        console.print(f"{what:<14}{printable(str(path))}", soft_wrap=True, markup=False)
    console.print("\nRelease, certificate and public report may be published; all else stays here.")


def write_patients(path: Path, records: int = 3000, seed: int = 2026) -> None:
    """The invented patients as a CSV file."""
    table = patients(records, seed)
    with whole_file(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))


def _changes(release: Release) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="What became of each column", title_justify="left")
    for heading in ("column", "mean", "mean after", "deviation", "deviation after", "loss %"):
        table.add_column(heading, justify="left" if heading == "column" else "right")
    for column in release.shown.attributes:
        if column.role == "quasi-identifier":
            figures = (
                column.mean_before,
                column.mean_after,
                column.deviation_before,
                column.deviation_after,
                column.loss,
            )
            table.add_row(column.name, *(f"{figure:,.2f}" for figure in figures))
    return table


def _first_rows(original: Path, release: Release) -> Table:
    """A few records before and after: they may be shown, for nobody in them exists.

    What is written is shuffled; in memory the release has the order of the original.
    """
    table = Table(box=box.SIMPLE_HEAD, title=_FIRST, title_justify="left")
    table.add_column("")
    shown = (*QUASI_IDENTIFIERS, "diagnosis")
    for name in shown:
        table.add_column(name, justify="right", no_wrap=True)
    with original.open(newline="") as before:
        pairs = zip(csv.DictReader(before), release.data.slice(0, _SHOWN).to_pylist(), strict=False)
        for was, now in pairs:
            table.add_row("before", *(was[name] for name in shown), style="dim")
            table.add_row("after", *(str(now[name]) for name in shown))
    return table
