"""CSV for Spark: everything stays text as it is written, but for the columns to be protected."""

from pathlib import Path
from typing import TYPE_CHECKING

from microagg.base.errors import InputError
from microagg.base.recipe import Recipe
from microagg.engine.spark.sources import column
from microagg.table.formats.csv.layout import outline
from microagg.table.opening import check_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_TABS = (".tsv", ".tab")
_WHOLE = r"^[+-]?(0|[1-9]\d*)$"
# A leading zero makes a code of it, as in postal codes.
_NUMBER = r"^[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
_DAY = r"^\d{4}-\d\d-\d\d$"
_MOMENT = r"^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?$"
_TRUTH = r"^(true|false|True|False|TRUE|FALSE)$"
# In order: the first that all fields of a column are.
_KINDS = (
    (_WHOLE, "bigint"),
    (_NUMBER, "double"),
    (_TRUTH, "boolean"),
    (_DAY, "date"),
    (_MOMENT, "timestamp_ntz"),
)


def read_csv(
    session: "SparkSession", address: str, path: Path | None, recipe: Recipe
) -> tuple["DataFrame", str, str | None, list[str]]:
    """The table, its delimiter, the hash of its bytes if they are at hand, and notes.

    A record must stand in one line. One look at the quasi-identifiers says what they are.
    """
    from pyspark.sql import functions as f

    reading = recipe.reading
    delimiter = reading.delimiter or ("\t" if Path(address).suffix.lower() in _TABS else ",")
    encoding = reading.encoding or "utf-8"
    decimal: str = reading.decimal or "."
    sha256, notes = None, []
    if path is not None and path.is_file():
        found = outline(path, reading.as_reading())
        delimiter, encoding = found.layout.delimiter, found.layout.encoding
        decimal, sha256, notes = found.layout.decimal, found.sha256, found.notes
    reader = session.read.options(mode="FAILFAST", enforceSchema=False)
    frame = reader.csv(address, header=True, sep=delimiter, encoding=encoding, escape='"')
    check_columns(recipe.columns(), frame.columns)
    texts = {}
    for name in recipe.quasi_identifiers:
        text = f.when(~column(name).isin("", *reading.missing_values), f.trim(column(name)))
        texts[name] = f.regexp_replace(text, ",", ".") if decimal == "," else text
    counts = [f.count(text) for text in texts.values()]
    counts += [
        f.count(f.when(text.rlike(pattern), text.try_cast(kind)))
        for text in texts.values()
        for pattern, kind in _KINDS
    ]
    told = list(frame.agg(*counts).first() or ())
    typed: dict[str, Column] = {}
    for place, (name, text) in enumerate(texts.items()):
        first = len(texts) + place * len(_KINDS)
        fits = told[first : first + len(_KINDS)]
        kinds = [kind for (_, kind), fit in zip(_KINDS, fits, strict=True) if fit == told[place]]
        whole = f.when(~column(name).isin("", *reading.missing_values), column(name))
        typed[name] = text.try_cast(kinds[0]) if kinds and told[place] else whole
    if not frame.columns:
        raise InputError(f"{Path(address).name} is empty; the first line must hold the names")
    columns = [typed.get(name, column(name)).alias(name) for name in frame.columns]
    return frame.select(*columns), delimiter, sha256, list(notes)
