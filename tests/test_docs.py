"""Pages for users and for those who work on it: code runs, links lead somewhere, files exist."""

import re
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.commands import microagg, survey
from tests.pages import commands_of, python_of

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md"))]
ARCHITECTURE = DOCS / "architecture.md"
MAPS = (ROOT / "CONTRIBUTING.md", ARCHITECTURE, DOCS / "how-it-works.md", DOCS / "engines.md")
# A file, or a folder of the project: at least one slash, or the name of a file at its root.
NAMED = re.compile(r"`([\w./<>-]*/[\w./<>-]*|[\w.-]+\.(?:py|md|toml))`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", MAPS, ids=lambda page: page.name)
def test_files_that_are_named_exist(page):
    """Rooms are those of the package, everything else is named from the root."""
    named = [name for name in NAMED.findall(page.read_text(encoding="utf-8")) if "<" not in name]
    assert named
    homes = (ROOT, ROOT / "src" / "microagg")
    missing = [name for name in named if not any((home / name).exists() for home in homes)]
    assert missing == []


def test_every_room_is_described():
    rooms = {path.parent.name for path in (ROOT / "src" / "microagg").glob("*/__init__.py")}
    described = re.findall(r"^### `(\w+)/`", ARCHITECTURE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(described) == rooms
    assert len(described) == len(rooms)


@pytest.mark.parametrize("name", ["engines.md", "guarantees.md", "risk.md"])
def test_the_examples_run(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    known: dict = {}
    blocks = python_of(DOCS / name)
    assert blocks
    for block in blocks:
        exec(block, known)


def test_the_commands_of_the_engines_run(tmp_path):
    table = pyarrow.csv.read_csv(survey(tmp_path / "survey.csv"))
    (tmp_path / "visits").mkdir()
    for path in ("visits.parquet", "visits/first.parquet", "visits/second.parquet"):
        pq.write_table(table, tmp_path / path)
    lines = [line for line in commands_of(DOCS / "engines.md") if "spark" not in line]
    assert len(lines) == 2
    for _, *arguments in lines:
        done = microagg(*arguments, "--force", folder=tmp_path)
        assert done.code == 0, (arguments, done.err)
    assert pq.read_table(tmp_path / "release.parquet").num_rows == 2 * table.num_rows
