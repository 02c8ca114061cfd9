"""Tables of SQLite and PostgreSQL databases, through ADBC."""

import re
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc

from microagg.base.errors import InputError, OptionError, PromiseError
from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.table.checks import (
    cast_like,
    check_names,
    check_rows,
    decoded,
    fingerprint,
    require,
)
from microagg.table.formats.format import Format, Loaded, Source, Typed

_POSTGRES = re.compile(r"(?i:postgres(?:ql)?)://(?:[^@/?#]*@)?([^@/?#]*(?:/[^@?#]*)?)(?:\?.*)?")
_LONGEST_NAME = 63
_DIGITS = 38


@dataclass(frozen=True)
class Address:
    """Where a table is: `sqlite:///file.db#table` or `postgresql://user@host/base#schema.table`.

    url: without the table; it may hold a password and is never shown, `shown` is.
    table: what follows the #, None if nothing does. A # or a dot inside a name is %23 or %2E.
    """

    url: str = field(repr=False)
    table: str | None
    schema: str | None = None

    @classmethod
    def of(cls, text: str) -> Self:
        """Take an address apart; one that cannot be understood is not quoted in the error."""
        url, _, fragment = text.rpartition("#") if "#" in text else (text, "", "")
        if not url.lower().startswith("sqlite:"):
            # With an @ behind it the # was meant to be part of a password.
            if not _POSTGRES.fullmatch(url) or "@" in fragment:
                raise OptionError(
                    "the database address cannot be understood; it looks like "
                    "postgresql://user:password@host:5432/database#table, and @ : / ? # in a "
                    "user, password or name are written as %40 %3A %2F %3F %23"
                )
            schema, dot, table = fragment.rpartition(".")
            return cls(url, unquote(table) or None, unquote(schema) if dot else None)
        return cls(url, unquote(fragment) or None)

    @property
    def file(self) -> Path | None:
        """The file of a SQLite database: relative after three slashes, absolute after four."""
        if not self.url.lower().startswith("sqlite:"):
            return None
        return Path(self.url[len("sqlite:") :].removeprefix("///"))

    @property
    def shown(self) -> str:
        """The database without user and password."""
        found = _POSTGRES.fullmatch(self.url)
        return f"postgresql://{found[1]}" if found else f"the SQLite file {self.file}"


@dataclass(frozen=True)
class Database(Format):
    """Tables and views of a database, and answers to queries; written by `draft`."""

    name = "database"
    is_file = False

    def holds(self, address: str) -> bool:
        """Whether a text is the address of a database rather than the path of a file."""
        return address.lower().startswith(("sqlite:", "postgresql://", "postgres://"))

    def shown(self, address: str) -> str:
        """What to call an address in print: no folders, no user, no password."""
        known = Address.of(address)
        place = known.shown if known.file is None else f"sqlite:{known.file.name}"
        names = [name for name in (known.schema, known.table) if name is not None]
        return f"{place}#{'.'.join(names)}" if names else place

    def without_password(self, address: str) -> str:
        """Neither user nor password."""
        url = Address.of(address).url
        found = _POSTGRES.fullmatch(url)
        return f"postgresql://{found[1]}{address.removeprefix(url)}" if found else address

    def read(
        self, address: Source, reading: Reading, typed: Typed = None, advance: Advance = silent
    ) -> Loaded:
        """Read a table, or the answer to `reading.query`; the database cannot be changed by it.

        Rows come in the order of the database, which may differ from one reading to the next: a
        query with ORDER BY settles it. SQLite has whole numbers, numbers, text and bytes only; a
        column that mixes them becomes the widest of them. PostgreSQL's numeric becomes a decimal of
        the digits in use, and types that only a database knows, such as json and uuid, become text.
        """
        place = Address.of(str(address))
        if reading.query is None and place.table is None:
            raise OptionError(
                f"which table of {place.shown}? Add it as #table to the address, or give a query"
            )
        with _connection(place, reading=True) as connection, connection.cursor() as cursor:
            if place.file is None:
                cursor.execute("SET TRANSACTION READ ONLY")
            query = reading.query
            what = f"the answer of {place.shown}"
            if query is None:
                what = f"table {place.table!r} of {place.shown}"
                if _exists(cursor, place) is None:
                    raise InputError(f"{place.shown} has no table {place.table!r}")
                query = f"SELECT * FROM {_full_name(place, place.table or '')}"
            table = _ask(cursor, query, place)
            connection.rollback()
        check_names(table.column_names, what)
        table = _plain(table)
        check_rows(table.num_rows, what)
        advance(1.0)
        return Loaded(table, None, fingerprint(table))


