"""However a column is cut into parts and in whatever order they come, it is the same column."""

import datetime as dt
import decimal
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError, OptionError
from microagg.columns.coded import encode
from microagg.columns.coding import Coding, Observed
from tests.columns.parts import observed, placed
from tests.naive import points as naive

MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))
SECONDS = MOMENTS.map(lambda moment: moment.replace(microsecond=0))
DAYS = st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LETTERS = st.sampled_from("abcdefg")
ORDER = tuple("gfedcba")
# Entries, Arrow type, kind and order that are declared.
COLUMNS = {
    "floats": (FLOATS, pa.float64(), None, None),
    "ordinary": (st.floats(-1e3, 1e3), pa.float64(), None, None),
    "not numbers": (FLOATS | st.just(float("nan")), pa.float64(), None, None),
    "halves": (
        st.floats(width=16, allow_nan=False, allow_infinity=False),
        pa.float16(),
        None,
        None,
    ),
    "small": (st.integers(-3, 3), pa.int8(), None, None),
    "integers": (st.integers(-(2**63), 2**63 - 1), pa.int64(), None, None),
    "unsigned": (st.integers(0, 2**64 - 1), pa.uint64(), None, None),
    "as floats": (st.integers(-(2**63), 2**63 - 1), pa.int64(), "continuous", None),
    "whole floats": (st.integers(-(2**50), 2**50).map(float), pa.float64(), "integer", None),
    "decimals": (
        st.decimals(-1000, 1000, places=2),
        pa.decimal128(9, 2),
        None,
        None,
    ),
    "booleans": (st.booleans(), pa.bool_(), None, None),
    "words": (LETTERS, pa.string(), None, None),
    "long words": (LETTERS, pa.large_string(), None, None),
    "views": (LETTERS, pa.string_view(), None, None),
    "ranks": (LETTERS, pa.string(), None, ORDER),
    "ranks of views": (LETTERS, pa.string_view(), None, ORDER),
    "two words": (st.sampled_from("ab"), pa.string(), "boolean", None),
    "numbers as ranks": (st.integers(-9, 9), pa.int64(), "ordinal", None),
    "many categories": (st.integers(0, 10**6), pa.int64(), "nominal", None),
    "floats as categories": (FLOATS | st.just(float("nan")), pa.float64(), "nominal", None),
    "days as categories": (DAYS, pa.date32(), "nominal", None),
    "nothing": (st.none(), pa.null(), None, None),
    "dates": (DAYS, pa.date32(), None, None),
    "long dates": (DAYS, pa.date64(), None, None),
    "moments": (MOMENTS | SECONDS, pa.timestamp("us"), None, None),
    "seconds": (SECONDS, pa.timestamp("ns", "Europe/Vienna"), None, None),
    "times": (st.times(), pa.time64("us"), None, None),
    "durations": (
        st.timedeltas(-dt.timedelta(999), dt.timedelta(999)),
        pa.duration("us"),
        None,
        None,
    ),
    "written days": (DAYS.map(str), pa.string(), "date", None),
    "written moments": ((DAYS | SECONDS | MOMENTS).map(str), pa.large_string(), "date", None),
    "written seconds": ((DAYS | SECONDS).map(str), pa.string_view(), "date", None),
    "written numbers": (FLOATS.map(str), pa.string(), "continuous", None),
    "written integers": (st.integers(-99, 99).map(str), pa.string_view(), "integer", None),
}


@st.composite
def columns(draw, names=tuple(COLUMNS)):
    entries, kind, declared, order = COLUMNS[draw(st.sampled_from(names))]
    values = draw(st.lists(entries | st.none(), max_size=12))
    return pa.array(values, kind), declared, order


@st.composite
def dictionaries(draw):
    ordered = draw(st.booleans())
    places = draw(st.lists(st.integers(0, 4) | st.none(), max_size=12))
    values = pa.array(
        draw(st.sampled_from([["c", "a", "e", "b", "d"], ["c", "a", None, "a", "d"]]))
    )
    if draw(st.booleans()):
        values = values.cast(pa.string_view())
    array = pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), values, ordered=ordered)
    return array, draw(st.sampled_from([None, "nominal", "ordinal" if ordered else None])), None


