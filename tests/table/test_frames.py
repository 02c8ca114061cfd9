import datetime as dt
import decimal
import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from microagg.base.errors import InputError
from microagg.table.frames import Frame, as_arrow

N = 6
MOMENTS = pd.Series(pd.date_range("2024-01-01", periods=N, freq="D"))
LETTERS = ["a", "b", None, "a", "c", "b"]
INDEX = pd.Index([7, 7, 1, 2, 2, 9], name="row")

PANDAS = {
    "float": pd.Series(np.linspace(0, 1, N)),
    "float32": pd.Series(np.linspace(0, 1, N), dtype="float32"),
    "float16": pd.Series(np.linspace(0, 1, N), dtype="float16"),
    "int8": pd.Series(range(N), dtype="int8"),
    "uint64": pd.Series([2**64 - 1 - each for each in range(N)], dtype="uint64"),
    "Int64": pd.Series([1, None, 2**62 + 1, 4, 5, 6], dtype="Int64"),
    "Float64": pd.Series([1, None, 3, 4, 5, 6], dtype="Float64"),
    "bool": pd.Series([True, False] * 3),
    "boolean": pd.Series([True, None] * 3, dtype="boolean"),
    "str": pd.Series(LETTERS, dtype="str"),
    "string": pd.Series(LETTERS, dtype="string"),
    "object": pd.Series(LETTERS, dtype=object),
    "python integers": pd.Series([1, None, 2**62 + 1, 4, 5, 6], dtype=object),
    "truth objects": pd.Series([True, None] * 3, dtype=object),
    "category": pd.Series(pd.Categorical(LETTERS, list("zcba"))),
    "ordered": pd.Series(pd.Categorical(LETTERS, list("zcba"), ordered=True)),
    "numbers as categories": pd.Series(pd.Categorical([3, 1, 2, 3, 1, None])),
    "seconds": MOMENTS.astype("datetime64[s]"),
    "nanoseconds": MOMENTS.astype("datetime64[ns]"),
    "zone": MOMENTS.dt.tz_localize("Europe/Vienna"),
    "gaps": MOMENTS.where(MOMENTS.index != 2),
    "timedelta": pd.Series(pd.to_timedelta(range(N), unit="h")),
    "dates": pd.Series([each.date() for each in MOMENTS], dtype=object),
    "decimals": pd.Series([decimal.Decimal(each) / 4 for each in range(N)], dtype=object),
    "arrow integers": pd.Series([1, None, 3, 4, 5, 6], dtype="int64[pyarrow]"),
    "arrow text": pd.Series(LETTERS, dtype=pd.ArrowDtype(pa.string())),
    "arrow dates": pd.Series([each.date() for each in MOMENTS], dtype=pd.ArrowDtype(pa.date32())),
}
# What no Arrow type fits, or no quasi-identifier can be, is still carried along.
PANDAS_ONLY = {
    "period": MOMENTS.dt.to_period("D"),
    "interval": pd.Series(pd.interval_range(0, N)),
    "complex": pd.Series(np.arange(N) + 1j),
    "sparse": pd.Series(pd.arrays.SparseArray([0.0] * N)),
    "mixed": pd.Series([1, "a", None, [2], {"b": 3}, object()], dtype=object),
    "huge": pd.Series([2**70] * N, dtype=object),
    "lists": pd.Series([[1], [2, 3]] * 3),
}
POLARS = {
    "float": pl.Series([1.0, None, float("nan"), 2.0, 3.0, 4.0]),
    "uint64": pl.Series([2**64 - 1 - each for each in range(N)], dtype=pl.UInt64),
    "boolean": pl.Series([True, None] * 3),
    "text": pl.Series(LETTERS),
    "categorical": pl.Series(LETTERS, dtype=pl.Categorical),
    "enum": pl.Series(LETTERS, dtype=pl.Enum(list("zcba"))),
    "date": pl.Series([each.date() for each in MOMENTS]),
    "datetime": pl.Series(MOMENTS.tolist(), dtype=pl.Datetime("ms")),
    "zone": pl.Series(MOMENTS.tolist()).dt.replace_time_zone("Europe/Vienna"),
    "duration": pl.Series([dt.timedelta(hours=each) for each in range(N)]),
    "time": pl.Series([dt.time(each, 59) for each in range(N)]),
    "decimal": pl.Series([decimal.Decimal(each) / 4 for each in range(N)], dtype=pl.Decimal(9, 2)),
    "null": pl.Series([None] * N),
}
POLARS_ONLY = {
    "list": pl.Series([[1], None] * 3),
    "struct": pl.Series([{"a": 1}] * N),
    "int128": pl.Series([2**100] * N, dtype=pl.Int128),
    "binary": pl.Series([b"x"] * N),
}
ARROW = {
    "float16": pa.array(np.linspace(0, 1, N).astype(np.float16)),
    "decimal": pa.array([decimal.Decimal(each) / 4 for each in range(N)], pa.decimal128(9, 2)),
    "dictionary": pa.array(LETTERS).dictionary_encode(),
    "time32": pa.array([dt.time(each, 59) for each in range(N)], pa.time32("s")),
    "date64": pa.array([each.date() for each in MOMENTS], pa.date64()),
    "view": pa.array(LETTERS, pa.string_view()),
    "large": pa.array(LETTERS, pa.large_string()),
    "list": pa.array([[1], None] * 3),
    "map": pa.array([[("a", 1)]] * N, pa.map_(pa.string(), pa.int64())),
}


