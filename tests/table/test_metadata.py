import json

import pandas as pd
import pyarrow as pa
import pytest

from microagg.base.recipe import Recipe
from microagg.table.metadata import pandas_notes, released_schema

FRAME = pd.DataFrame(
    {
        "age": pd.array([1, None], "Int64"),
        "job": pd.Categorical(["x", "y"]),
        "seen": pd.to_datetime(["2020-01-01", "2020-01-02"]).tz_localize("Europe/Vienna"),
        "text": pd.array(["a", None], "string"),
    },
    index=pd.Index([5, 7], name="row"),
)


def released(schema, **settings):
    recipe = Recipe(quasi_identifiers="age", **settings)
    names = [name for name in schema.names if name not in recipe.identifiers]
    return released_schema(schema, names, recipe)


def test_pandas_reads_what_it_wrote():
    for frame in (FRAME, FRAME.reset_index(drop=True), pd.DataFrame({0: [1.5], 1: ["x"]})):
        table = pa.Table.from_pandas(frame)
        back = table.cast(released(table.schema)).to_pandas()
        pd.testing.assert_frame_equal(back, frame)


def test_an_index_that_is_gone_is_not_noted():
    table = pa.Table.from_pandas(FRAME)
    schema = released(table.schema, identifiers="row")
    assert "row" not in str(schema.metadata)
    back = table.drop_columns("row").cast(schema).to_pandas()
    pd.testing.assert_frame_equal(back, FRAME.reset_index(drop=True))


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b"\xff", b"[1", b'{"columns": 3}', b"null"])
def test_what_is_not_of_pandas_goes(text):
    assert pandas_notes(text, {"age"}, None) == {}


def test_only_what_is_known_of_pandas_stays():
    noted = json.loads(pa.Table.from_pandas(FRAME).schema.metadata[b"pandas"])
    noted |= {"more": "secret", "pandas_version": "secret", "attributes": {"a": "secret", "b": 1}}
    noted["columns"][0] |= {"more": "secret", "metadata": {"most": "secret"}}
    noted["column_indexes"][0] |= {"name": "secret", "metadata": {"most": "secret"}}
    noted["index_columns"] = [
        {"kind": "range", "name": None, "start": 0, "stop": 2, "step": 1, "more": "secret"}
    ]
    (text,) = pandas_notes(json.dumps(noted).encode(), FRAME.columns, 2, ("b",)).values()
    assert b"secret" not in text
    assert json.loads(text)["attributes"] == {"b": 1}
    assert len(json.loads(text)["index_columns"]) == 1
    (text,) = pandas_notes(json.dumps(noted).encode(), FRAME.columns, 3, ("b",)).values()
    assert json.loads(text)["index_columns"] == []


def test_types_that_metadata_say_stay_where_values_do():
    said = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": "{}", "a": "secret"}
    fields = [pa.field(name, pa.binary(), metadata=said) for name in ("age", "place")]
    schema = released(pa.schema(fields, {"geo": "secret"}))
    assert schema.metadata is schema.field("age").metadata is None
    assert schema.field("place").metadata.keys() == {
        b"ARROW:extension:name",
        b"ARROW:extension:metadata",
    }
    listed = released(pa.schema(fields, {"geo": "secret"}), keep_metadata=["age", "geo"])
    assert listed.metadata == {b"geo": b"secret"}
    assert len(listed.field("age").metadata) == 3


def test_fields_inside_of_types_have_no_metadata_either():
    inner = pa.field("inner", pa.int64(), metadata={"a": "secret"})
    kinds = [
        pa.struct([inner]),
        pa.list_(inner),
        pa.large_list(inner),
        pa.list_(inner, 2),
        pa.map_(pa.string(), pa.struct([inner])),
        pa.struct([pa.field("deep", pa.list_(pa.field("item", pa.struct([inner]))))]),
    ]
    schema = pa.schema([pa.field(f"c{place}", kind) for place, kind in enumerate(kinds)])
    assert "secret" in schema.to_string()
    bare = released(schema)
    assert "secret" not in bare.to_string()
    assert bare.equals(schema)
