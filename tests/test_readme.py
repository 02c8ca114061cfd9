"""The README does what it says: its Python is run, and its commands."""

from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq

from tests.commands import microagg, survey
from tests.pages import commands_of, python_of

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = python_of(README)
    assert len(blocks) == 5
    known: dict = {}
    for block in blocks:
        exec(block, known)
    assert known["release"].certificate.k_found >= 5
    assert known["groups"].sizes.min() >= 5
    assert known["best"].scoring_index <= 100
    assert known["released"].shape == known["X"].shape
    assert pq.read_table("release.parquet").num_rows == 500


def test_the_commands_run(tmp_path):
    people = survey(tmp_path / "survey.csv")
    pq.write_table(pyarrow.csv.read_csv(people), tmp_path / "visits.parquet")
    lines = [line for line in commands_of(README) if "spark" not in line]
    assert {line[1] for line in lines} == {"inspect", "protect", "private"}
    for _, *arguments in lines:
        done = microagg(*arguments, folder=tmp_path)
        assert done.code == 0, (arguments, done.err)
    for name in ("release.csv", "release.parquet", "report.html", "private.csv"):
        assert (tmp_path / name).stat().st_size > 0
