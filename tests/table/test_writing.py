"""Whole tables written, read back and compared with what was meant."""

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from microagg.base.errors import InputError, OptionError, PromiseError
from microagg.base.reading import Reading
from microagg.table.checks import fingerprint, sha256_of
from microagg.table.formats import format_of
from microagg.table.opening import Origin, open_table
from microagg.table.writing import draft_in_database, write_file

ELSEWHERE = Origin("table", "frame", Reading())
TABLE = pa.table({"whole": [1, None, 3], "real": [0.5, 2.0, None], "word": ["x", None, "NA"]})
SUFFIXES = (".csv", ".tsv", ".parquet", ".feather", ".arrows", ".xlsx", ".sav", ".dta", ".xpt")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_was_written_is_what_was_meant(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    back = write_file(TABLE, path, ELSEWHERE)
    assert back.complete
    assert back.same == dict.fromkeys(TABLE.column_names, True)
    assert back.sha256 == sha256_of(path)
    assert back.table.num_rows == 3


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_change_shows_in_its_column(tmp_path, monkeypatch, suffix):
    target = type(format_of(f"t{suffix}"))
    write = target.write

    def put(changed):
        monkeypatch.setattr(
            target, "write", lambda self, _table, path, layout: write(self, changed, path, layout)
        )
        back = write_file(TABLE, tmp_path / f"t{suffix}", ELSEWHERE)
        monkeypatch.undo()
        return back

    other = put(TABLE.set_column(1, "real", pa.array([0.5, 2.5, None])))
    assert other.complete
    assert other.same == {"whole": True, "real": False, "word": True}
    fewer = put(TABLE.slice(0, 2))
    assert (fewer.complete, fewer.same) == (False, {})


def test_what_cannot_be_read_back_is_not_published(tmp_path, monkeypatch):
    for suffix in (".csv", ".parquet", ".xlsx", ".sav"):
        monkeypatch.setattr(
            type(format_of(f"t{suffix}")),
            "write",
            lambda _self, _table, path, _layout: path.write_bytes(b'a,b\n"1'),
        )
        with pytest.raises(PromiseError, match="cannot be read back, so it was not published"):
            write_file(TABLE, tmp_path / f"t{suffix}", ELSEWHERE)


def test_numbers_of_a_text_file_are_numbers_elsewhere(tmp_path):
    source = tmp_path / "source.csv"
    source.write_text("code;amount;none;age\n007;1,5;NA;30\n008;NA;;31\n")
    opened = open_table(source, Reading(), typed=["age"])
    table = pa.table([opened.frame.column(name) for name in opened.frame.names], opened.frame.names)
    assert table["amount"].to_pylist() == ["1,5", "NA"]
    expected = {"code": ["007", "008"], "amount": [1.5, None], "none": [None] * 2, "age": [30, 31]}
    assert write_file(table, tmp_path / "t.parquet", opened.origin).complete
    assert pq.read_table(tmp_path / "t.parquet").to_pydict() == expected
    write_file(table, tmp_path / "t.csv", opened.origin)
    assert (tmp_path / "t.csv").read_bytes() == source.read_bytes()
    write_file(table, tmp_path / "t.tsv", opened.origin)
    assert (tmp_path / "t.tsv").read_text() == source.read_text().replace(";", "\t")


def test_nan_is_itself(tmp_path):
    table = pa.table({"a": [math.nan, 1.0]})
    for suffix in (".csv", ".parquet"):
        assert write_file(table, tmp_path / f"t{suffix}", ELSEWHERE).same == {"a": True}


@pytest.mark.parametrize(("suffix", "instead"), [(".xlsm", ".xlsx"), (".sas7bdat", ".xpt")])
def test_what_is_only_read(tmp_path, suffix, instead):
    with pytest.raises(OptionError, match=f"can be read but not written; write {instead}"):
        write_file(TABLE, tmp_path / f"t{suffix}", ELSEWHERE)


def test_a_draft_takes_its_name_when_the_block_ends_well(tmp_path):
    address = f"sqlite:///{tmp_path / 'a.db'}#people"

    def stop():
        with draft_in_database(TABLE, address, ELSEWHERE, force=False):
            raise InputError("not as it should be")

    with pytest.raises(InputError, match="not as it should be"):
        stop()
    assert list(tmp_path.iterdir()) == []
    with draft_in_database(TABLE, address, ELSEWHERE, force=False) as back:
        assert back.complete
        assert all(back.same.values())
        assert back.table.equals(TABLE)
        assert back.sha256 == fingerprint(TABLE)
    assert open_table(address, Reading()).frame.names == TABLE.column_names
