"""A look at a table before anything is done: columns, kinds, and roles they might have."""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, astuple, dataclass, replace
from functools import partial
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from microagg.actions.risk import Asked, once, risk_in_parts
from microagg.base.addresses import without_password
from microagg.base.errors import MicroaggError, OptionError
from microagg.base.progress import Advance, watch
from microagg.base.reading import Reading
from microagg.base.showing import Rows, Showing
from microagg.base.texts import command
from microagg.columns.coded import Coded, encode
from microagg.columns.digits import FEW, ask_about_codes, is_few, may_be_codes, words_of
from microagg.columns.identifying import identifier_in
from microagg.columns.naming import (
    named_like,
    named_like_household,
    named_like_id,
    named_like_weight,
    named_like_weights,
)
from microagg.engine.choosing import Where
from microagg.engine.looking import Looked, look_at
from microagg.kernels.threads import run_each
from microagg.measure.risk.exposure import THRESHOLD
from microagg.measure.risk.outcome import Risk
from microagg.table.checks import plain
from microagg.table.classes import count_classes
from microagg.table.frames import Frame
from microagg.table.opening import Opened, open_table

# What is shown a column.
See = Callable[[str, Coded], None]
_MOSTLY_UNIQUE = 0.9
_OWN = "nearly every record has its own value, and it is named like an identifier"
_SHARED = "named like an identifier, though several records share it"
# See `microagg.measure.risk.special_uniques`.
_SECONDS_OF_WORK = 5 * 10**7


@dataclass(frozen=True)
class ColumnView:
    """One column: its kind, and the role it might have with the reason why."""

    name: str
    kind: str
    distinct: int
    missing: int
    role: str
    reason: str


@dataclass(frozen=True, repr=False)
class Inspection(Showing):
    """A table looked at.

    unique: how many records nobody else shares the suggested quasi-identifiers with; each of them
    could be recognised by these. kinds: proposals for quasi-identifiers that may be codes.
    household: the column that may say to which household a record belongs. sampled: the records in
    which columns were looked at, where these are not all.
    address: where the table is, as given but for user and password. risk: if it was measured.
    """

    source: str
    rows: int
    columns: tuple[ColumnView, ...]
    unique: int | None
    notes: tuple[str, ...]
    kinds: dict[str, str]
    address: str = ""
    household: str | None = None
    risk: Risk | None = None
    sampled: int | None = None

    def _told(self) -> dict[str, object]:
        return {"rows": self.rows, "columns": len(self.columns), "unique": self.unique}

    def _rows(self) -> Rows:
        headings = ("column", "kind", "values", "missing", "suggested role", "because")
        return headings, [tuple(map(str, astuple(column))) for column in self.columns]

    def names(self, role: str) -> list[str]:
        """The columns for which a role is suggested."""
        return [column.name for column in self.columns if column.role == role]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        told = asdict(replace(self, risk=None))
        told["columns"] = [asdict(column) for column in self.columns]
        del told["risk"]
        return told if self.risk is None else {**told, "risk": self.risk.to_dict()}


