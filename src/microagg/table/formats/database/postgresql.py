"""PostgreSQL, through ADBC."""

import os
import re
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from microagg.base.errors import InputError
from microagg.table.checks import decoded, require
from microagg.table.formats.database.address import Address, quoted

_LONGEST_NAME = 63
_DIGITS = 38
# Seconds until a server that says nothing is given up.
_PATIENCE = 30
_KIND = """
    SELECT CASE WHEN c.relkind IN ('r', 'p') THEN 'table' WHEN c.relkind IN ('v', 'm')
    THEN 'view' ELSE 'thing of another kind' END FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = $1
    AND CASE WHEN $2::text IS NULL THEN pg_catalog.pg_table_is_visible(c.oid)
    ELSE n.nspname = $2::text END"""
# Whatever a statement reads, through views, functions and partitions, stays locked to the end of
# the transaction. What the database came with has lower numbers.
_LOCKED = """
    SELECT d.oid::int8 AS base, c.oid::int8 AS number, c.relkind::text AS kind
    FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_class c ON c.oid = l.relation
    JOIN pg_catalog.pg_database d ON d.oid = l.database
    WHERE l.locktype = 'relation' AND l.pid = pg_catalog.pg_backend_pid() AND c.oid >= 16384
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND d.datname = pg_catalog.current_database()"""
# Of one cluster, whatever its names and addresses are; a standby has that of its primary.
_MAY_TELL = "SELECT has_function_privilege('pg_catalog.pg_control_system()', 'execute')"
_CLUSTER = "SELECT system_identifier::text FROM pg_catalog.pg_control_system()"
_ASKS_OTHERS = "SELECT count(*) FROM pg_catalog.pg_extension WHERE extname = 'dblink'"
# Files of the server are written, read and listed by functions that not everybody may call.
_TRUSTED = """
    SELECT DISTINCT proname::text FROM pg_catalog.pg_proc
    WHERE pronamespace = 'pg_catalog'::regnamespace
    AND NOT has_function_privilege('public', oid, 'execute')"""


