import datetime as dt
import decimal
import io
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from microagg.base.errors import InputError
from microagg.base.recipe import Recipe
from microagg.table.frames import Frame, as_arrow

N = 6
MOMENTS = pd.Series(pd.date_range("2024-01-01", periods=N, freq="D"))
LETTERS = ["a", "b", None, "a", "c", "b"]
INDEX = pd.RangeIndex(3, 3 + 2 * N, 2, name="row")
NAMES = pd.Index([7, 7, 1, 2, 2, 9], name="row")

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


def recipe(**settings):
    return Recipe(quasi_identifiers="x", **settings)


def rebuilt(native, kept=None, column="x", **settings):
    frame = Frame(native)
    return frame.rebuild({column: frame.column(column)}, kept, recipe(**settings))


def with_own_levels(table):
    """Categories are those that some record has, in their order."""
    categories = table.select_dtypes("category")
    return table.assign(
        **{name: categories[name].cat.remove_unused_categories() for name in categories}
    )


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_columns_keep_type_index_and_values(name):
    table = pd.DataFrame({"x": PANDAS[name], "y": range(N)}).set_axis(INDEX)
    before = table.copy(deep=True)
    back = rebuilt(table)
    pd.testing.assert_frame_equal(back, with_own_levels(before), check_freq=False)
    if name == "category":
        assert back["x"].cat.categories.tolist() == list("cba")
    pd.testing.assert_frame_equal(table, before)


@pytest.mark.parametrize("name", [*PANDAS, *PANDAS_ONLY])
def test_pandas_columns_that_nobody_touches_stay(name):
    series = {**PANDAS, **PANDAS_ONLY}[name]
    table = pd.DataFrame({"x": range(N), "y": series}).set_axis(INDEX)
    pd.testing.assert_frame_equal(rebuilt(table), with_own_levels(table))
    assert Frame(table).hashable().column_names == ["x", "y"]


@pytest.mark.parametrize("name", POLARS)
def test_polars_columns_keep_type_and_values(name):
    table = pl.DataFrame({"x": POLARS[name], "y": range(N)})
    back = rebuilt(table)
    if name == "enum":
        assert back.schema["x"] == pl.Enum(list("cba"))
        table = table.cast({"x": pl.Enum(list("cba"))})
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
        back = rebuilt(table, column=column, keep_metadata=["x", "made"])
        assert back.schema.equals(table.schema, check_metadata=True)
        assert back.equals(table)
        back = rebuilt(table, column=column)
        assert back.schema.equals(table.schema)
        assert back.schema.metadata is back.schema.field("x").metadata is None


def test_columns_go_and_rows_go():
    kept = np.array([True, False, True, True, False, True])
    numbers = list(range(N))
    for table in (
        pd.DataFrame({"id": numbers, "x": numbers, "y": LETTERS}).set_axis(INDEX),
        pl.DataFrame({"id": numbers, "x": numbers, "y": LETTERS}),
        pa.table({"id": numbers, "x": numbers, "y": LETTERS}),
    ):
        frame = Frame(table)
        back = frame.rebuild({"x": pa.array([9, 8, 7, 6])}, kept, recipe(identifiers="id"))
        assert type(back) is type(table)
        assert as_arrow(back).to_pydict() == {"x": [9, 8, 7, 6], "y": ["a", None, "a", "b"]}
        if isinstance(back, pd.DataFrame):
            assert back.index.equals(pd.RangeIndex(4))


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
        back = as_arrow(frame.rebuild({"x": halves}, None, recipe()))
        assert back["x"].to_pylist() == halves.to_pylist()


def test_categories_that_nobody_has_any_more_go_from_arrow_tables():
    frame = Frame(pa.table({"x": pa.array(LETTERS).dictionary_encode()}))
    array = frame.column("x").dictionary.take(pa.array([0] * N)).dictionary_encode()
    full = pa.DictionaryArray.from_arrays(array.indices, ["a", "b", "c"])
    back = frame.rebuild({"x": full}, None, recipe())["x"]
    assert back.chunk(0).dictionary.to_pylist() == ["a"]


def test_what_comes_back_does_not_hold_columns_that_are_gone():
    numbers = np.random.default_rng(0).normal(size=(N, 4))
    table = pd.DataFrame(numbers, columns=list("abxy"))
    frame = Frame(table)
    back = frame.rebuild({"x": pa.array(np.zeros(N))}, None, recipe(identifiers="a"))
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
        {"x": pa.array(np.zeros(N))}, None, recipe(identifiers="a")
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
        (pd.DataFrame({1.5: [SECRET]}), "must be text, but 1 of 1 are of type float"),
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


def test_an_index_of_pandas_that_only_counts_rows_stays():
    numbers = pd.DataFrame({"x": range(N)})
    for index in (
        None,
        pd.RangeIndex(N),
        pd.RangeIndex(9, 9 + N),
        pd.Index(range(N), dtype="int64"),
    ):
        frame = Frame(numbers if index is None else numbers.set_axis(index))
        back = frame.rebuild({"x": frame.column("x")}, None, recipe())
        assert (frame.names, frame.notes) == (["x"], [])
        assert back.index.equals(numbers.index if index is None else index)


