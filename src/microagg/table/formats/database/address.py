"""Where a table of a database is, and how that is said without telling a password."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self
from urllib.parse import unquote

from microagg.base.errors import InputError, OptionError

_POSTGRES = re.compile(r"(?i:postgres(?:ql)?)://(?:[^@/?#]*@)?([^@/?#]*(?:/[^@?#]*)?)(?:\?.*)?")
# A statement that was given up: it took longer than it may.
_GIVEN_UP = "57014"
# It ends the name of a table, and so its address.
_CERTIFICATE = "_certificate"


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
            # Drivers know the scheme in small letters only.
            url = f"postgresql:{url.partition(':')[2]}"
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

    @property
    def full_name(self) -> str:
        """The table and its schema, as SQL has them."""
        return self.full_name_of(self.table or "")

    def full_name_of(self, table: str) -> str:
        """A table in the same schema."""
        schema = "" if self.schema is None else f"{quoted(self.schema)}."
        return schema + quoted(table)

    @property
    def certificate(self) -> Self:
        """The table beside it that holds its certificate."""
        return replace(self, table=f"{self.table}{_CERTIFICATE}")

    def is_late(self, seconds: float) -> InputError:
        """No answer came in time."""
        return InputError(
            f"{self.shown} did not answer within {seconds:g} seconds; ask for less, or give it "
            "longer with query_timeout (--query-timeout)"
        )

    @contextmanager
    def plain_errors(self, trouble: str, seconds: float = 0.0) -> Iterator[None]:
        """Say what went wrong without the words of the driver, which may quote values or passwords.

        trouble: what the database did not do; seconds: how long it had to do it.
        """
        started = time.monotonic()
        try:
            yield
        except (OptionError, InputError, MemoryError):
            raise
        except Exception as problem:
            state = getattr(problem, "sqlstate", None)
            late = bool(seconds) and time.monotonic() - started >= 0.9 * seconds
            # Of an answer that comes piece by piece the driver does not tell the state.
            if late and state in (_GIVEN_UP, None):
                raise self.is_late(seconds) from None
            code = f" (SQLSTATE {state})" if state else ""
            raise InputError(f"{self.shown} {trouble}{code}") from None


def certificate_address(address: str) -> str:
    """The address of the table beside a table that holds its certificate."""
    return f"{address}{_CERTIFICATE}"


def quoted(name: str) -> str:
    """A name as SQL has it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
