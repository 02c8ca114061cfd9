"""A look at a table before anything is done: columns, kinds, and roles they might have."""

import os
import re
from dataclasses import asdict, astuple, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from microagg.base.addresses import without_password
from microagg.base.errors import MicroaggError
from microagg.base.progress import watch
from microagg.base.reading import Reading
from microagg.base.showing import Rows, Showing
from microagg.columns.coded import Coded, encode
from microagg.columns.digits import FEW, ask_about_codes, is_few, may_be_codes, words_of
from microagg.table.classes import count_classes
from microagg.table.opening import Opened, open_table

_WORDS = {
    "identifier": (
        "address|email|e mail|first name|last name|surname|name|phone|telephone|mobile|ssn|"
        "social security|passport|iban|account|patient|person|respondent|customer|user|id|nr|"
        "number|url|ip"
    ),
    "confidential": (
        "diagnosis|disease|illness|icd|drug|medication|hiv|salary|wage|debt|loan|tax|cost|"
        "charge|religion|politic|party|vote|crime|offence|sexual|genetic|stay|score|prediction"
    ),
    "quasi-identifier": (
        "age|birth|born|dob|sex|gender|zip|postal|postcode|city|town|municipality|county|region|"
        "state|country|nationality|citizenship|race|ethnic|marital|education|degree|occupation|"
        "job|profession|employer|industry|household|children|income|revenue|turnover|employees|"
        "height|weight|admission|date|distance|latitude|longitude|workclass|relationship"
    ),
}
# Also where several records share a value, and however its letters are written together.
_IDS = r"\b(id|ids|nr|uuid|guid|key|no|[hpu]id|hhid|psu)\b|\b(household|family|dwelling|hh)$"
_WEIGHTS = (
    r"\b(weights|[fhpsw]?weighting|f?wgt|fnlwgt|[fhpsw]wt|[hpsw]weight)\b|"
    r"\b(sampl|survey|design|final|base|person|household|replicate|calibrat)\w* (weight|wt|wgt)\b"
)
_MOSTLY_UNIQUE = 0.9


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
    address: where the table is, as given but for user and password.
    """

    source: str
    rows: int
    columns: tuple[ColumnView, ...]
    unique: int | None
    notes: tuple[str, ...]
    kinds: dict[str, str]
    address: str = ""

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
        return {**asdict(self), "columns": [asdict(column) for column in self.columns]}


def inspect(table: Any, *, progress: bool | None = None, **reading: Any) -> Inspection:
    """Look at a table: kinds of columns, suggested roles, how many records stand out.

    table: whatever `protect` takes. reading: how to read it, as in `Recipe.reading`.

    Roles are guessed from names and values: a suggestion to think about, not a decision.
    """
    settings = Reading(**reading)
    with watch("reading", progress) as advance:
        source = open_table(table, settings, advance=advance)
    columns = tuple(_view(source, name) for name in source.frame.names)
    known = [column.name for column in columns if column.role == "quasi-identifier"]
    unique = None
    if known:
        arrays = {name: source.frame.column(name) for name in known}
        unique = count_classes(pa.table(arrays), known).unique
    rows, origin = source.frame.rows, source.origin
    codes = [
        each.name
        for each in columns
        if each.name in known
        and origin.kind_of(each.name) is None
        and may_be_codes(each.name, each.kind, is_few(each.distinct, rows - each.missing))
    ]
    address = os.fspath(table) if isinstance(table, str | os.PathLike) else ""
    return Inspection(
        origin.name,
        rows,
        columns,
        unique,
        (*source.notes, *ask_about_codes(codes)),
        dict.fromkeys(codes, "nominal"),
        without_password(address),
    )


def _view(source: Opened, name: str) -> ColumnView:
    try:
        array = source.frame.column(name)
    except MicroaggError as problem:
        return ColumnView(name, "unclear", 0, 0, "look at it", str(problem))
    distinct = _distinct(array)
    try:
        column = encode(name, source.without_codes(name), source.origin.kind_of(name))
    except MicroaggError as problem:
        return ColumnView(name, "unclear", distinct, array.null_count, "look at it", str(problem))
    missing = array.null_count if column.missing is None else int(column.missing.sum())
    role, reason = _role(name, column, distinct, len(array) - missing)
    return ColumnView(name, column.kind, distinct, missing, role, reason)


def _role(name: str, column: Coded, distinct: int, present: int) -> tuple[str, str]:
    words = words_of(name)
    unique = present > 1 and distinct >= _MOSTLY_UNIQUE * present
    text, whole = map(column.traits.is_default_for, (pa.string(), pa.int64()))
    if distinct <= 1:
        return "other", "it has the same value everywhere"
    if column.numeric and re.search(_WEIGHTS, words.strip()):
        return "weights", "it is named like sampling weights"
    if unique and (text or whole) and _named(words, "identifier"):
        reason = "nearly every record has its own value, and it is named like an identifier"
        return "identifier", reason
    if unique and text:
        return "identifier", "nearly every record has its own text"
    if (text or whole) and distinct > FEW and re.search(_IDS, words.strip()):
        return "identifier", "named like an identifier, though records share it (an entity?)"
    if _named(words, "confidential"):
        return "confidential", "it is named like something private"
    if _named(words, "quasi-identifier"):
        return "quasi-identifier", "others often know it"
    if _named(words, "identifier") and not column.numeric:
        return "identifier", "it is named like an identifier"
    if column.numeric and distinct > FEW:
        return "quasi-identifier", "numbers with many values single people out"
    return "other", "few values, and nothing in its name"


def _named(words: str, role: str) -> bool:
    return re.search(rf"\b({_WORDS[role]})", words) is not None


def _distinct(array: pa.Array) -> int:
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    try:
        return int(pc.count_distinct(array, mode="only_valid").as_py())
    except pa.ArrowNotImplementedError:
        # Lists, structures and the like; nothing at all is one of them.
        return len({repr(each) for each in array.to_pylist() if each is not None})
