"""Excel workbooks (.xlsx): one sheet, its first row the names of the columns."""

import math
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from microagg.base.errors import InputError, OptionError
from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.table.checks import check_names, check_rows, decoded, require, sha256_of
from microagg.table.formats.format import Format, Head, Loaded, Source, Typed
from microagg.table.metadata import only

_MOST_ROWS, _MOST_COLUMNS, _LONGEST_TEXT = 1_048_576, 16_384, 32_767
_ERRORS = frozenset(
    ("#N/A", "#DIV/0!", "#NULL!", "#NUM!", "#NAME?", "#REF!", "#VALUE!", "#GETTING_DATA")
)
_ADVANCE_EVERY = 4096
# Of a sheet, in which it says how large it is, if it does.
_BEGINNING = 1 << 16
_SIZE = re.compile(rb'<(?:\w+:)?dimension\s[^>]*ref="(?:[A-Z]+\d+:)?[A-Z]+(\d+)"')
_STAMP = (1980, 1, 1, 0, 0, 0)
_MOMENT = b"1980-01-01T00:00:00Z"
_FIRST_YEAR = 1900
# XML has no place for these, and reads a carriage return as a line feed.
_UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]")
_PATTERN = re.compile(r"(?:[-0#?.,%e+() /:;@_*ymdhs\[\]]|\\[-/., :()])*(?:am/pm)?", re.IGNORECASE)
_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "numbers",
    float: "numbers",
    str: "text",
    datetime: "dates",
    date: "dates",
    time: "times",
    timedelta: "durations",
}


@dataclass(frozen=True)
class Layout:
    """What a sheet that looks alike needs.

    sheet: its name. formats: how Excel shows a column's cells, by column.
    """

    sheet: str = "Sheet1"
    formats: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Excel(Format):
    """Workbooks: one sheet, its first row the names of the columns."""

    name = "excel"
    suffixes: ClassVar = {".xlsx": "workbook", ".xlsm": "workbook with macros"}
    only_read: ClassVar = {".xlsm": ".xlsx"}

    def described(self, layout: Layout) -> dict[str, str]:
        """The sheet."""
        return {"sheet": layout.sheet}

    def read(
        self, address: Source, reading: Reading, typed: Typed = None, advance: Advance = silent
    ) -> Loaded:
        """Read one sheet: that of `reading.sheet`, or the first.

        Cells that hold a formula give the value Excel stored last. A column is whole numbers,
        numbers, true/false, dates (no time of day anywhere), moments, times, durations or text. In
        a column that is not text, Excel's error marks and the texts of `reading.missing_values` are
        missing values, which a note says; any other mixture is an error, since one type would
        change cells.
        """
        path = Path(address)
        return self._read(path, sha256_of(path), reading, advance)[0]

    def head(self, address: str, reading: Reading, wanted: Typed, most: int) -> Head | None:
        """The first rows of a large sheet."""
        path = Path(address)
        if path.stat().st_size <= most >> 7:
            return None
        # A cell of a sheet takes about as long as a line of text.
        loaded, expected = self._read(path, "", reading, silent, most >> 8)
        return Head(loaded, min(1.0, loaded.table.num_rows / max(1, expected - 1)))

    def _read(
        self,
        path: Path,
        sha256: str,
        reading: Reading,
        advance: Advance,
        most: int | None = None,
    ) -> tuple[Loaded, int]:
        """A sheet, or about so many cells of it; and how many rows it says to have."""
        require("openpyxl", "reading Excel files", "excel")
        with warnings.catch_warnings():
            # Charts, drop-down lists and the like are not read; that is no news here.
            warnings.simplefilter("ignore")
            try:
                workbook = _workbook(path)
            except MemoryError:
                raise
            except Exception:
                raise InputError(
                    f"{path} is not an Excel workbook (.xlsx), or it is damaged or has a password; "
                    "save it again as .xlsx without a password"
                ) from None
            try:
                sheet = _sheet(workbook, reading.sheet, path)
                what = f"{path}, sheet {sheet.title!r}"
                with _whole(what):
                    expected = _stated_rows(sheet) or (0 if most is None else _count_rows(sheet))
                    rows, formats = _cells(sheet, advance, most, expected)
            finally:
                workbook.close()
        names, columns = _columns(rows, what)
        notes: list[str] = []
        arrays = [
            _array(name, cells, reading.missing_values, notes)
            for name, cells in zip(names, columns, strict=True)
        ]
        table = pa.table(arrays, names=names)
        check_rows(table.num_rows, what)
        shown = {
            name: format
            for name, format in zip(names, formats, strict=False)
            if format != "General"
        }
        loaded = Loaded(table, Layout(sheet.title, shown), sha256, notes)
        return loaded, expected if len(rows) < expected and most is not None else len(rows)

    def released(self, layout: Layout, table: pa.Table, recipe: Recipe) -> Layout:
        """Formats of the columns that are there, unless they hold more than a pattern."""
        formats = only(layout.formats, table.column_names).items()
        return replace(
            layout,
            formats={
                name: each for name, each in formats if name in recipe.keep_metadata or _plain(each)
            },
        )

    def write(self, table: pa.Table, path: Path, layout: Layout | None) -> None:
        """Write the table as the only sheet of a workbook; equal tables give equal bytes.

        Text stays text, also where it looks like a formula. Moments with a time zone are written in
        UTC, since Excel knows none; a NaN becomes an empty cell.
        """
        openpyxl = require("openpyxl", "writing Excel files", "excel")
        layout = layout or Layout()
        if table.num_rows + 1 > _MOST_ROWS or table.num_columns > _MOST_COLUMNS:
            raise InputError(
                f"an Excel sheet holds {_MOST_ROWS:,} rows and {_MOST_COLUMNS:,} columns, and the "
                f"table has {table.num_rows:,} and {table.num_columns:,}; write Parquet or CSV "
                "instead"
            )
        workbook = openpyxl.Workbook(write_only=True)
        sheet = workbook.create_sheet(layout.sheet)
        table = decoded(table)
        columns = [
            _written(name, column, layout.formats.get(name), sheet)
            for name, column in zip(table.column_names, table.columns, strict=True)
        ]
        sheet.append([_cell(sheet, name, "s") for name in table.column_names])
        for row in zip(*columns, strict=True):
            sheet.append(row)
        draft = BytesIO()
        workbook.save(draft)
        _without_clock(draft, path)


