"""CSV in and out, beside Python's own csv module as the slow twin."""

import csv
import datetime as dt
import decimal
import gzip
import io
import time
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.base.errors import InputError
from microagg.base.reading import MISSING_VALUES, Reading
from microagg.table.formats.csv import Csv
from microagg.table.formats.csv.layout import ColumnLayout, CsvLayout
from microagg.table.formats.csv.text import as_texts

CSV = Csv()


@pytest.fixture
def load(tmp_path):
    def load(content, typed=None, **settings):
        path = tmp_path / "data.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return CSV.read(path, Reading(**settings), typed)

    return load


@pytest.fixture
def written(tmp_path):
    def written(table, layout=None):
        path = tmp_path / "out.csv"
        CSV.write(table, path, layout)
        return path

    return written


letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff")
words = st.one_of(
    st.sampled_from(["", " ", "NA", '"', '""', ",", ";", "\n", "\r\n", "\r", "a,b", '"x"', " x "]),
    st.text(letters, max_size=6),
)
names = st.lists(words.filter(bool), min_size=1, max_size=4, unique=True)


@st.composite
def text_tables(draw):
    columns = draw(names)
    row = st.lists(words, min_size=len(columns), max_size=len(columns))
    return columns, draw(st.lists(row, min_size=1, max_size=8))


layouts = st.builds(
    CsvLayout,
    delimiter=st.sampled_from([",", ";", "\t", "|", " "]),
    encoding=st.sampled_from(["utf-8", "utf-16-le", "utf-32-be"]),
    byte_order_mark=st.booleans(),
    decimal=st.sampled_from([".", ","]),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
)


@given(text_tables(), layouts, st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_text_is_read_as_python_wrote_it(load, table, layout, quoting):
    columns, rows = table
    stream = io.StringIO()
    # Python leaves a carriage return bare unless it ends lines.
    end = "\r\n" if quoting == csv.QUOTE_MINIMAL else layout.line_end
    writer = csv.writer(stream, delimiter=layout.delimiter, lineterminator=end, quoting=quoting)
    writer.writerows([columns, *rows])
    mark = "\ufeff" if layout.byte_order_mark else ""
    content = (mark + stream.getvalue()).encode(layout.encoding)
    loaded = load(content, [], delimiter=layout.delimiter, encoding=layout.encoding)
    assert loaded.table.column_names == columns
    assert [list(row.values()) for row in loaded.table.to_pylist()] == rows
    assert loaded.layout.byte_order_mark == layout.byte_order_mark
    assert loaded.layout.line_end == end


@given(text_tables(), layouts)
def test_text_is_written_as_python_and_we_read_it(written, table, layout):
    columns, rows = table
    wide = pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=columns)
    path = written(wide, layout)
    text = path.read_bytes().decode(layout.encoding)
    text = text.removeprefix("\ufeff") if layout.byte_order_mark else text
    if layout.line_end != "\r":
        twin = list(csv.reader(io.StringIO(text, newline=""), delimiter=layout.delimiter))
        assert twin == [columns, *rows]
    assert CSV.read(path, CSV.reading_back(layout, [])[0], []).table.equals(wide)


def column_of(values, kind):
    """At least one value there: a column of nothing has no type."""
    there = st.lists(values, min_size=1, max_size=6)
    return st.tuples(there, st.lists(st.none() | values, max_size=6)).map(
        lambda parts: pa.array(parts[0] + parts[1], kind)
    )


def is_words(text):
    return (
        not any(sign.isdigit() for sign in text)
        and text not in ("", *MISSING_VALUES)
        and text.lower() not in ("true", "false", "nan", "inf", "infinity", "-inf", "-infinity")
    )


dates = st.dates()
moments = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))
columns = st.one_of(
    column_of(st.integers(-(2**63), 2**63 - 1), pa.int64()),
    column_of(st.floats(allow_nan=False, allow_infinity=False), pa.float64()),
    column_of(
        st.sampled_from(
            [-0.0, 0.0, 1e-300, 1e308, 5e-324, 1e15, 1e16, 2.0**53, 2.0**63, 0.1, 1e22]
        ),
        pa.float64(),
    ),
    column_of(st.integers(-(2**70), 2**70).map(float), pa.float64()),
    column_of(st.booleans(), pa.bool_()),
    column_of(dates, pa.date32()),
    column_of(moments.map(lambda moment: moment.replace(microsecond=0)), pa.timestamp("s")),
    column_of(moments, pa.timestamp("us")),
    column_of(moments, pa.timestamp("us", "UTC")),
    column_of(moments, pa.timestamp("us", "-03:30")),
    column_of(st.text(letters, max_size=6).filter(is_words), pa.string()),
)
styles = st.builds(
    ColumnLayout,
    missing=st.sampled_from(["", "NA", "None"]),
    booleans=st.sampled_from([("true", "false"), ("TRUE", "FALSE"), ("True", "False")]),
    separator=st.sampled_from([" ", "T"]),
)
zones = {"UTC": ("Z", "+00:00"), "-03:30": ("-03:30", "-0330")}