def test_any_other_index_of_pandas_is_a_column_or_goes():
    table = pd.DataFrame({"x": range(N)}).set_axis(NAMES)
    for named in ((), ("x",)):
        frame = Frame(table, named)
        assert (frame.names, len(frame.notes)) == (["x"], 1)
        assert "index of the table was left out" in frame.notes[0]
        back = frame.rebuild({}, None, recipe())
        assert back.index.equals(pd.RangeIndex(N))
    for index in (NAMES, INDEX, pd.Index(range(N), name="row")):
        frame = Frame(table.set_axis(index), ("row",))
        assert (frame.names, frame.notes) == (["row", "x"], [])
        assert frame.column("row").to_pylist() == index.tolist()
    assert list(frame.rebuild({}, None, recipe(identifiers="row"))) == ["x"]
    assert list(frame.rebuild({}, None, recipe(confidential="row"))) == ["row", "x"]


def test_levels_of_an_index_are_columns_one_by_one():
    levels = pd.MultiIndex.from_arrays([NAMES, list("abcdef"), range(N)], names=["row", None, "x"])
    frame = Frame(pd.DataFrame({"x": range(N)}, levels), ("row", "x"))
    # A column goes before an index of the same name.
    assert (frame.names, len(frame.notes)) == (["row", "x"], 1)
    frame = Frame(pd.DataFrame({"y": range(N)}, levels), ("x", "row"))
    assert (frame.names, len(frame.notes)) == (["row", "x", "y"], 1)
    twice = pd.MultiIndex.from_arrays([NAMES, NAMES], names=["row", "row"])
    frame = Frame(pd.DataFrame({"y": range(N)}, twice), ("row",))
    assert (frame.names, len(frame.notes)) == (["y"], 1)


def hidden():
    """Tables with a secret under a gap, outside of a slice, or among their levels."""
    mask = np.array([False, True] * 3)
    values = np.where(mask, 4711.25, 0.5)
    gaps = pa.array(values, mask=mask)
    full = pa.table({"x": range(N + 1), "y": [*"abcdef", SECRET]})
    levels = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 3), ["a", "b", SECRET])
    inside = pa.ListArray.from_arrays(pa.array(range(N + 1), pa.int32()), levels)
    told = pa.field("y", pa.struct([pa.field("z", pa.int64(), metadata={"a": SECRET})]))
    masked = pd.arrays.FloatingArray(values.copy(), mask.copy())
    attributes = pd.DataFrame({"x": range(N), "y": range(N)})
    attributes.attrs = {"about": SECRET}
    return {
        "arrow gaps": pa.table({"x": range(N), "y": gaps}),
        "arrow slices": full.slice(0, N),
        "arrow slices of texts": pa.table({"x": range(N), "y": full["y"].chunk(0).slice(0, N)}),
        "arrow levels": pa.table({"x": range(N), "y": levels}),
        "arrow levels in lists": pa.table({"x": range(N), "y": inside}),
        "arrow metadata inside": pa.table(
            [range(N), [{"z": 1}] * N], schema=pa.schema([pa.field("x", pa.int64()), told])
        ),
        "pandas gaps": pd.DataFrame({"x": range(N), "y": masked}),
        "pandas gaps of Arrow": pd.DataFrame(
            {"x": range(N), "y": pd.Series(pd.arrays.ArrowExtensionArray(gaps))}
        ),
        "pandas levels": pd.DataFrame(
            {"x": range(N), "y": pd.Categorical(["a", "b"] * 3, [SECRET, "b", "a"], ordered=True)}
        ),
        "pandas levels of Arrow": pd.DataFrame(
            {"x": range(N), "y": pd.Series(pd.arrays.ArrowExtensionArray(levels))}
        ),
        "pandas attributes": attributes,
        "polars gaps": pl.from_arrow(pa.table({"x": range(N), "y": gaps})),
        "polars levels": pl.DataFrame(
            {"x": range(N), "y": pl.Series(["a", "b"] * 3, dtype=pl.Enum([SECRET, "b", "a"]))}
        ),
    }


@pytest.mark.parametrize("name", hidden())
@pytest.mark.parametrize("replaced", ["x", "y"])
def test_what_comes_back_holds_no_more_than_it_shows(name, replaced):
    table = hidden()[name]
    frame = Frame(table)
    column = frame.column(replaced)
    if pa.types.is_struct(column.type) or pa.types.is_list(column.type):
        pytest.skip("no such column is ever replaced")
    kept = np.array([True] * 4 + [False] * 2)
    for rows, new in ((None, column), (kept, column.filter(pa.array(kept)))):
        back = frame.rebuild({replaced: new.take(pa.array(np.arange(len(new))))}, rows, recipe())
        stored = pickle.dumps(back)
        assert SECRET.encode() not in stored
        assert np.float64(SECRET).tobytes() not in stored
        expected = frame.hashable() if rows is None else frame.hashable().filter(pa.array(rows))
        assert as_arrow(back).to_pydict() == expected.to_pydict()
    if name in ("pandas levels", "polars levels"):
        levels = back["y"].dtype.categories
        assert list(levels) == ["b", "a"]


def test_attributes_of_pandas_stay_if_they_are_listed():
    table = hidden()["pandas attributes"]
    table.attrs["source"] = "census"
    assert rebuilt(table, keep_metadata="source").attrs == {"source": "census"}
