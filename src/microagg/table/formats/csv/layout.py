"""How a CSV file is laid out, given or found out: the file as a whole, and each of its columns.

The file: one look at all the bytes (their sha256, whether they are text at all) and one at the
first records. A column: the first kind of value that all its fields are.
"""

import codecs
import hashlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from microagg.base.errors import InputError, OptionError
from microagg.base.files import COMPRESSED
from microagg.base.reading import Reading
from microagg.kernels.threads import run_each
from microagg.table.checks import check_names, sha256_of
from microagg.table.formats.csv.dates import find_dates
from microagg.table.formats.format import Piped

_NO_TEXT = ("idna", "punycode", "unicode-escape", "raw-unicode-escape")
_DELIMITERS = (",", ";", "\t", "|")
# Also how long the line of column names may be.
_SAMPLE = 1 << 20
# Enough for the blank lines anybody leaves at the end.
_TAIL = 1 << 10
_LINE_END = re.compile(r"\r\n|\r|\n")
# The longer marks first: that of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAGIC = (
    (b"PK\x03\x04", "a zip archive or a workbook"),
    (b"\xd0\xcf\x11\xe0", "an old workbook"),
    (b"PAR1\x15", "a Parquet file"),
    (b"\x1f\x8b", "a compressed file"),
    (b"SQLite format 3\0", "a database"),
)
# Windows-1252 gives nearly every byte a meaning, so it needs another sign that this is no text.
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1f]")
_BOOLEANS = (("true", "false"), ("True", "False"), ("TRUE", "FALSE"))
_DAY_AND_TIME = r"\d{4}-\d\d-\d\d(%s)\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(%s)"
_UNITS = ("s", "ms", "us", "ns")
_SWAP_DECIMALS = bytes.maketrans(b",.", b".,")

# From the text of a batch of fields, null where missing, to values; ArrowInvalid if it cannot.
Converter = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True)
class ColumnLayout:
    """How the values of one column are written.

    missing: where there is none. booleans: true, false. separator: between date and time.
    zone: what follows the time, as written. date: the form of dates, where it is not that of ISO
    8601; padded: days and months have two digits.
    """

    missing: str = ""
    booleans: tuple[str, str] = ("true", "false")
    separator: str = " "
    zone: str = ""
    date: str = ""
    padded: bool = True