def _plain(shown: str) -> bool:
    """Whether a format is a pattern alone; others may hold texts, and numbers as conditions."""
    from openpyxl.styles.numbers import BUILTIN_FORMATS

    return bool(_PATTERN.fullmatch(shown)) or shown in BUILTIN_FORMATS.values()


def _sheet(workbook: Any, wanted: str | None, path: Path) -> Any:
    sheets = {sheet.title: sheet for sheet in workbook.worksheets}
    if not sheets:
        raise InputError(f"{path} has no sheet with cells")
    if wanted is None:
        return next(iter(sheets.values()))
    if wanted not in sheets:
        raise OptionError(f"{path} has no sheet {wanted!r}; it has {', '.join(map(repr, sheets))}")
    return sheets[wanted]


def _workbook(path: Path) -> Any:
    """A workbook to be read row by row, of which no sheet has been looked at yet.

    openpyxl would go through every sheet that does not say how large it is, to learn just that.
    """
    from openpyxl.reader.excel import ExcelReader
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

    class Sheet(ReadOnlyWorksheet):
        def _get_size(self) -> None:
            pass

    class Reader(ExcelReader):
        def read_worksheets(self) -> None:
            for sheet, part in self.parser.find_sheets():
                if part.target not in self.valid_files:
                    continue
                if "chartsheet" in part.Type:
                    self.read_chartsheet(sheet, part)
                    continue
                cells = Sheet(self.wb, sheet.name, part.target, self.shared_strings)
                self.wb._sheets.append(cells)

    reader = Reader(path, read_only=True, data_only=True)
    reader.read()
    return reader.wb