@st.composite
def cut(draw, n):
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=4)))
    return cuts, draw(st.permutations(range(len(cuts) + 1)))


def same_column(one, other):
    assert (one.name, one.kind, one.whole, one.type) == (
        other.name,
        other.kind,
        other.whole,
        other.type,
    )
    assert (one.text, one.step, one.nan) == (other.text, other.step, other.nan)
    np.testing.assert_array_equal(one.values, other.values)
    assert one.values.dtype == other.values.dtype
    assert (one.missing is None) == (other.missing is None)
    if one.missing is not None:
        np.testing.assert_array_equal(one.missing, other.missing)
    assert (one.categories is None) == (other.categories is None)
    if one.categories is not None:
        assert repr(one.categories.to_pylist()) == repr(other.categories.to_pylist())


def same_coding(one, other):
    assert one.to_dict() == other.to_dict()
    assert one.type == other.type
    assert (one.categories is None) == (other.categories is None)
    if one.categories is not None:
        assert repr(one.categories.to_pylist()) == repr(other.categories.to_pylist())


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_parts_and_their_order_make_no_difference(data):
    array, kind, order = data.draw(columns() | dictionaries())
    cuts, turns = data.draw(cut(len(array)))
    coding, points = placed(array, kind, order)
    parted, points_of_parts = placed(array, kind, order, cuts, turns)
    same_coding(parted, coding)
    assert points.tobytes() == points_of_parts.tobytes()
    assert np.isfinite(points).all()


@given(columns() | dictionaries())
@settings(max_examples=300, deadline=None)
def test_a_coding_reads_as_encode_does(column):
    array, kind, order = column
    whole = encode("x", array, kind, order)
    coding = observed(array, kind, order).coding()
    same_column(coding.code(array), whole)
    same_column(coding.as_coded(whole.values, whole.missing), whole)
    assert (coding.kind, coding.traits) == (whole.kind, whole.traits)
    assert coding.has_gaps == (whole.missing is not None)
    assert coding.place == whole.place()
    assert coding.place.varies == whole.varies
    assert coding.rows == len(array)


@given(columns(("floats", "ordinary", "integers", "unsigned", "decimals", "written numbers")))
@settings(max_examples=300, deadline=None)
def test_scores_are_those_of_exact_fractions(column):
    array, kind, order = column
    numbers = [None if each is None else decimal.Decimal(each) for each in array.to_pylist()]
    expected = naive.scores(numbers)
    coding, points = placed(array, kind, order)
    stretched = (len(numbers) / max(1, len(numbers) - numbers.count(None))) ** 0.5
    for point, score in zip(points, expected, strict=True):
        stands = 0.0 if score is None else score * stretched
        assert point[0] == pytest.approx(stands, rel=1e-12, abs=1e-14)
        assert not coding.has_gaps or (point[1] > 0.0) == (score is None)


@given(columns(("words", "booleans", "two words", "views", "days as categories")))
@settings(max_examples=100, deadline=None)
def test_categories_are_equally_far_apart(column):
    array, kind, order = column
    coding, points = placed(array, kind, order)
    entries = array.to_pylist()
    values = points[:, : coding.place.width]
    known = [each for each in entries if each is not None]
    far = naive.apart([known.count(each) / len(known) for each in set(known)])
    far *= (len(entries) / max(1, len(known))) ** 0.5
    for i, one in enumerate(entries):
        for j, other in enumerate(entries):
            if one is not None and other is not None:
                away = np.linalg.norm(values[i] - values[j])
                assert away == pytest.approx(far if one != other else 0.0, abs=1e-12)


@given(columns() | dictionaries())
@settings(max_examples=100, deadline=None)
def test_written_down_and_sent(column):
    array, kind, order = column
    seen = observed(array, kind, order)
    coding = seen.coding()
    same_coding(pickle.loads(pickle.dumps(seen)).coding(), coding)
    again = Coding.from_dict(coding.to_dict(), coding.type, coding.categories)
    same_coding(again, coding)
    same_column(again.code(array), coding.code(array))