def inspect(
    table: Any,
    *,
    risk: bool = False,
    quasi_identifiers: Sequence[str] | None = None,
    weights: str | None = None,
    household: str | None = None,
    fraction: float | None = None,
    missing: Literal["value", "wildcard"] = "value",
    threshold: float = THRESHOLD,
    largest: int | None = None,
    engine: str = "auto",
    memory: int | str | None = None,
    progress: bool | None = None,
    **reading: Any,
) -> Inspection:
    """Look at a table: kinds of columns, suggested roles, how many records stand out.

    table: whatever `protect` takes. reading: how to read it, as in `Recipe.reading`.
    engine, memory: as in `protect`. Of a table on disk or on Spark columns are looked at in a
        sample, whose size a note says; who stands out, and the risk as far as it adds up, is
        counted on all.
    risk: also measure its risk, by the quasi-identifiers, the weights and the household named, or
        else by those suggested; with the other settings of `microagg.risk`. Special uniques are
        looked for where that takes seconds.

    Roles are guessed from names and values: a suggestion to think about, not a decision.
    """
    settings, where = Reading(**reading), Where(engine=engine, memory=memory)
    chosen = where.settled(table)
    address = os.fspath(table) if isinstance(table, str | os.PathLike) else ""
    with ExitStack() as held:
        looked = None
        with watch("reading", progress) as advance:
            if chosen == "memory":
                source = open_table(table, settings, advance=advance)
            else:
                looked = look_at(table, chosen, settings, lambda share: advance(share / 2))
                held.enter_context(closing(looked))
                source = _sampled(looked, lambda share: advance(0.5 + share / 2))
        found = inspected(source, address, progress=progress)
        if looked is not None:
            found = _of_all(found, looked)
        if not risk:
            return _counted(found, source, looked)
        keys = found.names("quasi-identifier") if quasi_identifiers is None else quasi_identifiers
        if not keys:
            raise OptionError(
                "no column looks like one that others know; name some: quasi_identifiers"
            )
        guessed = _guessed(found.columns, weights or fraction, household)
        asked = Asked(
            keys=once(keys, "quasi_identifiers"),
            weights=guessed.get("weights", weights),
            household=guessed.get("households", household),
            fraction=fraction,
            missing=missing,
            threshold=threshold,
            largest=largest,
            most_work=_SECONDS_OF_WORK,
        )
        if looked is None:
            measured = asked.measure(source, progress)
        else:
            measured = risk_in_parts(table, asked, where, settings, progress)
        notes = tuple(
            f"{name} was taken for {what}, as it is named so." for what, name in guessed.items()
        )
        found = replace(found, risk=replace(measured, notes=(*notes, *measured.notes)))
        if set(measured.keys) == set(found.names("quasi-identifier")) and missing == "value":
            return replace(found, unique=measured.violations[2])
        return _counted(found, source, looked)


def _sampled(looked: Looked, advance: Advance) -> Opened:
    """A sample of a table that is not held, as if it were opened."""
    frame = Frame(looked.sample(advance))
    return Opened(frame, looked.origin, looked.sha256, list(looked.notes))


def _of_all(found: Inspection, looked: Looked) -> Inspection:
    """What was seen in a sample, as that of the whole."""
    if found.rows == looked.rows:
        return found
    note = (
        f"Columns were looked at in a sample of {found.rows:,} of the {looked.rows:,} records; "
        "values and missing ones are counted in that."
    )
    return replace(found, rows=looked.rows, sampled=found.rows, notes=(note, *found.notes))


def inspected(
    source: Opened,
    address: str = "",
    *,
    see: See = lambda _name, _column: None,
    progress: bool | None = None,
) -> Inspection:
    """A table that was opened, looked at; who stands out is not counted yet.

    see: is shown every column as numbers, several at the same time.
    """
    with watch("looking at columns", progress) as advance:
        columns = _views(source, advance, see)
    known = [column.name for column in columns if column.role == "quasi-identifier"]
    rows, origin = source.frame.rows, source.origin
    codes = [
        each.name
        for each in columns
        if each.name in known
        and origin.kind_of(each.name) is None
        and may_be_codes(each.name, each.kind, is_few(each.distinct, rows - each.missing))
    ]
    shared = [each.name for each in columns if each.reason == _SHARED]
    home = next((name for name in shared if named_like_household(words_of(name))), None)
    return Inspection(
        origin.name,
        rows,
        columns,
        None,
        (
            *source.notes,
            *ask_about_codes(codes),
            *_notes_on_weights(columns),
            *_notes_on_owners(shared, home),
        ),
        dict.fromkeys(codes, "nominal"),
        without_password(address),
        home,
    )


def _counted(found: Inspection, source: Opened, looked: Looked | None) -> Inspection:
    """With the number of records that stand out by the suggested quasi-identifiers."""
    known = found.names("quasi-identifier")
    if not known:
        return found
    if looked is not None:
        return replace(found, unique=looked.counted(known, [])[0].unique)
    arrays = {name: source.frame.column(name) for name in known}
    return replace(found, unique=count_classes(pa.table(arrays), known).unique)


