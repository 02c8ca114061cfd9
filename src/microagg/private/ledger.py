"""A budget ledger: how much epsilon each table has spent, over all releases and processes."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.base.errors import InputError, OptionError
from microagg.base.files import lock, whole_file
from microagg.private.budget import check_epsilon

_VERSION = 1


class Ledger:
    """A file that adds up the epsilon spent on each table, and refuses to go beyond a limit.

    path: a JSON file, made on first use. Beside it stands a lock file, so that of two processes
        that release at once one waits for the other.
    limit: the most epsilon that any one table may spend; without it the ledger only keeps count.

    Epsilon is written down, and is on the disk, before noise is drawn: a release that fails later
    has spent its part all the same. A table is known by a hash of its column names and values: one
    with a record, a column or a value changed counts as another table, although it may be about the
    same people. Then it is for the caller to add up. Hashes of small tables can be guessed: keep
    the ledger as safe as the data.
    """

    def __init__(self, path: str | os.PathLike[str], limit: float | None = None) -> None:
        self.path = Path(path)
        self.limit = None if limit is None else check_epsilon(limit)

    def spend(self, table: str, epsilon: float, definition: str) -> None:
        """Write down that the table of this fingerprint spends epsilon, or refuse."""
        with self._locked():
            entries = self._read()
            spent = _total(entries.get(table, []))
            # Decimals, for what people write: three times 0.1 fits into 0.3.
            after = spent + _decimal(epsilon)
            if self.limit is not None and after > _decimal(self.limit):
                raise OptionError(
                    f"this release needs epsilon {epsilon:g}, but of the limit {self.limit:g} the "
                    f"table has spent {spent:g}; use a smaller epsilon, or no further release"
                )
            entries.setdefault(table, []).append(
                {
                    "epsilon": epsilon,
                    "definition": definition,
                    "time": datetime.now(UTC).isoformat(timespec="seconds"),
                }
            )
            with whole_file(self.path) as stream:
                json.dump({"version": _VERSION, "tables": entries}, stream, indent=1)

    def spent(self) -> dict[str, float]:
        """The epsilon that each table has spent so far, by fingerprint."""
        with self._locked():
            entries = self._read()
        return {table: float(_total(lines)) for table, lines in entries.items()}

    def _read(self) -> dict[str, list[dict[str, Any]]]:
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        try:
            content = json.loads(text)
            if content["version"] != _VERSION:
                raise ValueError
            tables = dict(content["tables"])
            for lines in tables.values():
                _total(lines)
            return tables
        except (ArithmeticError, KeyError, TypeError, ValueError):
            raise InputError(
                f"the ledger {self.path} cannot be read; restore it from a copy: without it nobody "
                "knows what has been spent"
            ) from None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_name(self.path.name + ".lock").open("a") as file:
            lock(file, wait=True)
            yield


def fingerprint(columns: Mapping[str, NDArray]) -> str:
    """A hash of names and values; the order of columns does not matter, that of rows does."""
    found = hashlib.sha256()
    for name in sorted(columns):
        column = columns[name]
        if column.dtype.kind == "f":
            # Adding zero makes the two zeros one.
            content = (np.ascontiguousarray(column, "<f8") + 0.0).tobytes()
        else:
            content = json.dumps(list(map(str, column))).encode()
        for part in (name.encode(), column.dtype.kind.encode(), content):
            found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()


def _total(lines: list[dict[str, Any]]) -> Decimal:
    return sum((_decimal(line["epsilon"]) for line in lines), Decimal(0))


def _decimal(number: float) -> Decimal:
    return Decimal(repr(float(number)))
