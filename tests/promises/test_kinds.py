"""What every kind of column keeps, whatever it is; a kind is tested by being there."""

import datetime as dt
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import OptionError
from microagg.base.groups import Partition
from microagg.columns.coded import decode, encode
from microagg.columns.kinds import all_kinds, find, kind_for, kinds_of_text
from microagg.columns.published import centres_of
from microagg.columns.summary import attribute
from microagg.measure.change import category_loss, numeric_loss
from tests.columns.parts import placed

NAMES = [kind.name for kind in all_kinds()]
# Entries that columns of a type may hold; a kind is tried with each that it takes.
ENTRIES = {
    pa.float64(): st.floats(-1e9, 1e9),
    pa.float32(): st.floats(-100.0, 100.0, width=32),
    pa.int64(): st.integers(-(2**40), 2**40),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.decimal128(9, 2): st.decimals(-1000, 1000, places=2),
    pa.bool_(): st.booleans(),
    pa.string(): st.sampled_from(["a", "b", "c"]),
    pa.string_view(): st.sampled_from(["a", "b"]),
    pa.date32(): st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
    pa.timestamp("us"): st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)),
    pa.dictionary(pa.int8(), pa.string()): st.sampled_from(["a", "b", "c"]),
    pa.dictionary(pa.int8(), pa.string(), ordered=True): st.sampled_from(["a", "b", "c"]),
    pa.null(): st.none(),
}


@st.composite
def columns(draw, kind):
    """A column of a type that the kind is the default for, with gaps."""
    types = [each for each in ENTRIES if kind.is_default_for(each)]
    chosen = draw(st.sampled_from(types))
    values = draw(st.lists(ENTRIES[chosen] | st.none(), min_size=1, max_size=15))
    if not pa.types.is_dictionary(chosen):
        return pa.array(values, chosen)
    # Every part of a column lists ordered categories the same.
    letters = ["a", "b", "c"]
    places = [None if each is None else letters.index(each) for each in values]
    return pa.DictionaryArray.from_arrays(
        pa.array(places, pa.int8()), pa.array(letters), ordered=chosen.ordered
    )


def plain(array):
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def mask(coded):
    return np.zeros(coded.values.size, bool) if coded.missing is None else coded.missing


def test_every_type_has_one_kind():
    for each in ENTRIES:
        assert [kind.name for kind in all_kinds() if kind.is_default_for(each)] == [
            kind_for("x", each).name
        ]


def test_near_names_are_told():
    for kind in all_kinds():
        assert find(kind.name) is kind
        with pytest.raises(OptionError, match=f"did you mean .*{kind.name}") as caught:
            find(kind.name[:-1])
        assert all(name in str(caught.value) for name in NAMES)
    with pytest.raises(OptionError, match="there is no kind 3"):
        find(3)


@pytest.mark.parametrize("name", NAMES)
def test_words(name):
    kind = find(name)
    assert kind.treatment.startswith("replaced by")
    assert kind.deviation
    assert not kind.treatment.endswith(".")
    assert type(kind).__doc__
    assert kind.numeric or kind.categorical
    assert (kind.turn == 0) == (kind.read_as == ())
    assert (kind in kinds_of_text()) == (kind.turn > 0)
    assert pickle.loads(pickle.dumps(kind)).name == name


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_what_is_encoded_comes_back(name, data):
    array = data.draw(columns(find(name)))
    coded = encode("x", array)
    given = [each for each in array.to_pylist() if each is not None]
    whole = pa.types.is_floating(array.type) and all(each == int(each) < 2**53 for each in given)
    assert coded.kind == ("integer" if given and whole else name)
    assert (coded.categories is not None) == find(name).categorical
    assert mask(coded).tolist() == [each is None for each in array.to_pylist()]
    assert not coded.values[mask(coded)].any()
    back = decode(coded, coded.values, mask(coded))
    assert back.type == array.type
    assert plain(back).equals(plain(array))
    assert decode(coded, coded.values, np.ones(len(array), bool)).null_count == len(array)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_declared_is_as_by_default(name, data):
    array = data.draw(columns(find(name)))
    if pa.types.is_string(array.type) or array.type == pa.string_view():
        assert encode("x", array, name).categories.equals(encode("x", array).categories)
    assert (encode("x", array, name).values == encode("x", array).values).all()


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_parts_are_placed_as_the_whole_and_finite(name, data):
    array = data.draw(columns(find(name)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(array)), max_size=3)))
    turns = data.draw(st.permutations(range(len(cuts) + 1)))
    coding, points = placed(array)
    parted, pieces = placed(array, None, None, cuts, turns)
    assert coding.to_dict() == parted.to_dict()
    assert points.tobytes() == pieces.tobytes()
    assert points.shape == (len(array), coding.width)
    assert np.isfinite(points).all()
    # Equal entries stand at the same place; numbers may differ by less than their scores can show.
    entries = array.to_pylist()
    for i, one in enumerate(entries):
        for j in range(i):
            same = bool((points[i] == points[j]).all())
            assert same == (one == entries[j]) or (same and not find(name).categorical)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_centres_lie_among_the_values(name, weighted, data):
    array = data.draw(columns(find(name)))
    coded = encode("x", array)
    raw = data.draw(st.lists(st.integers(0, 2), min_size=len(array), max_size=len(array)))
    labels = np.unique(raw, return_inverse=True)[1]
    weights = np.arange(len(array)) % 3.0 if weighted else None
    centres, empty = centres_of(coded, Partition(labels, 1, "given"), weights)
    for group in range(labels.max() + 1):
        values = coded.values[(labels == group) & ~mask(coded)]
        assert empty[group] == (values.size == 0)
        if values.size:
            slack = 0 if coded.whole else 1e-9 * np.abs(values).max()
            assert values.min() - slack <= centres[group] <= values.max() + slack
            if coded.categories is not None:
                assert centres[group] in values
    assert len(decode(coded, centres, empty)) == centres.size


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_loss(name, data):
    coded = encode("x", data.draw(columns(find(name))))
    loss = numeric_loss if coded.numeric else category_loss
    assert loss(coded.values, coded.values, coded.missing, coded.missing) == 0.0
    blank = np.ones(coded.values.size, bool)
    lost = loss(coded.values, coded.values, coded.missing, blank)
    assert (lost > 0.0) == coded.varies


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_pages_show_every_record_once(name, data):
    coded = encode("x", data.draw(columns(find(name))))
    shown = attribute("quasi-identifier", coded, coded)
    present = int((~mask(coded)).sum())
    assert sum(bar.after for bar in shown.bars) == present
    assert sum(bar.before for bar in shown.bars) == present
    assert all(bar.label for bar in shown.bars)
    assert (shown.mean_after is not None) == (not coded.traits.categorical and present > 0)
    assert all((bar.low is None) == coded.traits.categorical for bar in shown.bars)
