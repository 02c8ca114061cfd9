"""JSON lines: a record a line, an object with a value for each column."""

import json
from dataclasses import dataclass
from decimal import Decimal
from io import BytesIO, TextIOWrapper
from math import isfinite
from pathlib import Path
from typing import IO, Any, ClassVar, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from microagg.base.errors import InputError
from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.table.checks import check_names, check_rows, decoded, sha256_of
from microagg.table.formats.format import Format, Head, Loaded, Source, Typed

_DATE = r"^\d{4}-\d\d-\d\d$"
_SAID_AS_TEXT = (pa.types.is_date, pa.types.is_timestamp, pa.types.is_time)
_SAID_AS_IT_IS = (
    pa.types.is_null,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
)


@dataclass(frozen=True)
class JsonLines(Format):
    """Text files with an object a line."""

    name = "jsonl"
    suffixes: ClassVar = {".jsonl": "lines", ".ndjson": "lines"}

    def read(
        self,
        address: Source,
        reading: Reading,
        typed: Typed = None,
        advance: Advance = silent,
    ) -> Loaded:
        """Read every line. A key that a record has not, or null, is a missing value.

        A column is true/false, whole numbers, numbers, dates (texts that all are written as
        YYYY-MM-DD) or text; a mixture is refused, and so are lists and objects within records.
        """
        path = Path(address)
        return _loaded(path, path.open("rb"), sha256_of(path), advance)

    def head(self, address: str, reading: Reading, wanted: Typed, most: int) -> Head | None:
        """The whole lines among the first bytes of a large file."""
        # Lines take longer to understand than those of other text files.
        path, most = Path(address), most >> 1
        size = path.stat().st_size
        if size <= most:
            return None
        with path.open("rb") as stream:
            lines = stream.read(most).rpartition(b"\n")[0] + b"\n"
        return Head(_loaded(path, BytesIO(lines), "", silent), len(lines) / size)

    def write(self, table: pa.Table, path: Path, layout: None) -> None:
        """Write a line for each record, missing values as null; equal tables give equal bytes."""
        table = decoded(table)
        columns = [_said(name, table[name]) for name in table.column_names]
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            for row in zip(*columns, strict=True):
                record = dict(zip(table.column_names, row, strict=True))
                stream.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")


def _loaded(path: Path, stream: IO[bytes], sha256: str, advance: Advance) -> Loaded:
    columns: dict[str, list[Any]] = {}
    row = number = 0
    try:
        with TextIOWrapper(stream, encoding="utf-8-sig") as lines:
            for line in lines:
                number += 1
                if line.strip():
                    _add(columns, row, json.loads(line, parse_constant=_refuse))
                    row += 1
    # What the decoder says may quote the line.
    except (ValueError, RecursionError):
        raise InputError(
            f"{path.name} is no JSON lines near line {max(1, number)}: each must be one "
            "object, as UTF-8 text"
        ) from None
    if not row:
        raise InputError(f"{path.name} is empty; each line must hold a record")
    check_names(list(columns), path.name)
    check_rows(row, path.name)
    arrays = [
        _array(name, [*cells, *[None] * (row - len(cells))]) for name, cells in columns.items()
    ]
    advance(1.0)
    return Loaded(pa.table(arrays, list(columns)), None, sha256)


def _refuse(_constant: str) -> NoReturn:
    raise ValueError


def _add(columns: dict[str, list[Any]], row: int, record: Any) -> None:
    if not isinstance(record, dict):
        raise ValueError
    for name, value in record.items():
        cells = columns.setdefault(name, [])
        cells += [None] * (row - len(cells))
        cells.append(value)


def _array(name: str, cells: list[Any]) -> pa.Array:
    kinds = {type(cell) for cell in cells} - {type(None)}
    if kinds <= {int, float} and kinds != {int}:
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    if len(kinds) != 1 or not kinds <= {bool, int, str}:
        raise InputError(
            f"column {name!r} mixes texts, numbers and true or false, or holds lists or objects; "
            "give all records one sort of value there"
        )
    try:
        array = pa.array(cells)
    except (OverflowError, pa.ArrowInvalid, UnicodeEncodeError):
        raise InputError(
            f"column {name!r} holds numbers beyond 64 bits or broken text; write them as text"
        ) from None
    if kinds == {str} and pc.all(pc.match_substring_regex(array, _DATE)).as_py():
        try:
            return array.cast(pa.date32())
        except pa.ArrowInvalid:
            return array
    return array


def _said(name: str, column: pa.ChunkedArray) -> list[Any]:
    kind = column.type
    if any(is_it(kind) for is_it in _SAID_AS_TEXT):
        return column.cast(pa.string()).to_pylist()
    if not any(is_it(kind) for is_it in _SAID_AS_IT_IS):
        raise InputError(
            f"column {name!r} is of type {kind}, which JSON lines cannot hold; "
            "drop it, turn it into text, or write another format"
        )
    return [_finite(cell) for cell in column.to_pylist()]


def _finite(cell: Any) -> Any:
    if isinstance(cell, Decimal):
        return float(cell)
    return None if isinstance(cell, float) and not isfinite(cell) else cell
