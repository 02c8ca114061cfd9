"""A private release as a file, a certificate, a report; and the command that makes them."""

import inspect
import json

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import microagg.private
from microagg.base.errors import MicroaggError
from microagg.cli.private import private as command
from tests import commands

BOUNDS = {"age": (0, 110), "sex": ["f", "m"]}


def columns(n=60):
    rng = np.random.default_rng(5)
    return {
        "name": [f"person-{i}" for i in range(n)],
        "age": rng.integers(18, 90, n),
        "sex": rng.choice(["f", "m"], n),
    }


def test_the_certificate_and_the_report_tell_nothing_of_the_input(tmp_path):
    secret = 61.73205080756888
    table = pa.table({"age": [secret] * 30 + [20.0] * 30})
    found = microagg.private.release(
        table, epsilon=1, bounds={"age": (0, 100)}, method="marginals", k=10
    )
    found.write(tmp_path / "release.csv")
    found.report(tmp_path / "report.html")
    certificate = json.loads((tmp_path / "release.csv.certificate.json").read_text())
    assert certificate["guarantee"]["definition"] == "epsilon-differential privacy"
    assert list(certificate["sha256"]) == ["release"]
    for path in tmp_path.iterdir():
        assert str(secret) not in path.read_text()
    page = (tmp_path / "report.html").read_text()
    assert "epsilon-differential privacy in the standard sense" in page
    with pytest.raises(MicroaggError, match="exists"):
        found.write(tmp_path / "release.csv")


def test_a_simulation_says_so_first(tmp_path):
    found = microagg.private.release(
        pa.table(columns()), epsilon=1, bounds=BOUNDS, method="marginals", simulate=True
    )
    found.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Not private" in page
    assert page.index("SIMULATION, NOT PRIVATE") < page.rindex("What was done")


