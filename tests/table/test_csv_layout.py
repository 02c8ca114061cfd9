"""Encoding, delimiter, decimal, line ends: given or found out."""

import hashlib

import pyarrow as pa
import pytest

from microagg.base.errors import InputError, OptionError
from microagg.base.reading import Reading
from microagg.table.formats.csv.layout import outline, understand


@pytest.fixture
def look(tmp_path):
    def look(content, **settings):
        path = tmp_path / "data.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return outline(path, Reading(**settings))

    return look


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a\tb\n1;2\t3\n", "\t"),
        ("a|b\n1,2|3\n", "|"),
        ("name\nx\n", ","),
        ('"a,b";c\n"1,2";3\n', ";"),
        ('"a;x";"b;x",c\n1,2\n', ","),
        ('a;b\n"line one, with\nline two,,";2\n', ";"),
        ('a,b\n5" pipe;x,"q"\n', ","),
        ('a;b,c\n1;2\n"3,3";4\n', ";"),
    ],
)
def test_delimiter_is_the_one_records_agree_on(look, text, delimiter):
    assert look(text).layout.delimiter == delimiter


def test_delimiter_is_found_where_the_sample_ends_inside_quotes(look):
    found = look('a;b\n1,1;2\n"' + "x,\n" * 500_000 + '";3\n')
    assert (found.layout.delimiter, found.names) == (";", ["a", "b"])


def test_a_given_delimiter_is_taken(look):
    assert look("a;b,c\n1;2,3\n", delimiter=";").names == ["a", "b,c"]
    assert look("a:b\n1:2\n", delimiter=":").names == ["a", "b"]


@pytest.mark.parametrize(
    ("end", "text"), [("\n", "a\n1\n"), ("\r\n", '"a\nb"\r\n1\n'), ("\r", "a\r1\r")]
)
def test_line_ends(look, end, text):
    assert look(text).layout.line_end == end


@pytest.mark.parametrize(
    ("codec", "encoding", "marked"),
    [
        ("utf-8", "utf-8", False),
        ("utf-8-sig", "utf-8", True),
        ("utf-16", "utf-16-le", True),
        ("utf-32", "utf-32-le", True),
        ("cp1252", "cp1252", False),
    ],
)
def test_encoding_is_found(look, codec, encoding, marked):
    content = "größe,b\nä€,2\n".encode(codec)
    found = look(content)
    assert (found.layout.encoding, found.layout.byte_order_mark) == (encoding, marked)
    assert found.names == ["größe", "b"]
    assert found.sha256 == hashlib.sha256(content).hexdigest()
    assert bool(found.notes) == (codec == "cp1252")


def test_bytes_far_from_the_start_count_for_the_encoding(look):
    found = look(b"a,b\n" + b"1,2\n" * 600_000 + b"\xe4,2\n")
    assert found.layout.encoding == "cp1252"


def test_a_given_encoding_is_taken(look):
    assert look("a\nж\n".encode("koi8-r"), encoding="KOI8-R").layout.encoding == "koi8-r"
    big = look(b"\xfe\xff" + "a\n1\n".encode("utf-16-be"), encoding="utf-16")
    assert (big.layout.encoding, big.layout.byte_order_mark) == ("utf-16-be", True)
    assert look("a\n1\n".encode("utf-16-le"), encoding="utf-16").names == ["a"]


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"", "is empty"),
        (b"\n\r\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"\na,b\n1,2\n", "first line .* is blank"),
        (b"x" * (2 << 20) + b"\n1\n", "longer than 1 MB"),
        (b"a,b,a,b,c\n1,2,3,4,5\n", "more than one column 'a'"),
        (b"a,,c\n1,2,3\n", "column 2 has no name"),
        (b"a,b\n1,\x00\n", "NUL"),
        ("a,b\n1,2\n".encode("utf-16-le"), "UTF-16"),
        (b"PK\x03\x04\x14\x00\x00\xff", "a zip archive or a workbook"),
        (b"PAR1\x15\x04\x00\xff\xfePAR1", "a Parquet file"),
        (b"\x1f\x8b\x08\x81", "a compressed file"),
        (b"\xff\x01\x02\x03,\n", "no text has"),
        (b"a\n\x81\xff\n", "not cp1252 text near byte"),
    ],
)
def test_hostile_files_get_a_sentence(look, content, hint):
    with pytest.raises(InputError, match=hint):
        look(content)


