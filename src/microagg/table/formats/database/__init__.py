"""Tables of SQLite and PostgreSQL databases."""

import secrets
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from microagg.base.errors import InputError, OptionError, PromiseError
from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.table.checks import check_names, check_rows, fingerprint
from microagg.table.formats.database.address import Address, quoted
from microagg.table.formats.database.address import certificate_address as certificate_address
from microagg.table.formats.database.aside import ask_aside
from microagg.table.formats.database.postgresql import Postgresql
from microagg.table.formats.database.sqlite import Sqlite
from microagg.table.formats.format import Format, Head, Loaded, Source, Typed

# The tables that something is read from, each by what it is called nowhere else; None if the
# database does not tell.
Tables = frozenset[Any] | None
NO_TABLES: Tables = frozenset()
# The one column, with one row, of the table that holds a certificate.
_CERTIFICATE = "certificate"


@dataclass(frozen=True)
class Database(Format):
    """Tables and views of a database, and answers to queries; written by `draft`.

    The layout of an input is the tables it was read from, which are never replaced.
    """

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

    def file_of(self, address: str) -> Path | None:
        """The file of a SQLite database."""
        return Address.of(address).file

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
        pieces, tables = ask_aside(_read, place, reading, seconds=reading.query_timeout or 0.0)
        table = _driver(place).joined(pieces)
        named = "the answer" if reading.query is not None else f"table {place.table!r}"
        what = f"{named} of {place.shown}"
        check_names(table.column_names, what)
        check_rows(table.num_rows, what)
        advance(1.0)
        return Loaded(table, tables, fingerprint(table))

    def head(self, address: str, reading: Reading, wanted: Typed, most: int) -> Head | None:
        """The first rows of a large table; of the answer to a query, all of it is needed."""
        if reading.query is not None:
            return None
        place = Address.of(address)
        seconds = reading.query_timeout or 0.0
        pieces, (rows, tables) = ask_aside(_head, place, reading, most, seconds=seconds)
        if not pieces:
            return None
        table = _driver(place).joined(pieces)
        return Head(Loaded(table, tables, ""), table.num_rows / max(rows, table.num_rows))

    def layout_of_file(self, layout: Any) -> Any:
        """All of it: the names of tables."""
        return layout


def tables_read(address: str, reading: Reading) -> Tables:
    """The tables that an input would be read from, as far as they are known before it is."""
    place = Address.of(address)
    return ask_aside(_look, place, reading, seconds=reading.query_timeout or 0.0)[1]


def refuse_replacing(address_text: str, tables: Tables, force: bool) -> None:
    """Refuse what `draft` would refuse. tables: those that the input was read from."""
    address = Address.of(address_text)
    _check_table(address)
    if address.file is None or address.file.exists():
        with _connected(address, None) as base:
            _replaces(base, tables, force)
            _replaces_certificate(base, tables, force)


def certificate_text(address_text: str) -> str | None:
    """What stands in the table of the certificate beside a table; None if there is none."""
    address = Address.of(address_text)
    if address.table is None:
        return None
    with suppress(InputError, OptionError), _connected(address.certificate, 0.0) as base:
        if base.kind_of_table() == "table" and _is_certificate(base):
            found = base.ask(f"SELECT * FROM {address.certificate.full_name} LIMIT 1")
            text = found.column(0)[0].as_py() if found.num_rows else None
            return text if isinstance(text, str) else None
    return None


@contextmanager
def draft(
    table: pa.Table,
    address_text: str,
    force: bool,
    tables: Tables = NO_TABLES,
    certificate: Path | None = None,
) -> Iterator[pa.Table]:
    """Write the table, give what was read back, and let it take its name when the block ends well.

    All of it or nothing: in one transaction the rows go into a table of another name and are read
    back in their order, in the types that the database has; only then, and unless the block raises,
    does the new table take the name in the address. A table of that name is replaced with `force`
    only, and then loses its indexes, rights and constraints; one of `tables`, from which the input
    was read, is never replaced. certificate: a file whose text, as it is when the block ends, goes
    into a table beside in the same transaction. SQLite keeps NaN as NULL, decimals as floating
    numbers, booleans as 0 and 1, and dates, moments and times as text; moments with a time zone are
    stored in UTC.
    """
    address = Address.of(address_text)
    _check_table(address)
    check_names(table.column_names, "the table to write")
    for each in [address.table or "", *table.column_names]:
        if "\0" in each:
            raise InputError(f"the name {each!r} has a zero byte, which no database allows")
    fresh = address.file is not None and not address.file.exists()
    try:
        with _connected(address, None) as base:
            replacing = _replaces(base, tables, force)
            beside = _replaces_certificate(base, tables, force)
            name = f"microagg_{secrets.token_hex(8)}"
            yield base.put(table, name)
            _take_name(base, name, replacing)
            if certificate is not None:
                _put_certificate(base.at_certificate(), certificate.read_text("utf-8"), beside)
            base.commit()
    except BaseException:
        if fresh and address.file is not None:
            address.file.unlink(missing_ok=True)
        raise