class Postgresql:
    """A connection in a transaction, which ends with it unless it is committed."""

    def __init__(self, address: Address, seconds: float | None) -> None:
        """seconds: there are for reading, 0 for any; None is a connection to write."""
        doing = "reading databases" if seconds is not None else "writing databases"
        driver = require("adbc_driver_postgresql.dbapi", doing, "sql")
        self._address, self._seconds = address, seconds or 0.0
        with address.plain_errors(
            "cannot be opened; is it there, and are user and password right?"
        ):
            self._base = driver.connect(with_patience(address.url))
            self._cursor = self._base.cursor()
        if seconds is not None:
            self.execute("SET TRANSACTION READ ONLY")
            self.execute(f"SET LOCAL statement_timeout = {min(round(seconds * 1000), 2**31 - 1)}")

    def at_certificate(self) -> Self:
        """The same connection and transaction, at the table of the certificate."""
        other = copy(self)
        other._address = self._address.certificate
        return other

    def settled(self) -> Address:
        """The address with its schema: the same name further down the path is another table."""
        _check_lengths([self._address.table or ""])
        if self._address.schema is None:
            here = self._one("SELECT current_schema()::text")
            self._address = replace(self._address, schema=here)
        return self._address

    def kind_of_table(self) -> str | None:
        """What has the table's name, "table" or something else; None if nothing does."""
        with self._address.plain_errors("cannot be read as a database"):
            self._cursor.execute(_KIND, (self._address.table, self._address.schema))
            found = self._cursor.fetchone()
        return None if found is None else found[0]

    def look(self, query: str) -> None:
        """Have a query planned, so that its tables are known; refuse one that may write files.

        What writes tables is refused by the transaction. But who runs the server may do more.
        """
        with self._address.plain_errors("did not answer the query", self._seconds):
            self._copying(False)
            self._cursor.execute(f"EXPLAIN (VERBOSE) {query}")
            plan = "\n".join(line for (line,) in self._cursor.fetchall())
            self._copying(True)
        words = set(re.findall(r"\w+", f"{plan}\n{query.lower()}"))
        named = words & {name for (name,) in self._all(_TRUSTED)}
        if named:
            raise InputError(
                f"the query names {min(named)}, which is for those who run the server; it must be "
                "one that only reads tables"
            )

    def _copying(self, is_on: bool) -> None:
        """By COPY answers come fast, but only those to SELECT."""
        option = {"adbc.postgresql.use_copy": str(is_on).lower()}
        self._cursor.adbc_statement.set_options(**option)

    def about_rows(self) -> int:
        """About how many rows the table has: what the server keeps in mind, if it does."""
        name = self._address.full_name
        literal = name.replace("'", "''")
        known = self._one(
            f"SELECT reltuples::bigint FROM pg_class WHERE oid = '{literal}'::regclass"
        )
        return int(known if known > 0 else self._one(f"SELECT count(*) FROM {name}"))

    def ask(self, query: str) -> pa.Table:
        """The answer to a query, in types that others know."""
        return self.joined(list(self.pieces(query)))

    def pieces(self, query: str) -> Iterator[pa.RecordBatch]:
        """The answer as it comes, in types of the database; the first piece has no rows."""
        with self._address.plain_errors("did not answer the query", self._seconds):
            self._cursor.execute(query)
            reader = self._cursor.fetch_record_batch()
            yield pa.record_batch(
                [pa.nulls(0, kind) for kind in reader.schema.types], reader.schema
            )
            yield from reader

    @staticmethod
    def joined(pieces: Sequence[pa.RecordBatch]) -> pa.Table:
        """All pieces of an answer as one table, in types that others know."""
        table = pa.Table.from_batches(pieces)
        return pa.table([_known(column) for column in table.columns], names=table.column_names)

    def touched(self, *, by_query: bool = False) -> frozenset[Any] | None:
        """The tables that were read, by their numbers in the cluster; None if it cannot be told."""
        if not self._one(_MAY_TELL):
            return None
        found = self._all(_LOCKED)
        kinds = {kind for _, _, kind in found}
        # What is asked of another database leaves no trace here.
        if "f" in kinds or ((by_query or "v" in kinds) and self._one(_ASKS_OTHERS)):
            return None
        cluster = self._one(_CLUSTER)
        return frozenset(("postgresql", cluster, base, number) for base, number, _ in found)

    def hold(self) -> None:
        """Nobody renames or drops the table, or one of its parts, before the transaction ends."""
        with self._address.plain_errors(f"did not let {self._address.table!r} be replaced"):
            self.execute(f"LOCK TABLE {self._address.full_name} IN ACCESS SHARE MODE")

    def put(self, table: pa.Table, name: str) -> pa.Table:
        """Put rows into a new table, and read them back in their order."""
        _check_lengths(table.column_names)
        number = "row_number"
        while number in map(str.lower, table.column_names):
            number += "_"
        rows = pa.array(range(table.num_rows), pa.int64())
        numbered = decoded(table).append_column(number, rows)
        place = {} if self._address.schema is None else {"db_schema_name": self._address.schema}
        written = self._address.full_name_of(name)
        with self._address.plain_errors("did not take the table"):
            self._cursor.adbc_ingest(name, numbered, mode="create", **place)
            back = self.ask(f"SELECT * FROM {written} ORDER BY {quoted(number)}")
            self.execute(f"ALTER TABLE {written} DROP COLUMN {quoted(number)}")
        return back.drop_columns([number])

    def execute(self, step: str) -> None:
        """Do something of which no answer is wanted."""
        self._cursor.execute(step)

    def commit(self) -> None:
        """Let it be."""
        with self._address.plain_errors("did not take the table"):
            self._base.commit()

    def close(self) -> None:
        """Forget what was not committed."""
        self._cursor.close()
        self._base.close()

    def _all(self, query: str) -> list[tuple[Any, ...]]:
        with self._address.plain_errors("cannot be read as a database", self._seconds):
            self._cursor.execute(query)
            return self._cursor.fetchall()

    def _one(self, query: str) -> Any:
        return self._all(query)[0][0]


def _check_lengths(names: list[str]) -> None:
    for each in names:
        if len(each.encode()) > _LONGEST_NAME:
            raise InputError(
                f"the name {each!r} is longer than the {_LONGEST_NAME} bytes of PostgreSQL"
            )


def with_patience(url: str) -> str:
    """The address such that a server that says nothing is given up, unless it was said when."""
    if "connect_timeout=" in url or "PGCONNECT_TIMEOUT" in os.environ:
        return url
    return f"{url}{'&' if '?' in url else '?'}connect_timeout={_PATIENCE}"


def _known(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if not isinstance(kind, pa.BaseExtensionType):
        return column
    if getattr(kind, "type_name", None) == "numeric":
        return _numeric(column.cast(kind.storage_type))
    if kind.extension_name == "arrow.uuid":
        values = [None if value is None else str(value) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(values, pa.string())])
    return column.cast(kind.storage_type)


def _numeric(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decimals written out, as decimals; as floating numbers if they have too many digits."""
    after = pc.max(pc.utf8_length(pc.replace_substring_regex(texts, r"^[^.]*\.?", "")))
    before = pc.max(pc.utf8_length(pc.replace_substring_regex(texts, r"\..*$|-", "")))
    scale, digits = after.as_py() or 0, before.as_py() or 1
    try:
        return texts.cast(pa.decimal128(min(_DIGITS, digits + scale), scale))
    # Too long, or not a number: NaN and the infinities are of type numeric too.
    except (pa.ArrowInvalid, ValueError):
        return texts.cast(pa.float64())
