import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError
from microagg.table import classes_in_parts as classes
from microagg.table.classes import count_classes
from microagg.table.classes_in_parts import classes_in_parts, classes_of
from tests.table.test_classes import each_size

NAN = float("nan")
COLUMNS = {
    pa.int8(): [0, 1, -1],
    pa.int64(): [0, 1, 2**63 - 1, -(2**63)],
    pa.uint64(): [0, 2**63, 2**64 - 1],
    pa.float64(): [0.0, -0.0, 0.5, NAN, -NAN, 5e-324],
    pa.float32(): [0.0, -0.0, 1.5, NAN],
    pa.float16(): [0.0, -0.0, 1.5, NAN],
    pa.bool_(): [True, False],
    pa.string(): ["", "a", "ä", "b\0"],
    pa.large_string(): ["", "a"],
    pa.string_view(): ["", "a"],
    pa.binary(): [b"", b"\xff"],
    pa.binary(2): [b"ab", b"\xff\0"],
    pa.date32(): [dt.date(1970, 1, 1), dt.date(2024, 1, 1)],
    pa.timestamp("us", "UTC"): [dt.datetime(1970, 1, 1), dt.datetime(2024, 1, 1)],
    pa.time32("s"): [dt.time(0), dt.time(1)],
    pa.duration("s"): [0, 5],
    pa.decimal128(5, 2): [decimal.Decimal("0.00"), decimal.Decimal("-1.25")],
    pa.decimal128(38, 0): [decimal.Decimal(0), decimal.Decimal(2**64), decimal.Decimal(-1)],
    pa.decimal256(60, 0): [decimal.Decimal(0), decimal.Decimal(2**190)],
    pa.null(): [],
    pa.dictionary(pa.int8(), pa.string()): ["", "a", "b"],
    pa.dictionary(pa.int32(), pa.float64()): [0.0, -0.0, NAN],
    pa.dictionary(pa.int32(), pa.decimal128(30, 0)): [decimal.Decimal(0), decimal.Decimal(7)],
}


def count_classes_in_parts(batches, names, *more, **limits):
    return classes_of(classes_in_parts(batches, names, (), *more, **limits))


def column(kind, entries):
    if pa.types.is_dictionary(kind):
        return pa.array(entries, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(entries, kind)


@st.composite
def tables(draw):
    """The same records as one table and cut anywhere, dictionaries made anew in each part."""
    kinds = draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=4))
    row = st.tuples(*(st.sampled_from([None, *COLUMNS[kind]]) for kind in kinds))
    rows = draw(st.lists(row, min_size=1, max_size=40))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=5)))
    names = [str(place) for place in range(len(kinds))]
    parts = []
    for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        entries = list(zip(*rows[start:end], strict=True)) or [[]] * len(kinds)
        arrays = [column(kind, entry) for kind, entry in zip(kinds, entries, strict=True)]
        parts.append(pa.record_batch(arrays, names))
    return names, parts


# Blocks of a few lines, and files of a few blocks.
SMALL = [{"block_rows": 7}, {"block_rows": 7, "file_bytes": 128}]
small = pytest.mark.parametrize("limits", SMALL, ids=["memory", "disk"])


@small
def test_as_in_memory(tmp_path, limits):
    @given(tables())
    @settings(max_examples=100, deadline=None)
    def check(drawn):
        names, parts = drawn
        whole = pa.Table.from_batches(parts)
        known = each_size(count_classes(whole, names))
        counted = count_classes_in_parts(parts, names, whole.num_rows, tmp_path, **limits)
        assert each_size(counted) == known
        sliced = [part.slice(start, 3) for part in parts for start in range(0, part.num_rows, 3)]
        counted = count_classes_in_parts(sliced[::-1], names, whole.num_rows, tmp_path, **limits)
        assert each_size(counted) == known
        assert counted.k == known[0]

    check()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("most", [1, 2, 40])
@small
def test_equal_hashes_of_different_records(tmp_path, monkeypatch, most, limits):
    def weak(entries, _words, hashes):
        hashes[:] = (entries[:, 1].view(np.uint64) % np.uint64(most)) << np.uint64(55)

    monkeypatch.setattr(classes, "hash_lines", weak)
    rng = np.random.default_rng(most)
    table = pa.table({"x": rng.integers(0, 40, 500), "y": rng.integers(0, 3, 500)})
    batches = table.to_batches(max_chunksize=33)
    counted = count_classes_in_parts(batches, ["x", "y"], 500, tmp_path, **limits)
    assert each_size(counted) == each_size(count_classes(table, ["x", "y"]))


def test_many_columns_have_more_masks(tmp_path):
    names = [str(place) for place in range(130)]
    whole = pa.table(
        [pa.array([None if place % 7 else 0, 0, None, 0]) for place in range(130)], names
    )
    known = each_size(count_classes(whole, names))
    counted = count_classes_in_parts(whole.to_batches(), names, 4, tmp_path)
    assert each_size(counted) == known == [1, 1, 2]


def test_files_stay_small_where_a_class_is_large(tmp_path, monkeypatch):
    largest = []
    collapsed = classes._Lines.collapsed

    def watched(self, entries, bits=0):
        largest.append(len(entries))
        return collapsed(self, entries, bits)

    monkeypatch.setattr(classes._Lines, "collapsed", watched)
    table = pa.table({"x": np.arange(300_000) % 3})
    batches = table.to_batches()
    counted = count_classes_in_parts(batches, ["x"], 300_000, tmp_path, file_bytes=1 << 16)
    assert each_size(counted) == [100_000] * 3
    assert sum(largest) < 300_000 + 100


@small
def test_nothing_remains_after_a_failure(tmp_path, limits):
    part = pa.record_batch({"x": np.arange(100)})

    def failing():
        yield part
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count_classes_in_parts(failing(), ["x"], 200, tmp_path, **limits)
    assert list(tmp_path.iterdir()) == []


@small
def test_shares_done_ascend(tmp_path, threads, limits):
    part = pa.record_batch({"x": np.arange(100)})
    for count in (1, 2, 3, 8):
        threads(count)
        shares: list[float] = []
        count_classes_in_parts([part], ["x"], 100, tmp_path, shares.append, **limits)
        assert shares == sorted(shares)
        assert shares[-1] == 1.0


def test_what_cannot_be_compared_is_named(tmp_path):
    part = pa.record_batch({"x": pa.array([[4711], [1]])})
    with pytest.raises(InputError, match="column 'x' is of type list") as caught:
        count_classes_in_parts([part], ["x"], 2, tmp_path)
    assert "4711" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_no_parts_no_rows_no_columns(tmp_path):
    part = pa.record_batch({"x": pa.array([1, 2, 3])})
    for batches in ([], [part.slice(0, 0)]):
        counted = count_classes_in_parts(batches, ["x"], 0, tmp_path)
        assert (counted.count, counted.sizes.size, counted.k) == (0, 0, 0)
    assert each_size(count_classes_in_parts([part], [], 3, tmp_path)) == [3]


def test_more_rows_than_said(tmp_path):
    part = pa.record_batch({"x": np.arange(1000) // 5})
    for said in (1, 300):
        counted = count_classes_in_parts([part] * 3, ["x"], said, tmp_path, file_bytes=1 << 12)
        assert each_size(counted) == [15] * 200