def rebuilt(native, dropped=(), kept=None, column="x"):
    frame = Frame(native)
    return frame.rebuild({column: frame.column(column)}, dropped, kept)


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_columns_keep_type_index_and_values(name):
    table = pd.DataFrame({"x": PANDAS[name], "y": range(N)}).set_axis(INDEX)
    before = table.copy(deep=True)
    back = rebuilt(table)
    pd.testing.assert_frame_equal(back, before, check_freq=False)
    if name == "category":
        assert back["x"].cat.categories.tolist() == list("zcba")
    pd.testing.assert_frame_equal(table, before)


@pytest.mark.parametrize("name", [*PANDAS, *PANDAS_ONLY])
def test_pandas_columns_that_nobody_touches_stay(name):
    series = {**PANDAS, **PANDAS_ONLY}[name]
    table = pd.DataFrame({"x": range(N), "y": series}).set_axis(INDEX)
    pd.testing.assert_frame_equal(rebuilt(table), table)
    assert Frame(table).hashable().column_names == ["x", "y"]


@pytest.mark.parametrize("name", POLARS)
def test_polars_columns_keep_type_and_values(name):
    table = pl.DataFrame({"x": POLARS[name], "y": range(N)})
    back = rebuilt(table)
    assert back.schema == table.schema
    assert back.equals(table, null_equal=True)


@pytest.mark.parametrize("name", POLARS_ONLY)
def test_polars_columns_that_nobody_touches_stay(name):
    table = pl.DataFrame({"x": range(N), "y": POLARS_ONLY[name]})
    assert rebuilt(table).equals(table)
    assert Frame(table).hashable().num_rows == N


def test_polars_objects_stay():
    things = [object() for _ in range(N)]
    table = pl.DataFrame({"x": range(N), "y": pl.Series(things, dtype=pl.Object)})
    assert rebuilt(table)["y"].to_list() == things


@pytest.mark.parametrize("name", ARROW)
def test_arrow_columns_keep_field_and_values(name):
    field = pa.field("x", ARROW[name].type, metadata={"unit": "kg"})
    schema = pa.schema([field, pa.field("y", pa.int64(), nullable=False)], {"made": "by hand"})
    table = pa.table([ARROW[name], pa.array(range(N))], schema=schema)
    for column in ("x", "y"):
        back = rebuilt(table, column=column)
        assert back.schema.equals(table.schema, check_metadata=True)
        assert back.equals(table)


def test_columns_go_and_rows_go():
    kept = np.array([True, False, True, True, False, True])
    numbers = list(range(N))
    for table in (
        pd.DataFrame({"id": numbers, "x": numbers, "y": LETTERS}).set_axis(INDEX),
        pl.DataFrame({"id": numbers, "x": numbers, "y": LETTERS}),
        pa.table({"id": numbers, "x": numbers, "y": LETTERS}),
    ):
        frame = Frame(table)
        back = frame.rebuild({"x": pa.array([9, 8, 7, 6])}, ["id"], kept)
        assert type(back) is type(table)
        assert as_arrow(back).to_pydict() == {"x": [9, 8, 7, 6], "y": ["a", None, "a", "b"]}
        if isinstance(back, pd.DataFrame):
            assert back.index.tolist() == INDEX[kept].tolist()


