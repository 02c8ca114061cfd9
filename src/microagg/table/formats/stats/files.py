"""Files of statistics packages: SPSS (.sav, .zsav), Stata (.dta) and SAS (.sas7bdat, .xpt)."""

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microagg.base.errors import InputError
from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.table.checks import Column, check_names, check_rows, decoded, require, sha256_of
from microagg.table.formats.format import Format, Loaded, Source, Typed
from microagg.table.formats.stats.layout import (
    DOUBLE_TAGS,
    EXACT,
    LARGEST_DOUBLE,
    LARGEST_LONG,
    LONG_TAGS,
    SUFFIXES,
    Layout,
    MissingCodes,
    mask_of_missing,
    numbers_of,
    understood,
    unit_of,
)
from microagg.table.metadata import only

_NEWEST = {"SPSS": 1, "Stata": 118, "SAS xport": 8}
# What the package that reads and writes them calls them.
_CALLED = {"SPSS": "sav", "Stata": "dta", "SAS": "sas7bdat", "SAS xport": "xport"}
_STATA_RELEASES = {113: 8, 114: 10, 115: 12, 117: 13, 118: 14, 119: 15}
_DATE_FORMATS = {
    ("SPSS", "D"): "DATE11",
    ("SPSS", "ms"): "DATETIME23.3",
    ("Stata", "D"): "%td",
    ("Stata", "ms"): "%tc",
    ("SAS xport", "D"): "DATE9",
    ("SAS xport", "ms"): "DATETIME20",
}
_STATA_STAMP = re.compile(rb"<timestamp>\x11.{17}</timestamp>", re.DOTALL)
# Where the moment of writing stands: byte and text in its place.
_STAMPS = {
    "SPSS": ((92, b"01 Jan 7000:00:00"),),
    "Stata": ((91, b"01 Jan 1970 00:00"),),
    "SAS xport": tuple((byte, b"01JAN70:00:00:00") for byte in (144, 160, 464, 480)),
}


