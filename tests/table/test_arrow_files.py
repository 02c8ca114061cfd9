import datetime as dt
import decimal
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError, OptionError
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.table.checks import (
    cast_like,
    check_names,
    check_rows,
    fingerprint,
    require,
    sha256_of,
    trimmed,
)
from microagg.table.formats.arrow import Arrow, Layout
from microagg.table.formats.arrow.files import open_writer

ARROW = Arrow()
SUFFIXES = (".parquet", ".feather", ".arrow", ".arrows")
MOMENT = dt.datetime(2020, 1, 2, 3, 4, 5)
TYPES = {
    "bool": (pa.bool_(), [True, None, False]),
    "int8": (pa.int8(), [-128, None, 127]),
    "uint64": (pa.uint64(), [0, None, 2**64 - 1]),
    "int64": (pa.int64(), [-(2**63), None, 2**63 - 1]),
    "float32": (pa.float32(), [0.1, None, math.inf]),
    "float64": (pa.float64(), [-0.0, None, 1e308]),
    "decimal": (pa.decimal128(10, 2), [decimal.Decimal("1.25"), None, decimal.Decimal("-9.00")]),
    "text": (pa.string(), ["", None, "é\n☃"]),
    "large text": (pa.large_string(), ["", None, "x"]),
    "bytes": (pa.binary(), [b"", None, b"\0\xff"]),
    "date": (pa.date32(), [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
    "date64": (pa.date64(), [dt.date(1970, 1, 1), None, dt.date(2020, 2, 29)]),
    "seconds": (pa.timestamp("s"), [MOMENT, None, MOMENT]),
    "nanoseconds": (pa.timestamp("ns"), [MOMENT, None, MOMENT]),
    "zone": (pa.timestamp("us", "Europe/Vienna"), [MOMENT, None, MOMENT]),
    "time": (pa.time64("us"), [dt.time(1, 2, 3, 4), None, dt.time(0)]),
    "duration": (pa.duration("ms"), [dt.timedelta(1), None, dt.timedelta(0)]),
    "list": (pa.list_(pa.int64()), [[1, None], None, []]),
    "struct": (pa.struct([("a", pa.int64())]), [{"a": 1}, None, {"a": None}]),
    "category": (pa.dictionary(pa.int8(), pa.string(), ordered=True), ["b", None, "a"]),
    "nothing": (pa.float64(), [None, None, None]),
}
TABLE = pa.table(
    {
        name: pa.array(values, kind.value_type).cast(kind)
        if pa.types.is_dictionary(kind)
        else pa.array(values, kind)
        for name, (kind, values) in TYPES.items()
    }
)


def stored(table, path, layout=None):
    ARROW.write(table, path, layout)
    return ARROW.read(path, Reading())


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", TYPES)
def test_types_and_values_come_back(tmp_path, suffix, name):
    table = TABLE.select([name, "int64"]) if name != "int64" else TABLE.select([name])
    back = stored(table, tmp_path / f"file{suffix}")
    if suffix == ".parquet" and name in ("seconds", "date64"):
        # Parquet knows dates as days only, and no moments coarser than a millisecond.
        assert back.table.schema.field(0).type in (pa.timestamp("ms"), pa.date32())
        back.table = cast_like(back.table, table.schema)
    assert back.table.schema.equals(table.schema)
    assert back.table.equals(table)
    assert fingerprint(back.table) == fingerprint(table)
    assert back.sha256 == sha256_of(tmp_path / f"file{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=25)
@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.none() | st.floats(allow_nan=False),
            st.none() | st.text(max_size=5),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_any_values_come_back(tmp_path, suffix, rows):
    types = (pa.int64(), pa.float64(), pa.string())
    columns = [
        pa.array(each, kind) for each, kind in zip(zip(*rows, strict=True), types, strict=True)
    ]
    table = pa.table(columns, names=["a", "b", "c"])
    assert stored(table, tmp_path / f"file{suffix}").table.equals(table)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bytes_depend_on_the_values_only(tmp_path, suffix):
    cut = pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)])
    ARROW.write(TABLE, tmp_path / f"a{suffix}", None)
    ARROW.write(cut, tmp_path / f"b{suffix}", None)
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_progress_reaches_the_end(tmp_path):
    table = pa.table({"a": range(1000)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    shares = []
    back = ARROW.read(tmp_path / "a.parquet", Reading(), advance=shares.append)
    assert len(shares) == 10
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert back.table.equals(table)


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd"])
def test_codec_is_kept(tmp_path, codec):
    pq.write_table(TABLE.select(["int64"]), tmp_path / "a.parquet", compression=codec)
    read = ARROW.read(tmp_path / "a.parquet", Reading())
    ARROW.write(read.table, tmp_path / "b.parquet", read.layout)
    found = pq.ParquetFile(tmp_path / "b.parquet").metadata.row_group(0).column(0).compression
    assert found == ("UNCOMPRESSED" if codec == "none" else codec.upper())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_required_columns_and_metadata(tmp_path, suffix):
    schema = pa.schema(
        [
            pa.field("a", pa.int64(), nullable=False, metadata={"unit": "years"}),
            pa.field("b", pa.int64(), nullable=False),
            pa.field("c", pa.int64(), metadata={"unit": "euro"}),
        ],
        metadata={"study": "1"},
    )
    table = pa.table([[1, 2], [3, 4], [5, 6]], schema=schema)
    path = tmp_path / f"a{suffix}"
    pq.write_table(table, path) if suffix == ".parquet" else ARROW.write(
        table, path, Layout(schema)
    )
    read = ARROW.read(path, Reading())
    again = stored(read.table, tmp_path / f"b{suffix}", read.layout).table.schema
    assert again.metadata == {b"study": b"1"}
    assert again.field("a").metadata[b"unit"] == b"years"
    assert not again.field("a").nullable

    released = pa.table({"a": [1, 2], "b": pa.array([None, 4], pa.int64()), "c": ["5-6", "5-6"]})
    for keep, unit, study in (((), None, None), (("a", "study"), b"years", b"1")):
        recipe = Recipe(quasi_identifiers="c", keep_metadata=keep)
        layout = ARROW.released(read.layout, released, recipe)
        schema = stored(released, tmp_path / f"c{suffix}", layout).table.schema
        assert not schema.field("a").nullable
        assert schema.field("b").nullable
        assert b"unit" not in (schema.field("c").metadata or {})
        assert (schema.field("a").metadata or {}).get(b"unit") == unit
        assert (schema.metadata or {}).get(b"study") == study


def test_notes_of_pandas_do_not_lie(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"name": ["x", "y"], "age": [1, 2], "sex": pandas.Categorical(["a", "b"])}
    )
    frame.to_parquet(tmp_path / "a.parquet")
    read = ARROW.read(tmp_path / "a.parquet", Reading())
    ARROW.write(read.table, tmp_path / "same.parquet", read.layout)
    pandas.testing.assert_frame_equal(pandas.read_parquet(tmp_path / "same.parquet"), frame)

    released = read.table.drop_columns(["name"]).set_column(0, "age", pa.array([1.5, 1.5]))
    ARROW.write(released, tmp_path / "b.parquet", read.layout)
    schema = pq.read_schema(tmp_path / "b.parquet")
    noted = json.loads(schema.metadata[b"pandas"])
    assert [column["name"] for column in noted["columns"]] == ["sex"]
    back = pandas.read_parquet(tmp_path / "b.parquet")
    assert list(back.columns) == ["age", "sex"]
    assert back["age"].dtype == "float64"
    assert back["sex"].dtype == "category"

    ARROW.write(released.slice(0, 1), tmp_path / "c.parquet", read.layout)
    assert len(pandas.read_parquet(tmp_path / "c.parquet")) == 1


def test_an_index_of_pandas_stays_one(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1, 2]}, index=pandas.Index(["p", "q"], name="person"))
    frame.to_parquet(tmp_path / "a.parquet")
    read = ARROW.read(tmp_path / "a.parquet", Reading())
    ARROW.write(read.table, tmp_path / "b.parquet", read.layout)
    assert pandas.read_parquet(tmp_path / "b.parquet").index.name == "person"
    ARROW.write(read.table.drop_columns(["person"]), tmp_path / "c.parquet", read.layout)
    assert list(pandas.read_parquet(tmp_path / "c.parquet").columns) == ["age"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_unused_category_leaves_the_house(tmp_path, suffix):
    secret = pa.DictionaryArray.from_arrays(
        pa.array([2, None, 0, 2], pa.int8()), ["young", "Methuselah", "old"], ordered=True
    )
    path = tmp_path / f"a{suffix}"
    back = stored(pa.table({"age": secret}), path)
    assert b"Methuselah" not in path.read_bytes()
    assert back.table["age"].to_pylist() == ["old", None, "young", "old"]
    assert back.table["age"].type == secret.type
    assert back.table["age"].chunk(0).dictionary.to_pylist() == ["young", "old"]


def test_trimming_twice_or_nothing_changes_nothing():
    used = pa.table({"a": pa.array(["x", "y"]).dictionary_encode(), "b": [1, 2]})
    assert trimmed(used).equals(used)
    assert trimmed(trimmed(used)).equals(used)
    assert trimmed(used.slice(0, 0)).num_rows == 0


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PAR1", b"ARROW1\0\0", b"\xff" * 40])
def test_other_files_are_refused(tmp_path, suffix, content):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        ARROW.read(path, Reading())
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_cut_and_damaged_files_are_refused_or_read(tmp_path, suffix):
    whole = tmp_path / f"whole{suffix}"
    ARROW.write(pa.table({"income": [123456789.0] * 500}), whole, None)
    content = whole.read_bytes()
    for length in range(1, len(content) - 1, max(1, len(content) // 40)):
        path = tmp_path / f"cut{suffix}"
        path.write_bytes(content[:length])
        with pytest.raises(InputError) as refused:
            ARROW.read(path, Reading())
        assert "123456789" not in str(refused.value)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_unusable_tables_are_refused(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    twins = pa.table([[1], [2]], names=["a", "a"])
    for table, words in (
        (pa.table({"a": pa.array([], pa.int64())}), "no rows"),
        (pa.table({}), "no columns"),
        (pa.table([[1]], names=[""]), "has no name"),
        (twins, "more than one column 'a'"),
    ):
        with open_writer(path, table.schema, "none") as put:
            put(table)
        with pytest.raises(InputError, match=words):
            ARROW.read(path, Reading())


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        ARROW.read(tmp_path / "none.parquet", Reading())


def test_type_that_a_file_cannot_hold(tmp_path):
    interval = pa.array([pa.MonthDayNano([1, 2, 3])])
    with pytest.raises(InputError, match="'odd' is month_day_nano_interval"):
        ARROW.write(pa.table({"odd": interval}), tmp_path / "a.parquet", None)


def test_fingerprint_sees_every_change_and_no_chunks():
    base = fingerprint(TABLE)
    assert fingerprint(pa.concat_tables([TABLE.slice(0, 2), TABLE.slice(2)])) == base
    assert fingerprint(pa.concat_tables([TABLE, TABLE]).slice(3)) == base
    assert fingerprint(TABLE.slice(0, 2)) != base
    assert fingerprint(TABLE.rename_columns([f"{name}_" for name in TABLE.column_names])) != base
    for place, name in enumerate(TABLE.column_names):
        turned = TABLE.column(place).take([2, 1, 0])
        changed = TABLE.set_column(place, name, turned)
        assert (fingerprint(changed) == base) == turned.equals(TABLE.column(place))


def test_fingerprint_ignores_what_nulls_hide_and_how_text_is_cut():
    plain = pa.array([1.0, None])
    hidden = pc.if_else(
        pa.array([True, False]), pa.array([1.0, 9.0]), pa.scalar(None, pa.float64())
    )
    assert fingerprint(pa.table({"a": plain})) == fingerprint(pa.table({"a": hidden}))
    left, right = pa.table({"a": ["ab", "c"]}), pa.table({"a": ["a", "bc"]})
    assert fingerprint(left) != fingerprint(right)
    assert fingerprint(pa.table({"a": pa.array(["ab"], pa.string_view())}))
    category = pa.table({"a": pa.array(["x", "y"]).dictionary_encode()})
    assert fingerprint(category) == fingerprint(pa.table({"a": ["x", "y"]}))


def test_cast_like_names_the_column_that_does_not_fit():
    schema = pa.schema([("born", pa.date32())])
    with pytest.raises(InputError, match="column 'born'") as refused:
        cast_like(pa.table({"born": ["secret"]}), schema)
    assert "secret" not in str(refused.value)
    with pytest.raises(InputError, match="not the columns"):
        cast_like(pa.table({"other": ["x"]}), schema)


def test_checks_of_names():
    check_rows(TABLE.num_rows, "the table")
    check_names(["a", "b"], "the table")
    with pytest.raises(InputError, match="column 2 has no name"):
        check_names(["a", ""], "the table")


def test_a_missing_package_says_how_to_get_it():
    with pytest.raises(OptionError) as missing:
        require("no_such_package.inside", "reading riddles", "riddles")
    assert str(missing.value) == (
        'reading riddles needs the package no-such-package: pip install "microagg[riddles]"'
    )


@pytest.mark.parametrize("what", ["places", "letters"])
def test_parquet_whose_values_make_no_sense_is_damaged(tmp_path, what):
    """Others may have written places that a dictionary has not, or text that is none."""
    if what == "places":
        places = pa.array([99] * 9, pa.int8())
        odd = pa.DictionaryArray.from_arrays(places, pa.array(["a"]), safe=False)
    else:
        ends = pa.py_buffer(np.arange(10, dtype=np.int32).tobytes())
        odd = pa.Array.from_buffers(pa.string(), 9, [None, ends, pa.py_buffer(b"\xff" * 9)])
    pq.write_table(pa.table({"age": range(9), "odd": odd}), tmp_path / "in.parquet")
    with pytest.raises(InputError, match="is damaged or cut off"):
        ARROW.read(tmp_path / "in.parquet", Reading())
