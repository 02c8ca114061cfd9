import pickle

import numpy as np
import pyarrow as pa
import pytest

from microagg.table.checks import trimmed, without_runs
from microagg.table.nesting import rebuilt
from microagg.table.ordering import encoded, reordered

SECRET = b"Zorro"
LEVEL = pa.dictionary(pa.int8(), pa.string(), ordered=True)
VALUES = [["low", "high"], None, [], [None, "low"], ["high"]] * 4
PAIRS = [["low", "high"], None, ["low", None], ["high", "high"]] * 5
# Columns made of parts, by values and by the types that hold them.
COLUMNS = {
    "list": (VALUES, pa.list_(LEVEL)),
    "large list": (VALUES, pa.large_list(LEVEL)),
    "list view": (VALUES, pa.list_view(pa.string())),
    "pair": (PAIRS, pa.list_(LEVEL, 2)),
    "lists of pairs": ([[pair, None] for pair in PAIRS], pa.list_(pa.list_(LEVEL, 2))),
    "structure": (
        [None if pair is None else {"a": pair[0], "b": pair, "c": 1.5} for pair in PAIRS],
        pa.struct([("a", LEVEL), ("b", pa.list_(LEVEL)), pa.field("c", pa.float64(), False)]),
    ),
    "empty structure": ([{}, None, {}, {}] * 5, pa.struct([])),
    "map": ([[("a", "low")], None, [], [("b", None)]] * 5, pa.map_(pa.string(), LEVEL)),
    "plain": (["a", None, "b", "a"] * 5, pa.string()),
}


def with_secret(array):
    """The same values after some that nobody sees, and a level that nobody has, where there are."""
    if pa.types.is_dictionary(array.type):
        known = pa.array([SECRET.decode(), *array.dictionary.to_pylist()])
        places = pa.array(np.array(array.indices.fill_null(0)) + 1, pa.int8())
        places = pa.array(places.to_numpy(), pa.int8(), mask=np.array(array.is_null()))
        return pa.DictionaryArray.from_arrays(places, known, ordered=array.type.ordered)
    return array


def column(name, *, secret=False):
    values, kind = COLUMNS[name]
    array = pa.array(values, kind)
    if secret:
        array = rebuilt(array, kind, lambda leaf, _: with_secret(leaf))
    return array


@pytest.mark.parametrize("name", COLUMNS)
def test_what_is_rebuilt_is_the_same(name):
    array = column(name)
    for part in (array, array[3:17], array[:0], array[1:2], array[4:5]):
        same = rebuilt(part, array.type, lambda leaf, _: leaf)
        same.validate(full=True)
        assert same.type == array.type
        assert same.to_pylist() == part.to_pylist()


@pytest.mark.parametrize("name", COLUMNS)
def test_nothing_that_is_not_shown_stays(name):
    array = column(name, secret=True)
    table = pa.table({"x": pa.chunked_array([array[:7], array[7:]])})
    if "dictionary" in str(array.type):
        assert SECRET in pickle.dumps(table)
    own = trimmed(table)
    own.validate(full=True)
    assert own.schema == table.schema
    assert own.to_pylist() == table.to_pylist()
    assert SECRET not in pickle.dumps(own)


@pytest.mark.parametrize("name", COLUMNS)
def test_rows_in_another_order(name):
    array = column(name)
    table = pa.table({"x": array, "y": np.arange(len(array))})
    order = np.random.default_rng(0).permutation(len(array))
    moved = reordered(table, order)
    moved.validate(full=True)
    assert moved.schema == table.schema
    assert moved.to_pylist() == [table.to_pylist()[row] for row in order]


def test_dictionaries_inside_list_values_as_they_come():
    kind = pa.list_(pa.dictionary(pa.int8(), pa.string()))
    table = pa.table({"x": pa.array([["a"], ["b"], ["c"]], kind)})
    moved = reordered(table, [2, 1, 0])
    assert moved["x"].chunk(0).values.dictionary.to_pylist() == ["c", "b", "a"]
    spelt = pa.table({"x": pa.array([["b"], ["a", "b"], None])})
    coded = encoded(spelt, pa.schema([("x", kind)]))
    assert coded.schema.field(0).type == kind
    assert coded.to_pylist() == spelt.to_pylist()


def test_values_beneath_gaps_do_not_stay():
    hidden = pa.array([1.0, 4711.625])
    gap = pa.array([False, True])
    required = pa.struct([pa.field("x", pa.float64(), nullable=False)])
    columns = {
        "structure": pa.StructArray.from_arrays([hidden], ["x"], mask=gap),
        "required": pa.StructArray.from_arrays([hidden], fields=list(required), mask=gap),
        "list": pa.ListArray.from_arrays([0, 1, 2], hidden, mask=gap),
        "pair": pa.FixedSizeListArray.from_arrays(hidden, 1, mask=gap),
        "map": pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), ["a", "b"], hidden),
    }
    table = pa.table(columns)
    own = trimmed(table.slice(0, 1))
    assert np.array(4711.625).tobytes() not in pickle.dumps(own)
    own = trimmed(table.drop_columns(["map"]))
    own.validate(full=True)
    assert own.to_pylist() == table.drop_columns(["map"]).to_pylist()
    assert np.array(4711.625).tobytes() not in pickle.dumps(own)


def test_extension_types_keep_their_name():
    kind = pa.uuid()
    array = pa.ExtensionArray.from_storage(kind, pa.array([b"0" * 16, None], pa.binary(16)))
    own = trimmed(pa.table({"x": array}))
    assert own.schema.field("x").type == kind
    assert own["x"].to_pylist() == array.to_pylist()


@pytest.mark.parametrize("mode", ["sparse", "dense"])
def test_of_several_types_only_what_is_chosen_stays(mode):
    chosen = pa.array([0, 1, 0, 1], pa.int8())
    parts = [with_secret(pa.array(["low"] * 4, LEVEL)), pa.array([1.5, 2.5, 4711.625, 3.5])]
    if mode == "sparse":
        array = pa.UnionArray.from_sparse(chosen, parts, ["a", "b"])
    else:
        places = pa.array([0, 1, 3, 3], pa.int32())
        array = pa.UnionArray.from_dense(chosen, places, parts, ["a", "b"])
    for part in (array, array[1:3]):
        own = trimmed(pa.table({"x": part}))
        own.validate(full=True)
        assert own.to_pylist() == pa.table({"x": part}).to_pylist()
        assert own.schema.field("x").type == array.type
        assert SECRET not in pickle.dumps(own)
        assert np.array(4711.625).tobytes() not in pickle.dumps(own)


def test_runs_inside_are_the_values_they_stand_for():
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()), pa.array(["a", "b"]))
    table = pa.table({"x": pa.StructArray.from_arrays([runs], ["inner"])})
    for part in (table, table.slice(1, 3)):
        plain = without_runs(part)
        assert plain.schema.field("x").type == pa.struct([("inner", pa.string())])
        assert plain.to_pylist() == part.to_pylist()