def same_table(one: str, other: str) -> bool:
    """Whether two addresses mean the same table; without a table one means any of its database."""
    known = Database()
    if not (known.holds(one) and known.holds(other)):
        return False
    first, second = Address.of(one), Address.of(other)
    if first.file is not None and second.file is not None:
        both = first.file.exists() and second.file.exists()
        same = both and first.file.samefile(second.file)
    else:
        same = first.shown == second.shown
    tables = {name.casefold() for name in (first.table, second.table) if name is not None}
    return same and len(tables) < 2


@contextmanager
def draft(table: pa.Table, address_text: str, force: bool) -> Iterator[pa.Table]:
    """Write the table, give what was read back, and let it take its name when the block ends well.

    All of it or nothing: in one transaction the rows go into a table of another name and are read
    back in their order, with the types of `table`; only then, and unless the block raises, does the
    new table take the name in the address. A table of that name is replaced with `force` only, and
    then loses its indexes, rights and constraints. SQLite keeps NaN as NULL, decimals as floating
    numbers, booleans as 0 and 1, and dates, moments and times as text; moments with a time zone are
    stored in UTC.
    """
    address = Address.of(address_text)
    if address.table is None:
        raise OptionError(f"which table of {address.shown}? Add it as #table to the address")
    check_names(table.column_names, "the table to write")
    _check_names(address, table.column_names)
    fresh = address.file is not None and not address.file.exists()
    try:
        with _connection(address, reading=False) as connection, connection.cursor() as cursor:
            address = _settled(address, cursor)
            old = _replaced(address, force, cursor)
            name, number = f"microagg_{secrets.token_hex(8)}", _new_name(table.column_names)
            yield _ingested(table, address, name, number, cursor)
            _take_name(address, name, number, old is not None, cursor)
            connection.commit()
    except BaseException:
        if fresh and address.file is not None:
            address.file.unlink(missing_ok=True)
        raise


def _settled(address: Address, cursor: Any) -> Address:
    """The address with its schema: the same name further down the search path is another table."""
    if address.file is not None or address.schema is not None:
        return address
    here = _ask(cursor, "SELECT current_schema()::text", address)[0][0].as_py()
    return replace(address, schema=here)


def _replaced(address: Address, force: bool, cursor: Any) -> str | None:
    """What has the name now, if it may be replaced."""
    old = _exists(cursor, address)
    if old is not None and not force:
        raise OptionError(
            f"{address.shown} already has a table {address.table!r}; choose another name, or "
            "replace it with force"
        )
    if old not in (None, "table"):
        raise OptionError(f"{address.table!r} of {address.shown} is a {old}, not a table")
    return old


def _new_name(names: list[str]) -> str:
    """A name for the column of row numbers that no other column has."""
    number = "row_number"
    while number in map(str.lower, names):
        number += "_"
    return number


def _ingested(table: pa.Table, address: Address, name: str, number: str, cursor: Any) -> pa.Table:
    """Put the rows into a table of another name, and read them back in their order."""
    rows = pa.array(range(table.num_rows), pa.int64())
    numbered = _storable(table, address).append_column(number, rows)
    place = {} if address.schema is None else {"db_schema_name": address.schema}
    with _plain_errors(f"{address.shown} did not take the table"):
        cursor.adbc_ingest(name, numbered, mode="create", **place)
    query = f"SELECT * FROM {_full_name(address, name)} ORDER BY {_quoted(number)}"
    back = _ask(cursor, query, address)
    try:
        return cast_like(_plain(back.drop_columns([number])), table.schema)
    except InputError as failure:
        raise PromiseError(f"the written release cannot be read back: {failure}") from None


def _take_name(address: Address, name: str, number: str, replacing: bool, cursor: Any) -> None:
    written, wanted = _full_name(address, name), address.table or ""
    steps = [f"ALTER TABLE {written} DROP COLUMN {_quoted(number)}"]
    if address.file is not None:
        # Otherwise a view on the old table would keep the new one from taking its name.
        steps.append("PRAGMA legacy_alter_table = ON")
    if replacing:
        steps.append(f"DROP TABLE {_full_name(address, wanted)}")
    steps.append(f"ALTER TABLE {written} RENAME TO {_quoted(wanted)}")
    for step in steps:
        with _plain_errors(
            f"{address.shown} did not let the new table take the name {wanted!r}; other "
            "tables or views may depend on the old one"
        ):
            cursor.execute(step)


