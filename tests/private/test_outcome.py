"""A private release goes out like any other: whole, checked, never over its input."""

import hashlib
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg.private
from microagg.base.errors import OptionError
from microagg.table.formats.csv.layout import CsvLayout
from tests.tables import write_table

SETTINGS = {"epsilon": 1.0, "bounds": {"age": (0, 110)}, "method": "marginals", "simulate": True}


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "survey.parquet"
    pq.write_table(pa.table({"age": np.arange(40.0)}), path)
    return path


def test_the_input_is_never_replaced(tmp_path, source):
    before = source.read_bytes()
    found = microagg.private.release(source, **SETTINGS)
    (tmp_path / "link.parquet").symlink_to(source)
    for target in (source, tmp_path / "." / "survey.parquet", tmp_path / "link.parquet"):
        with pytest.raises(OptionError, match="never written over"):
            found.write(target, force=True)
    assert source.read_bytes() == before


def test_an_input_table_is_never_replaced(tmp_path):
    address = f"sqlite:///{tmp_path}/survey.db#people"
    write_table(pa.table({"age": np.arange(40.0)}), address)
    found = microagg.private.release(address, **SETTINGS)
    with pytest.raises(OptionError, match="never written over"):
        found.write(address, force=True)
    found.write(f"sqlite:///{tmp_path}/survey.db#noisy")


def test_the_certificate_appears_with_its_release_or_not_at_all(tmp_path, source, monkeypatch):
    target = tmp_path / "release.csv"
    found = microagg.private.release(source, **SETTINGS)
    found.write(target)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert json.loads((tmp_path / "release.csv.certificate.json").read_text())["rows"] == 40
    again = microagg.private.release(source, **SETTINGS)

    def full(stream, *more, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("json.dump", full)
    with pytest.raises(OSError, match="No space"):
        again.write(target, force=True)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_text_file_keeps_the_layout_and_order_of_its_input(tmp_path):
    path = tmp_path / "survey.csv"
    lines = [f"{n},5;note {n};{20 + n},25" for n in range(10)]
    path.write_bytes("\r\n".join(["income;note;age", *lines, ""]).encode("utf-8-sig"))
    bounds = {"age": (0, 110), "income": (0, 1000)}
    made = microagg.private.release(
        path, epsilon=1.0, bounds=bounds, decimals={"age": 1, "income": 0}, simulate=True, seed=1
    )
    made.write(tmp_path / "release.csv")
    head, *rows = (tmp_path / "release.csv").read_bytes().decode("utf-8").split("\r\n")
    assert head == "\ufeffincome;age"
    assert rows.pop() == ""
    assert len(rows) == 10
    assert all(re.fullmatch(r"\d+,0;\d+,\d", row) for row in rows)
    assert "how the input's file is laid out" in made.guarantee.text
    assert made.guarantee.public["layout"]
    made.write(tmp_path / "release.tsv")
    assert "income\tage" in (tmp_path / "release.tsv").read_text(encoding="utf-8")
    made.write(tmp_path / "release.parquet")
    assert pq.read_schema(tmp_path / "release.parquet").names == ["income", "age"]
    assert "laid out" not in release_of_numbers().guarantee.text


def release_of_numbers(**settings):
    return microagg.private.release(np.arange(20.0), bounds={"0": (0.25, 19)}, **ONE, **settings)


ONE = {"epsilon": 1.0, "simulate": True, "seed": 1}


def test_what_records_say_does_not_show_in_the_layout(tmp_path):
    """An encoding that only an entry needs, and texts that mean missing or true, are records'."""
    path = tmp_path / "survey.csv"
    path.write_bytes("age;name;note;late\n30;J\xfcrgen;-;NA\n40;Ann;NULL;True\n".encode("cp1252"))
    made = microagg.private.release(path, bounds={"age": (0, 110)}, **ONE)
    assert made.origin.layout == CsvLayout(delimiter=";")


def test_categories_that_look_like_numbers_stay_texts(tmp_path):
    path = tmp_path / "survey.csv"
    path.write_text("code,age\n" + "b,30\n" * 20)
    made = microagg.private.release(path, bounds={"code": ["1", "2"]}, **ONE)
    made.write(tmp_path / "release.parquet")
    assert pq.read_table(tmp_path / "release.parquet").schema.field("code").type == pa.string()


def test_decimals():
    assert set(release_of_numbers(decimals=0).data) <= {0.25, *range(1, 20)}
    plain = release_of_numbers()
    assert (release_of_numbers(decimals=-1).data == np.clip(plain.data.round(-1), 0.25, 19)).all()
    for decimals in (0.5, True, "1", 16, {"0": None}):
        with pytest.raises(OptionError, match="decimals must be a whole number"):
            release_of_numbers(decimals=decimals)
    with pytest.raises(OptionError, match="decimals name 'x'"):
        release_of_numbers(decimals={"x": 1})


@pytest.mark.parametrize("method", sorted(microagg.private.methods()))
def test_a_certificate_tells_nothing_of_the_records(tmp_path, method):
    """Two tables that share n and nothing else: the same certificate but for the release."""
    found = []
    for number, ages in enumerate((np.arange(40.0), np.r_[np.full(39, 80.5), -7.0])):
        path = tmp_path / f"{number}.csv"
        path.write_text("age,name\n" + "".join(f"{age},person\n" for age in ages))
        folder = tmp_path / str(number)
        made = microagg.private.release(
            path, bounds={"age": (0, 110)}, method=method, accept="partition-conditional", epsilon=1
        )
        made.write(folder / "release.csv")
        made.report(folder / "report.html")
        hashed = hashlib.sha256(path.read_bytes()).hexdigest()
        for written in folder.iterdir():
            assert hashed not in written.read_text(encoding="utf-8")
            assert f"{number}.csv" not in written.read_text(encoding="utf-8")
        certificate = json.loads((folder / "release.csv.certificate.json").read_text())
        assert certificate.pop("made")
        assert list(certificate.pop("sha256")) == ["release"]
        found.append(certificate)
    assert found[0] == found[1]


def test_the_method_is_marginals_unless_said():
    assert release_of_numbers().guarantee.method == "marginals"


def test_the_guarantee_in_short_lines():
    lines = release_of_numbers().guarantee.lines
    assert lines[0] == ("warning", "SIMULATION, NOT PRIVATE: do not publish it")
    real = microagg.private.release([1.0, 2.0], epsilon=1, bounds={"0": (0, 5)}).guarantee.lines
    assert real[0] == ("promise", "epsilon-differential privacy")
    assert dict(real)["epsilon"] == "1 (0 1), by marginals"
    assert dict(real)["rows"] == "2, not those of the table"
    assert max(len(what) for _, what in real) < 100