def test_undecodable_bytes_get_a_sentence(look):
    with pytest.raises(InputError, match=r"not utf-8 text near byte 4; say its --encoding"):
        look(b"a,b\n\xff\xfe,1\n", encoding="utf-8")
    with pytest.raises(InputError, match="not utf-16-le text"):
        look(b"\xff\xfea\x00\n\x00\x00\xd8\n", encoding="utf-16")


@pytest.mark.parametrize(
    "settings",
    [
        {"encoding": "klingon"},
        {"encoding": "hex"},
        {"encoding": "a\0b"},
        {"delimiter": '"'},
        {"delimiter": "\n"},
        {"delimiter": "a"},
        {"delimiter": "-"},
        {"delimiter": "§"},
    ],
)
def test_impossible_settings_get_a_sentence(look, settings):
    with pytest.raises(OptionError, match=r"is unknown|is not possible"):
        look("a,b\n1,2\n", **settings)


TEXT = pa.string()


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        (["1", "-20", "0", "9223372036854775807", "-9223372036854775808"], pa.int64()),
        (["1", " 2", "3 "], pa.int64()),
        (["1", "2.5", ".5", "5.", "1e5", "1E-5", "-0.0", "0.5", "-0", "0e1"], pa.float64()),
        (["12345678901234567890.0", "1e300"], pa.float64()),
        (["9223372036854775808"], TEXT),
        (["0.5", "9007199254740993"], TEXT),
        (["0.5", "9007199254740992", "-9007199254740992"], pa.float64()),
        (["007"], TEXT),
        (["-01.5", "2.5"], TEXT),
        (["00"], TEXT),
        (["+1"], TEXT),
        (["+1.5"], TEXT),
        (["0x10"], TEXT),
        (["inf"], TEXT),
        (["-Infinity", "1.5"], TEXT),
        (["-nan", "1.5"], TEXT),
        (["1e400"], TEXT),
        (["1,5"], TEXT),
        (["1 2"], TEXT),
        (["1", "x"], TEXT),
        (["true", "false"], pa.bool_()),
        (["TRUE"], pa.bool_()),
        (["False", "True"], pa.bool_()),
        (["True", "false"], TEXT),
        (["tRUE"], TEXT),
        (["2020-02-29", "0001-01-01", "9999-12-31"], pa.date32()),
        (["2021-02-29"], TEXT),
        (["2021-2-9"], pa.date32()),
        (["2020-01-01 10:00:00"], pa.timestamp("s")),
        (["2020-01-01 10:00"], pa.timestamp("s")),
        (["2020-01-01T10:00:00.25", "2020-01-01T10:00:00"], pa.timestamp("ms")),
        (["2020-01-01T10:00:00.250000"], pa.timestamp("us")),
        (["2020-01-01T10:00:00.250000001"], pa.timestamp("ns")),
        (["2020-01-01T10:00:00Z"], pa.timestamp("s", "UTC")),
        (["2020-01-01T10:00:00.123-0330"], pa.timestamp("ms", "-03:30")),
        (["2020-01-01T10:00:00Z", "2020-01-01T10:00:00+01:00"], TEXT),
        (["2020-01-01T10:00:00", "2020-01-01 10:00:00"], TEXT),
        (["2020-01-01T10:00:00", "2020-01-01"], TEXT),
        (["2020-01-01T25:00:00"], TEXT),
    ],
)
@pytest.mark.parametrize("missing", [False, True])
def test_a_column_is_what_all_its_fields_are(fields, kind, missing):
    text = pa.array([None, *fields, None] if missing else fields)
    _convert, _layout, values = understand(text, ".")
    assert values.type == kind
    assert values.null_count == 2 * missing
    if kind == TEXT:
        assert values.equals(text)


def test_a_decimal_comma_is_the_only_decimal():
    assert understand(pa.array(["1,5", "-2", "1e3"]), ",")[2].to_pylist() == [1.5, -2.0, 1000.0]
    assert understand(pa.array(["1,5", "2.5"]), ",")[2].type == TEXT
    assert understand(pa.array(["1.5"]), ",")[2].type == TEXT
    assert understand(pa.array(["1,2,3"]), ",")[2].type == TEXT
