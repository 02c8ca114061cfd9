"""microagg inspect"""

from typing import Any

from microagg.cli import options


@options.with_settings("reading")
def inspect(
    source: options.Source,
    settings: dict[str, Any],
    json: options.AsJson = False,
) -> None:
    """Look at a table: columns, kinds, suggested roles, records that stand out."""
    import microagg

    found = microagg.inspect(source, **settings.get("reading", {}))
    if json:
        options.say_json(found.to_dict())
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("column", "kind", "values", "missing", "suggested role", "because"):
        table.add_column(heading, justify="right" if heading in ("values", "missing") else "left")
    for column in found.columns:
        cells = (column.name, column.kind, str(column.distinct), str(column.missing))
        table.add_row(*map(Text, (*cells, column.role, column.reason)))
    console.print(f"\n{found.source}: {found.rows} records", markup=False)
    console.print(table)
    for note in found.notes:
        console.print(f"Note: {note}", markup=False)
    known = found.names("quasi-identifier")
    if known:
        console.print(
            f"{found.unique} of {found.rows} records are the only ones with their "
            f"{', '.join(known)}.",
            markup=False,
            soft_wrap=True,
        )
    console.print(
        "Roles are guesses from names and values. You know better what others may know:\n"
        f"microagg protect {found.source} -k 5 -q {','.join(known) or 'COLUMNS'} -o release.csv",
        markup=False,
        soft_wrap=True,
    )
