"""Rows in another order; nor do dictionaries show the old one: they list values as they come."""

from functools import partial
from typing import Any

import pyarrow as pa

from microagg.kernels.threads import run_each
from microagg.table.checks import only_shown
from microagg.table.formats.format import spelt_out
from microagg.table.frames import in_one_piece
from microagg.table.nesting import Leaf, rebuilt


def reordered(table: pa.Table, order: Any) -> pa.Table:
    """Some rows of a table. What ordered dictionaries list has an order of its own, and stays."""
    table, rows = table.unify_dictionaries(), pa.array(order)
    columns: list[Any] = table.columns

    def take(place: int) -> None:
        columns[place] = columns[place].take(rows)

    run_each([partial(take, place) for place in range(len(columns))])
    table = pa.table(columns, schema=table.schema)
    return _with_dictionaries(table, table.schema, _as_it_comes)


def encoded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The same values, in dictionaries where the schema has them."""
    return _with_dictionaries(table, schema, _encoded)


def _with_dictionaries(table: pa.Table, schema: pa.Schema, leaf: Leaf) -> pa.Table:
    columns = [
        column if spelt == field.type else rebuilt(in_one_piece(column), field.type, leaf)
        for column, field, spelt in zip(table.columns, schema, spelt_out(schema).types, strict=True)
    ]
    return pa.table(columns, schema=schema)


def _as_it_comes(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return only_shown(array, as_they_come=True) if pa.types.is_dictionary(kind) else array


def _encoded(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if array.type == kind:
        return array
    found = array.dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        found.indices.cast(kind.index_type), found.dictionary, ordered=kind.ordered
    )
