"""SQLite files, by the module of Python's own: it asks before it does, and survives bad files."""

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from typing import Any, Self
from urllib.parse import quote

import pyarrow as pa

from microagg.base.errors import InputError
from microagg.table.checks import decoded
from microagg.table.formats.database.address import Address, quoted

# The file is opened to be read only; these let no other file be opened. Virtual tables get ready to
# be written to even if they are only read.
_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
    sqlite3.SQLITE_INSERT,
    sqlite3.SQLITE_UPDATE,
    sqlite3.SQLITE_DELETE,
}
_ASKED = {"data_version", "page_size"}
# What loads code, or reads pages of which nobody knows the table.
_REFUSED = {"load_extension", "fts3_tokenizer", "sqlite_dbpage"}
_ROWS_AT_ONCE = 2000
# From the narrowest to the widest.
_TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string(), bytes: pa.binary()}


class Sqlite:
    """A connection to a SQLite file, in a transaction that ends with it unless it is committed."""

    def __init__(self, address: Address, seconds: float | None) -> None:
        """seconds: there are for reading, 0 for any; None is a connection to write."""
        assert address.file is not None
        self._address, self._file = address, address.file
        self._tables: set[str] = set()
        reads = seconds is not None
        if reads and not self._file.is_file():
            raise InputError(
                f"there is no SQLite file {self._file}; after sqlite: an absolute path is "
                "written with four slashes, as in sqlite:////data/people.db"
            )
        with address.plain_errors("cannot be opened; is it a database, and one may use it?"):
            target = f"file:{quote(str(self._file))}?mode={'ro' if reads else 'rwc'}"
            self._base = sqlite3.connect(target, uri=True, isolation_level=None)
            try:
                self._prepare(reads)
            except BaseException:
                self._base.close()
                raise

    def _prepare(self, reads: bool) -> None:
        for step in (
            "PRAGMA trusted_schema = OFF",
            "PRAGMA cell_size_check = ON",
            f"PRAGMA query_only = {'ON' if reads else 'OFF'}",
            # What is removed from a file would stay in pages that are free to be used again.
            "PRAGMA secure_delete = ON",
            # Otherwise rows of other tables could go with one that is replaced, and a view on it
            # would keep the new one from taking its name.
            "PRAGMA foreign_keys = OFF",
            "PRAGMA legacy_alter_table = ON",
            "BEGIN" if reads else "BEGIN IMMEDIATE",
            "SELECT count(*) FROM sqlite_master",
        ):
            self._base.execute(step).fetchall()
        if reads:
            self._base.set_authorizer(self._may)

    def _may(self, action: int, first: str | None, second: str | None, *_: Any) -> int:
        """Whether a query may do something; which tables it reads is noted on the way."""
        if action == sqlite3.SQLITE_PRAGMA:
            harmless = first in _ASKED and second is None
            return sqlite3.SQLITE_OK if harmless else sqlite3.SQLITE_DENY
        if action not in _ALLOWED or _REFUSED & {first, (second or "").lower()}:
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_READ:
            self._tables.add((first or "").lower())
        return sqlite3.SQLITE_OK

    def at_certificate(self) -> Self:
        """The same connection and transaction, at the table of the certificate."""
        other = copy(self)
        other._address = self._address.certificate
        return other

    def settled(self) -> Address:
        """The address of the table as it is now."""
        return self._address

    def kind_of_table(self) -> str | None:
        """What has the table's name, "table" or something else; None if nothing does."""
        query = (
            "SELECT CASE WHEN sql LIKE 'CREATE VIRTUAL%' THEN 'virtual table' ELSE type END "
            "FROM sqlite_master WHERE lower(name) = lower(?1)"
        )
        with self._address.plain_errors("cannot be read as a database"):
            found = self._base.execute(query, (self._address.table,)).fetchone()
        return None if found is None else found[0]

    def about_rows(self) -> int:
        """About how many rows the table has, without going through them where that can be."""
        name = self._address.full_name
        known = "max(rowid)" if self.kind_of_table() == "table" else "count(*)"
        try:
            return int(self.ask(f"SELECT {known} FROM {name}").column(0)[0].as_py() or 0)
        except InputError:
            # Tables without row numbers are told apart by their keys.
            return int(self.ask(f"SELECT count(*) FROM {name}").column(0)[0].as_py())

    def look(self, query: str) -> None:
        """Have a query planned, so that its tables are known."""
        self.ask(f"EXPLAIN {query}")

    def ask(self, query: str) -> pa.Table:
        """The answer to a query; a column that mixes types becomes the widest of them."""
        return self.joined(list(self.pieces(query)))

    def pieces(self, query: str) -> Iterator[pa.RecordBatch]:
        """The answer as it comes, each piece in types of its own; the first has no rows."""
        with self._address.plain_errors("did not answer the query"):
            cursor = self._base.execute(query)
            names = [each[0] for each in cursor.description or ()]
            yield pa.record_batch([pa.nulls(0) for _ in names], names)
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                yield pa.record_batch([_narrowest(each) for each in zip(*rows, strict=True)], names)

    @staticmethod
    def joined(pieces: Sequence[pa.RecordBatch]) -> pa.Table:
        """All pieces of an answer as one table."""
        columns = zip(*(piece.columns for piece in pieces), strict=True)
        return pa.table([_in_one_type(parts) for parts in columns], pieces[0].schema.names)

    def touched(self, *, by_query: bool = False) -> frozenset[Any]:
        """The tables that were read, by what makes their file the same under any name."""
        known = self._file.stat()
        marks = ((known.st_dev, known.st_ino), os.path.realpath(self._file))
        return frozenset(("sqlite", mark, table) for mark in marks for table in self._tables)

    def hold(self) -> None:
        """Nobody else writes to the file before the transaction ends."""
        self._tables.add((self._address.table or "").lower())

    def put(self, table: pa.Table, name: str) -> pa.Table:
        """Put rows into a new table, and read them back in their order."""
        _check_names(table.column_names)
        stored = _storable(table)
        columns = [
            f"{quoted(column.name)} {_declared(column.type)}".rstrip() for column in stored.schema
        ]
        places = ", ".join("?" * len(columns))
        with self._address.plain_errors("did not take the table"):
            self._base.execute(f"CREATE TABLE {quoted(name)} ({', '.join(columns)})")
            self._base.executemany(f"INSERT INTO {quoted(name)} VALUES ({places})", _rows(stored))
        # Read from end to end, rows come as they went in.
        return self.ask(f"SELECT * FROM {quoted(name)}")

    def execute(self, step: str) -> None:
        """Do something of which no answer is wanted."""
        self._base.execute(step)

    def commit(self) -> None:
        """Let it be, and keep nothing of what was replaced in a file beside."""
        with self._address.plain_errors("did not take the table"):
            self._base.execute("COMMIT")
        with suppress(sqlite3.Error):
            self._base.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Forget what was not committed."""
        self._base.close()


def _narrowest(values: Sequence[Any]) -> pa.Array:
    """A few entries in the type that holds them all; missing if there are none."""
    types = {*map(type, values)} - {type(None)}
    if not types:
        return pa.nulls(len(values))
    widest = _wider(types)
    return pa.array(values, _TYPES[widest]) if len(types) == 1 else _widened(values, widest)


def _wider(types: Any) -> type:
    return max(types, key=list(_TYPES).index)


def _widened(values: Sequence[Any], kind: type) -> pa.Array:
    def turned(value: Any) -> Any:
        if value is None or type(value) is kind:
            return value
        return str(value).encode() if kind is bytes else kind(value)

    return pa.array(map(turned, values), _TYPES[kind])


def _in_one_type(parts: Sequence[pa.Array]) -> pa.ChunkedArray:
    names = {kind: name for name, kind in _TYPES.items()}
    types = {names[part.type] for part in parts if part.type in names}
    widest = _wider(types) if types else int
    return pa.chunked_array(
        [
            part if part.type == _TYPES[widest] else _widened(part.to_pylist(), widest)
            for part in parts
        ],
        _TYPES[widest],
    )


def _check_names(columns: list[str]) -> None:
    twins = Counter(map(str.lower, columns)).most_common(1)
    if twins[0][1] > 1:
        raise InputError(
            f"two columns are called {twins[0][0]!r} in capitals or small letters, which are one "
            "name in SQLite; rename one of them"
        )


def _storable(table: pa.Table) -> pa.Table:
    """The table in types that SQLite has."""
    table = decoded(table)
    for place, (name, kind) in enumerate(zip(table.column_names, table.schema.types, strict=True)):
        column = table.column(place)
        if pa.types.is_decimal(kind):
            column = column.cast(pa.float64())
        elif pa.types.is_timestamp(kind):
            column = column.cast(pa.timestamp(kind.unit)).cast(pa.string())
        elif pa.types.is_time(kind) or pa.types.is_date(kind):
            column = column.cast(pa.string())
        elif pa.types.is_nested(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind):
            raise InputError(
                f"column {name!r} is of type {kind}, which SQLite cannot hold; write Parquet "
                "instead"
            )
        table = table.set_column(place, name, column)
    return table


def _declared(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "INTEGER"
    if pa.types.is_floating(kind):
        return "REAL"
    return "" if pa.types.is_null(kind) else "BLOB" if "binary" in str(kind) else "TEXT"


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches(_ROWS_AT_ONCE):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
