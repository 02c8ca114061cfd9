"""microagg inspect"""

from typing import Any

from microagg.cli import options
from microagg.cli.saying import say_json, say_table


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
        say_json(found.to_dict())
        return
    print(f"\n{found.source}: {found.rows} records")
    say_table(
        ("column", "kind", "values", "missing", "suggested role", "because"),
        [
            (each.name, each.kind, str(each.distinct), str(each.missing), each.role, each.reason)
            for each in found.columns
        ],
        right=("values", "missing"),
    )
    for note in found.notes:
        print(f"Note: {note}")
    known = found.names("quasi-identifier")
    if known:
        print(
            f"{found.unique} of {found.rows} records are the only ones with their "
            f"{', '.join(known)}."
        )
    print(
        "Roles are guesses from names and values. You know better what others may know:\n"
        f"microagg protect {found.source} -k 5 -q {','.join(known) or 'COLUMNS'} -o release.csv"
    )