@dataclass(frozen=True)
class Stats(Format):
    """Files of SPSS, Stata and SAS, which declare codes for missing values."""

    name = "stats"
    suffixes = SUFFIXES
    only_read: ClassVar = {".sas7bdat": ".xpt, .sav or .dta"}

    def described(self, layout: Layout) -> dict[str, str]:
        """Which program's file it is, and what it explains."""
        labelled = len(layout.value_labels)
        return {"file of": layout.kind, "columns with labelled values": str(labelled)}

    def labels(self, layout: Layout) -> Mapping[str, Mapping[Any, str]]:
        """What codes stand for, by column."""
        return layout.value_labels

    def read(
        self, address: Source, reading: Reading, typed: Typed = None, advance: Advance = silent
    ) -> Loaded:
        """Read a file of a statistics package; its suffix says which.

        Empty text is a missing value, as these packages see it. Numbers of SPSS whose format has no
        decimals are whole numbers if all of them are.
        """
        path = Path(address)
        return self._read(path, sha256_of(path), reading, advance)[0]

    def head(
        self, address: str, reading: Reading, typed: Typed, most: int
    ) -> tuple[Loaded, float] | None:
        """The first rows of a large file."""
        path = Path(address)
        if path.stat().st_size <= most:
            return None
        loaded, rows = self._read(path, "", reading, silent, most)
        return loaded, loaded.table.num_rows / max(1, rows, loaded.table.num_rows)

    def _read(
        self,
        path: Path,
        sha256: str,
        reading: Reading,
        advance: Advance,
        most: int | None = None,
    ) -> tuple[Loaded, int]:
        """A file, or about so many bytes of it; and how many rows it says to have."""
        kind = SUFFIXES[path.suffix.lower()]
        pyreadstat = require("pyreadstat", f"reading {kind} files", "stats-files")
        get = getattr(pyreadstat, f"read_{_CALLED[kind]}")
        options: dict[str, Any] = {"encoding": reading.encoding, "output_format": "dict"}
        if kind != "SAS xport":
            options["user_missing"] = True
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                _, head = get(path, metadataonly=True, **options)
                # A damaged head may claim billions of rows, and the reader would make room. More
                # than one row a byte there can only be where the file is compressed.
                packed = 2000 if path.suffix.lower() in (".zsav", ".sas7bdat") else 1
                if (head.number_rows or 0) > path.stat().st_size * packed:
                    raise ValueError
                if most is not None:
                    options["row_limit"] = max(1000, most // (16 * max(1, len(head.column_names))))
                values, found = get(path, disable_datetime_conversion=True, **options)
            except MemoryError:
                raise
            # What the library beneath says may quote a value.
            except Exception:
                raise InputError(
                    f"{path} cannot be read as a file of {kind}: it is damaged, cut off, of "
                    "another kind, or its text needs another encoding"
                ) from None
        if any("duplicated" in str(warning.message) for warning in warned):
            raise InputError(f"{path} has two columns of one name: rename or drop one of them")
        advance(0.5)
        notes: list[str] = []
        names = list(found.column_names)
        arrays = [_column(name, values.pop(name), kind, found, notes) for name in names]
        table = pa.table(arrays, names=names)
        check_names(names, str(path))
        check_rows(table.num_rows, str(path))
        advance(1.0)
        loaded = Loaded(table, _layout(path, kind, table, found), sha256, notes)
        return loaded, head.number_rows or table.num_rows

    def released(self, layout: Layout, table: pa.Table, recipe: Recipe) -> Layout:
        """What is said of columns and values that are there; notes and label of the file if asked.

        Labels of columns say what they are about, as their names do, and stay.
        """
        names, keep = set(table.column_names), set(recipe.keep_metadata)
        of_columns: dict[str, Any] = {
            each.name: only(getattr(layout, each.name), names)
            for each in fields(layout)
            if isinstance(getattr(layout, each.name), dict)
        }
        layout = replace(
            layout,
            file_label=layout.file_label if "file_label" in keep else "",
            notes=layout.notes if "notes" in keep else (),
            **of_columns,
        )
        for name in sorted(names - keep):
            layout = layout.with_values_of(name, table[name])
        return layout

    def write(self, table: pa.Table, path: Path, layout: Layout | None) -> None:
        """Write the table as a file of a statistics package; equal tables give equal bytes.

        Labels, formats, measurement levels and missing codes of the layout are written again for
        columns that still hold the same sort of thing. A file of another kind than the layout's
        gets the labels, and plain missing values instead of missing codes. Moments are kept to the
        millisecond, those with a time zone in UTC.
        """
        kind = SUFFIXES[path.suffix.lower()]
        pyreadstat = require("pyreadstat", f"writing {kind} files", "stats-files")
        polars = require("polars", f"writing {kind} files", "stats-files")
        layout = layout or Layout(kind, _NEWEST[kind])
        table = decoded(self.exported(table, path, Reading(), layout))
        if layout.kind != kind:
            layout = _translated(layout, kind)
        columns = dict(zip(table.column_names, table.columns, strict=True))
        same = {name for name in columns if layout.still_like(name, columns[name].type)}
        frame = polars.DataFrame(
            [_series(polars, name, column, layout) for name, column in columns.items()]
        )
        settings = {
            "file_label": layout.file_label,
            "column_labels": {name: layout.labels.get(name) for name in columns},
            "variable_format": _formats(table, layout),
            **_settings(table, path, layout, same),
        }
        if kind != "SAS xport":
            settings["variable_value_labels"] = {
                name: _labels_of(layout.value_labels[name], frame[name].dtype, polars)
                for name in sorted(same & layout.value_labels.keys())
                if kind == "SPSS" or frame[name].dtype != polars.String
            }
        put = getattr(pyreadstat, f"write_{_CALLED[kind]}")
        try:
            put(frame, path, **settings)
        # What the library beneath says may quote a value.
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError):
            raise InputError(
                f"the table does not fit a file of {kind}: names of columns must be short words of "
                "letters, digits and _ that begin with a letter, and texts and labels not too long"
            ) from None
        _without_clock(path, kind)

    def without_codes(self, column: Column, name: str, layout: Layout) -> Column:
        """A column, missing also where it holds codes that its file declares to be missing."""
        mask = mask_of_missing(column, layout, name)
        if mask is None or not mask.any():
            return column
        return pc.if_else(pa.array(mask), pa.scalar(None, column.type), column)

    def kind_of(self, name: str, layout: Layout) -> str | None:
        """By its measurement level; without one, codes if every value is labelled."""
        return layout.kinds.get(name)

    def exported(
        self, table: pa.Table, path: Path | None, reading: Reading, layout: Layout
    ) -> pa.Table:
        """Codes for missing values mean something only to the package that declared them."""
        if path is not None and SUFFIXES.get(path.suffix.lower()) == layout.kind:
            return table
        columns = [self.without_codes(table[name], name, layout) for name in table.column_names]
        return pa.table(columns, schema=table.schema)


