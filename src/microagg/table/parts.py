"""What a format says of a table that it reads in parts, and whether the files stay as they are."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from microagg.base.errors import InputError

# The named columns, in any order and perhaps among others, in batches of about so many rows.
Read = Callable[[Sequence[str], int], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Parts:
    """A table that a format can read in parts: like `Loaded`, with a way to the records instead.

    size: the bytes it would take in memory, about.
    understand: of a text file, what texts of all its columns say, in the types of the schema.
    """

    schema: pa.Schema
    rows: int
    size: int
    layout: Any
    sha256: str
    notes: list[str]
    read: Read
    understand: Callable[[Sequence[pa.Array]], list[pa.Array]] | None = None


@dataclass(frozen=True)
class Seal:
    """Which files a table was when it was opened: their sizes, times and places on the disk."""

    name: str
    listed: Callable[[], Sequence[Path]]
    marks: tuple[tuple[Path, int, int, int], ...]

    @classmethod
    def on(cls, name: str, listed: Callable[[], Sequence[Path]]) -> Self:
        """Remember the files listed; one that is not there is an InputError."""
        try:
            return cls(name, listed, _marks(listed()))
        except OSError as problem:
            reason = problem.strerror or "it cannot be opened"
            raise InputError(f"{name} cannot be read: {reason}") from None

    def check(self) -> None:
        """Refuse to go on if a file is not the one that was opened."""
        try:
            same = _marks(self.listed()) == self.marks
        except (OSError, InputError):
            same = False
        if not same:
            raise InputError(
                f"{self.name} was changed while it was being read; "
                "start again once nobody writes to it"
            )


def _marks(paths: Sequence[Path]) -> tuple[tuple[Path, int, int, int], ...]:
    found = ((path, path.stat()) for path in paths)
    return tuple((path, at.st_size, at.st_mtime_ns, at.st_ino) for path, at in found)