def test_another_arrow_type_is_another_type():
    numbers = [1, 2, None, 4, 5, 6]
    halves = pa.array([each + 0.5 for each in range(N)])
    for table in (
        pd.DataFrame({"x": pd.array(numbers, "Int64")}),
        pd.DataFrame({"x": pd.Categorical(numbers)}),
        pl.DataFrame({"x": numbers}),
        pa.table({"x": numbers}),
    ):
        frame = Frame(table)
        frame.column("x")
        back = as_arrow(frame.rebuild({"x": halves}, (), None))
        assert back["x"].to_pylist() == halves.to_pylist()


def test_categories_that_nobody_has_any_more_go_from_arrow_tables():
    frame = Frame(pa.table({"x": pa.array(LETTERS).dictionary_encode()}))
    array = frame.column("x").dictionary.take(pa.array([0] * N)).dictionary_encode()
    full = pa.DictionaryArray.from_arrays(array.indices, ["a", "b", "c"])
    back = frame.rebuild({"x": full}, (), None)["x"]
    assert back.chunk(0).dictionary.to_pylist() == ["a"]


def test_what_comes_back_does_not_hold_columns_that_are_gone():
    numbers = np.random.default_rng(0).normal(size=(N, 4))
    table = pd.DataFrame(numbers, columns=list("abxy"))
    frame = Frame(table)
    back = frame.rebuild({"x": pa.array(np.zeros(N))}, ["a"], None)
    for name in back:
        array = back[name].to_numpy()
        while array is not None:
            assert not np.isin(numbers[:, [0, 2]], array).any()
            array = array.base
    stream = io.BytesIO()
    arrow = pa.table({name: numbers[:, place] for place, name in enumerate("abxy")})
    with pa.ipc.new_file(stream, arrow.schema) as file:
        file.write_table(arrow)
    back = Frame(pa.ipc.open_file(stream.getvalue()).read_all()).rebuild(
        {"x": pa.array(np.zeros(N))}, ["a"], None
    )
    for name in back.column_names:
        for buffer in back[name].chunk(0).buffers():
            assert buffer is None or buffer.parent is None or buffer.parent.size <= 8 * N


def test_chunks_become_one_piece():
    table = pa.table({"x": pa.chunked_array([[1, 2], [3]])})
    assert Frame(table).column("x").to_pylist() == [1, 2, 3]
    parts = [pa.array(["a", "b"]).dictionary_encode(), pa.array(["c"]).dictionary_encode()]
    assert Frame(pa.table({"x": pa.chunked_array(parts)})).column("x").to_pylist() == [*"abc"]


SECRET = "4711.25"


@pytest.mark.parametrize(
    ("native", "words"),
    [
        ({"x": [SECRET]}, "type dict arrived"),
        (None, "NoneType"),
        (np.zeros((2, 2)), "ndarray"),
        (pl.LazyFrame({"x": [SECRET]}), "collect it first"),
        (pd.DataFrame({1: [SECRET]}), "must be text, but 1 of 1 are of type int"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "repeat"),
        (pd.DataFrame({"x": [SECRET]})[:0], "no rows"),
        (pa.table({"x": [SECRET]})[:0], "no rows"),
        (pa.table([[1], [2]], ["x", "x"]), "more than one column|repeat"),
        (pa.table([[1]], [""]), "no name"),
        (pd.DataFrame(index=[1, 2]), "no columns"),
    ],
)
def test_no_table(native, words):
    with pytest.raises(InputError, match=words) as caught:
        Frame(native)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("name", ["mixed", "huge", "complex"])
def test_columns_without_a_type_are_named(name):
    with pytest.raises(InputError, match="column 'x' mixes values") as caught:
        Frame(pd.DataFrame({"x": PANDAS_ONLY[name]})).column("x")
    assert str(2**70) not in str(caught.value)
    assert caught.value.__cause__ is None
