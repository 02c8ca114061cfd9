"""Tables that Spark can read, and numbers for their rows that do not depend on who reads them."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from microagg.base.addresses import without_password
from microagg.base.errors import InputError, OptionError
from microagg.base.reading import Reading
from microagg.engine.spark.session import require_spark
from microagg.engine.spark.tasks import KEY, TIE
from microagg.table.checks import check_names
from microagg.table.formats import FORMATS
from microagg.table.formats.format import Typed
from microagg.table.streams import Stream, open_stream

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Of all formats those that Spark itself can read, under the names that they have here.
_ARROW, _CSV = "arrow", "csv"
_FILE = "file"
_GLOB = re.compile(r"([*?\[\]{}\\])")
_TABLE = re.compile(r"\w+(\.\w+){0,2}")


@dataclass(frozen=True, eq=False)
class Source:
    """A table that Spark reads.

    frame: its columns as c0, c1, ... for names may be anything, then the number of each row and
        what tells apart rows that share one.
    ordered: numbers say in which order the rows are; otherwise they are hashes of the rows.
    path: where it is on this machine, so that it is never written over.
    stream: its files, where they are at hand.
    """

    frame: "DataFrame"
    fields: list[Any]
    rows: int
    ordered: bool
    name: str
    form: str
    path: Path | None = None
    stream: Stream | None = None

    @property
    def in_place(self) -> bool:
        """Whether the numbers of its rows are their places: a query may leave some out."""
        return self.ordered and self.form in (_ARROW, _CSV)

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return [each.name for each in self.fields]

    def columns(self, names: Sequence[str]) -> "DataFrame":
        """Some columns, and the numbers of the rows."""
        places = [self.names.index(name) for name in names]
        return self.frame.select(*(f"c{place}" for place in places), KEY, TIE)

    def check(self) -> None:
        """Refuse to go on if a file was changed since the table was opened."""
        if self.stream is not None:
            self.stream.check_unchanged()

    def with_units(self, names: Sequence[str]) -> dict[str, str]:
        """Some columns and the unit of their moments: that of the files, or Spark's finest."""
        schema = () if self.stream is None else self.stream.schema
        kinds = {each.name: each.type for each in schema}
        units = {name: getattr(kinds.get(name), "unit", "us") for name in names}
        return {name: unit if unit in ("s", "ms") else "us" for name, unit in units.items()}

    def sha256_with(self, digest: Any) -> str:
        """What tells this table from another; digest: sums over hashes of its rows."""
        if self.stream is not None:
            return self.stream.sha256
        types = [(each.name, each.dataType.simpleString()) for each in self.fields]
        content = json.dumps([types, self.rows, digest.tolist()])
        return hashlib.sha256(content.encode()).hexdigest()


def open_source(source: Any, reading: Reading, typed: Typed, session: "SparkSession") -> Source:
    """Open a DataFrame, a path or the name of a table.

    typed: the columns of a text file to understand; others stay text as they are. None is all.
    """
    if isinstance(source, require_spark().DataFrame):
        if source.isStreaming:
            raise InputError("a stream never ends; groups need a table that does")
        return _numbered(source, "frame", "table")
    if not isinstance(source, str | os.PathLike):
        raise InputError(
            "Spark protects a Spark DataFrame, a path or the name of a table, but an object of "
            f"type {type(source).__name__} arrived"
        )
    address = os.fspath(source)
    form = _form_of(address)
    if form == "table":
        return _numbered(session.table(address), "table", address)
    path = _local_path(address)
    if path is not None and not path.exists():
        raise InputError(f"{path} cannot be read: there is no such file or folder")
    if form == _CSV:
        return _of_text(session, address, path, reading, typed)
    if path is None or (path.is_dir() and any(each.is_dir() for each in path.iterdir())):
        return _numbered(session.read.parquet(address), form, _name(address), path)
    return _of_files(session, path)


def _form_of(address: str) -> str:
    """What an address means: a format by its name, or else a table that Spark knows."""
    suffix, path = Path(address).suffix.lower(), _local_path(address)
    if suffix in _suffixes(_CSV):
        return _CSV
    if suffix in _suffixes(_ARROW) or (path is not None and path.is_dir()) or "://" in address:
        return _ARROW
    if _TABLE.fullmatch(address) and (path is None or not path.exists()):
        return "table"
    raise OptionError(
        f"{_name(address)!r} is nothing that Spark reads here; there are "
        f"{', '.join(_suffixes(_ARROW))} and {', '.join(_suffixes(_CSV))}, folders of such files "
        "and names of tables"
    )


def _name(address: str) -> str:
    return Path(without_password(address)).name


def _suffixes(form: str) -> list[str]:
    """Of files that Spark reads itself: of Arrow's those of Parquet, of text the plain ones."""
    kinds = FORMATS[form].suffixes
    plain = {suffix: kind for suffix, kind in kinds.items() if suffix.count(".") == 1}
    return [suffix for suffix, kind in plain.items() if form == _CSV or kind == "parquet"]