def test_the_command(tmp_path):
    pl.DataFrame(columns()).write_csv(tmp_path / "survey.csv")
    done = commands.microagg(
        "private", "survey.csv", "-e", "1", "-b", "age=0:110,sex=f|m", "-o", "out.csv",
        "--ledger", "ledger.json", "--dataset", "S1", "--limit", "1.5", "--json", folder=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert json.loads(done.out)["ledger"] == "epsilon 1 is spent on 's1': 1 of 1.5 in all"
    assert json.loads(done.out)["guarantee"]["epsilon"] == 1.0
    assert (tmp_path / "out.csv.certificate.json").exists()
    again = commands.microagg(
        "private", "survey.csv", "-e", "1", "-b", "age=0:110,sex=f|m", "-o", "two.csv",
        "--ledger", "ledger.json", "--dataset", "s1", "--limit", "1.5", folder=tmp_path,
    )  # fmt: skip
    assert again.code == 2
    assert "has spent 1" in again.err
    assert not (tmp_path / "two.csv").exists()
    piped = commands.microagg(
        "private", "-", "-e", "1", "-b", "age=0:110", "-o", "-",
        folder=tmp_path, stdin=(tmp_path / "survey.csv").read_bytes(),
    )  # fmt: skip
    assert piped.code == 0, piped.err
    assert piped.out.splitlines()[0] == "age"
    assert len(piped.out.splitlines()) == 61
    assert "differential privacy" in piped.err
    asked = ("private", "survey.csv", "-e", "1", "-b", "age=0:110", "-o", "x.csv")
    sentence = commands.refusal(*asked, "-m", "mdav", folder=tmp_path)
    assert "partition-conditional" in sentence
    assert "bounds" in commands.refusal(
        "private", "survey.csv", "-e", "1", "-o", "x.csv", folder=tmp_path
    )


def asked(folder, *more, output="out.csv"):
    return (
        "private", folder / "survey.csv", "-e", "1", "-b", "age=0:110,sex=f|m", "-o", output, *more,
    )  # fmt: skip


@pytest.fixture
def survey(tmp_path):
    (tmp_path / "data").mkdir()
    pl.DataFrame(columns()).write_csv(tmp_path / "data" / "survey.csv", separator=";")
    return tmp_path / "data"


def test_the_command_says_short_lines(tmp_path, survey):
    book = ("--ledger", tmp_path / "ledger.json", "--dataset", "s1", "--decimals", "age=1")
    done = commands.microagg(*asked(survey, *book, "-r", "page.html"), folder=survey)
    assert done.code == 0, done.err
    lines = dict(line.split(maxsplit=1) for line in done.out.splitlines())
    assert lines["promise"] == "epsilon-differential privacy"
    assert lines["epsilon"] == "1 (age 0.5, sex 0.5), by marginals"
    assert lines["ledger"] == "epsilon 1 is spent on 's1': 1 in all"
    assert lines["release"] == "out.csv"
    assert lines["certificate"] == "out.csv.certificate.json"
    assert lines["report"] == "page.html"
    assert max(map(len, done.out.splitlines())) < 110
    head, *rows = (survey / "out.csv").read_text().splitlines()
    assert head == "age;sex"
    assert all(len(row.partition(";")[0].partition(".")[2]) == 1 for row in rows)
    assert "decimals" not in lines
    done = commands.microagg(*asked(survey, "--force"), folder=survey)
    assert "decimals     as the noise left them; --decimals 0 rounds them" in done.out


def test_the_command_spends_nothing_on_what_it_refuses(tmp_path, survey):
    ledger = tmp_path / "ledger.json"
    book = ("--ledger", ledger, "--dataset", "s1")
    (survey / "old.csv").touch()
    for sentence, more, output in (
        ("which table", (), "sqlite:///x.db"),
        ("cannot be opened", (), "sqlite:///no/such/folder/x.db#t"),
        ("tells no format", (), "x.strange"),
        ("exists", (), "old.csv"),
        ("no folder", ("-r", "old.csv/page.html"), "out.csv"),
        ("decimals", ("--decimals", "sex=1"), "out.csv"),
        ("go together", ("--ledger", ledger), "out.csv"),
    ):
        own = more if "--ledger" in more else (*book, *more)
        assert sentence in commands.refusal(*asked(survey, *own, output=output), folder=survey)
    for name in ("out.csv", "survey.csv", "page.html", "out.csv.certificate.json"):
        own = ("--ledger", name, "--dataset", "s1", "-r", "page.html")
        assert "cannot be the ledger too" in commands.refusal(*asked(survey, *own), folder=survey)
    assert "needs both" in commands.refusal(*asked(survey, "--limit", "1"), folder=survey)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["data"]


def test_the_command_says_what_was_spent_when_writing_fails(tmp_path, survey, monkeypatch):
    rehearsed = []

    def full_the_second_time(*_settings, **_named):
        rehearsed.append(1)
        if len(rehearsed) > 1:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("microagg.private.outcome.write_json", full_the_second_time)
    book = ("--ledger", tmp_path / "ledger.json", "--dataset", "s1")
    failed = "No space left on device: out.csv; although this failed, epsilon 1 is spent"
    for more, spent in ((book, " on 's1': 1 in all"), ((), ", for noise was drawn")):
        for as_json in ((), ("--json",)):
            rehearsed.clear()
            done = commands.microagg(*asked(survey, *more, *as_json), folder=survey)
            assert done.code == 2
            if as_json:
                spent = spent.replace("1 in all", "2 in all")
                said = {"error": f"{failed}{spent}", "exit": 2}
                assert (json.loads(done.out), done.err) == (said, "")
            else:
                assert (done.out, done.err) == ("", f"microagg: {failed}{spent}\n")
            assert [found.name for found in survey.iterdir()] == ["survey.csv"]
    assert microagg.private.Ledger(tmp_path / "ledger.json").spent() == {"s1": 2.0}


def test_a_study_spends_nothing_when_writing_fails(tmp_path, monkeypatch):
    def fail(*_settings, **_named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("microagg.private.outcome.write_json", fail)
    found = microagg.private.release(
        {"age": [1.0, 2.0, 3.0]}, epsilon=1, bounds={"age": (0, 9)}, simulate=True
    )
    with pytest.raises(OSError, match=r"No space left on device: [^;]*$"):
        found.write(tmp_path / "out.csv")


def test_defaults_are_the_same_in_python_and_on_the_command_line():
    said = inspect.signature(command).parameters
    for name, known in inspect.signature(microagg.private.release).parameters.items():
        if name not in ("table", "epsilon", "reading"):
            assert said[name].default == known.default, name
