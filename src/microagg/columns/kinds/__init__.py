"""The kinds of columns, by name: every file in this folder that holds an object `KIND` is one."""

import difflib
import importlib
import pkgutil
from functools import cache

import pyarrow as pa

from microagg.base.errors import InputError, OptionError
from microagg.columns.kinds.kind import Kind


def find(name: str) -> Kind:
    """The kind of that name."""
    kinds = _by_name()
    if name in kinds:
        return kinds[name]
    near = difflib.get_close_matches(str(name), kinds, n=2, cutoff=0.5)
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    raise OptionError(f"kinds: there is no kind {name!r}; there are {', '.join(kinds)}{meant}")


def all_kinds() -> tuple[Kind, ...]:
    """Every kind there is, by name."""
    return tuple(_by_name().values())


def kinds_of_text() -> list[Kind]:
    """The kinds that text nobody declared may be of, in the order in which they are tried."""
    return sorted((kind for kind in all_kinds() if kind.turn), key=lambda kind: kind.turn)


def kind_for(name: str, column_type: pa.DataType) -> Kind:
    """How a column is treated if nobody says how, by its type."""
    for kind in all_kinds():
        if kind.is_default_for(column_type):
            return kind
    raise InputError(
        f"column {name!r} is of type {column_type}, which cannot be protected; "
        "make it numbers, text or dates, or leave it out of quasi_identifiers"
    )


@cache
def _by_name() -> dict[str, Kind]:
    # Not before somebody asks: kinds make columns of numbers, and these know their kinds.
    names = sorted(each.name for each in pkgutil.iter_modules(__path__))
    files = (importlib.import_module(f"{__name__}.{name}") for name in names)
    return {file.KIND.name: file.KIND for file in files if hasattr(file, "KIND")}
