"""Tables written in parts, beside the same tables written whole."""

import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError, OptionError
from microagg.base.files import whole_path
from microagg.base.reading import Reading
from microagg.table.checks import fingerprint
from microagg.table.formats.arrow import Arrow, Layout
from microagg.table.formats.arrow.files import open_writer
from microagg.table.formats.csv import Csv
from microagg.table.formats.csv.layout import ColumnLayout, CsvLayout
from microagg.table.formats.format import spelt_out
from microagg.table.opening import Origin
from microagg.table.sinks import open_sink
from microagg.table.streams import open_stream
from tests.table.test_arrow_files import TABLE
from tests.table.test_csv_files import layouts, text_tables

ARROW, CSV = Arrow(), Csv()
SUFFIXES = (".parquet", ".feather", ".arrow", ".arrows")
ELSEWHERE = Origin("table", "frame", Reading())
COLOURS = pa.table({"colour": pa.array(["red", "blue", None, "red"]).dictionary_encode()})
NOT_IN_CSV = ("bytes", "list", "struct")


def write_in_parts(table, path, origin=ELSEWHERE, rows=1, schema=None, **pieces):
    with open_sink(path, schema or table.schema, origin, table.num_rows, **pieces) as sink:
        for batch in table.to_batches(max_chunksize=rows):
            sink.write(batch)
    return path


def read(path):
    return ARROW.read(path, Reading()).table


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("rows", [1, 2, 100])
def test_in_parts_as_whole(tmp_path, suffix, rows):
    table = pa.concat_tables([TABLE] * 4).unify_dictionaries()
    table = table.append_column("colour", pa.chunked_array([COLOURS["colour"].chunk(0)] * 3))
    path = write_in_parts(table, tmp_path / f"parts{suffix}", rows=rows, most_rows=5)
    parts = read(path)
    ARROW.write(table, tmp_path / f"whole{suffix}", None)
    whole = read(tmp_path / f"whole{suffix}")
    assert fingerprint(parts) == fingerprint(whole)
    kept = suffix in (".parquet", ".arrows")
    spelt = spelt_out(whole.schema, lambda kind: kind.ordered or not kept)
    assert parts.schema.equals(spelt)
    assert pa.types.is_dictionary(parts.schema.field("colour").type) == kept
    assert parts.schema.field("category").type == pa.string()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_values_that_no_record_has_stay_out(tmp_path, suffix):
    words = pa.array(["red", "blue", "secret-one", "secret-two"])
    path = tmp_path / f"t{suffix}"
    plain = Origin("t", "arrow", Reading(), Layout(pa.schema([]), "uncompressed"))
    for ordered in (False, True):
        codes = pa.array([0, 1, None, 0], pa.int8())
        column = pa.DictionaryArray.from_arrays(codes, words, ordered=ordered)
        table = pa.table({"colour": column})
        write_in_parts(table, path, plain, most_rows=1)
        assert b"secret" not in path.read_bytes()
        assert read(path)["colour"].to_pylist() == ["red", "blue", None, "red"]


def test_small_batches_are_gathered(tmp_path):
    table = pa.table({"a": list(range(2000))})
    path = write_in_parts(table, tmp_path / "t.parquet", rows=3)
    assert pq.ParquetFile(path).num_row_groups == 1
    assert read(path).equals(table)
    write_in_parts(table, path, rows=100, most_bytes=8000)
    assert pq.ParquetFile(path).num_row_groups == 2
    assert read(path).equals(table)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_looks_like_the_input(tmp_path, suffix):
    noted = {
        "index_columns": [{"kind": "range", "start": 0, "stop": 3, "step": 1}],
        "column_indexes": [],
        "columns": [{"field_name": name, "metadata": None} for name in "ab"],
    }
    fields = [pa.field("a", pa.int64(), False, {"label": "Age"}), pa.field("b", pa.string())]
    metadata = {"pandas": json.dumps(noted), "other": "anything"}
    table = pa.table([[1, 2, 3], ["x", None, "z"]], schema=pa.schema(fields, metadata))
    source = tmp_path / f"source{suffix}"
    with open_writer(source, table.schema, "gzip") as put:
        put(table)
    stream = open_stream(source, Reading())

    def both(table, schema):
        parts = write_in_parts(table, tmp_path / f"parts{suffix}", stream.origin, schema=schema)
        whole = tmp_path / f"whole{suffix}"
        ARROW.write(table, whole, stream.origin.layout_for(whole))
        assert read(parts).schema.equals(read(whole).schema, check_metadata=True)
        if suffix == ".parquet":
            assert pq.read_metadata(parts).row_group(0).column(0).compression == "GZIP"
        return read(parts)

    same = both(table, stream.schema)
    assert same.schema.equals(table.schema, check_metadata=True)
    fewer = both(table.slice(0, 2), stream.schema)
    assert json.loads(fewer.schema.metadata[b"pandas"])["index_columns"] == []
    changed = both(table.drop_columns("b"), pa.schema([fields[0]]))
    (column,) = json.loads(changed.schema.metadata[b"pandas"])["columns"]
    assert column["field_name"] == "a"
    assert changed.schema.field("a").metadata == {b"label": b"Age"}
    gaps = table.set_column(0, "a", pa.array([1, None, 3]))
    assert both(gaps, gaps.schema).schema.field("a").nullable
    required = "'a' has missing values, but the file to write requires it full"
    batch = pa.RecordBatch.from_arrays(
        [pa.array([None], pa.int64()), pa.array(["x"])], schema=table.schema
    )
    with pytest.raises(InputError, match=required):
        write_in_parts(pa.Table.from_batches([batch]), tmp_path / f"gaps{suffix}", stream.origin)


