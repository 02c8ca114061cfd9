"""microagg inspect"""

from typing import Any

from microagg.base.texts import command, listed
from microagg.cli import options
from microagg.cli.saying import say, say_json, say_table

_ROLES = {"identifier": "-i", "quasi-identifier": "-q", "confidential": "-c"}


@options.with_settings("reading")
def inspect(
    source: options.Source,
    settings: dict[str, Any],
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Look at a table: columns, kinds, suggested roles, records that stand out."""
    import microagg

    reading = settings.get("reading", {})
    found = microagg.inspect(source, progress=False if quiet else None, **reading)
    if json:
        say_json(found.to_dict())
        return
    say("")
    say(f"{found.source}: {found.rows} records")
    say_table(
        ("column", "kind", "values", "missing", "suggested role"),
        [
            (each.name, each.kind, str(each.distinct), str(each.missing), each.role)
            for each in found.columns
        ],
        right=("values", "missing"),
        whole=("kind", "values", "missing", "suggested role"),
    )
    because: dict[tuple[str, str], list[str]] = {}
    for each in found.columns:
        because.setdefault((each.role, each.reason), []).append(each.name)
    for (role, reason), names in because.items():
        say(f"{role}: {', '.join(names)} ({reason})")
    for note in found.notes:
        say(f"Note: {note}")
    known = found.names("quasi-identifier")
    if known:
        say(
            f"{found.unique} of {found.rows} records are the only ones with their "
            f"{', '.join(known)}."
        )
    say("Roles are guesses from names and values. You know better what others may know:")
    words = ["microagg", "protect", found.address, "-k", "5"]
    for role, option in _ROLES.items():
        names = found.names(role)
        if names or option == "-q":
            words += [option, listed(names) or "COLUMNS"]
    for name in found.names("weights")[:1]:
        words += ["--weights", name]
    say(command(*words, *options.reading_words(reading), "-o", "release.csv"))
