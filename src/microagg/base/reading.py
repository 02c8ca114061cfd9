"""What may be said about reading a table."""

from dataclasses import dataclass

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