def _read(place: Address, reading: Reading) -> Generator[pa.RecordBatch, None, Tables]:
    with _asked(place, reading) as (base, query):
        if reading.query is not None:
            base.look(query)
        yield from base.pieces(query)
        return base.touched(by_query=reading.query is not None)


def _head(
    place: Address, reading: Reading, most: int
) -> Generator[pa.RecordBatch, None, tuple[int, Tables]]:
    """No pieces at all of a table that is not large."""
    with _asked(place, reading) as (base, query):
        width = base.ask(f"{query} LIMIT 1").num_columns
        rows = base.about_rows()
        enough = max(1000, most // (16 * max(1, width)))
        if rows > enough:
            yield from base.pieces(f"{query} LIMIT {enough}")
        return rows, base.touched()


def _look(place: Address, reading: Reading) -> Generator[pa.RecordBatch, None, Tables]:
    with _asked(place, reading) as (base, query):
        base.look(query)
        yield from ()
        return base.touched(by_query=reading.query is not None)


def _driver(address: Address) -> type[Sqlite | Postgresql]:
    return Postgresql if address.file is None else Sqlite


@contextmanager
def _connected(address: Address, seconds: float | None) -> Iterator[Sqlite | Postgresql]:
    """seconds: for reading, 0 for any number; None is a connection to write."""
    with closing(_driver(address)(address, seconds)) as base:
        yield base


@contextmanager
def _asked(place: Address, reading: Reading) -> Iterator[tuple[Sqlite | Postgresql, str]]:
    """A connection that only reads, and what to ask; by a process that can be ended."""
    if reading.query is None:
        _check_table(place, ", or give a query")
    with _connected(place, reading.query_timeout or 0.0) as base:
        if reading.query is None and base.kind_of_table() is None:
            raise InputError(f"{place.shown} has no table {place.table!r}")
        yield base, reading.query or f"SELECT * FROM {place.full_name}"


def _check_table(address: Address, hint: str = "") -> None:
    if address.table is None:
        raise OptionError(f"which table of {address.shown}? Add it as #table to the address{hint}")


def _replaces(base: Sqlite | Postgresql, tables: Tables, force: bool) -> bool:
    """Whether a table has the name now, which may be replaced."""
    address = base.settled()
    old = base.kind_of_table()
    if old is None:
        return False
    where = f"{address.table!r} of {address.shown}"
    if not force:
        raise OptionError(
            f"{address.shown} already has a table {address.table!r}; say force (--force) to "
            "replace it, or name another"
        )
    if old != "table":
        raise OptionError(f"{where} is a {old}, not a table")
    if tables != NO_TABLES:
        base.hold()
        held = base.touched()
        if tables is None or held is None:
            raise OptionError(
                f"whether {where} is part of the input cannot be told, so it is not replaced; "
                "name another"
            )
        if tables & held:
            raise OptionError(f"{where} is the input, which is never written over; name another")
    return True


def _replaces_certificate(base: Sqlite | Postgresql, tables: Tables, force: bool) -> bool:
    """Whether a table has the name of the certificate now, which is one that may be replaced.

    Nobody named it, so force does not reach a table that is something else.
    """
    beside = base.at_certificate()
    if not _replaces(beside, tables, force):
        return False
    if not _is_certificate(beside):
        address = beside.settled()
        raise OptionError(
            f"{address.table!r} of {address.shown} has the name that the certificate of the "
            "release would have, but holds no certificate; name another table for the release"
        )
    return True


def _is_certificate(base: Sqlite | Postgresql) -> bool:
    answer = base.ask(f"SELECT * FROM {base.settled().full_name} LIMIT 0")
    return answer.column_names == [_CERTIFICATE]


def _put_certificate(base: Sqlite | Postgresql, text: str, replacing: bool) -> None:
    name, table = f"microagg_{secrets.token_hex(8)}", pa.table({_CERTIFICATE: [text]})
    if not base.put(table, name).equals(table):
        raise PromiseError("the certificate cannot be read back, so nothing was published")
    _take_name(base, name, replacing)


def _take_name(base: Sqlite | Postgresql, name: str, replacing: bool) -> None:
    address = base.settled()
    rename = f"ALTER TABLE {address.full_name_of(name)} RENAME TO {quoted(address.table or '')}"
    with address.plain_errors(
        f"did not let the new table take the name {address.table!r}; other tables or views may "
        "depend on the old one"
    ):
        for step in [f"DROP TABLE {address.full_name}"] * replacing + [rename]:
            base.execute(step)
