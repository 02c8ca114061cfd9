"""Parquet and Arrow files: Parquet, Arrow IPC (Feather) and the Arrow stream."""

import hashlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.base.errors import InputError
from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.table.checks import check_names, check_rows, sha256_of, trimmed, without_runs
from microagg.table.formats.arrow.files import (
    NAMES,
    SUFFIXES,
    Layout,
    codec_for,
    kind_inside,
    open_writer,
    schema_alike,
    without_views,
)
from microagg.table.formats.format import Format, Head, Loaded, Parts, Put, Source, Typed, spelt_out
from microagg.table.metadata import released_schema

# As many as a row group of a Parquet file usually has.
_ROWS = 1 << 20
# Each pass over a Parquet file reads its footer; in a pass there are columns for several cores.
_PASSES, _FEWEST_COLUMNS = 8, 2
_FEWEST_ROWS = 256
_OFFSET = 32


@dataclass(frozen=True)
class _File:
    """One file of a table.

    size: bytes in memory, about: what is stored uncompressed, or what full columns of these types
        take, where repetition has made the file much smaller.
    """

    path: Path
    kind: str
    layout: Layout
    rows: int
    size: int


@dataclass(frozen=True)
class Arrow(Format):
    """Parquet and Arrow files, and folders of Parquet files.

    buffer: bytes read at a time of each column of a Parquet file, whose row groups may be larger
        than memory.
    large: an Arrow batch of more bytes than this is not read as a whole.
    """

    name = "arrow"
    suffixes = SUFFIXES
    in_parts = True
    in_folders = True

    buffer: int = 1 << 18
    large: int = 1 << 28

    def read(
        self, address: Source, reading: Reading, typed: Typed = None, advance: Advance = silent
    ) -> Loaded:
        """Read a file, or the Parquet files of a folder as one table.

        Types, units of moments, dictionaries and missing values come as the file has them, but for
        views (see `without_views`).
        """
        # A window on a file would be a danger for as long as the table lives.
        path, columns, cells = Path(address), [], 0
        parts = replace(self, large=sys.maxsize).open_parts(path, reading)
        for names in self._read_together(path, parts.schema.names):
            schema, batches = pa.schema([parts.schema.field(name) for name in names]), []
            for batch in parts.read(names, _ROWS):
                # Which columns may have gaps, and what is noted of them, differs from file to file.
                batches.append(batch.select(names).cast(schema))
                cells += batch.num_rows * len(names)
                advance(cells / (parts.rows * len(parts.schema)))
            columns += pa.Table.from_batches(batches, schema).columns
        table = pa.table(columns, schema=parts.schema)
        return Loaded(table, parts.layout, parts.sha256, parts.notes)

    def head(self, address: str, reading: Reading, wanted: Typed, most: int) -> Head | None:
        """The first rows of a large file, or of a folder."""
        files = [self._outline(file) for file in self.files_of(Path(address))]
        if sum(file.size for file in files) <= most:
            return None
        layout, batches, size = files[0].layout, [], 0
        names = layout.schema.names
        # Who asks for a column that is not there is told so by those who look for it.
        asked = names if wanted is None or not {*wanted} <= {*names} else wanted
        schema = pa.schema([layout.schema.field(name) for name in asked], layout.schema.metadata)
        # Not more than about what is wanted at a time, however many columns there are.
        rows = max(_FEWEST_ROWS, min(_ROWS >> 4, most // (8 * len(asked))))
        for batch in self._read(files[0], list(asked), rows):
            batches.append(batch.select(list(asked)).cast(schema))
            size += batch.nbytes
            if size > most:
                break
        table = pa.Table.from_batches(batches, schema)
        share = table.num_rows / sum(file.rows for file in files)
        read = {*asked}
        return Head(Loaded(table, layout, ""), share, [name for name in names if name not in read])

    def write(self, table: pa.Table, path: Path, layout: Layout | None) -> None:
        """Write the table so that reading it gives equal types and values.

        Parquet keeps the codec of the layout, zstd without one; .feather is written with lz4 and
        .arrow plain, as most programs do. What no record shows is dropped (see `trimmed`).
        """
        table = trimmed(table)
        full = {name for name in table.column_names if not table[name].null_count}
        schema = schema_alike(table.schema, layout, full, table.num_rows)
        with open_writer(path, schema, codec_for(layout)) as put:
            put(pa.table(table.columns, schema=schema))

    def released(self, layout: Layout, table: pa.Table, recipe: Recipe) -> Layout:
        """Without metadata, but for those that types need and that are to stay."""
        return replace(layout, schema=released_schema(layout.schema, table.column_names, recipe))

    def files_of(self, path: Path) -> list[Path]:
        """The file there, or the Parquet files in a folder, by name."""
        if not path.is_dir():
            return [path]
        files = [
            entry
            for entry in _entries(path)
            if entry.is_file() and SUFFIXES.get(entry.suffix.lower()) == "parquet"
        ]
        if not files:
            raise InputError(f"there are no Parquet files in the folder {path}")
        return files

    def open_parts(
        self, path: Path, reading: Reading, typed: Typed = None, advance: Advance = silent
    ) -> Parts:
        """Look a table over: footers, or the batches of an Arrow file, and every byte for the hash.

        Read in parts, a Parquet file takes the memory of a batch and, for every column asked for,
        of a page and a dictionary, usually 1 MB each. (Pages below 16 KB stay where they are,
        compressed, until the end of their row group.) An Arrow file takes that of a batch as it was
        written, unless that is very large and not compressed.
        """
        paths = self.files_of(path)
        notes = []
        if path.is_dir():
            hashes = "".join(f"{file.name}\0{sha256_of(file)}\n" for file in paths)
            sha256 = hashlib.sha256(hashes.encode()).hexdigest()
            if any(entry.is_dir() for entry in _entries(path)):
                notes.append(f"folders inside {path.name} were not read")
        else:
            sha256 = sha256_of(path)
        files = [self._outline(file) for file in paths]
        schema = _common_schema(files)
        total = sum(file.rows for file in files)
        check_rows(total, str(path))

        def read(columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
            for file in files:
                yield from self._read(file, columns, rows)

        layout = Layout(schema, files[0].layout.compression)
        return Parts(schema, total, sum(file.size for file in files), layout, sha256, notes, read)

    def size_of(self, path: Path) -> int:
        """By the footers of Parquet files; of others, and of damaged ones, the bytes they have."""
        total = 0
        for file in self.files_of(path):
            try:
                footer = kind_inside(file) == "parquet"
                total += self._outline(file).size if footer else file.stat().st_size
            except InputError:
                total += file.stat().st_size
        return total

    @contextmanager
    def open_writer(
        self, path: Path, schema: pa.Schema, layout: Layout | None, rows: int
    ) -> Iterator[Put]:
        """Something that puts table after table into a file like that of the layout.

        A column that may have gaps must be nullable in the schema. Values in dictionaries that no
        record has do not get into the file. Dictionaries stay where they can change from part to
        part: in all but Arrow files. Ordered ones do not, since readers put together what the parts
        have in the order of their coming.
        """
        replaceable = SUFFIXES[path.suffix.lower()] != "arrow"
        schema = spelt_out(schema, lambda kind: kind.ordered or not replaceable)
        full = [each.name for each in schema if not each.nullable]
        target = schema_alike(schema, layout, full, rows)
        with open_writer(path, target, codec_for(layout)) as put:
            yield lambda table: put(_in_schema(table, target))

    def _outline(self, path: Path) -> _File:
        kind = kind_inside(path)
        with _readable(path, kind):
            if kind == "parquet":
                with self._parquet(path) as parquet:
                    schema, metadata = parquet.schema_arrow, parquet.metadata
                check_names(schema.names, str(path))
                groups = (metadata.row_group(place) for place in range(metadata.num_row_groups))
                stored = sum(group.total_byte_size for group in groups)
                rows, compression = metadata.num_rows, None
                if metadata.num_row_groups:
                    compression = str(metadata.row_group(0).column(0).compression).lower()
            else:
                schema, stored, compression = _ipc_schema(path, kind), path.stat().st_size, None
                check_names(schema.names, str(path))
                rows = sum(batch.num_rows for batch in self._ipc_batches(path, kind, [0]))
        size = max(stored, rows * sum(_width(field.type) for field in schema) // 8)
        return _File(path, kind, Layout(without_views(schema), compression), rows, size)

    def _read_together(self, path: Path, names: list[str]) -> list[list[str]]:
        """The columns that are read at a time: few of a Parquet file.

        Pages and dictionaries of all columns would take half the memory of the table once more.
        """
        if kind_inside(self.files_of(path)[0]) != "parquet":
            return [names]
        size = max(_FEWEST_COLUMNS, -(-len(names) // _PASSES))
        return [names[start : start + size] for start in range(0, len(names), size)]

    def _read(self, file: _File, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        with _readable(file.path, file.kind):
            if file.kind != "parquet":
                places = [file.layout.schema.get_field_index(name) for name in columns]
                for batch in self._ipc_batches(file.path, file.kind, places):
                    for begin in range(0, batch.num_rows, rows):
                        part = batch.slice(begin, rows)
                        # Bytes come as they are in the file: only this shows if they make sense.
                        part.validate(full=True)
                        yield without_runs(part)
                return
            with self._parquet(file.path) as parquet:
                count = parquet.num_row_groups
                for group in range(count):
                    # One by one, so that a damaged one can be named.
                    with _readable(file.path, file.kind, f"row group {group + 1} of {count} "):
                        for part in parquet.iter_batches(
                            rows, row_groups=[group], columns=list(columns)
                        ):
                            # Who wrote it may have put in what makes no sense.
                            part.validate(full=True)
                            yield part

    @contextmanager
    def _parquet(self, path: Path) -> Iterator[Any]:
        import pyarrow.parquet as pq

        with (
            pa.OSFile(str(path)) as file,
            pq.ParquetFile(file, buffer_size=self.buffer, pre_buffer=False) as parquet,
        ):
            yield parquet

    def _ipc_batches(self, path: Path, kind: str, places: list[int]) -> Iterator[pa.RecordBatch]:
        """The batches of a file with the columns at some places at least, one held at a time."""
        options = pa.ipc.IpcReadOptions(included_fields=places)
        with pa.OSFile(str(path)) as file:
            if kind == "stream":
                yield from pa.ipc.open_stream(file, options=options)
                return
            arrow = pa.ipc.open_file(file, options=options)
            count = arrow.num_record_batches
            if file.size() <= count * self.large:
                yield from map(arrow.get_batch, range(count))
                return
        # A window on the file takes no memory, but who cuts the file off meanwhile ends us.
        with pa.memory_map(str(path)) as window:
            yield from map(pa.ipc.open_file(window).get_batch, range(count))


def _in_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    for each in schema:
        if not each.nullable and table[each.name].null_count:
            raise InputError(
                f"column {each.name!r} has missing values, but the file to write requires it full"
            )
    return trimmed(table).cast(schema)


def _entries(folder: Path) -> list[Path]:
    """What is in a folder by name, but for what is hidden or set aside as programs do."""
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "_")))


def _width(kind: pa.DataType) -> int:
    """Bits of one entry, without the letters of texts."""
    if pa.types.is_dictionary(kind):
        return int(kind.index_type.bit_width)
    try:
        return int(kind.bit_width)
    except ValueError:
        return _OFFSET


def _common_schema(files: Sequence[_File]) -> pa.Schema:
    """The schema of all files; a column is required if it is so in each of them."""
    schema = files[0].layout.schema
    for file in files[1:]:
        other = file.layout.schema
        if other.names != schema.names or other.types != schema.types:
            raise InputError(
                f"{file.path} has other columns than {files[0].path.name} beside it: "
                f"{_difference(schema, other)}; all files of a folder must have the same"
            )
    for place, field in enumerate(schema):
        if any(file.layout.schema.field(place).nullable for file in files):
            schema = schema.set(place, field.with_nullable(True))
    return schema


def _difference(schema: pa.Schema, other: pa.Schema) -> str:
    for here, there in zip(schema, other, strict=False):
        if here.name != there.name:
            return f"{there.name!r} where {here.name!r} is expected"
        if here.type != there.type:
            return f"{here.name!r} is of type {there.type}, not {here.type}"
    return f"there are {len(other)} of them, not {len(schema)}"


def _ipc_schema(path: Path, kind: str) -> pa.Schema:
    with pa.OSFile(str(path)) as file:
        return (pa.ipc.open_file if kind == "arrow" else pa.ipc.open_stream)(file).schema


@contextmanager
def _readable(path: Path, kind: str, where: str = "") -> Iterator[None]:
    """Whatever goes wrong is damage, said in our words: those of the libraries may quote values."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception:
        raise InputError(
            f"{path} is damaged or cut off: its beginning says {NAMES[kind]}, but {where}cannot be "
            "read"
        ) from None