@settings(max_examples=60, deadline=None)
@given(made=text_tables(), layout=layouts, rows=st.integers(1, 9), piece=st.integers(1, 9))
def test_text_files_are_the_same_bytes(made, layout, rows, piece):
    names, records = made
    columns = [pa.array(column, pa.string()) for column in zip(*records, strict=True)]
    table = pa.table(columns, names)
    with tempfile.TemporaryDirectory() as folder:
        whole, parts = Path(folder) / "whole.csv", Path(folder) / "parts.csv"
        CSV.write(table, whole, layout)
        origin = Origin("t", "csv", Reading(), layout, parts)
        write_in_parts(table, parts, origin, rows, most_rows=piece)
        assert parts.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_text_files_of_all_types_are_the_same_bytes(tmp_path, suffix):
    table = pa.concat_tables([TABLE.drop_columns(list(NOT_IN_CSV))] * 2).unify_dictionaries()
    table = table.append_column("colour", pa.chunked_array([COLOURS["colour"].chunk(0)[:3]] * 2))
    table = table.append_column("half", pa.array([0.5, None, 2.0] * 2, pa.float16()))
    styles = {name: ColumnLayout("NA", ("TRUE", "FALSE"), "T") for name in table.column_names}
    layout = CsvLayout(";", "utf-16-le", True, ",", "\r\n", columns=styles)
    for origin in (ELSEWHERE, Origin("t", "csv", Reading(), layout, tmp_path / "t.csv")):
        whole = tmp_path / f"whole{suffix}"
        CSV.write(table, whole, origin.layout_for(whole))
        parts = write_in_parts(table, tmp_path / f"parts{suffix}", origin, most_rows=4)
        assert parts.read_bytes() == whole.read_bytes()


def test_what_cannot_be_written(tmp_path):
    numbers = pa.table({"a": [1]})
    for name in ("t.xlsx", "t.sav"):
        with pytest.raises(OptionError, match="cannot be written in parts"):
            write_in_parts(numbers, tmp_path / name)
    with pytest.raises(InputError, match=r"'list' is of type .* which CSV cannot hold"):
        write_in_parts(TABLE.select(["list"]), tmp_path / "t.csv")
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    with pytest.raises(InputError, match="Parquet file cannot hold the type"):
        write_in_parts(pa.table({"u": union}), tmp_path / "t.parquet")
    far = pa.table({"a": pa.array([2**60], pa.timestamp("s"))})
    with pytest.raises(InputError, match="cannot hold all values") as failure:
        write_in_parts(far, tmp_path / "t.parquet")
    assert str(2**60)[:6] not in str(failure.value)
    assert failure.value.__suppress_context__
    snowman = pa.table({"a": ["☃"]})
    origin = Origin("t", "csv", Reading(), CsvLayout(encoding="cp1252"), tmp_path / "t.csv")
    with pytest.raises(InputError, match="characters that cp1252 cannot write"):
        write_in_parts(snowman, tmp_path / "t.csv", origin)


def test_what_goes_wrong_elsewhere_is_not_the_fault_of_the_file(tmp_path):
    def fail():
        with open_sink(tmp_path / "t.parquet", COLOURS.schema, ELSEWHERE, 1):
            raise pa.ArrowNotImplementedError

    with pytest.raises(pa.ArrowNotImplementedError):
        fail()


def test_new_and_renamed_columns_are_written(tmp_path):
    source = tmp_path / "source.parquet"
    pq.write_table(pa.table({"a": [1]}), source)
    origin = open_stream(source, Reading()).origin
    table = pa.table({"b": [1.5]})
    assert read(write_in_parts(table, tmp_path / "t.parquet", origin)).equals(table)


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".csv"])
def test_nothing_is_left_of_what_was_not_finished(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"

    def stop_half_way():
        with (
            whole_path(path) as temporary,
            open_sink(temporary, COLOURS.schema, ELSEWHERE, 8) as sink,
        ):
            sink.write(COLOURS.to_batches()[0])
            raise KeyError

    with pytest.raises(KeyError):
        stop_half_way()
    assert list(tmp_path.iterdir()) == []
    with whole_path(path) as temporary:
        write_in_parts(COLOURS, temporary)
    assert list(tmp_path.iterdir()) == [path]
