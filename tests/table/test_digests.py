"""Running hashes of columns, and files read back in parts that must agree with what was written."""

import math
import tempfile
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError
from microagg.base.reading import Reading
from microagg.table.formats.csv.layout import ColumnLayout, CsvLayout
from microagg.table.opening import Origin
from microagg.table.sinks import Digests, digests_for, open_sink, read_back_stream
from microagg.table.streams import open_stream
from tests.table.test_arrow_files import TABLE
from tests.table.test_sinks import ELSEWHERE, NOT_IN_CSV

SUFFIXES = (".parquet", ".feather", ".arrow", ".arrows", ".csv")


def digest(*batches):
    digests = Digests()
    for batch in batches:
        digests.add(batch)
    return digests.of()


def of(values, kind=None):
    return digest(pa.record_batch([pa.array(values, kind)], ["a"]))["a"]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_cuts_do_not_show(data):
    order = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=20))
    table = TABLE.take(pa.array(order)).combine_chunks()
    batch = table.to_batches()[0]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(order)), max_size=4)))
    bounds = [0, *cuts, len(order)]
    parts = [batch.slice(a, b - a) for a, b in pairwise(bounds)]
    whole = digest(batch)
    assert list(whole) == TABLE.column_names
    assert digest(*parts) == whole
    other = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=20))
    again = digest(*TABLE.take(pa.array(other)).to_batches())
    always = {"nothing"} if len(other) == len(order) else set()
    for name in table.column_names:
        same = TABLE[name].take(pa.array(other)).to_pylist() == table[name].to_pylist()
        assert (again[name] == whole[name]) == (same or name in always), name


def test_types_do_not_matter():
    words = ["b", None, "a", "b"]
    assert of(words) == of(words, pa.large_string()) == of(words, pa.string_view())
    encoded = pa.array(words).dictionary_encode()
    assert digest(pa.record_batch([encoded], ["a"]))["a"] == of(words)
    assert of([1, None]) == of([1, None], pa.int8()) == of([1, None], pa.uint16())
    assert of([0.5], pa.float32()) == of([0.5])
    assert of([Decimal("1.50")], pa.decimal128(5, 2)) == of([Decimal("1.50")], pa.decimal256(50, 2))
    assert (
        of([None, None], pa.null()) == of([None, None], pa.int64()) == of([None, None], pa.string())
    )
    hidden = pa.Array.from_buffers(
        pa.int64(), 2, [pa.py_buffer(b"\1"), *pa.array([1, 99]).buffers()[1:]]
    )
    assert digest(pa.record_batch([hidden], ["a"]))["a"] == of([1, None])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["ab", "c"], ["a", "bc"]),
        (["", "a"], [None, "a"]),
        ([0, 1], [None, 1]),
        ([1, 2], [2, 1]),
        ([1, 1], [1, 1, 1]),
        ([None], [None, None]),
        ([0.0], [-0.0]),
        ([math.nan], [None]),
        ([True, False], [False, True]),
        ([[1], [2]], [[1, 2], []]),
    ],
)
def test_content_does(one, other):
    assert of(one) != of(other)


def there_and_back(table, path, origin=ELSEWHERE, rows=2):
    """What was written, and the stream that reads it back."""
    with open_sink(path, table.schema, origin, table.num_rows) as sink:
        for batch in table.to_batches(max_chunksize=rows):
            sink.write(batch)
    stream = read_back_stream(path, table.schema, origin)
    assert stream.rows == table.num_rows
    return sink.digests.of(), stream


def found_in(stream, path, origin=ELSEWHERE, rows=3):
    found = digests_for(path, origin)
    for batch in stream.batches(rows=rows):
        assert batch.schema == stream.schema
        found.add(batch)
    return found.of()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_was_written_comes_back(tmp_path, suffix):
    table = pa.concat_tables([TABLE] * 3).unify_dictionaries()
    if suffix == ".csv":
        table = table.drop_columns(list(NOT_IN_CSV))
    path = tmp_path / f"t{suffix}"
    written, stream = there_and_back(table, path)
    assert found_in(stream, path) == written


numbers = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3))
decimals = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1.0, 1e16, 1e22, 2.0**60]))
columns = {
    "whole": (pa.int64(), numbers),
    "real": (pa.float64(), decimals),
    "truth": (pa.bool_(), st.booleans()),
    "word": (pa.string(), st.sampled_from(["", "NA", "1", "007", "a;b", 'say "x"', "x\ny", "é"])),
    "moment": (pa.timestamp("ms", "UTC"), st.integers(-(10**13), 10**13)),
    "cent": (pa.decimal128(9, 2), st.decimals(-999, 999, places=2)),
}


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_what_was_written_as_text_comes_back(data):
    length = data.draw(st.integers(1, 8))
    arrays = {}
    styles = {}
    for name, (kind, values) in columns.items():
        gaps = data.draw(st.booleans())
        entries = st.none() | values if gaps else values
        arrays[name] = pa.array(
            data.draw(st.lists(entries, min_size=length, max_size=length)), kind
        )
        styles[name] = ColumnLayout(data.draw(st.sampled_from(["", "NA", "nan"])), separator="T")
    layout = CsvLayout(delimiter=";", decimal=data.draw(st.sampled_from(".,")), columns=styles)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        origin = Origin("t", "csv", Reading(), layout, path)
        written, stream = there_and_back(pa.table(arrays), path, origin)
        assert found_in(stream, path, origin) == written


def test_numbers_come_back_from_text_as_numbers(tmp_path):
    path = tmp_path / "t.csv"
    table = pa.table({"a": [1, 2], "b": [1.5, 2.0], "c": ["1", "2"], "d": [1.0, math.inf]})
    written, stream = there_and_back(table, path)
    assert stream.schema.types == [pa.int64(), pa.float64(), pa.string(), pa.string()]
    assert found_in(stream, path) == written


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("column", ["a", "b"])
def test_a_change_shows_in_its_column(tmp_path, suffix, column):
    path = tmp_path / f"t{suffix}"
    table = pa.table({"a": [1, 2, 3], "b": ["x", None, ""]})
    written, _stream = there_and_back(table, path)
    changed = {"a": pa.array([1, 2, 4]), "b": pa.array(["x", "", "y"])}[column]
    place = table.column_names.index(column)
    there_and_back(table.set_column(place, column, changed), path)
    found = found_in(read_back_stream(path, table.schema, ELSEWHERE), path)
    assert {name for name in found if found[name] != written[name]} == {column}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_other_columns_are_refused(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    there_and_back(pa.table({"a": [1], "b": [2]}), path)
    for other in (pa.table({"a": [1]}), pa.table({"b": [1], "a": [2]})):
        with pytest.raises(InputError, match="not the columns that were written"):
            read_back_stream(path, other.schema, ELSEWHERE)


def test_other_types_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": ["a text"]}), path)
    stream = read_back_stream(path, pa.schema([("a", pa.int64())]), ELSEWHERE)
    with pytest.raises(InputError, match="came back as string") as failure:
        list(stream.batches())
    assert "a text" not in str(failure.value)
    assert open_stream(path, Reading()).rows == 1
