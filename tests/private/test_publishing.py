"""A private release as a file, a certificate, a report; and the command that makes them."""

import json

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import microagg.private
from microagg.base.errors import MicroaggError
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
        "--ledger", "ledger.json", "--limit", "1.5", "--json", folder=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert json.loads(done.out)["guarantee"]["epsilon"] == 1.0
    assert (tmp_path / "out.csv.certificate.json").exists()
    again = commands.microagg(
        "private", "survey.csv", "-e", "1", "-b", "age=0:110,sex=f|m", "-o", "two.csv",
        "--ledger", "ledger.json", "--limit", "1.5", folder=tmp_path,
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
