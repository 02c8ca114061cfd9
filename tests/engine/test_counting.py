"""Confidential columns of every kind, counted as a whole and in parts, against the definition."""

import datetime as dt
import decimal
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.reading import Reading
from microagg.columns.secrets import ObservedSecret, Room
from microagg.engine.counting import Counting, Wanted
from microagg.measure.anonymity import ClassCount, disclosure
from microagg.table.classes_in_parts import classes_in_parts, classes_of
from microagg.table.opening import Origin
from tests.naive import measures

ORIGIN = Origin("table", "frame", Reading())
MONEY = [decimal.Decimal(each) for each in ("-1.25", "0.00", "3.10")]
# By type: values, lowest first, and whether they have an order.
KINDS = {
    pa.float64(): ([-math.inf, -2.5, -5e-324, 0.0, 1e300, math.inf], True),
    pa.float32(): ([-1.5, 0.0, 0.25], True),
    pa.int8(): ([-128, 0, 127], True),
    pa.int64(): ([-(2**63), -1, 0, 2**63 - 1], True),
    pa.uint64(): ([0, 1, 2**63, 2**64 - 1], True),
    pa.decimal128(7, 2): (MONEY, True),
    pa.decimal128(38, 2): (MONEY, True),
    pa.date32(): ([dt.date(1890, 5, 1), dt.date(1970, 1, 1), dt.date(2020, 2, 3)], True),
    pa.timestamp("us", "UTC"): ([dt.datetime(1960, 1, 1), dt.datetime(2020, 1, 1)], True),
    pa.time32("s"): ([dt.time(1), dt.time(2)], True),
    pa.duration("s"): ([-4, 0, 7], True),
    pa.bool_(): ([False, True], False),
    pa.string(): (["", "a", "b c", "ä"], False),
    pa.string_view(): (["", "x"], False),
    pa.binary(): ([b"", b"\xff\0"], False),
    pa.dictionary(pa.int8(), pa.string()): (["u", "v", "w"], False),
}


def spread(within):
    """What no count here knows of: how far the numbers of a class lie apart, at least."""
    numbers = within.among_all.numbers[within.ranks]
    ends = np.append(within.firsts[1:], numbers.size) - 1
    with np.errstate(invalid="ignore"):
        return float(np.fmin.reduce(numbers[ends] - numbers[within.firsts], initial=math.inf))


def secret_of(array):
    observed = ObservedSecret("secret", array.type, ORIGIN)
    observed.add(array)
    return observed.secret(ORIGIN)


def wanted_for(array, ordered):
    counts = [disclosure("secret")]
    if ordered:
        counts.append(ClassCount("spread", "secret", spread, min))
    return Wanted((secret_of(array),), tuple(counts))


def column(entries, kind):
    if pa.types.is_dictionary(kind):
        return pa.array(entries, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(entries, kind)


@pytest.mark.parametrize("limits", [{"block_rows": 7}, {"block_rows": 7, "file_bytes": 256}])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_in_parts_as_a_whole_as_defined(tmp_path, kind, limits):
    values, ordered = KINDS[kind]
    entry = st.sampled_from([None, *range(len(values))])

    @given(st.lists(st.tuples(entry, st.sampled_from([0, 1, 2, None])), min_size=1, max_size=50))
    @settings(max_examples=25, deadline=None)
    def check(rows):
        places = [place for place, _ in rows]
        array = column([None if each is None else values[each] for each in places], kind)
        known = pa.array([label for _, label in rows])
        table = pa.table({"known": known, "other": known, "secret": array})
        wanted = wanted_for(array, ordered)
        assert wanted.secrets[0].ordered == ordered
        whole = Counting(wanted)
        labels = whole.whole(table, ["known", "other"])
        parts = Counting(wanted, Room(tmp_path, most=2))
        batches = parts.coded(table.to_batches(max_chunksize=11), ["known", "other"])
        made = classes_in_parts(
            batches, ["known", "other"], parts.values, len(rows), tmp_path, **limits
        )
        classes = classes_of(parts.through(made))
        assert np.repeat(classes.sizes, classes.times).tolist() == sorted(np.bincount(labels))
        one, other = (each.found["disclosure", "secret"] for each in (whole, parts))
        assert one.to_dict() == other.to_dict()
        assert whole.found.get(("spread", "secret")) == parts.found.get(("spread", "secret"))
        ranks = [-1 if each is None else each for each in places]
        distinct, entropy = zip(*measures.diversity(ranks, labels.tolist()), strict=True)
        apart = measures.closeness(ranks, labels.tolist(), ordered)
        assert one.distinct.least == min(distinct)
        assert one.entropy.least == pytest.approx(min(entropy))
        assert one.distance.largest == pytest.approx(max(apart), abs=1e-12)
        assert one.alone == measures.alone(ranks, labels.tolist())

    check()
    assert list(tmp_path.iterdir()) == []


def test_many_different_numbers_are_held_in_files(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"known": rng.integers(0, 50, 5000), "secret": rng.normal(size=5000).round(3)})
    wanted = wanted_for(table["secret"].combine_chunks(), True)
    whole, parts = Counting(wanted), Counting(wanted, Room(tmp_path, most=300))
    whole.whole(table, ["known"])
    batches = parts.coded(table.to_batches(max_chunksize=400), ["known"])
    classes_of(parts.through(classes_in_parts(batches, ["known"], parts.values, 5000, tmp_path)))
    [seen] = parts.seen
    assert isinstance(seen.among_all().counts, np.memmap)
    assert parts.found["spread", "secret"] == whole.found["spread", "secret"]
    one, other = (each.found["disclosure", "secret"].to_dict() for each in (whole, parts))
    assert one == other
    assert list(tmp_path.iterdir()) == []


def test_numbers_are_told_to_a_count():
    array = pa.array([1.5, -2.0, None, 4.0, 4.0])
    for labels, least in (([0, 0, 1, 1, 0], 6.0), ([0, 0, 1, 1, 2], 0.0)):
        counting = Counting(wanted_for(array, True))
        counting.whole(pa.table({"known": labels, "secret": array}), ["known"])
        assert counting.found["spread", "secret"] == least
    for kind, (values, ordered) in KINDS.items():
        if ordered and kind not in (pa.time32("s"), pa.timestamp("us", "UTC"), pa.date32()):
            array = column([*values, None], kind)
            counting = Counting(wanted_for(array, True))
            [seen] = counting.seen
            seen.add(seen.secret.entries(array))
            numbers = seen.among_all().numbers
            assert math.isnan(numbers[0])
            assert numbers[1:].tolist() == [float(each) for each in values], kind


def test_zeros_are_one_and_nan_is_no_value():
    array = pa.array([0.0, -0.0, float("nan"), None])
    counting = Counting(wanted_for(array, False))
    counting.whole(pa.table({"known": [0] * 4, "secret": array}), ["known"])
    assert counting.found["disclosure", "secret"].distinct.least == 2


def test_columns_that_cannot_be_counted_are_left_out():
    assert secret_of(pa.array([[1], [2]])) is None
    assert secret_of(pa.array([{"a": 1}])) is None


def test_no_values_at_all():
    for array in (pa.nulls(3), pa.nulls(3, pa.float64()), pa.nulls(3, pa.string())):
        counting = Counting(wanted_for(array, False))
        counting.whole(pa.table({"known": [0, 0, 1], "secret": array}), ["known"])
        found = counting.found["disclosure", "secret"]
        assert (found.alone, found.distinct.largest, found.distance.largest) == (3, 1.0, 0.0)