def _column(name: str, values: list, kind: str, found: Any, notes: list[str]) -> pa.Array:
    stored = found.readstat_variable_types[name]
    if stored == "string":
        return pa.array([value or None for value in values], pa.string())
    shown = found.original_variable_types[name] or ""
    whole = stored.startswith("int") and unit_of(kind, shown) is None
    if name in found.missing_user_values:
        if kind == "Stata":
            tags: dict[str, Any] = LONG_TAGS if whole else DOUBLE_TAGS
            values = [tags[value] if isinstance(value, str) else value for value in values]
        else:
            values = [None if isinstance(value, str) else value for value in values]
            notes.append(
                f"column {name!r}: special missing values (.A to .Z) became plain missing values"
            )
    if whole:
        return pa.array(values, pa.int32())
    return understood(pa.array(values, pa.float64()), kind, shown)


def _layout(path: Path, kind: str, table: pa.Table, found: Any) -> Layout:
    types = dict(zip(table.column_names, table.schema.types, strict=True))

    def given(values: dict) -> dict:
        return {name: values[name] for name in types if values.get(name)}

    codes = {}
    for name, ranges in found.missing_ranges.items():
        pairs = [(part["lo"], part["hi"]) for part in ranges]
        codes[name] = MissingCodes(
            tuple(low for low, high in pairs if low == high),
            tuple((low, high) for low, high in pairs if low != high),
        )
    tags = found.missing_user_values if kind == "Stata" else {}
    for name, letters in tags.items():
        coded: dict[str, Any] = LONG_TAGS if pa.types.is_integer(types[name]) else DOUBLE_TAGS
        codes[name] = MissingCodes(tuple(coded[letter] for letter in letters))
    layout = Layout(
        kind=kind,
        version=_version(path, kind),
        types=types,
        file_label=found.file_label or "",
        table_name=found.table_name,
        notes=tuple(found.notes),
        labels=given(found.column_names_to_labels),
        value_labels=given(found.variable_value_labels),
        formats=given(found.original_variable_types),
        informats=given(found.original_variable_informats),
        measures=given(found.variable_measure),
        widths=given(found.variable_display_width),
        missing_codes=codes,
        tags={name: tuple(letters) for name, letters in tags.items()},
    )
    kinds = {name: _kind(table[name], name, layout) for name in types}
    return replace(layout, kinds=given(kinds))


def _kind(column: pa.ChunkedArray, name: str, layout: Layout) -> str | None:
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return None
    measure = layout.measures.get(name, "unknown")
    if measure != "unknown":
        return None if measure == "scale" else measure
    numbers, codes = numbers_of(column, layout.kind), mask_of_missing(column, layout, name)
    there = numbers[~np.isnan(numbers) & (True if codes is None else ~codes)]
    labelled = [value for value in layout.value_labels.get(name, {}) if not isinstance(value, str)]
    return "nominal" if there.size and np.isin(there, labelled).all() else None


def _version(path: Path, kind: str) -> int:
    with path.open("rb") as stream:
        start = stream.read(80)
    if kind == "SPSS":
        little = start[64] in (2, 3)
        return int.from_bytes(start[72:76], "little" if little else "big")
    if kind == "Stata":
        return int(start[28:31]) if start.startswith(b"<stata_dta>") else start[0]
    return 8 if b"LIBV8" in start else 5


def _settings(table: pa.Table, path: Path, layout: Layout, same: set[str]) -> dict[str, Any]:
    """What the writer of each package wants beside labels; columns not the `same` have nothing."""

    def still(said: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in said.items() if name in same}

    if layout.kind == "Stata":
        letters = {name: list(tags) for name, tags in still(layout.tags).items()}
        return {"version": _release(table, layout), "missing_user_values": letters}
    if layout.kind == "SAS xport":
        return {
            "table_name": layout.table_name,
            "file_format_version": layout.version,
            "variable_informat": still(layout.informats),
        }
    zlib = path.suffix.lower() == ".zsav"
    measures = still(layout.measures).items()
    return {
        "compress": zlib,
        "row_compress": not zlib and layout.version != 0,
        "note": list(layout.notes),
        "missing_ranges": {
            name: [*({"lo": low, "hi": high} for low, high in codes.ranges), *codes.values]
            for name, codes in still(layout.missing_codes).items()
        },
        "variable_measure": {
            name: each for name, each in measures if each in ("nominal", "ordinal", "scale")
        },
        "variable_display_width": layout.widths,
    }


def _translated(layout: Layout, kind: str) -> Layout:
    """What another package understands too: labels, except those of Stata's lettered codes."""
    values = {
        name: labels
        if layout.types[name] == pa.string()
        else {value: label for value, label in labels.items() if not isinstance(value, str)}
        for name, labels in layout.value_labels.items()
    }
    return Layout(
        kind,
        _NEWEST[kind],
        types=layout.types,
        file_label=layout.file_label,
        labels=layout.labels,
        value_labels=values,
    )