@settings(max_examples=150)
@given(columns, styles, layouts, st.data())
def test_values_come_back_as_they_were(written, values, style, layout, data):
    zone = getattr(values.type, "tz", None)
    if zone is not None:
        zone = data.draw(st.sampled_from(zones[zone]))
        style = ColumnLayout(style.missing, separator=style.separator, zone=zone)
    layout = CsvLayout(
        layout.delimiter, layout.encoding, layout.byte_order_mark, layout.decimal, layout.line_end,
        columns={"c": style},
    )  # fmt: skip
    reading = Reading(delimiter=layout.delimiter, encoding=layout.encoding, decimal=layout.decimal)
    for table in (pa.table({"c": values}), pa.table({"c": values, "x": ["7"] * len(values)})):
        again = CSV.read(written(table, layout), reading, ["c"])
        got = again.table["c"].combine_chunks()
        assert got.equals(values)
        if pa.types.is_floating(values.type):
            numbers = got.drop_null().to_numpy(), values.drop_null().to_numpy()
            assert np.array_equal(*map(np.signbit, numbers))
        # Written once more, the file is the same to the byte.
        first = (written(table, layout)).read_bytes()
        assert written(again.table, again.layout).read_bytes() == first


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_are_as_short_as_python_writes_them(written, values):
    lines = written(pa.table({"c": values})).read_text().split("\n")[1:-1]
    assert [float(line) for line in lines] == values
    for line, value in zip(lines, values, strict=True):
        digits = [sign for sign in line.split("e")[0] if sign.isdigit()]
        twin = [sign for sign in repr(value).split("e")[0] if sign.isdigit()]
        assert "".join(digits).strip("0") == "".join(twin).strip("0")


def test_what_nobody_asked_for_stays_as_it_is(load, written):
    text = 'a,b\n1.50,1\n007,2\n" x ",3\nNA,4\n"",5\n,6\n+1,7\n'
    loaded = load(text, ["b", "unknown"])
    assert loaded.table["a"].to_pylist() == ["1.50", "007", " x ", "NA", "", "", "+1"]
    assert loaded.table["b"].to_pylist() == [1, 2, 3, 4, 5, 6, 7]
    assert written(loaded.table, loaded.layout).read_text() == (
        "a,b\n1.50,1\n007,2\n x ,3\nNA,4\n,5\n,6\n+1,7\n"
    )


def test_missing_values_come_back_as_the_commonest_text(load, written):
    loaded = load("n,t,e\n1,x,\nNA,NA,\n,NA,NA\nNA,,NA\n-9,y,-9\n", missing_values=("NA", "-9"))
    assert loaded.table.to_pydict() == {
        "n": [1, None, None, None, None],
        "t": ["x", None, None, None, "y"],
        "e": [None] * 5,
    }
    lines = written(loaded.table, loaded.layout).read_text().splitlines()
    assert lines[2:5] == ["NA,NA,", "NA,NA,", "NA,NA,"]


@pytest.mark.parametrize(
    ("text", "found", "values"),
    [
        ("a;b\n1,5;x\n2;y\n", ",", [1.5, 2.0]),
        ("a;b\n1.5;x\n2;y\n", ".", [1.5, 2.0]),
        ("a;b\n1,5;2.5\n2;3.5\n", ".", ["1,5", "2"]),
        ("a;b\n1,5;v2.5\n2;v3.5\n", ",", [1.5, 2.0]),
        ('a,b\n"1,5",x\n"2,5",y\n', ".", ["1,5", "2,5"]),
        ("a;b\n1;x\n2;y\n", ".", [1, 2]),
    ],
)
def test_decimal_comma_is_found(load, text, found, values):
    loaded = load(text)
    assert loaded.layout.decimal == found
    assert loaded.table["a"].to_pylist() == values


def test_a_given_decimal_is_taken(load, written):
    loaded = load('a,b\n"1,5",x\n2,y\n', decimal=",")
    assert loaded.table["a"].to_pylist() == [1.5, 2.0]
    assert written(loaded.table, loaded.layout).read_text() == 'a,b\n"1,5",x\n"2,0",y\n'


# Enough rows for several blocks: what the first one says is not the last word.
MANY = 200_000