def _guessed(
    columns: Sequence[ColumnView], population: str | float | None, household: str | None
) -> dict[str, str]:
    """The columns of weights and of households that are not named, where there is one."""
    weights = [each.name for each in columns if each.role == "weights" and not each.missing]
    homes = [
        each.name
        for each in columns
        if each.reason == _SHARED and named_like_household(words_of(each.name))
    ]
    guessed = {"weights": weights[:1] if population is None else []}
    guessed["households"] = homes if household is None and len(homes) == 1 else []
    return {what: names[0] for what, names in guessed.items() if names}


def _views(source: Opened, advance: Advance, see: See) -> tuple[ColumnView, ...]:
    names = source.frame.names
    views: list[ColumnView | None] = [None] * len(names)

    def view(place: int) -> None:
        views[place] = _view(source, names[place], see)

    run_each([partial(view, place) for place in range(len(names))])
    advance(1.0)
    return tuple(view for view in views if view is not None)


def _notes_on_owners(shared: list[str], household: str | None) -> list[str]:
    """When rows that share an identifier count as one, and when as a household."""
    notes = []
    if household is not None:
        notes.append(
            f"{household} may say who lives together: with {command('--household', household)} k "
            "counts different households, and members keep their own values. --entity is not for "
            "that: it gives all rows of one the same values."
        )
    others = [name for name in shared if name != household]
    if others:
        notes.append(
            f"Several records share {' and '.join(others)}. If these are the rows of one person, "
            f"as in a panel, say {command('--entity', others[0])}: k then counts persons; if they "
            f"are members of a household, {command('--household', others[0])}."
        )
    return notes


def _notes_on_weights(columns: Sequence[ColumnView]) -> list[str]:
    return [
        f"{each.name} may be what people weigh, or sampling weights: if so, leave it out of -q and "
        f"say {command('--weights', each.name)}."
        for each in columns
        if each.role == "quasi-identifier" and named_like_weight(words_of(each.name))
    ]


def _view(source: Opened, name: str, see: See) -> ColumnView:
    try:
        array = source.frame.column(name)
    except MicroaggError as problem:
        return ColumnView(name, "unclear", 0, 0, "look at it", str(problem))
    distinct, by_value = _distinct(array), identifier_in(plain(array))
    try:
        column = encode(name, source.without_codes(name), source.origin.kind_of(name))
    except MicroaggError as problem:
        reason = str(problem)
        if by_value is not None:
            return ColumnView(
                name,
                "nominal",
                distinct,
                array.null_count,
                "identifier",
                f"its values are {by_value}",
            )
        return ColumnView(name, "unclear", distinct, array.null_count, "look at it", reason)
    see(name, column)
    missing = array.null_count if column.missing is None else int(column.missing.sum())
    role, reason = _role(name, column, distinct, len(array) - missing, by_value)
    return ColumnView(name, column.kind, distinct, missing, role, reason)


def _role(
    name: str, column: Coded, distinct: int, present: int, by_value: str | None
) -> tuple[str, str]:
    words = words_of(name)
    unique = present > 1 and distinct >= _MOSTLY_UNIQUE * present
    text, whole = map(column.traits.is_default_for, (pa.string(), pa.int64()))
    if column.numeric and named_like_weights(words):
        return "weights", "named like sampling weights"
    if distinct <= 1:
        return "other", "it has the same value everywhere"
    if by_value is not None:
        return "identifier", f"its values are {by_value}"
    if unique and (text or whole) and named_like(words, "identifier"):
        return "identifier", _OWN
    if unique and text:
        return "identifier", "nearly every record has its own text"
    if (text or whole) and distinct > FEW and named_like_id(words):
        return "identifier", _OWN if unique else _SHARED
    if named_like(words, "confidential"):
        return "confidential", "named like something private"
    if named_like(words, "quasi-identifier"):
        return "quasi-identifier", "others often know it"
    if named_like(words, "identifier") and not column.numeric:
        return "identifier", "named like an identifier"
    if column.numeric and distinct > FEW:
        return "quasi-identifier", "numbers with many values single people out"
    return "other", "few values, and nothing in its name"


def _distinct(array: pa.Array) -> int:
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    try:
        return int(pc.count_distinct(array, mode="only_valid").as_py())
    except pa.ArrowNotImplementedError:
        # Lists, structures and the like; nothing at all is one of them.
        return len({repr(each) for each in array.to_pylist() if each is not None})
