"""What every registered format keeps."""

import datetime as dt
import subprocess
import sys

import pyarrow as pa
import pytest

from microagg.base.errors import InputError, OptionError
from microagg.base.reading import Reading
from microagg.table.checks import fingerprint
from microagg.table.formats import FORMATS, check_writable, format_of
from microagg.table.formats.format import Format
from microagg.table.opening import Origin, open_table
from microagg.table.sinks import digests_for, open_sink, read_back_stream
from microagg.table.streams import estimated_size, open_stream
from microagg.table.writing import draft_in_database, write_file

ELSEWHERE = Origin("table", "frame", Reading())
# What every format holds, with and without gaps.
TABLE = pa.table(
    {
        "whole": pa.array([3, 1, 2, 3], pa.int64()),
        "real": pa.array([0.1, -2.5, 1e50, 0.5]),
        "word": pa.array(["Zürich", "a;b", 'say "x"', "007"]),
        "day": pa.array([dt.date(2020, 2, 29), dt.date(1999, 12, 31)] * 2),
        "moment": pa.array([dt.datetime(2020, 1, 2, 3, 4, 5)] * 4, pa.timestamp("ms")),
        "whole_gap": pa.array([None, 1, 2, None], pa.int64()),
        "real_gap": pa.array([0.1, None, None, 0.5]),
        "word_gap": pa.array(["x", None, "y", None]),
        "day_gap": pa.array([None, dt.date(1999, 12, 31), None, dt.date(2000, 1, 1)]),
    }
)
FILES = [each for each in FORMATS.values() if each.is_file]
WRITTEN = [suffix for each in FILES for suffix in each.suffixes if suffix not in each.only_read]
IN_PARTS = [suffix for suffix in WRITTEN if format_of(f"t{suffix}").in_parts]
VALUE = 86420.5


@pytest.mark.parametrize("known", FORMATS.values(), ids=FORMATS)
def test_it_says_what_it_is(known):
    assert FORMATS[known.name] is known
    assert isinstance(known, Format)
    assert type(known).read is not Format.read
    assert known.only_read.keys() <= known.suffixes.keys()
    assert all(suffix == suffix.lower() and suffix[0] == "." for suffix in known.suffixes)
    for suffix in known.suffixes:
        address = f"some/folder/t{suffix.upper()}"
        assert format_of(address) is known
        assert known.shown(address) == f"t{suffix.upper()}"
    if known.is_file:
        ways = ("write", "open_writer")
        assert any(getattr(type(known), way) is not getattr(Format, way) for way in ways)
    if known.in_parts:
        for ability in ("open_parts", "size_of", "open_writer"):
            assert getattr(type(known), ability) is not getattr(Format, ability)


def test_addresses_have_one_format():
    suffixes = [suffix for each in FORMATS.values() for suffix in each.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    addresses = [*(f"t{suffix}" for suffix in suffixes), "-", "sqlite:///t.db#t", "postgres://h/b"]
    for address in addresses:
        assert sum(each.holds(address) for each in FORMATS.values()) == 1
    assert sum(each.in_folders for each in FORMATS.values()) == 1
    with pytest.raises(OptionError, match="tells no format") as refused:
        format_of("t.unknown")
    assert all(suffix in str(refused.value) for suffix in suffixes)


def test_what_is_only_read_is_refused():
    for known in FILES:
        for suffix in known.suffixes:
            if suffix in known.only_read:
                with pytest.raises(OptionError, match="can be read but not written"):
                    check_writable(f"t{suffix}")
            else:
                check_writable(f"t{suffix}")


@pytest.mark.parametrize("suffix", WRITTEN)
def test_types_values_and_gaps_come_back(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    back = write_file(TABLE, path, ELSEWHERE)
    assert back.complete
    assert all(back.same.values()), back.same
    opened = open_table(path, Reading())
    assert opened.origin.form == format_of(str(path)).name
    assert opened.frame.names == TABLE.column_names
    for name in TABLE.column_names:
        array = opened.frame.column(name)
        assert array.cast(TABLE[name].type).to_pylist() == TABLE[name].to_pylist(), name
        assert opened.without_codes(name).equals(array)


@pytest.mark.parametrize("suffix", WRITTEN)
def test_equal_tables_give_equal_bytes_also_from_what_was_read(tmp_path, suffix):
    first, again, third = (tmp_path / f"{name}{suffix}" for name in ("a", "b", "c"))
    write_file(TABLE, first, ELSEWHERE)
    write_file(pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)]), again, ELSEWHERE)
    assert again.read_bytes() == first.read_bytes()
    opened = open_table(first, Reading())
    read = pa.table([opened.frame.column(name) for name in opened.frame.names], opened.frame.names)
    write_file(read, third, opened.origin)
    assert third.read_bytes() == first.read_bytes()