@pytest.mark.parametrize(
    ("early", "late", "kind"),
    [
        ("5", "2.5", pa.float64()),
        ("2.5", "5", pa.float64()),
        ("9007199254740993", "0.5", pa.string()),
        ("0.5", "9007199254740993", pa.string()),
        ("1.50", "x", pa.string()),
        ("1.50", "true", pa.string()),
        ("x", "1", pa.string()),
        ("", "7", pa.int64()),
        ("NA", "x", pa.string()),
        ("true", "TRUE", pa.string()),
        ("2020-01-01", "2020-01-01 10:00:00", pa.string()),
        ("2020-01-01 10:00:00", "2020-01-01 10:00:00.123456", pa.timestamp("us")),
        ("9020-01-01 10:00:00", "2020-01-01 10:00:00.123456789", pa.string()),
    ],
)
def test_a_column_may_change_its_mind_late(load, early, late, kind):
    loaded = load(f"a,b\n{early},1\n" + f"{early},1\n" * MANY + f"{late},1\n")
    column = loaded.table["a"]
    assert column.type == kind
    assert len(column) == MANY + 2
    assert loaded.table["b"].type == pa.int64()
    if kind == pa.string():
        assert column[0].as_py() == (None if early in ("", "NA") else early)
        assert column[-1].as_py() == late
    if kind == pa.float64():
        assert (column[0].as_py(), column[-1].as_py()) == (float(early), float(late))


def test_progress_goes_from_nothing_to_all(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b\n" + "1.25,7\n" * 300_000)
    shares = []
    CSV.read(path, Reading(), advance=shares.append)
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] <= shares[-1] == 1.0
    assert len(shares) > 2


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n\r\n", "\n\n\n"])
def test_blank_lines_at_the_end_are_nothing(load, end):
    assert load(f"a\n1\n\n3{end}").table["a"].to_pylist() == [1, None, 3]
    assert load(f"a,b\n1,2\n\n3,4{end}").table["a"].to_pylist() == [1, 3]


def test_windows_text_is_read_and_written_alike(load, written):
    content = "größe;b\r\nä€;1,5\r\n".encode("cp1252")
    loaded = load(content)
    assert loaded.notes
    assert loaded.table["größe"].to_pylist() == ["ä€"]
    assert written(loaded.table, loaded.layout).read_bytes() == content


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("a,b\n", "no records"),
        ("a,b", "no records"),
        ("a,b\n\n\n", "no records"),
        (
            "a,b\n1,2\n\n1,secret,3\n",
            "row 3 of data.csv has 3 field\\(s\\), the header, row 1, has 2",
        ),
        ("a,b\n" + "1,2\n" * MANY + "secret\n", f"row {MANY + 2} of data.csv has 1 field"),
        ('a,b\n1,2\n3,"secret\n5,6\n', "quote that is never closed"),
        ('a,b\n1,2\n3,"secret', "quote that is never closed"),
        ('a,b\n1,2\n"secret\n', "quote that is never closed"),
        ('a\n1\n"secret\n\n', "quote that is never closed"),
        ('a,b\n1,"', "quote that is never closed"),
        ('"a,b\n1,2\n', "quote"),
        ('a,b\n1,2\n3,"secret\n' + "1,2\n" * 1_000_000, "a quote may never be closed"),
    ],
)
def test_hostile_files_get_a_sentence(load, content, hint):
    with pytest.raises(InputError, match=hint) as caught:
        load(content)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_line_of_a_hundred_megabytes_is_refused_at_once(tmp_path):
    path = tmp_path / "data.csv"
    with path.open("wb") as file:
        file.write(b"a,b\n1,")
        for _ in range(100):
            file.write(b"x" * (1 << 20))
        file.write(b"\n")
    begin = time.process_time()
    with pytest.raises(InputError, match="longer than"):
        CSV.read(path, Reading())
    assert time.process_time() - begin < 5


def test_ten_thousand_columns_work(tmp_path, written):
    rng = np.random.default_rng(1)
    rows = [[f"column {i}" for i in range(10_000)], *rng.integers(1, 9, (20, 10_000)) + 0.5]
    path = tmp_path / "wide.csv"
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    begin = time.process_time()
    loaded = CSV.read(path, Reading())
    assert set(loaded.table.schema.types) == {pa.float64()}
    assert written(loaded.table, loaded.layout).read_bytes() == path.read_bytes()
    assert time.process_time() - begin < 20


def test_file_errors_stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError):
        CSV.read(tmp_path / "none.csv", Reading())
    with pytest.raises(IsADirectoryError):
        CSV.read(tmp_path, Reading())