@contextmanager
def _whole(what: str) -> Iterator[None]:
    """Say of a sheet that cannot be read that it is damaged."""
    try:
        yield
    except MemoryError:
        raise
    except Exception:
        raise InputError(f"{what} is damaged and cannot be read") from None


def _stated_rows(sheet: Any) -> int:
    """How many rows a sheet says to have, where it does; some programs write a wrong number."""
    with sheet._get_source() as stream:
        said = _SIZE.search(stream.read(_BEGINNING).partition(b"<sheetData")[0])
    return int(said[1]) if said else 0


def _count_rows(sheet: Any) -> int:
    """How many rows a sheet has that does not say so, by the marks of their beginnings."""
    count, end = 0, b""
    with sheet._get_source() as stream:
        while block := stream.read(1 << 20):
            count += (end + block).count(b"<row")
            end = block[-3:]
    return count


def _cells(
    sheet: Any, advance: Advance, most: int | None, expected: int
) -> tuple[list[tuple], list[str]]:
    """All rows down to the last with a cell in it, and the formats of the first below the names.

    most: how many cells are enough; all if None. expected: how many rows there may be.
    """
    rows: list[tuple] = []
    last = 0
    for cells in sheet.iter_rows(values_only=True):
        rows.append(cells)
        # A row may claim any number, and all before it come as empty ones.
        if len(rows) > _MOST_ROWS:
            raise ValueError
        if any(cell is not None and cell != "" for cell in cells):
            last = len(rows)
        if most is not None and len(rows) * len(cells) > most:
            break
        if len(rows) % _ADVANCE_EVERY == 0 and expected:
            advance(min(1.0, len(rows) / expected))
    first = next(sheet.iter_rows(min_row=2, max_row=2), ())
    formats = [getattr(cell, "number_format", "General") or "General" for cell in first]
    advance(1.0)
    return rows[:last], formats


def _columns(rows: list[tuple], what: str) -> tuple[list[str], list[list]]:
    if not rows:
        raise InputError(f"{what} is empty: its first row must hold the names of the columns")
    width = max(
        (place + 1 for row in rows for place, cell in enumerate(row) if cell not in (None, "")),
        default=0,
    )
    header = rows[0] + (None,) * (width - len(rows[0]))
    names = ["" if cell is None else str(cell) for cell in header[:width]]
    check_names(names, what)
    columns: list[list] = [[] for _ in names]
    for row in rows[1:]:
        for place, cells in enumerate(columns):
            cell = row[place] if place < len(row) else None
            cells.append(None if cell == "" else cell)
    return names, columns


def _array(name: str, cells: list, missing: tuple[str, ...], notes: list[str]) -> pa.Array:
    counts = Counter(_KINDS.get(type(cell), "other cells") for cell in cells if cell is not None)
    if len(counts) > 1 and "text" in counts:
        gaps = _ERRORS.union(missing)
        kept = [None if isinstance(cell, str) and cell in gaps else cell for cell in cells]
        count = counts["text"] - sum(isinstance(cell, str) for cell in kept)
        if count == counts["text"]:
            notes.append(
                f"column {name!r}: {count} cells with a text or an error mark that stands for a "
                "missing value became empty"
            )
            cells = kept
            del counts["text"]
    if len(counts) > 1 or "other cells" in counts:
        found = " and ".join(f"{count} of {kind}" for kind, count in counts.most_common())
        raise InputError(
            f"column {name!r} mixes cells: {found}; make all its cells of one kind in Excel, or "
            "name the texts that stand for a missing value"
        )
    return _typed(cells, next(iter(counts), "text"))


def _typed(cells: list, kind: str) -> pa.Array:
    if kind == "numbers":
        whole = all(cell is None or isinstance(cell, int) for cell in cells)
        if whole and all(cell is None or abs(cell) < 2**63 for cell in cells):
            return pa.array(cells, pa.int64())
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    if kind == "dates":
        midnight = time()
        days = all(not isinstance(cell, datetime) or cell.time() == midnight for cell in cells)
        return pa.array(cells, pa.timestamp("us")).cast(pa.date32() if days else pa.timestamp("us"))
    types = {
        "true or false": pa.bool_(),
        "times": pa.time64("us"),
        "durations": pa.duration("us"),
        "text": pa.string(),
    }
    return pa.array(cells, types[kind])


