"""How a release goes out: every format, checked on what was written, whole or not at all."""

import csv
import datetime
import errno
import hashlib
import hmac
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import statistics
import subprocess
import time
from collections import Counter
from html import unescape
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.base.errors import InputError, OptionError, PromiseError
from microagg.release.telling import story_of
from microagg.table import formats
from microagg.table.formats.csv import Csv
from microagg.table.formats.database import sqlite
from microagg.table.opening import Origin
from tests import forking
from tests.commands import ROLES, refusal, survey
from tests.commands import microagg as command
from tests.forking import PIPE
from tests.tables import write_table

RECIPE = {
    "k": 3,
    "quasi_identifiers": ["age", "income", "sex", "born", "member"],
    "method": "mdav",
    "kinds": {"born": "date"},
    "row_order": "kept",
}
NUMBERS = ("age", "income", "score", "count")
TRUTHS = ("member", "paid")


def mixed(records=24):
    """Every kind of column, protected and not, with gaps."""
    draw = random.Random(3)
    day, moment = datetime.date(1950, 1, 1), datetime.datetime(2020, 1, 1)

    def column(make, gap):
        return [None if gap and row % gap == 2 else make() for row in range(records)]

    return pa.table(
        {
            "age": column(lambda: draw.randint(20, 60), 0),
            "income": column(lambda: round(draw.gauss(30_000, 5_000), 2), 9),
            "sex": column(lambda: draw.choice("mf"), 0),
            "born": column(lambda: day + datetime.timedelta(draw.randint(0, 9000)), 0),
            "member": column(lambda: draw.random() < 0.5, 11),
            "code": column(lambda: f"0{draw.randint(100, 999)}", 0),
            "score": column(draw.random, 5),
            "count": column(lambda: draw.randint(0, 2**40), 7),
            "day": column(lambda: day + datetime.timedelta(draw.randint(0, 9000)), 8),
            "seen": column(lambda: moment + datetime.timedelta(0, draw.randint(0, 10**7)), 0),
            "paid": column(lambda: draw.random() < 0.5, 6),
            "words": column(lambda: draw.choice(['a, "b"', "x;y", "=1+1", "Ä ö"]), 10),
        }
    )


def rows_of(place):
    """What stands in a file or database, by readers that are none of ours."""
    if place.startswith("sqlite"):
        file, _, table = place.removeprefix("sqlite:///").partition("#")
        with sqlite3.connect(file) as connection:
            found = connection.execute(f"SELECT * FROM {table}")
            names = [each[0] for each in found.description]
            rows = [dict(zip(names, row, strict=True)) for row in found]
        connection.close()
        return rows
    suffix = place.rpartition(".")[2]
    if suffix in ("csv", "tsv"):
        with Path(place).open(newline="", encoding="utf-8") as stream:
            return list(csv.DictReader(stream, delimiter="\t" if suffix == "tsv" else ","))
    if suffix == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        head, *rest = openpyxl.load_workbook(place).active.iter_rows(values_only=True)
        return [dict(zip(head, row, strict=True)) for row in rest]
    if suffix in ("sav", "dta"):
        pyreadstat = pytest.importorskip("pyreadstat")
        read = pyreadstat.read_sav if suffix == "sav" else pyreadstat.read_dta
        frame, _ = read(place, output_format="polars")
        return frame.to_dicts()
    if suffix == "parquet":
        return pq.read_table(place).to_pylist()
    return pyarrow.feather.read_table(place).to_pylist()


def plain(name, value):
    """A value as text, whatever type the format has for it."""
    if value is None or value == "" or value != value:
        return ""
    if name in NUMBERS:
        return repr(float(value))
    if name in TRUTHS:
        return {"true": "true", "false": "false"}.get(str(value).lower()) or (
            "true" if float(value) else "false"
        )
    if name in ("born", "day"):
        return str(value)[:10]
    if name == "seen":
        return str(value)[:19].replace("T", " ")
    assert isinstance(value, str)
    return value


def as_plain(rows):
    return [{name: plain(name, value) for name, value in row.items()} for row in rows]


def least(rows, names):
    return min(Counter(tuple(row[name] for name in names) for row in rows).values())


TARGETS = ("csv", "tsv", "parquet", "feather", "xlsx", "db#people", "sav", "dta")


def place_in(folder, name, target):
    place = f"{folder}/{name}.{target}"
    return f"sqlite:///{place}" if "#" in target else place


