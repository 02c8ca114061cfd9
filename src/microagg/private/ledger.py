"""A budget ledger: how much epsilon each data set has spent, over all releases and processes."""

import hashlib
import json
import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from microagg.base.errors import InputError, OptionError
from microagg.base.files import whole_path
from microagg.base.folders import lock
from microagg.private.budget import check_epsilon

_HEAD = b'{\n "microagg ledger": 1,\n'


class Ledger:
    """A file that adds up the epsilon spent on each data set, and refuses to go beyond a limit.

    path: a JSON file for its owner's eyes, made on first use. Beside it stands a lock, so that of
        two processes that release at once one waits for the other.
    limit: the most epsilon that any one data set may spend; without it the ledger only counts.
    receipt: what was written down last, in words.

    A data set is known by the name it is given, whatever rows and columns of it are released: one
    name for all that is about the same people. Capitals and spaces make no difference. Epsilon is
    written down, and is on the disk, before noise is drawn: a release that fails later has spent
    its part all the same. Every entry carries a hash of itself and of all before it, so that an
    edit shows; whoever makes all hashes anew can still forge it.
    """

    def __init__(self, path: str | os.PathLike[str], limit: float | None = None) -> None:
        self.path = Path(path)
        self.limit = None if limit is None else check_epsilon(limit)
        self.receipt: str | None = None

    def check(self, dataset: str, epsilon: float) -> None:
        """Refuse what `spend` would refuse by now; writes nothing, not even a lock."""
        self._after(_read(self._home()), _name(dataset), epsilon)

    def spend(self, dataset: str, epsilon: float, definition: str) -> None:
        """Write down that the data set spends epsilon, or refuse."""
        self.check(dataset, epsilon)
        home, name = self._home(), _name(dataset)
        with _locked(home):
            entries = _read(home)
            after = self._after(entries, name, epsilon)
            entry = {
                "dataset": name,
                "epsilon": epsilon,
                "definition": definition,
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
            }
            head = _chained(entries[-1]["sha256"] if entries else "", entry)
            entries.append({**entry, "sha256": head})
            content = {"microagg ledger": 1, "sha256": head, "entries": entries}
            with whole_path(home, 0o600) as temporary:
                temporary.write_bytes(json.dumps(content, indent=1).encode() + b"\n")
        limit = "" if self.limit is None else f" of {self.limit:g}"
        self.receipt = f"epsilon {epsilon:g} is spent on {name!r}: {float(after):g}{limit} in all"

    def spent(self) -> dict[str, float]:
        """The epsilon that each data set has spent so far, by name."""
        entries = _read(self._home())
        return {name: float(_total(entries, name)) for name in {e["dataset"]: 0 for e in entries}}

    def keep_apart(self, *others: str | os.PathLike[str] | None) -> None:
        """Refuse a ledger that is to be another file as well."""
        home = self._home()
        for other in others:
            if other is not None and Path(os.path.realpath(other)) == home:
                raise OptionError(
                    f"{self.path.name} cannot be the ledger too; give it its own file"
                )

    def _home(self) -> Path:
        """The file itself, by whatever symbolic link it is named."""
        return Path(os.path.realpath(self.path))

    def _after(self, entries: list[dict[str, Any]], name: str, epsilon: float) -> Decimal:
        """What the data set will have spent, if the limit allows it."""
        spent = _total(entries, name)
        # Decimals, for what people write: three times 0.1 fits into 0.3.
        after = spent + _decimal(epsilon)
        if self.limit is not None and after > _decimal(self.limit):
            raise OptionError(
                f"this release needs epsilon {epsilon:g}, but of the limit {self.limit:g} the data "
                f"set {name!r} has spent {float(spent):g}; take less, or release no more"
            )
        return after


def refuse_ledger(target: str | os.PathLike[str]) -> None:
    """Refuse to write over a ledger: it is the only record of what was spent."""
    path = Path(target)
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(_HEAD)) == _HEAD:
                raise OptionError(f"{path.name} is a ledger, never written over; name another")


def _read(path: Path) -> list[dict[str, Any]]:
    """Every entry, once all of them are checked."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return []
    if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        raise InputError(
            f"the ledger {path} has a second name (a hard link), by which it would be counted "
            "apart; remove one, or make it a symbolic link"
        )
    try:
        if not stat.S_ISREG(found.st_mode):
            raise ValueError
        with path.open("rb") as file:
            if file.read(len(_HEAD)) != _HEAD:
                raise ValueError
            content = json.loads(_HEAD + file.read())
        head = ""
        for entry in content["entries"]:
            said = {key: value for key, value in entry.items() if key != "sha256"}
            _name(entry["dataset"]), check_epsilon(entry["epsilon"])
            head = _chained(head, said)
            if entry["sha256"] != head:
                raise ValueError
        if content["sha256"] != head:
            raise ValueError
        return content["entries"]
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        raise InputError(
            f"{path} is no ledger, or was changed by others; name another file, or restore it from "
            "a copy: without it nobody knows what has been spent"
        ) from None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".lock")
    with os.fdopen(os.open(beside, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        if not lock(file, wait=True):
            raise InputError(f"the ledger {path} cannot be locked; keep it on a local disk")
        yield


def _name(dataset: str) -> str:
    name = unicodedata.normalize("NFC", dataset) if isinstance(dataset, str) else ""
    name = " ".join(name.casefold().split())
    if not name:
        raise OptionError(
            "a ledger needs dataset, the name under which everything about the same people is "
            "added up, such as 'survey-2026'"
        )
    return name


def _chained(before: str, entry: dict[str, Any]) -> str:
    return hashlib.sha256((before + json.dumps(entry, sort_keys=True)).encode()).hexdigest()


def _total(entries: list[dict[str, Any]], name: str) -> Decimal:
    return sum((_decimal(e["epsilon"]) for e in entries if e["dataset"] == name), Decimal(0))


def _decimal(number: float) -> Decimal:
    return Decimal(repr(float(number)))