def _cell(sheet: Any, value: Any, kind: str | None = None, shown: str | None = None) -> Any:
    from openpyxl.cell import WriteOnlyCell

    made = WriteOnlyCell(sheet, value)
    if kind is not None:
        made.data_type = kind
    if shown is not None:
        made.number_format = shown
    return made


def _written(name: str, column: pa.ChunkedArray, shown: str | None, sheet: Any) -> Iterator[Any]:
    """The cells of a column, checked before the first is written."""
    kind = column.type
    if _UNFIT.search(name):
        raise InputError(f"the name of column {name!r} has control characters; rename it")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        values = column.to_pylist()
        if any(value and _UNFIT.search(value) for value in values):
            raise InputError(f"column {name!r} has control characters, which Excel cannot hold")
        if (pc.max(pc.utf8_length(column)).as_py() or 0) > _LONGEST_TEXT:
            raise InputError(
                f"column {name!r} has a text longer than the {_LONGEST_TEXT:,} characters of a cell"
            )
        # Left to itself, "=1+1" would become a formula and "#N/A" an error.
        return (None if value is None else _cell(sheet, value, "s") for value in values)
    values = _plain_values(name, column)
    if shown is not None and not _fits(shown, kind):
        shown = None

    def cell(value: Any) -> Any:
        if value is None:
            return None
        rounded = isinstance(value, float | int) and float(f"{value:.16g}") != value
        if not rounded and shown is None:
            return value
        # openpyxl rounds numbers to 16 digits, but not those that are written out already.
        return _cell(sheet, repr(value) if rounded else value, "n" if rounded else None, shown)

    return map(cell, values)


def _fits(shown: str, kind: pa.DataType) -> bool:
    """Whether cells of this type come back as such from under this format.

    Only its format tells a date in Excel from a number, so one of before must not stay on after.
    """
    from openpyxl.styles.numbers import is_date_format, is_datetime, is_timedelta_format

    if pa.types.is_duration(kind):
        return is_timedelta_format(shown)
    if pa.types.is_time(kind):
        return is_datetime(shown) == "time" and not is_timedelta_format(shown)
    if pa.types.is_temporal(kind):
        return is_datetime(shown) in ("date", "datetime") and not is_timedelta_format(shown)
    return not is_date_format(shown)


def _plain_values(name: str, column: pa.ChunkedArray) -> list:
    kind = column.type
    if pa.types.is_null(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return column.to_pylist()
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = column.cast(pa.float64()).to_pylist()
        if any(value is not None and math.isinf(value) for value in values):
            raise InputError(f"column {name!r} has infinite numbers, which Excel cannot hold")
        return [None if value is None or math.isnan(value) else value for value in values]
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        target = pa.date32() if pa.types.is_date(kind) else pa.timestamp("us")
        moments = column.cast(target, safe=False)
        if (pc.min(pc.year(moments)).as_py() or _FIRST_YEAR) < _FIRST_YEAR:
            raise InputError(f"column {name!r} has dates before 1900, which Excel cannot hold")
        return moments.to_pylist()
    if pa.types.is_time(kind):
        return column.cast(pa.time64("us"), safe=False).to_pylist()
    if pa.types.is_duration(kind):
        return column.cast(pa.duration("us"), safe=False).to_pylist()
    raise InputError(
        f"column {name!r} is of type {kind}, which Excel cannot hold; write Parquet instead"
    )


def _without_clock(draft: BytesIO, path: Path) -> None:
    """Copy the parts of the workbook with one fixed time instead of now."""
    with zipfile.ZipFile(draft) as source, zipfile.ZipFile(path, "w") as target:
        for part in sorted(source.namelist()):
            content = source.read(part)
            if part == "docProps/core.xml":
                content = re.sub(
                    rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*", rb"\g<1>" + _MOMENT, content
                )
            info = zipfile.ZipInfo(part, _STAMP)
            target.writestr(info, content, zipfile.ZIP_DEFLATED)
