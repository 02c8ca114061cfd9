"""Rows in another order; nor do dictionaries show the old one: they list values as they come."""

from typing import Any

import pyarrow as pa

from microagg.table.formats.format import spelt_out


def reordered(table: pa.Table, order: Any) -> pa.Table:
    """Some rows of a table. What ordered dictionaries list has an order of its own, and stays."""
    spelt = spelt_out(table.schema, lambda kind: not kind.ordered)
    return encoded(table.cast(spelt).take(pa.array(order)), table.schema)


def encoded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The same values, in dictionaries where the schema has them."""
    columns = [
        _encoded(column, field.type) if column.type != field.type else column
        for column, field in zip(table.columns, schema, strict=True)
    ]
    return pa.table(columns, schema=schema)


def _encoded(column: pa.ChunkedArray, kind: pa.DictionaryType) -> pa.Array:
    found = column.combine_chunks().dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        found.indices.cast(kind.index_type), found.dictionary, ordered=kind.ordered
    )
