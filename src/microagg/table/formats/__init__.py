"""The formats of files and databases, by name and by suffix; each has a module of its own."""

from collections.abc import Callable, Collection
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import OptionError
from microagg.base.progress import Report
from microagg.base.reading import Loaded, Reading
from microagg.table.formats.database import Address, is_database
from microagg.table.formats.database import shown as shown_address

_MODULES = {
    "csv": "csv.files",
    "arrow": "arrow.files",
    "excel": "excel",
    "stats": "stats.files",
    "database": "database",
}
_FORMS = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".dat"), "csv"),
    **dict.fromkeys((".parquet", ".pq", ".feather", ".arrow", ".ipc", ".arrows"), "arrow"),
    **dict.fromkeys((".xlsx", ".xlsm"), "excel"),
    **dict.fromkeys((".sav", ".zsav", ".dta", ".sas7bdat", ".xpt"), "stats"),
}
_TABS = (".tsv", ".tab")
_ONLY_READ = {".xlsm": ".xlsx", ".sas7bdat": ".xpt, .sav or .dta"}


def form_of(address: str) -> str:
    """Which format an address is of; "-" is standard input or output, which carry CSV."""
    if address == "-":
        return "csv"
    if is_database(address):
        return "database"
    suffix = Path(address).suffix.lower()
    if suffix not in _FORMS:
        raise OptionError(
            f"{Path(address).name!r} has the suffix {suffix or 'none'!r}, which tells no format; "
            f"there are {', '.join(_FORMS)} and URLs of databases"
        )
    return _FORMS[suffix]


def shown_name(address: str) -> str:
    """What to call an address in print: no folders, no passwords."""
    if address == "-":
        return "standard input"
    return shown_address(address) if is_database(address) else Path(address).name


def read(
    form: str, address: str, reading: Reading, typed: Collection[str] | None, report: Report
) -> Loaded:
    """Read what is at an address of this format."""
    module = _module(form)
    if form == "database":
        return module.read(address, reading, report)
    if form == "csv":
        return module.read(Path(address), reading, typed, report)
    return module.read(Path(address), reading, report)


def write_file(form: str, table: pa.Table, path: Path, layout: Any) -> None:
    """Write a file of this format, alike if the layout is of the same one."""
    _module(form).write(table, path, layout)


def write_database(
    table: pa.Table, address: str, check: Callable[[pa.Table], None], force: bool
) -> None:
    """Write a database table that takes its name only after it was read back and checked."""
    _module("database").write(table, address, check, force)


def declared_missing(
    form: str, layout: Any, name: str, array: pa.Array
) -> NDArray[np.bool_] | None:
    """Where a column holds codes that its file declares to be missing values."""
    if form != "stats":
        return None
    found: NDArray[np.bool_] | None = _module(form).mask_of_missing(array, layout, name)
    return found


def with_decimal_points(array: pa.Array, layout: Any) -> pa.Array:
    """Texts of a file with decimal commas as if it had points."""
    return pc.replace_substring(array, ",", ".") if layout.decimal == "," else array


def without_codes(table: pa.Table, layout: Any) -> pa.Table:
    """The table of a statistics package with its codes for missing values as plain ones."""
    found: pa.Table = _module("stats").without_codes(table, layout)
    return found


def understood(array: pa.Array, layout: Any) -> pa.Array:
    """Texts of a text file as what they say, if all of them say the same kind of thing."""
    from microagg.table.formats.csv.layout import understand

    return understand(array, layout.decimal)[2]


def layout_for(path: Path, layout: Any, source: Path | None) -> Any:
    """The layout of a file to be written, from that of an input of the same format or from none.

    A text file always has one, and a suffix that promises tabs holds for the file that has it.
    """
    if form_of(str(path)) != "csv":
        return layout
    layout = layout or _module("csv").CsvLayout()
    if path.suffix.lower() in _TABS:
        return replace(layout, delimiter="\t")
    from_tabs = source is not None and source.suffix.lower() in _TABS
    return replace(layout, delimiter=",") if from_tabs else layout


def holds_codes(path: Path, layout: Any) -> bool:
    """Whether a file keeps the codes for missing values that an input with this layout had."""
    stats = _module("stats")
    return bool(stats.KINDS.get(path.suffix.lower()) == layout.kind)


def check_writable(address: str) -> None:
    """Refuse a file whose format can be read but not written."""
    suffix = Path(address).suffix.lower()
    if suffix in _ONLY_READ:
        raise OptionError(
            f"{suffix} files can be read but not written; write {_ONLY_READ[suffix]} instead"
        )


def same_table(one: str, other: str) -> bool:
    """Whether two addresses mean the same table; without a table one means any of its database."""
    if not (is_database(one) and is_database(other)):
        return False
    first, second = Address.of(one), Address.of(other)
    if first.file is not None and second.file is not None:
        both = first.file.exists() and second.file.exists()
        same = both and first.file.samefile(second.file)
    else:
        same = first.shown == second.shown
    tables = {name.casefold() for name in (first.table, second.table) if name is not None}
    return same and len(tables) < 2


def reading_of(layout: Any) -> Reading:
    """How to read a text file that was written with this layout."""
    found: Reading = _module("csv").reading_of(layout)
    return found


def as_texts(column: pa.ChunkedArray, name: str, layout: Any) -> pa.ChunkedArray:
    """A column as a text file with this layout says it."""
    found: pa.ChunkedArray = _module("csv").as_texts(column, name, layout)
    return found


def _module(form: str) -> ModuleType:
    return import_module(f"microagg.table.formats.{_MODULES[form]}")