def _series(polars: Any, name: str, column: pa.ChunkedArray, layout: Layout) -> Any:
    """A column as text, as Int32 or as Float64: the writer beneath knows no more types."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        # An empty text is what a missing one is here; long texts of Stata cannot be missing.
        return polars.Series(name, column.fill_null("").to_pylist(), dtype=polars.String)
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
    ):
        raise InputError(
            f"column {name!r} is of type {kind}, which a file of {layout.kind} cannot hold; "
            "write Parquet instead"
        )
    numbers = numbers_of(column, layout.kind)
    given = numbers[~np.isnan(numbers)]
    if np.isinf(given).any():
        raise InputError(f"column {name!r} has infinite numbers, which {layout.kind} cannot hold")
    if pa.types.is_integer(column.type) and np.abs(given).max(initial=0) >= EXACT:
        raise InputError(
            f"column {name!r} has whole numbers of more than 15 digits, which {layout.kind} "
            "rounds; make it text first"
        )
    letters = _letters(name, column, layout)
    values = np.abs(given[~np.isin(given, list(letters))])
    if layout.kind == "Stata" and values.max(initial=0) > LARGEST_DOUBLE:
        raise InputError(f"column {name!r} has numbers larger than Stata can hold")
    whole = not pa.types.is_floating(column.type) and not pa.types.is_timestamp(column.type)
    small = whole and values.max(initial=0) <= LARGEST_LONG
    gaps = np.isnan(numbers)
    if letters:
        make: Callable[[float], float] = int if small else float
        mixed = [
            None if gap else letters.get(number) or make(number)
            for gap, number in zip(gaps, numbers.tolist(), strict=True)
        ]
        return polars.Series(name, mixed, dtype=polars.Object)
    if small:
        numbers = np.where(gaps, 0.0, numbers).astype(np.int32)
    return polars.Series(name, pa.array(numbers, mask=gaps))


def _letters(name: str, column: pa.ChunkedArray, layout: Layout) -> dict[float, str]:
    """The letters of Stata's missing values, by the codes that stand for them in the table."""
    if name not in layout.tags or not layout.still_like(name, column.type):
        return {}
    codes = layout.missing_codes[name].values
    return {float(code): tag for code, tag in zip(codes, layout.tags[name], strict=True)}


def _formats(table: pa.Table, layout: Layout) -> dict[str, str]:
    """How each column is shown: as it was while its type is, else as its type asks."""
    kind = layout.kind
    formats = {}
    for column in table.schema:
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        if text and kind == "SPSS":
            # The format of a text is its width, which has to fit what is in it now.
            continue
        if layout.types.get(column.name) == column.type and column.name in layout.formats:
            formats[column.name] = layout.formats[column.name]
        elif pa.types.is_date(column.type):
            formats[column.name] = _DATE_FORMATS[kind, "D"]
        elif pa.types.is_timestamp(column.type):
            formats[column.name] = _DATE_FORMATS[kind, "ms"]
        elif kind == "SPSS" and (
            pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)
        ):
            formats[column.name] = "F16.0"
    return formats


def _labels_of(labels: dict[Any, str], stored: Any, polars: Any) -> dict[Any, str]:
    if stored in (polars.Int32, polars.Object):
        return {
            value if isinstance(value, str) else int(value): label
            for value, label in labels.items()
            if isinstance(value, str) or value == int(value)
        }
    return labels


def _release(table: pa.Table, layout: Layout) -> int:
    """The release of Stata that the file was of; before 14 Stata knew ASCII text only for sure."""
    release = _STATA_RELEASES.get(layout.version, 14)
    said = [layout.file_label, *layout.labels.values(), *table.column_names]
    said += [text for labels in layout.value_labels.values() for text in labels.values()]
    texts = [column for column in table.columns if pa.types.is_string(column.type)]
    plain = all(map(str.isascii, said)) and all(
        pc.all(pc.string_is_ascii(column)).as_py() in (True, None) for column in texts
    )
    return release if plain else max(release, 14)


def _without_clock(path: Path, kind: str) -> None:
    """Put one fixed moment where the file says when it was written."""
    with path.open("r+b") as stream:
        start = stream.read(2048)
        stamps = _STAMPS[kind]
        found = _STATA_STAMP.search(start) if kind == "Stata" else None
        if found:
            stamps = ((found.start() + len("<timestamp>") + 1, stamps[0][1]),)
        for byte, stamp in stamps:
            stream.seek(byte)
            stream.write(stamp)