@pytest.mark.parametrize("source", ["arrow", "pandas", "polars", *TARGETS])
def test_any_table_goes_out_in_any_format(tmp_path, source):
    table = mixed()
    if source in TARGETS:
        given = place_in(tmp_path, "source", source)
        write_table(table, given)
    else:
        given = {"arrow": lambda: table, "pandas": table.to_pandas, "polars": lambda: polars(table)}
        given = given[source]()
    original = as_plain(table.to_pylist())
    release = microagg.protect(given, **RECIPE)
    untouched = [name for name in table.column_names if name not in RECIPE["quasi_identifiers"]]
    seen = []
    for target in TARGETS:
        place = place_in(tmp_path, "release", target)
        certificate = release.write(place)
        assert certificate.passed
        rows = as_plain(rows_of(place))
        assert list(rows[0]) == table.column_names
        for name in untouched:
            assert [row[name] for row in rows] == [row[name] for row in original], (target, name)
        assert least(rows, RECIPE["quasi_identifiers"]) == certificate.k_found >= 3
        seen.append([[row[name] for name in RECIPE["quasi_identifiers"]] for row in rows])
    assert all(each == seen[0] for each in seen)


def polars(table):
    return pl.from_arrow(table)


def test_numbers_are_numbers_and_codes_stay_text_outside_text_files(tmp_path):
    lines = ["age,whole,part,code,long,phone,when,yes,gap,none"]
    lines += [
        f"{20 + row},{row},{row}.50,0{row:03},1234567890123456789{row},+49{row},"
        f"2020-01-{row + 1:02},{'true' if row % 2 else 'false'},{'NA' if row else 7},"
        for row in range(9)
    ]
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    release = microagg.protect(tmp_path / "in.csv", k=3, quasi_identifiers="age", row_order="kept")
    release.write(tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds == {
        "age": "int64",
        "whole": "int64",
        "part": "double",
        "code": "string",
        "long": "string",
        "phone": "string",
        "when": "date32[day]",
        "yes": "bool",
        "gap": "int64",
        "none": "string",
    }
    assert table["code"].to_pylist() == [f"0{row:03}" for row in range(9)]
    assert table["long"].to_pylist() == [f"1234567890123456789{row}" for row in range(9)]
    assert table["phone"].to_pylist() == [f"+49{row}" for row in range(9)]
    assert table["gap"].to_pylist() == [7, *[None] * 8]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("encoding", "mark"),
    [("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("cp1252", b""), ("utf-16-le", b"\xff\xfe")],
)
def test_a_text_file_keeps_its_looks(tmp_path, line_end, encoding, mark):
    lines = ["größe;jahr;wert;kode;text"]
    lines += [
        f"{row},5;{1990 + row};1.{row}00,50;00{row};{text}"
        for row, text in enumerate(['"a;b"', "é", " x ", "NA", "-", '"say ""so"""', "", "1e3"])
    ]
    (tmp_path / "in.csv").write_bytes(mark + (line_end.join(lines) + line_end).encode(encoding))
    keeping = {"quasi_identifiers": ("größe", "jahr"), "row_order": "kept"}
    release = microagg.protect(tmp_path / "in.csv", **keeping, k=2)
    assert release.write(tmp_path / "out.csv").passed
    raw = (tmp_path / "out.csv").read_bytes()
    assert raw.startswith(mark)
    written = raw[len(mark) :].decode(encoding).split(line_end)
    assert written[0] == lines[0]
    assert written[-1] == ""
    for before, after in zip(lines[1:], written[1:-1], strict=True):
        assert before.split(";", 2)[2] == after.split(";", 2)[2]
        size, year, _ = after.split(";", 2)
        assert float(size.replace(",", "."))
        assert int(year)
    # Where everybody has a twin nothing is to change, not a byte.
    twice = [lines[0], *(line for line in lines[1:] for _ in range(2))]
    (tmp_path / "twins.csv").write_bytes(mark + (line_end.join(twice) + line_end).encode(encoding))
    same = microagg.protect(tmp_path / "twins.csv", **keeping, k=2, method="mdav")
    same.write(tmp_path / "same.csv")
    assert (tmp_path / "same.csv").read_bytes() == (tmp_path / "twins.csv").read_bytes()


def test_the_suffix_says_what_stands_between_the_fields(tmp_path):
    survey(tmp_path / "survey.csv")
    release = microagg.protect(tmp_path / "survey.csv", quasi_identifiers=("age", "zip"))
    release.write(tmp_path / "release.tsv")
    assert (tmp_path / "release.tsv").read_text().startswith("name\tage\t")
    (tmp_path / "odd.csv").write_text((tmp_path / "release.tsv").read_text())
    for source, target, start in (
        ("release.tsv", "a.csv", "name,age,"),
        ("odd.csv", "b.csv", "name\tage\t"),
        ("odd.csv", "c.txt", "name\tage\t"),
    ):
        microagg.protect(tmp_path / source, quasi_identifiers="age").write(tmp_path / target)
        assert (tmp_path / target).read_text().startswith(start)


def test_a_text_file_of_one_column_is_read_back_as_it_was_written(tmp_path):
    frame = pd.DataFrame({"a;b": ["x;y", "x;y", "p;q", "p;q"]})
    assert microagg.protect(frame, k=2, quasi_identifiers="a;b").write(tmp_path / "r.csv").passed


def test_codes_for_missing_values_do_not_become_numbers_elsewhere(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"age": [20.0, 21, 40, 41] * 3, "visits": [1.0, 99, 3, 4] * 3})
    pyreadstat.write_sav(frame, tmp_path / "in.sav", missing_ranges={"visits": [99]})
    release = microagg.protect(tmp_path / "in.sav", k=3, quasi_identifiers="age", row_order="kept")
    for target in ("csv", "dta", "parquet"):
        release.write(tmp_path / f"out.{target}")
        visits = [row["visits"] for row in rows_of(str(tmp_path / f"out.{target}"))]
        assert [plain("score", value) for value in visits] == ["1.0", "", "3.0", "4.0"] * 3


# --- The certificate ------------------------------------------------------------------------------


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_certificate_says_what_was_promised_and_found(tmp_path):
    survey(tmp_path / "survey.csv", 103)
    done = command(
        *("protect", "survey.csv", *ROLES, "-k", "4", "--seed", "11", "-o", "release.csv"),
        *("--save-recipe", "recipe.toml"),
        folder=tmp_path,
    )
    assert done.code == 0, done.err
    told = json.loads((tmp_path / "release.csv.certificate.json").read_text())
    released = rows_of(str(tmp_path / "release.csv"))
    sizes = Counter((row["age"], row["income"], row["zip"]) for row in released).values()
    assert told["microagg"] == microagg.__version__
    assert told["verdict"] == "passed"
    assert told["k"] == {"asked": 4, "found": min(sizes), "counts": "records"}
    assert told["groups"] == {
        "count": len(sizes),
        "smallest": min(sizes),
        "median": statistics.median(sizes),
        "largest": max(sizes),
    }
    assert told["rows"] == {"released": 103}
    assert told["row_order"] == "shuffled"
    assert told["columns"] == list(released[0])
    assert "seed" not in told["recipe"]
    assert told["recipe"]["quasi_identifiers"] == ["age", "income", "zip"]
    assert 0 < told["information_loss"]["total"] < 100
    assert set(told["information_loss"]["attributes"]) == {"age", "income", "zip"}
    assert told["sha256"] == {"release": sha256(tmp_path / "release.csv")}
    assert all(check["kept"] for check in told["checks"])


def test_the_record_tells_the_owner_what_the_certificate_must_not(tmp_path):
    survey(tmp_path / "survey.csv", 103)
    done = command(
        *("protect", "survey.csv", *ROLES, "-k", "4", "--seed", "11", "-o", "release.csv"),
        *("--save-recipe", "recipe.toml"),
        folder=tmp_path,
    )
    assert done.code == 0, done.err
    path = tmp_path / "release.csv.record.json"
    assert path.stat().st_mode & 0o777 == 0o600
    told, public = (
        json.loads((tmp_path / f"release.csv.{name}.json").read_text())
        for name in ("record", "certificate")
    )
    assert told["recipe"]["seed"] == 11
    assert told["where"] == {"engine": "memory"}
    assert told["cells"] == {"count": 1, "rows": None}
    assert told["rows"] == {"read": 103, "released": 103}
    assert told["sha256"]["recipe"] == sha256(tmp_path / "recipe.toml")
    assert told["sha256"]["release"] == sha256(tmp_path / "release.csv")
    # Whoever has no secret cannot check a guess at the input.
    digest = sha256(tmp_path / "survey.csv")
    expected = hmac.new(bytes.fromhex(told["secret"]), f"input {digest}".encode(), "sha256")
    assert told["hmac_sha256"]["input"] == expected.hexdigest()
    exact = told["information_loss"]
    assert public["information_loss"] == {
        "total": round(exact["total"], 2),
        "attributes": {name: round(loss, 2) for name, loss in exact["attributes"].items()},
    }
    assert exact != public["information_loss"]
    record = microagg.Record.read(path)
    assert record.to_dict() == told
    assert told["secret"] not in repr(record)
    said = json.dumps(public)
    for secret in (told["secret"], digest, told["sha256"]["recipe"], told["sha256"]["plan"]):
        assert secret not in said


def test_the_public_recipe_helps_nobody_to_undo_it():
    recipe = microagg.Recipe(
        quasi_identifiers=["pay", "grade"],
        seed=77,
        orders={"grade": ["unspoken", "spoken"]},
        aggregate="proximity",
        distance={"pay": 0.25},
        importance=0.125,
        alpha=0.75,
        solution="local",
        relative=True,
        reading={"missing_values": ["-99"], "query": "SELECT 1"},
    )
    public = recipe.public()
    assert public == {
        "k": 5,
        "method": "auto",
        "quasi_identifiers": ["pay", "grade"],
        "aggregate": "proximity",
        "kinds": {"grade": "ordinal"},
    }
    assert microagg.Recipe.from_toml(recipe.to_toml(public=True)).public() == public


def test_a_record_that_is_none_is_one_sentence(tmp_path):
    for text in ("{}", "[]", "no", '{"microagg": 1}'):
        (tmp_path / "r.json").write_text(text)
        with pytest.raises(InputError, match=r"r\.json is no record of a release"):
            microagg.Record.read(tmp_path / "r.json")


def test_entities_are_what_is_counted_where_rows_belong_to_them(tmp_path):
    draw = random.Random(5)
    rows = [(entity, draw.randint(20, 60)) for entity in range(40) for _ in range(3)]
    frame = pd.DataFrame(rows, columns=["who", "age"])
    release = microagg.protect(frame, k=4, quasi_identifiers="age", entity="who", method="mdav")
    release.write(tmp_path / "release.csv")
    members = {}
    for row in rows_of(str(tmp_path / "release.csv")):
        members.setdefault(row["age"], set()).add(row["who"])
    told = json.loads((tmp_path / "release.csv.certificate.json").read_text())
    assert told["k"]["counts"] == "entities"
    assert told["k"]["found"] == min(map(len, members.values())) >= 4
    # Were all rows of one entity, the count on the written file would have to notice.
    release._engine._released.owners[:] = 0
    with pytest.raises(PromiseError, match="at least 4 entities"):
        release.write(tmp_path / "other.csv")
    assert not (tmp_path / "other.csv").exists()


def test_a_release_is_the_same_whenever_it_is_made(tmp_path):
    survey(tmp_path / "survey.csv")
    for name in ("one.csv", "two.csv", "one.parquet", "two.parquet", "one.xlsx", "two.xlsx"):
        again = ("--record", name.replace("two", "one") + ".record.json") if "two" in name else ()
        done = command("protect", "survey.csv", *ROLES, "-o", name, *again, folder=tmp_path)
        assert done.code == 0, done.err
    for suffix in ("csv", "parquet", "xlsx"):
        assert sha256(tmp_path / f"one.{suffix}") == sha256(tmp_path / f"two.{suffix}")


# --- The check on what was written ----------------------------------------------------------------


def changed(table, name, row, value):
    column = table[name].to_pylist()
    column[row] = value
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.array(column, table.schema.field(name).type))