@dataclass(frozen=True)
class CsvLayout:
    """What a CSV file needs to look like another one; the defaults are those of RFC 4180 on Unix.

    columns: by name; a column that is not there is written the plain way.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    byte_order_mark: bool = False
    decimal: str = "."
    line_end: str = "\n"
    columns: Mapping[str, ColumnLayout] = field(default_factory=dict)


@dataclass(frozen=True)
class Outline:
    """What is known of a file before its records are read.

    length: how many bytes there are up to the end of the last record, blank lines left out.
    layout: that of the file; the columns have none yet.
    block: how many bytes of records to read at a time.
    """

    name: str
    sha256: str
    length: int
    layout: CsvLayout
    names: list[str]
    notes: list[str]
    block: int = 1 << 19


def outline(path: Path | Piped, reading: Reading) -> Outline:
    """Look a file over, all its bytes once, and say how it is to be read.

    A file that is not text, or has no usable line of column names, is refused.
    """
    _check_delimiter(reading.delimiter)
    with open_bytes(path) as file:
        head = _taken(file, path, 16)
    other = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
    if other is not None:
        raise InputError(f"{path.name} is {other}, not CSV text; rename it or export it as CSV")
    mark = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    notes = []
    encoding = mark or "utf-8"
    if reading.encoding is not None:
        encoding = _encoding_named(reading.encoding, mark)
    hashes: list[str] = []
    scans: list[tuple[int, str]] = []
    try:
        run_each(
            [
                lambda: scans.append(_scan(path, encoding)),
                lambda: hashes.append(_hash(path)),
            ]
        )
    except _UndecodableError:
        if mark is not None or reading.encoding is not None:
            raise
        encoding = "cp1252"
        scans = [_scan(path, encoding)]
        if _CONTROL.search(scans[0][1]):
            raise _no_text(path) from None
        notes.append("not UTF-8; read as Windows-1252; say --encoding if that is wrong")
    length, sample = scans[0]
    sample = sample.removeprefix("\ufeff")
    if not sample.strip("\ufeff\r\n"):
        raise InputError(f"{path.name} is empty; the first line must hold the column names")
    lines = _whole_records(sample, len(sample) < _SAMPLE, reading.delimiter)
    if not lines or not lines[0]:
        raise InputError(
            f"the first line of {path.name} {'is blank' if lines else 'is longer than 1 MB'}; "
            "it must hold the column names"
        )
    header = sample[: len(lines[0])]
    delimiter = reading.delimiter or _find_delimiter([line for line in lines if line])
    line_end = _LINE_END.search(sample, len(header))
    layout = CsvLayout(
        delimiter=delimiter,
        encoding=encoding,
        byte_order_mark=encoding == mark,
        decimal=reading.decimal or ".",
        line_end=line_end[0] if line_end else "\n",
    )
    names = _column_names(path.name, header, delimiter)
    return Outline(path.name, hashes[0] if hashes else _hash(path), length, layout, names, notes)


def compression_of(path: Path) -> str | None:
    """How a file is compressed, by its suffix."""
    return COMPRESSED.get(path.suffix.lower())


def open_bytes(path: Path | Piped) -> IO[bytes]:
    """The bytes of the text, also of a file that is compressed."""
    if isinstance(path, Piped) or compression_of(path) is None:
        return path.open("rb")
    return pa.input_stream(str(path), compression=compression_of(path))


def first_bytes(path: Path, most: int) -> tuple[bytes, float]:
    """The first bytes of the text, so many at most, and about which share of it they are."""
    with path.open("rb") as raw:
        codec = compression_of(path)
        stream = raw if codec is None else pa.CompressedInputStream(pa.PythonFile(raw, "r"), codec)
        first = _taken(stream, path, most)
        ends = len(first) < most or not _taken(stream, path, 1)
        # Of what is compressed, what was taken in; a little of that may be still to come.
        return first, 1.0 if ends else min(0.99, raw.tell() / path.stat().st_size)


def _taken(file: IO[bytes], path: Path | Piped, size: int) -> bytes:
    try:
        return file.read(size)
    except (pa.ArrowException, OSError) as failure:
        # What the system says stays; what does not come from it is about compressed bytes.
        if getattr(failure, "errno", None) is not None:
            raise
        raise InputError(
            f"{path.name} is damaged, cut off, or not compressed as its suffix says"
        ) from None


def _check_delimiter(delimiter: str | None) -> None:
    if delimiter is not None and not re.fullmatch(r"[\t !#-,/:-@[-`{-~]", delimiter):
        raise OptionError(
            f"delimiter {delimiter!r} is not possible; "
            "it must be one plain character such as a comma, semicolon or tab"
        )


def _encoding_named(name: str, mark: str | None) -> str:
    """The codec of that name, the byte order told apart from the mark that says it."""
    try:
        # Some codecs are for names of machines or for source code, not for texts.
        if (known := codecs.lookup(name).name) in _NO_TEXT:
            raise LookupError
        "".encode(name)
        name = known
    except (LookupError, ValueError):
        raise OptionError(
            f"encoding {name!r:.60} is unknown; utf-8, cp1252 or utf-16 are common ones"
        ) from None
    if name in ("utf-16", "utf-32"):
        return mark if mark is not None and mark.startswith(name) else f"{name}-le"
    return name.removesuffix("-sig")


class _UndecodableError(InputError):
    """The bytes are not text in the encoding tried."""


def _hash(path: Path | Piped) -> str:
    if isinstance(path, Piped):
        return hashlib.sha256(path.content).hexdigest()
    return sha256_of(path)


def _scan(path: Path | Piped, encoding: str) -> tuple[int, str]:
    """Look at every byte: is this text, and where does it end? Its length and beginning."""
    decoder = codecs.getincrementaldecoder(encoding)()
    size, sample, tail = 0, "", ""
    with open_bytes(path) as file:
        while True:
            chunk = _taken(file, path, _SAMPLE)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as failure:
                raise _UndecodableError(
                    f"{path.name} is not {encoding} text near byte {size + failure.start:,}; "
                    "say its --encoding"
                ) from None
            if "\0" in text:
                raise _no_text(path)
            size += len(chunk)
            if len(sample) < _SAMPLE:
                sample = (sample + text)[:_SAMPLE]
            tail = (tail + text)[-_TAIL:]
            if not chunk:
                break
    blank = tail[len(tail.rstrip("\r\n")) :]
    return size - len(blank.encode(encoding)), sample


def _no_text(path: Path | Piped) -> InputError:
    return InputError(
        f"{path.name} holds bytes that no text has, such as NUL; "
        "export it as CSV again, or say its --encoding if it is UTF-16"
    )


def _whole_records(sample: str, whole: bool, delimiter: str | None) -> list[str]:
    """The records, blank lines among them, with quoted fields blotted out.

    A quote opens a field only where a field can begin. Where the sample breaks off, so does its
    last record, or the field that it leaves open.
    """
    begin = f"(?<![^{re.escape(delimiter or ''.join(_DELIMITERS))}\r\n])"
    quoted = re.compile(begin + r'"[^"]*+(?:""[^"]*+)*+"')
    blotted = quoted.sub(lambda field: "x" * len(field[0]), sample)
    if whole:
        return _LINE_END.split(blotted)
    unclosed = re.search(begin + '"', blotted)
    blotted = blotted[: unclosed.start() if unclosed else len(blotted)]
    return _LINE_END.split(blotted)[:-1]


def _find_delimiter(records: Sequence[str]) -> str:
    """The delimiter that most records have as often as the header; a comma if it has none."""

    def agreement(delimiter: str) -> tuple[int, int]:
        times = records[0].count(delimiter)
        agree = sum(record.count(delimiter) == times for record in records)
        return (agree, times) if times else (0, 0)

    return max(_DELIMITERS, key=agreement)


def _column_names(file_name: str, header: str, delimiter: str) -> list[str]:
    options = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    block = arrow_csv.ReadOptions(block_size=4 * _SAMPLE)
    try:
        line = io.BytesIO(header.encode() + b"\n")
        names = arrow_csv.open_csv(line, read_options=block, parse_options=options).schema.names
    except pa.ArrowInvalid:
        raise InputError(
            f"{file_name} opens a quote in its first line that is never closed"
        ) from None
    check_names(names, file_name)
    return list(names)


def understand(
    text: pa.Array, decimal: str, date_format: str | None = None
) -> tuple[Converter, ColumnLayout, pa.Array]:
    """What these fields are, how they are written, and what they say; one is not missing."""
    example = text.drop_null()[0].as_py()
    # Months with a point look like numbers; who says what they are goes first.
    if date_format is not None:
        with suppress(pa.ArrowInvalid):
            convert, form, padded = find_dates(example, text, date_format)
            return convert, ColumnLayout(date=form, padded=padded), convert(text)
    for kind in (_numbers, _booleans, _dates, _moments):
        known = kind(example, decimal)
        if known is not None:
            convert, layout = known
            try:
                return convert, layout, convert(text)
            except pa.ArrowInvalid:
                continue
    try:
        convert, form, padded = find_dates(example, text, date_format)
    except pa.ArrowInvalid:
        return as_it_is, ColumnLayout(), text
    return convert, ColumnLayout(date=form, padded=padded), convert(text)


def without_missing(text: pa.Array, missing_values: Sequence[str]) -> pa.Array:
    """The same fields, null where they are empty or hold a text that stands for that."""
    missing = pc.is_in(text, value_set=pa.array(["", *missing_values], pa.string()))
    if not pc.any(missing).as_py():
        return text
    return pc.if_else(missing, pa.scalar(None, pa.string()), text)


def as_it_is(text: pa.Array) -> pa.Array:
    """Text is text."""
    return text


def common_type(types: set[pa.DataType]) -> pa.DataType:
    """The type of a column whose batches, all of one kind, have these types."""
    types = types - {pa.null()}
    if len(types) == 1:
        return types.pop()
    if types == {pa.int64(), pa.float64()}:
        return pa.float64()
    return max(types, key=lambda moment: _UNITS.index(moment.unit), default=pa.string())


def zone_name(zone: str) -> str | None:
    """The time zone that is meant by what follows a time."""
    if zone in ("Z", "+00:00", "+0000"):
        return "UTC"
    return f"{zone[:3]}:{zone[-2:]}" if zone else None


def _numbers(_example: str, decimal: str) -> tuple[Converter, ColumnLayout]:
    def convert(text: pa.Array) -> pa.Array:
        if decimal == ",":
            validity, offsets, data = text.buffers()
            swapped = pa.py_buffer(data.to_pybytes().translate(_SWAP_DECIMALS))
            buffers = [validity, offsets, swapped]
            text = pa.Array.from_buffers(text.type, len(text), buffers, offset=text.offset)
        try:
            return _bare_numbers(text)
        except pa.ArrowInvalid:
            return _bare_numbers(pc.ascii_trim(text, characters=" "))

    return convert, ColumnLayout()


def _bare_numbers(text: pa.Array) -> pa.Array:
    """Integers, or else decimals.

    Integers beyond 2**53 cannot be among decimals: they have digits that float64 may not hold.
    """
    # A cast that fails is slow, so it is not tried where a point forbids it.
    if b"." not in text.buffers()[2].to_pybytes():
        try:
            whole = pc.cast(text, pa.int64())
            if pc.all(pc.equal(pc.cast(whole, pa.string()), text)).as_py():
                return whole
        except pa.ArrowInvalid:
            pass
    values = pc.cast(text, pa.float64())
    fields = text.drop_null()
    numbers = values.drop_null().to_numpy()
    if not np.isfinite(numbers).all() or _any_begins_oddly(fields):
        raise pa.ArrowInvalid
    large = np.abs(numbers) >= 2.0**53
    if large.any():
        fields = fields.filter(pa.array(large))
        digits_only = fields.filter(pc.match_substring_regex(fields, "^-?[0-9]+$"))
        pc.cast(pc.cast(digits_only, pa.int64()), pa.float64())
    return values


def _any_begins_oddly(fields: pa.Array) -> bool:
    """Whether a number begins with a plus sign or a zero too many, as codes and phones do."""
    _validity, offsets, data = fields.buffers()
    bounds = np.frombuffer(offsets, np.int32)[fields.offset : fields.offset + len(fields) + 1]
    letters = np.frombuffer(data, np.uint8)
    begin, last = bounds[:-1], bounds[1:] - 1
    begin = begin + (letters[begin] == ord("-"))
    first, second = letters[begin], letters[np.minimum(begin + 1, last)]
    zero_led = (first == ord("0")) & (begin < last)
    zero_led &= (second >= ord("0")) & (second <= ord("9"))
    return bool((zero_led | (first == ord("+"))).any())


def _booleans(example: str, _decimal: str) -> tuple[Converter, ColumnLayout] | None:
    pair = next((pair for pair in _BOOLEANS if example in pair), None)
    if pair is None:
        return None

    def convert(text: pa.Array) -> pa.Array:
        if not pc.all(pc.is_in(text, value_set=pa.array([*pair, None], pa.string()))).as_py():
            raise pa.ArrowInvalid
        return pc.equal(text, pair[0])

    return convert, ColumnLayout(booleans=pair)


def _dates(_example: str, _decimal: str) -> tuple[Converter, ColumnLayout]:
    return lambda text: pc.cast(text, pa.date32()), ColumnLayout()


def _moments(example: str, _decimal: str) -> tuple[Converter, ColumnLayout] | None:
    """Date and time, all with the same separator and zone, in the coarsest unit that holds them."""
    found = re.fullmatch(_DAY_AND_TIME % ("[T ]", r"Z|[+-]\d\d:?\d\d|"), example, re.ASCII)
    if found is None:
        return None
    separator, zone = found.groups()
    shape = f"^{_DAY_AND_TIME % (separator, re.escape(zone))}$"

    def convert(text: pa.Array) -> pa.Array:
        if not pc.all(pc.match_substring_regex(text, shape)).as_py():
            raise pa.ArrowInvalid
        longest = pc.max(pc.binary_length(text)).as_py() - len(zone)
        digits = max(0, longest - len("2000-01-01 00:00:00."))
        return pc.cast(text, pa.timestamp(_UNITS[-(-digits // 3)], zone_name(zone)))

    return convert, ColumnLayout(separator=separator, zone=zone)
