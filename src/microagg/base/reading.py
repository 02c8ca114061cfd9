"""What a table looks like once it is read, and what may be said about reading it."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

# What people write where a value is missing. An empty field always counts as one.
MISSING_VALUES = ("NA", "N/A", "NaN", "nan", "NULL", "null", "None")


@dataclass(frozen=True)
class Reading:
    """How to read a file or a database; what is not said is found out.

    delimiter, encoding, decimal: of a text file; decimal is "." or ",".
    missing_values: texts that stand for a missing value, besides the empty field.
    sheet: the name of a sheet of a workbook; the first one otherwise.
    query: what to ask a database, instead of a whole table.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    missing_values: tuple[str, ...] = MISSING_VALUES
    sheet: str | None = None
    query: str | None = None


@dataclass
class Loaded:
    """A table as it was read.

    table: every column. In a text file those that nobody asked to understand stay text, exactly as
        they were written.
    layout: what else a file of the same kind needs to look alike: delimiter, labels, ...; belongs
        to the format's own module.
    sha256: of the file's bytes, or of the table's content where there is no file.
    """

    table: "pa.Table"
    layout: Any
    sha256: str
    notes: list[str] = field(default_factory=list)
