"""Tables read in parts, beside the same tables read whole."""

import hashlib
import os
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError, OptionError
from microagg.base.reading import Reading
from microagg.table.checks import fingerprint, sha256_of
from microagg.table.formats import FORMATS
from microagg.table.formats.arrow import Arrow
from microagg.table.formats.csv import Csv
from microagg.table.formats.csv.layout import CsvLayout
from microagg.table.opening import open_table
from microagg.table.streams import Stream, estimated_size, open_stream
from tests.table.test_arrow_files import TABLE

ARROW = Arrow()
SUFFIXES = (".parquet", ".feather", ".arrow", ".arrows")


def together(stream: Stream, columns=None, rows=1 << 17):
    batches = list(stream.batches(columns, rows))
    assert all(0 < batch.num_rows <= rows for batch in batches)
    return pa.Table.from_batches(batches)


def assert_same(one: pa.Table, other: pa.Table):
    assert one.schema.equals(other.schema, check_metadata=True)
    # NaN is not equal to itself.
    assert fingerprint(one) == fingerprint(other)


def put_ipc(table, path, kind, chunk):
    make = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
    with pa.OSFile(str(path), "wb") as file, make(file, table.schema) as writer:
        writer.write_table(table, chunk)


def put(table, path, chunk):
    """Write a table in row groups or batches of some size."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=chunk)
    else:
        put_ipc(table, path, ARROW.suffixes[path.suffix], chunk)
    return path


@contextmanager
def small_blocks(size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FORMATS, "csv", Csv(size, block_per_column=1))
        yield


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("rows", [1, 2, 5, 1 << 17])
def test_parts_are_the_whole(tmp_path, suffix, rows):
    table = pa.concat_tables([TABLE] * 3).unify_dictionaries()
    path = put(table.replace_schema_metadata({"about": "people"}), tmp_path / f"t{suffix}", 4)
    stream = open_stream(path, Reading())
    whole = open_table(path, Reading())
    assert_same(together(stream, rows=rows), ARROW.read(path, Reading()).table)
    assert (stream.rows, stream.sha256) == (9, whole.sha256)
    assert stream.origin == whole.origin
    assert stream.schema.metadata == {b"about": b"people"}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_columns_come_in_the_order_asked_and_as_often_as_asked(tmp_path, suffix):
    path = put(TABLE, tmp_path / f"t{suffix}", 2)
    whole = ARROW.read(path, Reading()).table
    stream = open_stream(path, Reading())
    for names in (["list", "bool", "category"], ["text"], ["struct", "decimal"]):
        for _ in range(2):
            assert_same(together(stream, names, 2), whole.select(names))
    with pytest.raises(OptionError, match="did you mean 'decimal'"):
        stream.batches(["decimol"])
    with pytest.raises(OptionError, match="at least one column"):
        stream.batches([])


def test_names_with_points_are_not_nested_columns(tmp_path):
    table = pa.table({"a": [{"b": 1}, {"b": 2}], "a.b": [3, 4], "c": [5, 6]})
    path = put(table, tmp_path / "t.parquet", 2)
    stream = open_stream(path, Reading())
    for names in (["a"], ["a.b"], ["c", "a.b", "a"]):
        assert_same(together(stream, names), table.select(names))


@pytest.mark.parametrize("suffix", [".feather", ".arrow", ".arrows"])
def test_views_come_as_plain_texts(tmp_path, suffix):
    view = pa.array(["x", None, "more than twelve letters"], pa.string_view())
    codes = pa.array([1, 0, 2], pa.uint8())
    table = pa.table({"a": view, "b": pa.DictionaryArray.from_arrays(codes, view)})
    path = put(table, tmp_path / f"t{suffix}", 3)
    stream = open_stream(path, Reading())
    assert stream.schema.types == [pa.large_string(), pa.dictionary(pa.uint8(), pa.large_string())]
    assert together(stream, rows=2).to_pylist() == table.to_pylist()
    assert_same(together(stream), ARROW.read(path, Reading()).table)
    assert stream.origin == open_table(path, Reading()).origin


@pytest.mark.parametrize("suffix", [".arrow", ".parquet", ".csv"])
def test_huge_batches_and_row_groups_are_not_read_as_a_whole(tmp_path, monkeypatch, suffix):
    for small in (Arrow(buffer=1 << 14, large=1 << 20), Csv(1 << 12)):
        monkeypatch.setitem(FORMATS, small.name, small)
    table = numbers(300_000)
    path = tmp_path / f"t{suffix}"
    if suffix == ".csv":
        FORMATS["csv"].write(table, path, None)
    elif suffix == ".parquet":
        pages = {"use_dictionary": False, "compression": "none", "data_page_size": 1 << 15}
        pq.write_table(table, path, **pages)
        assert pq.read_metadata(path).num_row_groups == 1
    else:
        put(table, path, table.num_rows)
    stream = open_stream(path, Reading())
    before, most = pa.total_allocated_bytes(), 0
    for batch in stream.batches(rows=1000):
        most = max(most, pa.total_allocated_bytes() - before - batch.nbytes)
    assert most < table.nbytes / 4
    assert_same(together(stream, rows=77_777), table)


kinds = st.sampled_from(TABLE.column_names)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_table_in_any_parts(data):
    names = data.draw(st.lists(kinds, min_size=1, max_size=4, unique=True))
    order = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=30))
    table = TABLE.select(names).take(pa.array(order))
    chunk, rows = data.draw(st.integers(1, 31)), data.draw(st.integers(1, 31))
    asked = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{data.draw(st.sampled_from(SUFFIXES))}"
        put(table.unify_dictionaries().combine_chunks(), path, chunk)
        whole = ARROW.read(path, Reading()).table
        assert_same(together(open_stream(path, Reading()), asked, rows), whole.select(asked))


fields = st.one_of(
    st.sampled_from(["", "NA", "NULL", "1", "-7", "007", "2.5", "1,5", " 3 ", "true", "False"]),
    st.sampled_from(["9007199254740993", "1e300", "2020-01-02", "2020-01-02 03:04:05"]),
    st.sampled_from(["2020-01-02 03:04:05.123456789", "0001-01-01 00:00:00", "a;b", 'q"q', "x\ny"]),
    st.text("abcé☃ ", max_size=3),
)


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_text_files_agree_on_types_as_whole_ones_do(data):
    names = data.draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True))
    columns = {}
    length = data.draw(st.integers(1, 25))
    for name in names:
        # Mostly of one kind, so that something other than text comes out.
        few = data.draw(st.lists(fields, min_size=1, max_size=3))
        column = data.draw(
            st.lists(st.sampled_from(few), min_size=length, max_size=length), label=name
        )
        columns[name] = pa.array(sorted(column, key=few.index), pa.string())
    typed = data.draw(st.none() | st.lists(st.sampled_from(names), unique=True))
    rows = data.draw(st.integers(1, 30))
    layout = CsvLayout(delimiter=data.draw(st.sampled_from(",;")))
    with tempfile.TemporaryDirectory() as folder, small_blocks(data.draw(st.integers(80, 300))):
        path = Path(folder) / "t.csv"
        FORMATS["csv"].write(pa.table(columns), path, layout)
        whole = FORMATS["csv"].read(path, Reading(delimiter=layout.delimiter), typed)
        stream = open_stream(path, Reading(delimiter=layout.delimiter), typed)
        assert stream.origin.layout == whole.layout
        assert (stream.rows, stream.sha256) == (length, whole.sha256)
        assert stream.schema.equals(whole.table.schema)
        assert_same(together(stream, rows=rows), whole.table)
        backwards = names[::-1]
        assert_same(together(stream, backwards, rows), whole.table.select(backwards))


@pytest.mark.parametrize(
    ("early", "late", "agreed"),
    [
        ("1", "2.5", pa.float64()),
        ("9007199254740993", "2.5", pa.string()),
        ("1", "x", pa.string()),
        ("1", "007", pa.string()),
        ("1", "NA", pa.int64()),
        ("NA", "1", pa.int64()),
        ("NA", "", pa.string()),
        ("true", "True", pa.string()),
        ("2020-01-02", "2020-01-02 03:04:05", pa.string()),
        ("2020-01-02 03:04:05", "2020-01-02 03:04:05.123456789", pa.timestamp("ns")),
        ("0001-01-02 03:04:05", "2020-01-02 03:04:05.123456789", pa.string()),
    ],
)
def test_columns_of_text_files_that_change_their_mind(tmp_path, early, late, agreed):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + f"{early},a\n" * 50 + f"{late},b\n" * 50 + f"{early},\n")
    with small_blocks(128):
        stream = open_stream(path, Reading(), ["x"])
        whole = FORMATS["csv"].read(path, Reading(), ["x"])
        batches = list(stream.batches(rows=30))
        assert len(batches) > 3
    assert stream.schema == pa.schema([("x", agreed), ("y", pa.string())])
    assert all(batch.schema == stream.schema for batch in batches)
    assert_same(pa.Table.from_batches(batches), whole.table)
    assert stream.origin.layout == whole.layout
    assert batches[-1]["y"][-1].as_py() == ""


def test_text_files_in_other_encodings_and_with_decimal_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("\ufeffä;b\n1,5;x\n2,5;é\n".encode("utf-16-le"))
    stream, whole = open_stream(path, Reading()), FORMATS["csv"].read(path, Reading())
    assert_same(together(stream, rows=1), whole.table)
    assert stream.schema.field("ä").type == pa.float64()
    path.write_bytes(b"a;b\n1;\xe4\n")
    assert open_stream(path, Reading()).notes == FORMATS["csv"].read(path, Reading()).notes != []


def test_progress_is_told(tmp_path):
    for path in (put(TABLE, tmp_path / "t.parquet", 1), tmp_path / "t.csv"):
        if path.suffix == ".csv":
            path.write_text("a\n" + "1\n" * 100)
        shares: list[float] = []
        for _ in open_stream(path, Reading()).batches(rows=7, advance=shares.append):
            pass
        assert shares == sorted(shares)
        assert shares[-1] == 1.0


# Damage.


def refused(words, action):
    with pytest.raises(InputError, match=words) as failure:
        action()
    assert failure.value.__cause__ is None
    assert failure.value.__suppress_context__ or failure.value.__context__ is None
    return str(failure.value)


def numbers(rows):
    return pa.table({"a": list(range(rows)), "b": [f"text {i}" for i in range(rows)]})


def test_a_damaged_row_group_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(numbers(3000), path, row_group_size=1000, use_dictionary=False)
    begin = pq.read_metadata(path).row_group(1).column(1).data_page_offset
    content = bytearray(path.read_bytes())
    content[begin : begin + 300] = b"\xff" * 300
    path.write_bytes(content)
    stream = open_stream(path, Reading())
    batches = stream.batches(rows=100)
    for _ in range(10):
        next(batches)
    said = refused("t.parquet is damaged .* row group 2 of 3 cannot be read$", lambda: [*batches])
    assert "text" not in said
    # Other columns are still fine.
    assert together(stream, ["a"]).num_rows == 3000


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_that_are_cut_off(tmp_path, suffix):
    path = put(numbers(3000), tmp_path / f"t{suffix}", 1000)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    refused("is damaged or cut off", lambda: open_stream(path, Reading()))
    assert estimated_size(path) == len(content) // 2
    path.write_bytes(b"")
    refused("it is empty", lambda: open_stream(path, Reading()))
    path.write_bytes(b"something else")
    refused("does not begin like one", lambda: open_stream(path, Reading()))


def test_a_damaged_batch(tmp_path):
    path = put(numbers(3000), tmp_path / "t.arrow", 1000)
    content = bytearray(path.read_bytes())
    # The lengths of texts are nonsense now.
    begin = content.index((6).to_bytes(4, "little") + (12).to_bytes(4, "little"))
    content[begin : begin + 400] = b"\xff" * 400
    path.write_bytes(content)
    stream = open_stream(path, Reading())
    refused("t.arrow is damaged or cut off", lambda: [*stream.batches()])


def test_text_files_with_faults_say_the_same_as_whole_ones(tmp_path):
    path = tmp_path / "t.csv"
    for content in ("", "a,b\n", "a,a\n1,2\n", "a,\n1,2\n", 'a,b\n"1,2\n', "a,b\n1\n", "\n", "a\0"):
        path.write_text(content)
        with pytest.raises(InputError) as whole:
            FORMATS["csv"].read(path, Reading())
        with pytest.raises(InputError) as parts:
            open_stream(path, Reading())
        assert str(parts.value) == str(whole.value)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_tables_that_cannot_be_used_say_the_same_as_whole_ones(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    for table in (
        pa.table({"a": pa.array([], pa.int64())}),
        pa.table({}),
        pa.table([[1]], names=[""]),
        pa.table([[1], [2]], names=["a", "a"]),
    ):
        put(table, path, 1)
        with pytest.raises(InputError) as whole:
            ARROW.read(path, Reading())
        with pytest.raises(InputError) as parts:
            open_stream(path, Reading())
        assert str(parts.value) == str(whole.value)


def test_files_that_are_not_there(tmp_path):
    for name in ("t.parquet", "t.csv", "t.arrow"):
        refused(
            "cannot be read: No such file",
            lambda name=name: open_stream(tmp_path / name, Reading()),
        )
        assert estimated_size(tmp_path / name) is None


# Change.


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".csv"])
@pytest.mark.parametrize("when", ["before", "during"])
@pytest.mark.parametrize("how", ["rewritten", "replaced", "touched", "cut", "gone"])
def test_files_that_change(tmp_path, suffix, when, how):
    path, other = tmp_path / f"t{suffix}", tmp_path / f"other{suffix}"
    for each in (path, other):
        if suffix == ".csv":
            FORMATS["csv"].write(numbers(3000), each, None)
        else:
            put(numbers(3000), each, 1000)
    content = path.read_bytes()
    with small_blocks(1000):
        stream = open_stream(path, Reading())
        batches = stream.batches(rows=10)
        if when == "during":
            next(batches)
        if how == "rewritten":
            path.write_bytes(content[:-1] + b"\n")
        elif how == "replaced":
            stamp = path.stat()
            other.replace(path)
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        elif how == "touched":
            os.utime(path)
        elif how == "cut":
            path.write_bytes(content[: len(content) // 2])
        else:
            path.unlink()
        refused(f"t{suffix} was changed while it was being read; ", lambda: [*batches])


def test_rows_are_counted(tmp_path):
    stream = open_stream(put(numbers(10), tmp_path / "t.parquet", 4), Reading())
    refused("10 rows came where 11 should be", lambda: [*replace(stream, rows=11).batches()])


# Folders.


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "people"
    place.mkdir()
    put(numbers(5), place / "b.parquet", 2)
    pq.write_table(numbers(7), place / "a.pq")
    put(numbers(5).slice(0, 0), place / "c.parquet", 1)
    for name in (".hidden.parquet", "_metadata.parquet", "note.txt"):
        (place / name).write_text("not a table")
    return place


def test_a_folder_is_one_table(folder):
    stream = open_stream(folder, Reading())
    assert_same(together(stream, rows=3), pa.concat_tables([numbers(7), numbers(5)]))
    assert (stream.rows, stream.origin.name, stream.origin.form) == (12, "people", "arrow")
    assert stream.notes == []
    names = ("a.pq", "b.parquet", "c.parquet")
    lines = "".join(f"{name}\0{sha256_of(folder / name)}\n" for name in names)
    assert stream.sha256 == hashlib.sha256(lines.encode()).hexdigest()
    assert estimated_size(folder) == stream.size == sum(estimated_size(folder / n) for n in names)
    (folder / "inner").mkdir()
    assert "people were not read" in open_stream(str(folder) + "/", Reading()).notes[0]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (pa.table({"a": [1]}), "there are 1 of them, not 2"),
        (pa.table({"a": [1], "c": ["x"]}), "'c' where 'b' is expected"),
        (pa.table({"b": ["x"], "a": [1]}), "'b' where 'a' is expected"),
        (pa.table({"a": [1.5], "b": ["x"]}), "'a' is of type double, not int64"),
        (pa.table({"a": [1], "b": ["x"], "d": [1]}), "there are 3 of them, not 2"),
    ],
)
def test_files_of_a_folder_must_have_the_same_columns(folder, other, words):
    pq.write_table(other, folder / "bb.parquet")
    said = refused("bb.parquet has other columns than a.pq", lambda: open_stream(folder, Reading()))
    assert words in said


def test_a_column_of_a_folder_is_required_only_if_it_is_everywhere(folder):
    strict = pa.schema([pa.field("a", pa.int64(), nullable=False), ("b", pa.string())])
    pq.write_table(numbers(7).cast(strict), folder / "a.pq")
    stream = open_stream(folder, Reading())
    assert stream.schema.field("a").nullable
    assert_same(together(stream), pa.concat_tables([numbers(7), numbers(5)]))
    assert_same(open_table(folder, Reading()).frame.hashable(), together(stream))
    alone = open_stream(folder / "a.pq", Reading())
    assert not alone.schema.field("a").nullable
    assert together(alone).schema == strict


def test_folders_that_change_or_hold_nothing(folder, tmp_path):
    stream = open_stream(folder, Reading())
    batches = stream.batches(rows=2)
    next(batches)
    put(numbers(1), folder / "d.parquet", 1)
    refused("people was changed while it was being read", lambda: [*batches])
    empty = tmp_path / "empty.parquet"
    empty.mkdir()
    refused("no Parquet files in the folder", lambda: open_stream(empty, Reading()))
    assert estimated_size(empty) is None
    put(numbers(1).slice(0, 0), empty / "a.parquet", 1)
    refused("has no rows", lambda: open_stream(empty, Reading()))
    (folder / "d.parquet").write_bytes(b"PAR1 and no more")
    refused("d.parquet is damaged", lambda: open_stream(folder, Reading()))


def test_dictionaries_of_a_folder_may_differ(folder):
    for name, words in (("a.pq", ["x", "y"]), ("b.parquet", ["y", "z"]), ("c.parquet", ["z"])):
        pq.write_table(pa.table({"word": pa.array(words).dictionary_encode()}), folder / name)
    whole = open_table(folder, Reading()).frame.column("word")
    assert whole.to_pylist() == ["x", "y", "y", "z", "z"]
    assert together(open_stream(folder, Reading()))["word"].to_pylist() == whole.to_pylist()


# What cannot be read in parts.


@pytest.mark.parametrize("address", ["-", "t.xlsx", "t.sav", "sqlite:///t.db#people"])
def test_only_some_forms_can_be_read_in_parts(address):
    assert estimated_size(address) is None
    with pytest.raises(OptionError, match=r"cannot be read in parts; .* \.csv, .* \.parquet"):
        open_stream(address, Reading())
    with pytest.raises(OptionError, match="tells no format"):
        open_stream("t.unknown", Reading())
    assert estimated_size("t.unknown") is None


def test_sizes_are_about_those_in_memory(tmp_path):
    table = pa.table({"a": [1] * 100_000, "b": pa.array([1.5, None] * 50_000)})
    for suffix in SUFFIXES:
        path = tmp_path / f"t{suffix}"
        ARROW.write(table, path, None)
        size = open_stream(path, Reading()).size
        assert 0.8 * table.nbytes < size < 1.5 * table.nbytes
        assert suffix == ".feather" or estimated_size(path) == size
    path = tmp_path / "t.csv"
    FORMATS["csv"].write(table, path, None)
    assert estimated_size(path) == open_stream(path, Reading()).size == path.stat().st_size