DAMAGES = {
    "an untouched value": lambda table: changed(table, "diagnosis", 7, "plague"),
    "a protected value": lambda table: changed(table, "age", 7, 33),
    "a gap": lambda table: changed(table, "age", 7, None),
    "a row less": lambda table: table.slice(1),
    "a row more": lambda table: pa.concat_tables([table, table.slice(0, 1)]),
    "two rows swapped": lambda table: pa.concat_tables(
        [table.slice(1, 1), table.slice(0, 1), table.slice(2)]
    ),
    "two columns swapped": lambda table: table.select(
        [*table.column_names[1::-1], *table.column_names[2:]]
    ),
    "a column less": lambda table: table.drop_columns(["member"]),
    "a column renamed": lambda table: table.rename_columns(["AGE", *table.column_names[1:]]),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx"])
def test_a_damaged_release_is_never_published(tmp_path, monkeypatch, damage, suffix):
    survey(tmp_path / "survey.csv")
    arguments = ("protect", "survey.csv", *ROLES, "-o", f"release.{suffix}")
    target = type(formats.format_of(f"release.{suffix}"))
    write = target.write

    def damaging(self, table, path, layout):
        write(self, DAMAGES[damage](table), path, layout)

    monkeypatch.setattr(target, "write", damaging)
    assert "not published" in refusal(*arguments, folder=tmp_path, code=1)
    assert [path.name for path in tmp_path.iterdir()] == ["survey.csv"]
    monkeypatch.undo()
    assert command(*arguments, folder=tmp_path).code == 0
    monkeypatch.setattr(target, "write", damaging)
    # The old release and its certificate stay.
    assert "not published" in refusal(*arguments, "--force", folder=tmp_path, code=1)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx"])
def test_a_release_that_cannot_be_read_back_is_never_published(tmp_path, monkeypatch, suffix):
    survey(tmp_path / "survey.csv")
    target = type(formats.format_of(f"release.{suffix}"))
    write = target.write

    def halved(self, table, path, layout):
        write(self, table, path, layout)
        os.truncate(path, path.stat().st_size // 2)

    monkeypatch.setattr(target, "write", halved)
    arguments = ("protect", "survey.csv", *ROLES, "-o", f"release.{suffix}")
    assert "not published" in refusal(*arguments, folder=tmp_path, code=1)


def test_k_is_counted_on_what_was_written_and_not_believed(tmp_path, monkeypatch):
    survey(tmp_path / "survey.csv")
    # Whoever prepares the table for its format breaks the promise, and the writer is faithful.
    monkeypatch.setattr(
        Origin, "exported", lambda _self, table, _path: changed(table, "age", 7, 33)
    )
    said = refusal("protect", "survey.csv", *ROLES, "-o", "release.csv", folder=tmp_path, code=1)
    assert "at least 5 records share each combination of values" in said
    assert "as they were" not in said


def test_a_damaged_database_table_is_never_published(tmp_path, monkeypatch):
    survey(tmp_path / "survey.csv")
    store = sqlite._storable
    monkeypatch.setattr(sqlite, "_storable", lambda table: changed(store(table), "age", 7, 33))
    arguments = ("protect", "survey.csv", *ROLES, "-o", "sqlite:///release.db#people")
    assert "not published" in refusal(*arguments, folder=tmp_path, code=1)
    assert not (tmp_path / "release.db").exists()


# --- Whole or not at all --------------------------------------------------------------------------

KILLED = """
import sys, time
from pathlib import Path
from microagg.table.formats.csv import Csv

def half(self, table, path, layout):
    path.write_text("age,income\\n1,")
    Path("ready").touch()
    time.sleep(60)

Csv.write = half
sys.argv = ["microagg", *sys.argv[1:]]
from microagg.cli import main
main()
"""


@pytest.mark.parametrize("stopping", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process_leaves_the_old_release_or_none(tmp_path, stopping):
    survey(tmp_path / "survey.csv")
    arguments = ("protect", "survey.csv", *ROLES, "-o", "release.csv")

    def stopped(*more):
        with forking.Process("-c", KILLED, *arguments, *more, cwd=tmp_path, stderr=PIPE) as process:
            until = time.monotonic() + 60
            while not (tmp_path / "ready").exists() and time.monotonic() < until:
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.01)
            process.send_signal(stopping)
            said = process.stderr.read()
        (tmp_path / "ready").unlink()
        return process.returncode, said

    expected = (-9, b"") if stopping == signal.SIGKILL else (130, b"microagg: stopped\n")
    assert stopped() == expected
    shown = [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")]
    assert shown == ["survey.csv"]
    assert command(*arguments, folder=tmp_path).code == 0
    files = ("release.csv", "release.csv.certificate.json", "release.csv.record.json")
    before = [(tmp_path / name).read_bytes() for name in files]
    assert stopped("--force") == expected
    assert [(tmp_path / name).read_bytes() for name in files] == before
    again = command(*arguments, "-k", "6", "--force", folder=tmp_path)
    assert again.code == 0, again.err
    assert json.loads((tmp_path / files[1]).read_text())["k"]["asked"] == 6
    if stopping == signal.SIGINT:
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_write_error_is_one_sentence_and_leaves_nothing(tmp_path, monkeypatch):
    survey(tmp_path / "survey.csv")
    write = Csv.write

    def full(self, table, path, layout):
        write(self, table, path, layout)
        raise OSError(errno.ENOSPC, "a library's own words", str(path))

    monkeypatch.setattr(Csv, "write", full)
    said = refusal("protect", "survey.csv", *ROLES, "-o", "release.csv", folder=tmp_path)
    assert said == "No space left on device: release.csv"


def test_a_certificate_that_cannot_be_written_keeps_the_release_back(tmp_path, monkeypatch):
    survey(tmp_path / "survey.csv")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for each in ("certificate.Certificate", "record.Record"):
        with monkeypatch.context() as patched:
            patched.setattr(f"microagg.base.{each}.write", full)
            said = refusal("protect", "survey.csv", *ROLES, "-o", "release.csv", folder=tmp_path)
        assert said.startswith("No space left on device: release.csv")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather", "xlsx"])
def test_a_file_that_may_not_grow_leaves_nothing(tmp_path, suffix):
    survey(tmp_path / "survey.csv", 1000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    arguments = ("protect", "survey.csv", *ROLES[:-1], "zscore", "-o", f"release.{suffix}")
    assert command(*arguments, folder=tmp_path).code == 0  # kernels are compiled from here on
    (tmp_path / f"release.{suffix}").unlink()
    (tmp_path / f"release.{suffix}.certificate.json").unlink()
    (tmp_path / f"release.{suffix}.record.json").unlink()
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        said = refusal(*arguments, folder=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert said == f"File too large: release.{suffix}"


@pytest.fixture
def tiny_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    if not mount or not unmount:
        pytest.skip("there is no mount command")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=64k", "microagg-test", str(place)],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("a small file system may not be mounted here")
    yield place
    subprocess.run([unmount, str(place)], check=True)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather", "xlsx"])
def test_a_full_disk_leaves_the_old_release(tmp_path, tiny_disk, suffix):
    small, large = survey(tmp_path / "small.csv"), survey(tmp_path / "large.csv", 20_000)
    place = tiny_disk / f"release.{suffix}"
    roles = (*ROLES[:-1], "zscore", "-o", place)
    assert command("protect", small, *roles, folder=tmp_path).code == 0
    before = {path: path.read_bytes() for path in tiny_disk.iterdir()}
    said = refusal("protect", large, *roles, "--force", folder=tmp_path)
    assert said == f"No space left on device: {place}"
    assert {path: path.read_bytes() for path in tiny_disk.iterdir()} == before


# --- Never the input ------------------------------------------------------------------------------


def test_the_input_is_never_written_over(tmp_path):
    path = survey(tmp_path / "survey.csv")
    (tmp_path / "symbolic.csv").symlink_to(path)
    (tmp_path / "hard.csv").hardlink_to(path)
    (tmp_path / "folder").mkdir()
    names = ("survey.csv", "./survey.csv", "folder/../survey.csv", str(path))
    names += ("symbolic.csv", "hard.csv")
    for name in names:
        for option in ("-o", "--report", "--save-recipe"):
            target = () if option == "-o" else ("-o", "release.csv")
            said = refusal(
                "protect", "survey.csv", *ROLES, option, name, *target, "--force", folder=tmp_path
            )
            assert "never written over" in said
        with pytest.raises(OptionError, match="never written over"):
            microagg.protect(path, quasi_identifiers="age").write(tmp_path / name, force=True)
    said = refusal(
        "compare", "survey.csv", "-q", "age", "-r", "hard.csv", "--force", folder=tmp_path
    )
    assert "never written over" in said


def test_an_input_table_is_never_written_over(tmp_path):
    survey(tmp_path / "survey.csv")
    (tmp_path / "folder").mkdir()
    source = "sqlite:///survey.db#people"
    made = command("protect", "survey.csv", "-q", "age", "-k", "2", "-o", source, folder=tmp_path)
    assert made.code == 0, made.err
    for target in (source, "sqlite:///folder/../survey.db#People"):
        for query in ((), ("--query", "SELECT * FROM people")):
            given = "sqlite:///survey.db" if query else source
            said = refusal(
                *("protect", given, *query, *ROLES, "-o", target, "--force"), folder=tmp_path
            )
            assert "never written over" in said
    done = command("protect", source, *ROLES, "-o", "sqlite:///survey.db#safe", folder=tmp_path)
    assert done.code == 0, done.err
    again = ("protect", source, *ROLES, "-o", "sqlite:///survey.db#safe")
    assert "force" in refusal(*again, folder=tmp_path)
    assert command(*again, "--force", folder=tmp_path).code == 0


def test_what_exists_is_replaced_only_by_force(tmp_path):
    survey(tmp_path / "survey.csv")
    outputs = {"-o": "release.csv", "--report": "report.html", "--save-recipe": "recipe.toml"}
    arguments = ("protect", "survey.csv", *ROLES)
    everything = [part for pair in outputs.items() for part in pair]
    for option, name in outputs.items():
        (tmp_path / name).write_text("mine")
        others = [
            part
            for other, named in outputs.items()
            if other != option
            for part in (other, f"new-{named}")
        ]
        assert "exists" in refusal(*arguments, option, name, *others, folder=tmp_path)
    done = command(*arguments, *everything, "--force", folder=tmp_path)
    assert done.code == 0, done.err
    assert not any((tmp_path / name).read_text() == "mine" for name in outputs.values())
    with pytest.raises(OptionError, match="exists"):
        microagg.protect(tmp_path / "survey.csv", quasi_identifiers="age").write(
            tmp_path / "release.csv"
        )


def test_two_outputs_need_two_names(tmp_path):
    survey(tmp_path / "survey.csv")
    said = refusal(
        *("protect", "survey.csv", *ROLES, "-o", "out.csv", "--report", "./out.csv"),
        folder=tmp_path,
    )
    assert "same name" in said


# --- The public report ----------------------------------------------------------------------------


def forms_of(value):
    """How a page might say a number or a text."""
    if isinstance(value, str):
        return {value}
    return {str(value), f"{value:,}", f"{value:,.1f}", f"{value:,.2f}", f"{value:.6g}"}


@pytest.mark.parametrize("kind", ["pandas", "file"])
def test_a_public_report_shows_nothing_of_the_original(tmp_path, kind):
    draw = random.Random(9)
    n = 60
    frame = pd.DataFrame(
        {
            "name": [f"Zebulon{row}Quux" for row in range(n)],
            "income": [70_001 + 137 * draw.randrange(10_000) for row in range(n)],
            "height": [draw.random() * 1000 + 5000.123 for row in range(n)],
            "town": [draw.choice(["Oxbridge", "Camford"]) for row in range(n)],
            "grade": [draw.choice(["lowish", "midling", "highest"]) for row in range(n)],
            "diagnosis": [draw.choice(["flu", "cold"]) for row in range(n)],
        }
    )
    # One of a kind: never the commonest of a group, nor its median.
    frame.loc[7, "town"] = "Lonelyville"
    frame.loc[3, "grade"] = "uppermost"
    order = ["bottomless", "lowish", "midling", "highest", "uppermost"]
    if kind == "pandas":
        frame["town"] = frame["town"].astype("category")
        frame["grade"] = pd.Categorical(frame["grade"], order, ordered=True)
        given = frame
    else:
        given = tmp_path / "Zebulon-secret.csv"
        frame.to_csv(given, index=False)
    release = microagg.protect(
        given,
        k=5,
        quasi_identifiers=("income", "height", "town", "grade"),
        identifiers="name",
        confidential="diagnosis",
        orders={"grade": order},
        method="mdav",
    )
    release.write(tmp_path / "release.csv")
    release.report(tmp_path / "public.html", public=True)
    release.report(tmp_path / "full.html")
    released = rows_of(str(tmp_path / "release.csv"))
    page = unescape((tmp_path / "public.html").read_text())
    shown = {text for row in released for text in row.values()}
    shown |= {
        form
        for row in released
        for name in ("income", "height")
        for form in forms_of(float(row[name]))
    }
    shown |= {form for row in released for form in forms_of(int(row["income"]))}
    for name in ("name", "income", "height", "town", "grade"):
        for value in frame[name]:
            for form in forms_of(value) - shown:
                assert form not in page, name
    for word in ("Lonelyville", "bottomless", "uppermost", "Zebulon", str(tmp_path)):
        assert word not in page
    certificate, record = release.certificate, release.record
    for figure in (record.plan_sha256, f"{record.information_loss:.2f}"):
        assert figure not in page
        assert figure in unescape((tmp_path / "full.html").read_text())
    for name in ("income", "height"):
        for statistic in (
            frame[name].mean(),
            frame[name].std(),
            frame[name].min(),
            frame[name].max(),
        ):
            assert f"{statistic:,.2f}" not in page
    assert certificate.release_sha256 in page


def test_a_public_report_says_no_more_than_the_certificate(tmp_path):
    release = microagg.protect(mixed(), **{**RECIPE, "seed": 4711, "method": "lloyd-mdav"})
    release.write(tmp_path / "release.csv")
    told, own = (story_of(release, public=public) for public in (True, False))
    assert told.recipe == release.recipe.to_toml(public=True)
    assert told.notes == release.certificate.notes
    assert "4711" not in repr(told)
    assert "4711" in repr(own)
    labels = {label for label, _ in told.certificate}
    assert {label for label, _ in own.certificate} - labels == {
        "seed", "engine, cells of similar records", "records read", "sha256 of the recipe",
        "sha256 of the plan",
    }  # fmt: skip


def test_names_are_escaped_in_reports(tmp_path):
    name = "<script>alert(1)</script>"
    frame = pd.DataFrame({name: [1, 2, 3, 4], "&b": ["<i>", "<i>", "y", "y"]})
    release = microagg.protect(frame, k=2, quasi_identifiers=(name, "&b"), confidential=())
    for public in (True, False):
        release.report(tmp_path / f"{public}.html", public=public)
        page = (tmp_path / f"{public}.html").read_text()
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page
        assert "<i>" not in page


def test_the_public_report_of_the_command_line(tmp_path):
    survey(tmp_path / "survey.csv")
    done = command(
        *("protect", "survey.csv", *ROLES, "-o", "release.csv", "-r", "page.html", "--public"),
        folder=tmp_path,
    )
    assert done.code == 0, done.err
    page = (tmp_path / "page.html").read_text()
    assert "survey" not in page
    assert "Person" not in page
    assert not any(row["income"] in page for row in rows_of(str(tmp_path / "survey.csv")))


def test_a_table_that_a_format_cannot_hold_is_refused(tmp_path):
    table = pa.table({"age": [1, 2, 3, 4], "list": [[1], [2], [3], [4]]})
    release = microagg.protect(table, k=2, quasi_identifiers="age")
    with pytest.raises(InputError, match="'list'"):
        release.write(tmp_path / "release.csv")
    assert not list(tmp_path.iterdir())
    release.write(tmp_path / "release.parquet")


def test_numbers_that_are_hard_to_read_back_do_not_fail_the_check(tmp_path):
    draw = random.Random(1)
    rows = [(draw.randint(97, 101), draw.random()) for _ in range(40)]
    lines = ["age,x", *(f"{age},{x}" for age, x in rows)]
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    # 99 stands for a missing value, and yet is what groups may publish.
    release = microagg.protect(
        tmp_path / "in.csv", k=10, quasi_identifiers="age", reading={"missing_values": ["99"]}
    )
    assert release.write(tmp_path / "out.csv").passed
    table = pa.table(
        {
            "age": [row[0] for row in rows],
            "nan": [float("nan") if row % 3 else 1.5 for row in range(40)],
            "inf": [float("inf") if row % 3 else -0.0 for row in range(40)],
            "huge": [2.0**70 + row * 2.0**30 for row in range(40)],
            "tiny": [5e-324 * row for row in range(40)],
            "long": [2**63 - 1 - row for row in range(40)],
            "empty": pa.nulls(40, pa.float64()),
            "short": pa.array([row / 3 for row in range(40)], pa.float32()),
        }
    )
    release = microagg.protect(table, k=3, quasi_identifiers="age", row_order="kept")
    assert release.write(tmp_path / "hard.csv").passed
    found = rows_of(str(tmp_path / "hard.csv"))
    for name in ("inf", "huge", "tiny", "long"):
        kind = int if name == "long" else float
        assert [kind(row[name]) for row in found] == table[name].to_pylist()


def test_nothing_is_counted_twice(tmp_path, monkeypatch):
    from microagg.columns.profile import Tally
    from microagg.engine import memory

    counted, added = [], []
    count, add = memory.classes_by, Tally.add
    monkeypatch.setattr(memory, "classes_by", lambda *given: counted.append(given) or count(*given))
    monkeypatch.setattr(Tally, "add", lambda *given: added.append(given) or add(*given))
    release = microagg.protect(mixed(), **RECIPE, progress=False)
    release.write(tmp_path / "release.csv")
    for public in (False, True):
        release.report(tmp_path / f"{public}.html", public=public)
    assert release.certificate.passed
    assert len(counted) == 1, "classes are counted on what was written, and only there"
    assert len(added) == 1


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_report_says_how_to_repeat_it_with_the_engine(tmp_path, engine):
    pq.write_table(mixed(), tmp_path / "people.parquet")
    with microagg.protect(
        tmp_path / "people.parquet", engine=engine, **RECIPE, progress=False
    ) as release:
        release.write(tmp_path / "release.parquet")
        release.report(tmp_path / "report.html")
    page = unescape((tmp_path / "report.html").read_text())
    assert f"microagg protect people.parquet --recipe recipe.toml --engine {engine} -o" in page
    assert "the order of the rows as they were" in page


def test_what_was_proved_is_never_rounded_down(tmp_path):
    frame = pd.DataFrame({"x": [row * row % 47 for row in range(40)], "y": range(40)})
    release = microagg.protect(
        frame, k=3, quasi_identifiers=["x", "y"], method="mdav", prove=5.0, progress=False
    )
    release.write(tmp_path / "release.csv")
    told = json.loads((tmp_path / "release.csv.certificate.json").read_text())["information_loss"]
    above = told["percent_above_optimum_at_most"]
    assert release.record.above_optimum <= above < release.record.above_optimum + 0.01001
    assert above == round(above, 2)
    assert microagg.Record.read(f"{tmp_path}/release.csv.record.json") == release.record
