import datetime as dt
import decimal
import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError, MicroaggError, OptionError
from microagg.columns.coded import decode, encode
from microagg.columns.kinds import find

DAY = dt.date(2024, 2, 27)
MOMENT = dt.datetime(2024, 2, 27, 13, 5, 7)
LETTERS = ["b", "c", None, "a", "b"]
# Values, Arrow type, the kind they are of by themselves.
COLUMNS = {
    "float64": ([1.5, None, -2.25, 0.0], pa.float64(), "continuous"),
    "float32": ([1.5, None, -2.25, 0.0], pa.float32(), "continuous"),
    "float16": ([1.5, None, -2.25, 0.0], pa.float16(), "continuous"),
    "int8": ([-128, None, 127, 0], pa.int8(), "integer"),
    "int64": ([-(2**63), None, 2**63 - 1, 0], pa.int64(), "integer"),
    "uint64": ([0, None, 2**64 - 1, 7], pa.uint64(), "integer"),
    "decimal": ([decimal.Decimal("1.25"), None, decimal.Decimal(-3)], pa.decimal128(9, 2), None),
    "small decimal": ([decimal.Decimal("1.25"), None], pa.decimal32(7, 2), "continuous"),
    "wide decimal": ([decimal.Decimal("1.25"), None], pa.decimal256(60, 2), "continuous"),
    "round decimal": ([decimal.Decimal(12000), None], pa.decimal128(9, -3), "continuous"),
    "boolean": ([True, None, False], pa.bool_(), "boolean"),
    "text": (LETTERS, pa.string(), "nominal"),
    "large text": (LETTERS, pa.large_string(), "nominal"),
    "view": (LETTERS, pa.string_view(), "nominal"),
    "nothing": ([None, None], pa.null(), "nominal"),
    "no text": ([None, None], pa.string(), "nominal"),
    "no numbers": ([None, None], pa.float64(), "continuous"),
    "date32": ([DAY, None, dt.date(1, 1, 1)], pa.date32(), "date"),
    "date64": ([DAY, None, dt.date(1900, 1, 1)], pa.date64(), "date"),
    "time32": ([dt.time(23, 59, 59), None, dt.time(0)], pa.time32("s"), "date"),
    "time64": ([dt.time(23, 59, 59, 7), None], pa.time64("us"), "date"),
    "seconds": ([MOMENT, None], pa.timestamp("s"), "date"),
    "nanoseconds": ([MOMENT, None], pa.timestamp("ns"), "date"),
    "zone": ([MOMENT, None], pa.timestamp("us", "Europe/Vienna"), "date"),
    "duration": ([dt.timedelta(hours=5), None, -dt.timedelta(1)], pa.duration("ms"), "date"),
}


def dictionary(values, ordered=False, index=None):
    categories = ["z", "c", "b", "a"]
    places = [None if value is None else categories.index(value) for value in values]
    return pa.DictionaryArray.from_arrays(
        pa.array(places, index or pa.int8()), pa.array(categories), ordered=ordered
    )


def back(coded):
    missing = np.zeros(coded.values.size, bool) if coded.missing is None else coded.missing
    return decode(coded, coded.values, missing)


def texts(array):
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_come_back_as_they_were(name):
    values, kind, expected = COLUMNS[name]
    for array in (pa.array(values, kind), pa.array([*values, *values], kind)[1:-1]):
        coded = encode("x", array)
        assert coded.kind == (expected or "continuous")
        assert coded.missing is None or coded.missing.tolist() == [
            each is None for each in array.to_pylist()
        ]
        assert coded.missing is None or not coded.values[coded.missing].any()
        assert back(coded).equals(array)
        assert back(coded).type == array.type


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("index", [pa.int8(), pa.uint32(), pa.int64()])
def test_dictionaries_come_back_and_keep_their_order(ordered, index):
    array = dictionary(LETTERS, ordered, index)
    coded = encode("x", array)
    assert coded.kind == ("ordinal" if ordered else "nominal")
    assert back(coded).type == array.type
    assert texts(back(coded)).equals(texts(array))
    ranks = coded.values[[0, 1, 3]]
    assert ranks.tolist() == ([2, 1, 3] if ordered else [1, 2, 0])


def test_a_dictionary_may_hold_a_missing_value_or_one_value_twice():
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None]), ["a", None, "a", "b"])
    coded = encode("x", array)
    assert coded.categories.to_pylist() == ["a", "b"]
    assert coded.values.tolist() == [0, 0, 0, 1, 0]
    assert coded.missing.tolist() == [False, True, False, False, True]


def test_not_a_number_is_missing_and_stays_what_it_was():
    coded = encode("x", pa.array([1.0, float("nan")]))
    assert coded.missing.tolist() == [False, True]
    assert back(coded).null_count == 0
    assert np.isnan(back(coded)[1].as_py())
    both = encode("x", pa.array([1.0, float("nan"), None]))
    assert back(both).to_pylist() == [1.0, None, None]


@pytest.mark.parametrize(
    ("array", "kind", "values", "whole"),
    [
        (pa.array([1, 2]), "continuous", [1.0, 2.0], False),
        (pa.array([1.0, 2.0]), "integer", [1, 2], True),
        (pa.array([20, 10]), "ordinal", [1, 0], True),
        (pa.array([20, 10]), "nominal", [1, 0], True),
        (pa.array(["1.5", " 2 "]), "continuous", [1.5, 2.0], False),
        (pa.array(["15", "-2"]), "integer", [15, -2], True),
        (pa.array(["y", "n"]), "boolean", [1, 0], True),
        (pa.array(["1970-01-03", "1970-01-01"]), "date", [2, 0], True),
        (pa.array([5, 7]).dictionary_encode(), "integer", [5, 7], True),
        (pa.array([True, False]), "nominal", [1, 0], True),
        (pa.array([DAY, dt.date(1999, 1, 1)]), "ordinal", [1, 0], True),
    ],
)
def test_kinds_can_be_declared(array, kind, values, whole):
    coded = encode("x", array, kind)
    assert (coded.kind, coded.values.tolist(), coded.whole) == (kind, values, whole)
    assert len(back(coded)) == len(array)


