import datetime as dt
import decimal
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError
from microagg.table.classes import Classes, class_of, count_classes
from tests.naive.protect import recount

NAN = float("nan")


def each_size(classes):
    """The size of every class, ascending."""
    assert (np.diff(classes.sizes) > 0).all()
    return np.repeat(classes.sizes, classes.times).tolist()


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from([0, 1, None]),
            st.sampled_from(["a", "b", None]),
            st.sampled_from([0.5, 1.5, None]),
            st.integers(0, 3),
        ),
        min_size=1,
        max_size=30,
    )
)
@settings(max_examples=80)
def test_as_counted_by_hand(rows):
    *columns, entities = zip(*rows, strict=True)
    # The names are those that Arrow gives to its own counts.
    names = ["count_all", "entity", "0"]
    table = pa.table([pa.array(column) for column in columns], names)
    keys = [row[:3] for row in rows]
    for owners in (None, entities):
        classes = count_classes(table, names, None if owners is None else np.array(owners))
        sizes, k = recount(keys, owners)
        assert each_size(classes) == sizes
        assert classes.k == k
        assert classes.unique == sum(size == 1 for size in sizes)
        assert (classes.count, classes.sizes @ classes.times) == (len(sizes), len(rows))
        assert (classes.smallest, classes.largest) == (sizes[0], sizes[-1])
        assert classes.median == np.median(sizes)
    labels = class_of(table, names)
    assert sorted(set(labels)) == list(range(len(set(keys))))
    assert len(set(zip(labels, keys, strict=True))) == len(set(keys))


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.float16()])
def test_there_is_one_zero_and_one_nan(kind):
    table = pa.table({"x": pa.array([0.0, -0.0, NAN, -NAN, NAN, None], kind)})
    assert each_size(count_classes(table, ["x"])) == [1, 2, 3]
    assert Counter(class_of(table, ["x"]).tolist()) == Counter([0, 0, 1, 1, 1, 2])


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([["a", "b"], ["a"]]).dictionary_encode(),
        pa.chunked_array(
            [
                pa.DictionaryArray.from_arrays(pa.array([0, 1]), ["a", "b"]),
                pa.DictionaryArray.from_arrays(pa.array([1]), ["b", "a"]),
            ]
        ),
        pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), ["a", "b", "a"])]),
        pa.chunked_array([pa.array(["a", "b", "a"], pa.string_view())]),
        pa.chunked_array([pa.array([True, False, True])]),
        pa.chunked_array([pa.array([decimal.Decimal(1), None, decimal.Decimal(1)])]),
        pa.chunked_array([pa.array([dt.date(2024, 1, 1), None, dt.date(2024, 1, 1)])]),
        pa.chunked_array([pa.array([b"1", b"2", b"1"])]),
        pa.chunked_array([pa.array([1, 2, 1], pa.duration("s"))]),
    ],
)
def test_columns_of_any_kind(column):
    table = pa.table({"x": column})
    assert each_size(count_classes(table, ["x"])) == [1, 2]
    labels = class_of(table, ["x"]).tolist()
    assert labels[0] == labels[2] != labels[1]


def test_what_cannot_be_compared_is_named():
    with pytest.raises(InputError, match="column 'x' is of type list") as caught:
        class_of(pa.table({"x": pa.array([[4711], [1]])}), ["x"])
    assert "4711" not in str(caught.value)


def test_no_value_equals_no_value():
    table = pa.table({"x": pa.nulls(3), "y": pa.array([None, None, 1])})
    assert each_size(count_classes(table, ["x"])) == [3]
    assert each_size(count_classes(table, ["x", "y"])) == [1, 2]


def test_blocks_make_no_difference():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 400, (300_000, 2))
    table = pa.table({"x": values[:, 0].astype(float), "y": values[:, 1]})
    labels = class_of(table, ["x", "y"])
    _, firsts, groups = np.unique(values, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(firsts))
    assert (labels == order[groups.ravel()]).all()


def test_classes_by_their_sizes():
    classes = Classes.of(np.array([3, 1, 3, 2, 1, 1]), units=np.array([2, 1, 1, 2, 1, 1]))
    assert classes.sizes.tolist() == [1, 2, 3]
    assert classes.times.tolist() == [3, 1, 2]
    assert (classes.k, classes.count, classes.unique) == (1, 6, 3)
    assert classes.sizes @ classes.times == 11
    assert (classes.smallest, classes.median, classes.largest) == (1, 1.5, 3)
    assert Classes.of(np.array([5, 7, 6])).k == 5