def refused(path):
    """What is said of a file that cannot be read."""
    with pytest.raises(InputError) as failure:
        open_table(path, Reading())
    context = failure.value.__context__
    assert failure.value.__suppress_context__ or isinstance(context, InputError | None)
    said = str(failure.value)
    assert path.name in said
    assert "\n" not in said
    assert str(VALUE) not in said
    return said


@pytest.mark.parametrize("suffix", [suffix for each in FILES for suffix in each.suffixes])
def test_what_is_no_such_file_is_one_sentence(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    for content in (b"", b"\x00\x01\x02" * 50):
        path.write_bytes(content)
        assert refused(path)


@pytest.mark.parametrize("suffix", WRITTEN)
def test_a_damaged_file_is_one_sentence_that_quotes_nothing(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    table = pa.table({"pay": [VALUE] * 300, "word": [str(VALUE)] * 300})
    write_file(table, path, ELSEWHERE)
    content = path.read_bytes()
    path.write_bytes(b"\xff\x00" * 8 + content[16:])
    assert refused(path)
    for share in (0.1, 0.5, 0.9):
        path.write_bytes(content[: int(share * len(content))])
        try:
            rows = open_table(path, Reading()).frame.rows
        except InputError:
            assert refused(path)
        else:
            # Some formats cannot know how long they should be.
            assert rows < table.num_rows


@pytest.mark.parametrize("suffix", IN_PARTS)
def test_in_parts_as_whole(tmp_path, suffix):
    parts, whole = tmp_path / f"parts{suffix}", tmp_path / f"whole{suffix}"
    with open_sink(parts, TABLE.schema, ELSEWHERE, TABLE.num_rows, most_rows=2) as sink:
        for batch in TABLE.to_batches(max_chunksize=1):
            sink.write(batch)
    write_file(TABLE, whole, ELSEWHERE)
    both = [open_table(path, Reading()) for path in (parts, whole)]
    assert fingerprint(both[0].frame.hashable()) == fingerprint(both[1].frame.hashable())
    stream = open_stream(whole, Reading())
    assert stream.sha256 == both[1].sha256
    assert stream.origin == both[1].origin
    together = pa.Table.from_batches(stream.batches(rows=3))
    assert fingerprint(together) == fingerprint(both[1].frame.hashable())
    back = digests_for(parts, ELSEWHERE)
    for batch in read_back_stream(parts, TABLE.schema, ELSEWHERE).batches():
        back.add(batch)
    assert back.of() == sink.digests.of()


@pytest.mark.parametrize("suffix", sorted(set(WRITTEN) - set(IN_PARTS)))
def test_what_is_only_written_whole_says_so(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    assert estimated_size(path) is None
    with pytest.raises(OptionError, match="cannot be read in parts"):
        open_stream(path, Reading())
    with (
        pytest.raises(OptionError, match="cannot be written in parts"),
        open_sink(path, TABLE.schema, ELSEWHERE, 1),
    ):
        pass


def test_a_folder_is_one_table(tmp_path):
    (known,) = (each for each in FORMATS.values() if each.in_folders)
    folder = tmp_path / "people"
    folder.mkdir()
    for number in range(2):
        known.write(
            TABLE.slice(number * 2, 2), folder / f"{number}{next(iter(known.suffixes))}", None
        )
    opened, stream = open_table(folder, Reading()), open_stream(folder, Reading())
    assert opened.frame.hashable().equals(TABLE)
    assert (opened.origin, opened.sha256) == (stream.origin, stream.sha256)


def test_a_database_holds_them_too(tmp_path):
    address = f"sqlite:///{tmp_path / 't.db'}#people"
    with draft_in_database(TABLE, address, ELSEWHERE, force=False) as back:
        assert all(back.same.values())
    opened = open_table(address, Reading())
    assert opened.origin.path == tmp_path / "t.db"
    assert "people" in {name for _, _, name in opened.origin.tables}
    assert opened.frame.column("word_gap").to_pylist() == TABLE["word_gap"].to_pylist()


def test_what_a_format_needs_is_imported_when_it_is_used(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n")
    script = """
import sys
from microagg.base.reading import Reading
from microagg.table.opening import open_table
open_table("t.csv", Reading())
others = ("pyarrow.parquet", "pyreadstat", "openpyxl", "polars")
print([name for name in sys.modules if name in others or name.startswith("adbc")])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
