"""What goes with the columns of a release: what their types need, and what the recipe lists.

Metadata may say anything: the exact box around all places, a comment on one record. What a program
needs to read the columns in their types stays, the rest only if somebody asked for it by name.
"""

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

import pyarrow as pa

from microagg.base.recipe import Recipe

PANDAS = b"pandas"
_EXTENSION = b"ARROW:extension:"
_TYPES = ("pandas_type", "numpy_type")
_RANGE = ("kind", "name", "start", "stop", "step")


def released_schema(schema: pa.Schema, names: Collection[str], recipe: Recipe) -> pa.Schema:
    """The named columns without metadata but what the recipe lists, and what types need.

    What Arrow does not know as a type of its own, metadata say. Columns that were replaced are of
    types that it knows.
    """
    keep, replaced = recipe.keep_metadata, recipe.quasi_identifiers

    def bare(field: pa.Field) -> pa.Field:
        if field.name in keep:
            return field
        said = {} if field.name in replaced else field.metadata or {}
        needed = {key: said[key] for key in said if key.startswith(_EXTENSION)}
        return field.with_metadata(needed) if needed else field.remove_metadata()

    fields = [
        field if field.name in keep else changed(field, bare)
        for field in schema
        if field.name in names
    ]
    said = schema.metadata or {}
    metadata = {key: said[key] for key in said if key.decode(errors="replace") in keep}
    if PANDAS in said:
        metadata |= pandas_notes(said[PANDAS], {field.name for field in fields}, None, keep)
    return pa.schema(fields, metadata or None)


def pandas_notes(
    text: bytes, names: Collection[str], rows: int | None, keep: Collection[str] | None = None
) -> dict[bytes, bytes]:
    """What pandas noted of some columns: their types and which are its index; none if illegible.

    rows: of the table, where it is known. keep: which attributes of the table stay, all if None.
    """
    try:
        noted = json.loads(text)
        attributes = noted.get("attributes") or {}
        told: dict[str, Any] = {
            "index_columns": [
                index if isinstance(index, str) else only(index, _RANGE)
                for index in noted["index_columns"]
                if _still_index(index, names, rows)
            ],
            "column_indexes": [
                {"name": None, "field_name": None, "metadata": None} | only(each, _TYPES)
                for each in noted.get("column_indexes") or ()
            ],
            "columns": [
                only(column, ("name", "field_name", *_TYPES)) | {"metadata": None}
                for column in noted["columns"]
                if (column["field_name"] or "") in names
            ],
        }
        kept = attributes if keep is None else only(attributes, keep)
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {PANDAS: json.dumps(told | ({"attributes": kept} if kept else {})).encode()}


def _still_index(index: Any, names: Collection[str], rows: int | None) -> bool:
    if isinstance(index, str):
        return index in names
    return rows is None or len(range(index["start"], index["stop"], index["step"])) == rows


def only(said: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """What is said of these names."""
    return {name: value for name, value in said.items() if name in names}


def changed(field: pa.Field, change: Callable[[pa.Field], pa.Field]) -> pa.Field:
    """A field after a change to it and to all fields inside of its type."""
    kind = field.type
    if not pa.types.is_nested(kind):
        return change(field)
    if pa.types.is_struct(kind):
        kind = pa.struct([changed(inner, change) for inner in kind])
    elif pa.types.is_map(kind):
        both = (changed(inner, change) for inner in (kind.key_field, kind.item_field))
        kind = pa.map_(*both, keys_sorted=kind.keys_sorted)
    elif pa.types.is_fixed_size_list(kind):
        kind = pa.list_(changed(kind.value_field, change), kind.list_size)
    elif pa.types.is_list(kind):
        kind = pa.list_(changed(kind.value_field, change))
    elif pa.types.is_large_list(kind):
        kind = pa.large_list(changed(kind.value_field, change))
    return change(field.with_type(kind))