@contextmanager
def _connection(address: Address, reading: bool) -> Iterator[Any]:
    doing = "reading databases" if reading else "writing databases"
    if address.file is None:
        driver = require("adbc_driver_postgresql.dbapi", doing, "sql")
        target = address.url
    else:
        driver = require("adbc_driver_sqlite.dbapi", doing, "sql")
        if reading and not address.file.is_file():
            raise InputError(
                f"there is no SQLite file {address.file}; after sqlite: an absolute path is "
                "written with four slashes, as in sqlite:////data/people.db"
            )
        mode = "ro" if reading else "rwc"
        target = f"file:{quote(str(address.file))}?mode={mode}"
    with _plain_errors(
        f"{address.shown} cannot be opened; is it there, and are user and password right?"
    ):
        connection = driver.connect(target)
    try:
        if not reading and address.file is not None:
            # What is removed from a file would stay in pages that are free to be used again.
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA secure_delete = ON")
        yield connection
    finally:
        # Closing forgets what was not committed.
        connection.close()


@contextmanager
def _plain_errors(sentence: str) -> Iterator[None]:
    """Say what went wrong without the words of the driver, which may quote values or passwords."""
    try:
        yield
    except OptionError:
        raise
    except Exception as problem:
        state = getattr(problem, "sqlstate", None)
        code = f" (SQLSTATE {state})" if state else ""
        raise InputError(sentence + code) from None


def _ask(cursor: Any, query: str, address: Address) -> pa.Table:
    with _plain_errors(f"{address.shown} did not answer the query"):
        if address.file is not None:
            # SQLite gives every value a type of its own; the driver settles that of a column on
            # its first batch, so all rows have to be in it.
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": "1000000000"})
        cursor.execute(query)
        return cursor.fetch_arrow_table()


def _exists(cursor: Any, address: Address) -> str | None:
    """What has the table's name, "table" or something else; None if nothing does."""
    if address.file is not None:
        query = "SELECT type FROM sqlite_master WHERE lower(name) = lower(?1)"
        values: tuple[str | None, ...] = (address.table,)
    else:
        query = (
            "SELECT CASE WHEN c.relkind IN ('r', 'p') THEN 'table' WHEN c.relkind IN ('v', 'm') "
            "THEN 'view' ELSE 'thing of another kind' END FROM pg_catalog.pg_class c "
            "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = $1 "
            "AND CASE WHEN $2::text IS NULL THEN pg_table_is_visible(c.oid) "
            "ELSE n.nspname = $2::text END"
        )
        values = (address.table, address.schema)
    with _plain_errors(f"{address.shown} cannot be read as a database"):
        cursor.execute(query, values)
        found = cursor.fetchone()
    return None if found is None else found[0]


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _full_name(address: Address, table: str) -> str:
    schema = "" if address.schema is None else f"{_quoted(address.schema)}."
    return schema + _quoted(table)


def _check_names(address: Address, columns: list[str]) -> None:
    for name in [address.table or "", *columns]:
        if "\0" in name:
            raise InputError(f"the name {name!r} has a zero byte, which no database allows")
        if address.file is None and len(name.encode()) > _LONGEST_NAME:
            raise InputError(
                f"the name {name!r} is longer than the {_LONGEST_NAME} bytes of PostgreSQL"
            )
    if address.file is not None:
        twins = Counter(map(str.lower, columns)).most_common(1)
        if twins[0][1] > 1:
            raise InputError(
                f"two columns are called {twins[0][0]!r} in capitals or small letters, which are "
                "one name in SQLite; rename one of them"
            )


def _storable(table: pa.Table, address: Address) -> pa.Table:
    """The table in types that the driver takes."""
    table = decoded(table)
    if address.file is None:
        return table
    for place, (name, kind) in enumerate(zip(table.column_names, table.schema.types, strict=True)):
        if pa.types.is_decimal(kind):
            table = table.set_column(place, name, table.column(place).cast(pa.float64()))
        elif pa.types.is_time(kind):
            table = table.set_column(place, name, table.column(place).cast(pa.string()))
        elif pa.types.is_nested(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind):
            raise InputError(
                f"column {name!r} is of type {kind}, which SQLite cannot hold; write Parquet "
                "instead"
            )
    return table


def _plain(table: pa.Table) -> pa.Table:
    """The columns in types that others know, without notes of the driver."""
    columns = [_known(column) for column in table.columns]
    return pa.table(columns, names=table.column_names)


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