def _local_path(address: str) -> Path | None:
    """The path on this machine, None if it is elsewhere."""
    if address.startswith("file:"):
        return Path(unquote(address.removeprefix("file:").removeprefix("//"))).absolute()
    return None if "://" in address else Path(address).absolute()


def column(name: str) -> "Column":
    """A column by its name, whatever is in it."""
    from pyspark.sql import functions

    return functions.col("`" + name.replace("`", "``") + "`")


def _of_files(session: "SparkSession", path: Path) -> Source:
    """Plain Parquet files of one folder: their footers say how many rows each has."""
    from pyspark.sql import functions as f

    files, name = FORMATS[_ARROW].files_of(path), path.name
    stream = open_stream(path, Reading())
    frame = session.read.parquet(*(_GLOB.sub(r"\\\1", str(file)) for file in files))
    check_names(frame.columns, name)
    # The name comes as part of a URI, in which a plus is a plus.
    name_inside = f.url_decode(f.replace(f.col("_metadata.file_name"), f.lit("+"), f.lit("%2B")))
    inside = frame.select(
        *_in_place(frame),
        name_inside.alias(_FILE),
        f.col("_metadata.row_index").alias(KEY),
        f.lit(0).cast("long").alias(TIE),
    )
    ends = {file.name: pq.read_metadata(file).num_rows for file in files}
    numbered = _across_files(inside, ends)
    fields, rows = frame.schema.fields, sum(ends.values())
    return Source(numbered, fields, rows, True, name, _ARROW, path, stream)


def _of_text(
    session: "SparkSession", address: str, path: Path | None, reading: Reading, typed: Typed
) -> Source:
    from microagg.engine.spark.text import read_file, read_texts

    name = _name(address)
    if path is None or not path.is_file():
        return _numbered(read_texts(session, address, reading), _CSV, name, path)
    frame, stream = read_file(session, path, reading, typed)
    fields = [
        type(each)(column_name, each.dataType, each.nullable)
        for column_name, each in zip(stream.schema.names, frame.schema.fields, strict=False)
    ]
    return Source(frame, fields, stream.rows, True, name, _CSV, path, stream)


def _numbered(frame: "DataFrame", form: str, name: str, path: Path | None = None) -> Source:
    """Any other table; the rows are counted."""
    from pyspark.sql import functions as f

    check_names(frame.columns, name)
    hashed = [_hashable(each) for each in frame.schema.fields]
    content = f.xxhash64(*hashed)
    ordered = _has_row_numbers(frame)
    if ordered:
        # Files have each number once, but a query may have made more of a row.
        inside = frame.select(
            *_in_place(frame),
            f.col("_metadata.file_path").alias(_FILE),
            f.col("_metadata.row_index").alias(KEY),
            content.alias(TIE),
        )
        files = inside.groupBy(_FILE).agg(f.max(KEY) + 1, f.count("*")).collect()
        rows = sum(count for _, _, count in files)
        numbered = _across_files(inside, {file: end for file, end, _ in files})
    else:
        rows = frame.count()
        other = f.xxhash64(f.lit(1), *hashed)
        numbered = frame.select(*_in_place(frame), content.alias(KEY), other.alias(TIE))
    if rows == 0:
        raise InputError(f"{name} has no rows: there is nothing to group")
    return Source(numbered, frame.schema.fields, rows, ordered, name, form, path=path)


def _in_place(frame: "DataFrame") -> list["Column"]:
    return [column(name).alias(f"c{place}") for place, name in enumerate(frame.columns)]


def _has_row_numbers(frame: "DataFrame") -> bool:
    from pyspark.errors import AnalysisException

    try:
        return bool(frame.select("_metadata.file_path", "_metadata.row_index").columns)
    except AnalysisException:
        return False


def _across_files(inside: "DataFrame", ends: dict[str, int]) -> "DataFrame":
    """Rows numbered on from file to file, files by name."""
    from pyspark.sql import functions as f

    if len(ends) < 2:
        return inside.drop(_FILE)
    files = sorted(ends, key=unquote)
    starts = np.cumsum([0, *(ends[file] for file in files[:-1])])
    before = inside.sparkSession.createDataFrame(pa.table({_FILE: files, "start": starts}))
    joined = inside.join(f.broadcast(before), _FILE)
    columns = [each for each in inside.columns if each not in (_FILE, KEY, TIE)]
    return joined.select(*columns, (f.col("start") + f.col(KEY)).alias(KEY), TIE)


def _hashable(each: Any) -> "Column":
    """A column that can be hashed: maps cannot, their text can."""
    from pyspark.sql import functions as f

    kind = each.dataType.simpleString()
    if "map<" in kind or "variant" in kind:
        return f.to_json(f.struct(column(each.name)))
    return column(each.name)