def test_declared_text_is_written_as_text():
    for kind, entries in (("integer", ["7", "8"]), ("date", ["2024-01-01", "2024-02-01"])):
        coded = encode("x", pa.array(entries, pa.large_string()), kind)
        assert back(coded).equals(pa.array(entries, pa.large_string()))


def test_integers_declared_continuous_become_floats():
    coded = encode("x", pa.array([1, 2], pa.int8()), "continuous")
    assert decode(coded, np.array([1.5, 2.5]), np.zeros(2, bool)).to_pylist() == [1.5, 2.5]


def test_orders():
    array = pa.array(["low", "high", None, "mid"])
    coded = encode("x", array, None, ("low", "mid", "high", "extreme"))
    assert coded.kind == "ordinal"
    assert coded.values.tolist() == [0, 2, 0, 1]
    assert coded.numeric
    assert back(coded).equals(array)
    numbers = encode("x", pa.array([3, 1, 2]), None, ("3", "2", "1"))
    assert numbers.values.tolist() == [0, 2, 1]
    ordered = encode("x", dictionary(["a", "b"], ordered=True), None, ("a", "b"))
    assert ordered.values.tolist() == [0, 1]
    assert texts(back(ordered)).to_pylist() == ["a", "b"]


@pytest.mark.parametrize(
    ("unit", "ticks", "step"),
    [
        ("s", [0, 86400 * 3], 86400),
        ("ms", [3_600_000, 7_200_000], 3_600_000),
        ("us", [60_000_000, 180_000_000], 60_000_000),
        ("ns", [10**9, 3 * 10**9], 10**9),
        ("ns", [10**6, 3 * 10**6], 10**6),
        ("ns", [1000, 3000], 1000),
        ("us", [1, 3], 1),
    ],
)
def test_dates_stay_as_coarse_as_they_came(unit, ticks, step):
    coded = encode("x", pa.array(ticks).cast(pa.timestamp(unit)))
    assert coded.step == step
    assert back(coded).cast(pa.int64()).to_pylist() == ticks


@given(
    numbers=st.lists(st.none() | st.integers(-(10**17), 10**17), min_size=1, max_size=9),
    scale=st.integers(0, 10),
)
@settings(max_examples=40)
def test_decimals_are_whole_numbers_of_their_last_place(numbers, scale):
    entries = [None if each is None else decimal.Decimal(each).scaleb(-scale) for each in numbers]
    array = pa.array(entries, pa.decimal128(30, scale))
    coded = encode("x", array)
    assert coded.values.tolist() == [each or 0 for each in numbers]
    assert back(coded).equals(array)


SECRET = "4711.25"


@pytest.mark.parametrize(
    ("array", "kind", "order", "error", "words"),
    [
        (pa.array([float("inf"), 4711.25]), None, None, InputError, r"infinite numbers \(1\)"),
        (pa.array([4711.25]), "integer", None, InputError, "1 of its values have a fraction"),
        (pa.array([1e30]), "integer", None, InputError, "too large"),
        (pa.array([SECRET, "x"]), "continuous", None, InputError, "declared continuous"),
        (pa.array([SECRET]), None, None, InputError, "numbers as text"),
        (pa.array([SECRET, "1", "x"]), None, None, InputError, "mixes numbers .2 records. with"),
        (pa.array(["31.12.2024"]), None, None, InputError, "dates as text"),
        (pa.array([SECRET, "x"]), None, ("x",), InputError, "1 categories that orders does not"),
        (pa.array([SECRET, "x"]), "ordinal", None, OptionError, "nothing says in which order"),
        (pa.array([SECRET, "x", "y"]), "boolean", None, InputError, "3 different values"),
        (pa.array([[4711.25]]), None, None, InputError, "cannot be protected"),
        (pa.array([True]), "continuous", None, OptionError, "only numbers"),
        (pa.array([4711.25]), "date", None, OptionError, "declared date"),
        (pa.array([DAY]), "integer", None, OptionError, "only numbers"),
        (
            pa.array([decimal.Decimal(10**40)], pa.decimal256(60, 2)),
            None,
            None,
            InputError,
            "more than 18 digits",
        ),
        (pa.array([decimal.Decimal(10**19)]), None, None, InputError, "more than 18 digits"),
    ],
)
def test_one_sentence_without_values(array, kind, order, error, words):
    with pytest.raises(error, match=words) as caught:
        encode("income", array, kind, order)
    assert "'income'" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert isinstance(caught.value, MicroaggError)


def test_codes_with_leading_zeros_are_categories():
    assert encode("zip", pa.array(["01234", "99999", "1010"])).kind == "nominal"


def test_rows():
    coded = encode("x", pa.array([1, None, 3]))
    assert coded.rows(slice(0, 1)).missing is None
    assert coded.rows(np.array([False, True, True])).missing.tolist() == [True, False]
    assert coded.varies
    assert not encode("x", pa.array([5, None, 5])).varies
    assert not encode("x", pa.array([None, None], pa.int64())).varies


def test_borders_between_dates_at_the_end_of_time_are_told_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind = find("date")
        column = kind.encode("x", pa.array([2**63 - 1, 0], pa.timestamp("s")), None)
        assert len(kind.edge_texts(column, np.array([9.3e18, -9.3e18, 0.0]))) == 3