def test_columns_of_other_tables_are_written_sensibly(written):
    moment = dt.datetime(2020, 7, 1, 10, 30, 5)
    table = pa.table(
        {
            "decimal": pa.array([decimal.Decimal("1.50"), None], pa.decimal128(5, 2)),
            "date": pa.array([dt.date(2020, 1, 2), None], pa.date64()),
            "zoned": pa.array([moment, None], pa.timestamp("s", "Europe/Berlin")),
            "utc": pa.array([moment, None], pa.timestamp("ms", "UTC")),
            "time": pa.array([dt.time(1, 2, 3), None], pa.time32("s")),
            "duration": pa.array([90, None], pa.duration("s")),
            "category": pa.array(["x,y", None]).dictionary_encode(),
            "numbers": pa.array([2.0, None]).dictionary_encode(),
            "single": pa.array([0.1, float("nan")], pa.float32()),
            "nothing": pa.nulls(2),
            "large": pa.array(["q", None], pa.large_string()),
            "view": pa.array(["v", None], pa.string_view()),
            "unsigned": pa.array([2**64 - 1, None], pa.uint64()),
            "infinite": pa.array([float("inf"), None]),
        }
    )
    assert [as_texts(table[name], name, None)[1].as_py() for name in table.column_names] == [
        ""
    ] * 14
    header, first, second, rest = written(table).read_text().split("\n")
    assert header == ",".join(table.column_names)
    assert first == (
        "1.50,2020-01-02,2020-07-01 12:30:05+0200,2020-07-01 10:30:05.000Z,01:02:03,90,"
        '"x,y",2.0,0.1,,q,v,18446744073709551615,inf'
    )
    assert second == "," * 13
    assert rest == ""


@pytest.mark.parametrize(
    "values",
    [pa.array([b"x"]), pa.array([[1]]), pa.array([{"a": 1}]), pa.array([b"x"]).dictionary_encode()],
)
def test_what_csv_cannot_hold_is_refused(written, values):
    with pytest.raises(InputError, match="column 'odd' is of type"):
        written(pa.table({"odd": values}))
    with pytest.raises(InputError, match="without columns"):
        written(pa.table({}))


def test_characters_the_encoding_lacks_are_refused(written):
    with pytest.raises(InputError, match="cp1252 cannot write") as caught:
        written(pa.table({"a": ["secret ж"]}), CsvLayout(encoding="cp1252"))
    assert "secret" not in str(caught.value)


def test_real_workbooks_and_parquet_files_are_told_apart(tmp_path):
    path = tmp_path / "data.csv"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(InputError, match="a zip archive or a workbook"):
        CSV.read(path, Reading())
    parquet.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(InputError, match="a Parquet file"):
        CSV.read(path, Reading())


def test_slices_and_many_batches_are_written_whole(written):
    values = np.arange(150_000)
    table = pa.table({"a": values, "t": [f'"{i}' for i in values]}).slice(1000, 140_000)
    again = CSV.read(written(table), Reading(), ["a"]).table
    assert again.equals(table)


@pytest.mark.parametrize("suffix", [".csv.gz", ".csv.zst", ".tsv.gz"])
@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_compressed_files_in_and_out(tmp_path, suffix, engine):
    ages = np.random.default_rng(0).integers(18, 90, 90)
    sign = "\t" if "tsv" in suffix else ";"
    lines = [f"age{sign}note", *(f"{age}{sign}x,y" for age in ages)]
    source, target = tmp_path / f"t{suffix}", tmp_path / f"r{suffix}"
    with pa.output_stream(source) as file:
        file.write("\r\n".join(lines).encode())
    settings = {"k": 3, "quasi_identifiers": "age", "engine": engine}
    with microagg.protect(source, **settings) as release:
        assert release.write(target).passed
        release.write(tmp_path / "plain.csv")
    with pa.input_stream(target) as file:
        content = file.read()
    assert len(content) > target.stat().st_size
    assert content.startswith(f"age{sign}note\r\n".encode())
    if sign == ";":
        assert content == (tmp_path / "plain.csv").read_bytes()
    # The record knows it as it lies there.
    found = microagg.assess(source, target, record=f"{target}.record.json")
    assert found.k_found >= 3