@pytest.mark.parametrize(
    ("entries", "text", "step"),
    [
        (["2024-01-05", "2024-01-01"], "date32[day]", 1),
        (["2024-01-05", " 2024-01-01 00:00:00 "], "timestamp[s]", 86400),
        (["2024-01-05", "2024-01-01T10:30"], "timestamp[s]", 60),
        (["2024-01-05 10:00:00", "2024-01-01 10:00:00.25"], "timestamp[us]", 1000),
        ([None, "2024-01-01"], "date32[day]", 1),
        ([None, None], "date32[day]", 1),
    ],
)
def test_dates_as_text_are_as_fine_as_the_finest_part(entries, text, step):
    array = pa.array(entries, pa.string())
    for turns in ([0, 1], [1, 0]):
        coded = observed(array, "date", cuts=[1], turns=turns).coding().code(array)
        assert (str(coded.type), coded.step) == (text, step)
        same_column(coded, encode("x", array, "date"))


def test_too_many_categories():
    array = pa.array(["a", "b", "c", "a"])
    assert len(observed(array, most_categories=3).coding().categories) == 3
    with pytest.raises(InputError, match="'x' has more than 2 categories; it may identify people"):
        observed(array, most_categories=2)
    with pytest.raises(InputError, match="more than 2 categories"):
        observed(array, cuts=[1, 2, 3], most_categories=2)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(
    ("entries", "kind", "error", "words"),
    [
        ([1.0, float("inf"), 2.0], None, InputError, r"infinite numbers \(1\)"),
        (["1.5", "2", "x"], "continuous", InputError, "was declared continuous, but not all"),
        (["2024-01-01", "2024-01-02", "soon"], "date", InputError, "declared date, but not all"),
        (["1", "2", "3"], None, InputError, "'x' holds numbers as text"),
        (["1", "1", "x"], None, InputError, r"mixes numbers \(2 records\) with other text \(1\)"),
        (["2024-01-01", "2024-01-01", "x"], None, InputError, "dates as text"),
        (["a", "b", "c"], "boolean", InputError, "3 different values"),
        (["a", "b", "c"], "ordinal", OptionError, "nothing says in which order"),
        (["a", "b", "c"], "nomnal", OptionError, "no kind 'nomnal'.*did you mean nominal"),
        ([True, False, True], "integer", OptionError, "only numbers can be so treated"),
    ],
)
def test_one_sentence_whole_or_in_parts(entries, kind, error, words, parts):
    array = pa.array(entries)
    with pytest.raises(error, match=words) as caught:
        observed(array, kind, cuts=range(1, parts)).coding()
    with pytest.raises(error) as known:
        encode("x", array, kind)
    assert str(caught.value) == str(known.value)
    assert caught.value.__cause__ is None


def test_ordered_categories_listed_differently():
    parts = [
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(letters), ordered=True)
        for letters in (["a", "b"], ["b", "a"])
    ]
    seen = Observed("x", parts[0].type)
    seen.add(parts[0])
    with pytest.raises(InputError, match="lists its ordered categories differently"):
        seen.add(parts[1])
    with_order = Observed("x", parts[0].type, None, ("a", "b"))
    for part in parts:
        with_order.add(part)
    assert with_order.coding().code(parts[1]).values.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (pa.array(["a", "b"]), pa.array(["c"])),
        (pa.array([1.0, 2.0]), pa.array([None], pa.float64())),
        (pa.array([0, 86400], pa.timestamp("s")), pa.array([7], pa.timestamp("s"))),
    ],
)
def test_values_that_were_not_there_before(before, after):
    coding = observed(before).coding()
    with pytest.raises(InputError, match="'x' holds values now that it did not hold at first"):
        coding.code(after)


def test_the_ends_of_all_numbers():
    for values in ([-1.7e308, 1.7e308], [0.0, 5e-324], [1e-310, 3e-310], [1.7e308, 1.6e308]):
        coding, points = placed(pa.array(values))
        np.testing.assert_allclose(np.sort(points[:, 0]), [-1.0, 1.0], rtol=1e-12)
        assert coding.place.varies