def test_gzip_is_what_others_read(tmp_path):
    CSV.write(pa.table({"x": [1, 2]}), tmp_path / "t.csv.gz", None)
    assert gzip.decompress((tmp_path / "t.csv.gz").read_bytes()) == b"x\n1\n2\n"
    (tmp_path / "u.csv.gz").write_bytes(gzip.compress(b"x\n1\n2\n"))
    assert CSV.read(tmp_path / "u.csv.gz", Reading()).table["x"].to_pylist() == [1, 2]
    for content in (b"x\n1\n", gzip.compress(b"x\n" + bytes(range(48, 58)) * 999)[:-20]):
        (tmp_path / "u.csv.gz").write_bytes(content)
        with pytest.raises(InputError, match=r"u\.csv\.gz is damaged"):
            CSV.read(tmp_path / "u.csv.gz", Reading())


@pytest.mark.parametrize(
    ("late", "missing", "kind", "gaps"),
    [
        ("", (), pa.int64(), 1),
        ("-9", ("-9",), pa.int64(), 1),
        ("-9", (), pa.int64(), 0),
        ("NA", ("NA",), pa.int64(), 1),
        ("nan", ("nan",), pa.int64(), 1),
        ("nan", (), pa.string(), 0),
        ("007", ("007",), pa.int64(), 1),
        ("1.5", (), pa.float64(), 0),
        ("x", (), pa.string(), 0),
    ],
)
def test_a_late_block_is_looked_at_as_the_first(tmp_path, late, missing, kind, gaps):
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["x,y", *["12,a"] * 400, f"{late},b", *["13,c"] * 400]) + "\n")
    table = Csv(block=256).read(path, Reading(missing_values=missing)).table
    assert table["x"].type == kind
    assert table["x"].null_count == gaps
    assert len(table) == 801


@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_number_of_a_bad_row_is_told_whatever_the_threads(tmp_path, monkeypatch, threads):
    monkeypatch.setenv("MICROAGG_THREADS", threads)
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["x,y", *["1,2"] * 500, "1,2,3", *["1,2"] * 500]) + "\n")
    with pytest.raises(InputError, match=r"row 502 of data\.csv has 3 field"):
        Csv(block=256).read(path, Reading())


NUMBERS = {"x": pa.int64(), "y": pa.float64()}


def read_back(tmp_path, text, rows=2, decimal="."):
    path = tmp_path / "data.csv"
    path.write_text(text)
    layout = CsvLayout(delimiter=";", decimal=decimal)
    return CSV.read_back(path, layout, NUMBERS, rows)


def test_numbers_are_read_back_as_such(tmp_path):
    for sign in ".,":
        text = "x;y;z\n1;0.5;007\n-2;1e-9;\n".replace(".", sign)
        back = read_back(tmp_path, text, decimal=sign)
        assert back.table.to_pydict() == {"x": [1, -2], "y": [0.5, 1e-9], "z": ["007", ""]}
        assert back.table.schema.types == [pa.int64(), pa.float64(), pa.string()]
        assert back.sha256 == CSV.read(tmp_path / "data.csv", Reading()).sha256


@pytest.mark.parametrize(
    ("text", "x"),
    [
        ("x;y;z\n1;0.5;a\nNA;1.5;b\n", ["1", "NA"]),
        ("x;y;z\n1;0.5;a\n;1.5;b\n", [1, None]),
        ("x;y;z\n1;0.5;a\n2;1.5;b\n3;1.5;b\n", [1, 2, 3]),
        ("x;y;z\n1;0.5;a\n", [1]),
    ],
)
def test_what_was_not_meant_shows_when_it_is_read_back(tmp_path, text, x):
    assert read_back(tmp_path, text).table["x"].to_pylist() == x


@pytest.mark.parametrize(("rows", "block"), [(3000, 1 << 9), (100_000, Csv.block)])
def test_the_same_whatever_the_threads(tmp_path, threads, rows, block):
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "number": rng.normal(size=rows),
            "whole": rng.integers(0, 1000, rows),
            "late": ["7"] * (rows - 1) + ["seven"],
            "text": [f"{i}; {i % 7}" for i in range(rows)],
        }
    )
    layout, outcomes = CsvLayout(delimiter=";"), []
    for count in (1, 2, 3, 8):
        threads(count)
        path = tmp_path / f"{count}.csv"
        CSV.write(table, path, layout)
        loaded = Csv(block=block, block_per_column=0).read(path, Reading())
        back = CSV.read_back(path, layout, {"number": pa.float64()}, rows)
        assert loaded.table.combine_chunks() == table
        outcomes.append((path.read_bytes(), loaded.layout, back.table))
    assert all(outcome == outcomes[0] for outcome in outcomes)


def test_integers_are_such_wherever_blocks_end(tmp_path):
    path = tmp_path / "data.csv"
    for rows in range(100, 200):
        path.write_text("x,y\n" + "1,2\n" * rows)
        assert Csv(block=64, block_per_column=0).read(path, Reading()).table["x"].type == pa.int64()
