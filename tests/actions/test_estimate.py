"""A dry run: the plan of the run itself, and the same refusals."""

import sqlite3
import time
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.actions.estimate import estimate
from microagg.base.errors import MicroaggError
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.engine.choosing import Where
from microagg.engine.memory import Memory
from microagg.grouping import methods
from microagg.table.opening import open_head
from tests.engine.tables import SETTINGS, nasty
from tests.tables import write_table

survey = Memory.survey


@pytest.fixture
def path(tmp_path):
    pq.write_table(nasty(500), tmp_path / "table.parquet")
    return tmp_path / "table.parquet"


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_it_says_what_the_run_does(path, engine):
    recipe = Recipe(**{**SETTINGS, "method": "auto", "cell_rows": 100, "within": ["region"]})
    found = estimate(path, recipe, Where(engine=engine), progress=False)
    with microagg.protect(path, recipe=recipe, engine=engine, progress=False) as release:
        assert found.method == release.certificate.method
        assert found.cell_rows == release.record.cell_rows
    assert found.records == 500
    assert found.engine == engine
    assert found.seconds > 0
    assert found.megabytes > 0
    assert found.kinds["grade"] == "ordinal"
    assert found.roles["other"] == ["region", "weight", "note"]
    assert any("missing values" in note for note in found.notes)
    assert any(line.startswith("engine") for line in found.sentences())
    assert [each.name for each in path.parent.iterdir()] == ["table.parquet"]


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "auto", "options": {"gamma": 1}},
        {"method": "vmdav", "options": {"gamma": "much"}},
        {"method": "search", "options": {"effort": "huge"}},
        {"method": "search", "options": {"steps": 5, "time_limit": 1}},
        {"method": "univariate"},
        {"k": 501},
        {"within": ["region"], "k": 200},
        {"missing": "error"},
        {"weights": "note"},
    ],
)
def test_it_refuses_what_the_run_refuses(path, engine, wrong):
    recipe = Recipe(**{**SETTINGS, **wrong})
    with pytest.raises(MicroaggError) as one:
        microagg.protect(path, recipe=recipe, engine=engine, progress=False)
    with pytest.raises(MicroaggError) as other:
        estimate(path, recipe, Where(engine=engine), progress=False)
    assert str(one.value) == str(other.value)


def test_a_trial_that_takes_long_is_judged_by_its_share(path, monkeypatch):
    """Nobody waits for the end of it: this method has none before it gives up."""

    def slowly(task):
        begun = time.monotonic()
        while (passed := time.monotonic() - begun) < 60:
            task.advance(passed / 600)
        raise AssertionError("a dry run waited for a trial")

    method = microagg.Method("slowly", "takes ten minutes", "nobody", "long", slowly)
    monkeypatch.setitem(methods._registered, "slowly", method)
    recipe = Recipe(quasi_identifiers=SETTINGS["quasi_identifiers"], k=3, method="slowly")
    found = estimate(path, recipe, Where(), progress=False)
    assert found.seconds >= 500


def test_seconds_that_were_given_are_not_tried(path):
    for settings in ({"refine": 1e8}, {"method": "search", "options": {"time_limit": 1e8}}):
        recipe = Recipe(**{**SETTINGS, "method": "mdav", "options": {}, **settings})
        assert estimate(path, recipe, Where(), progress=False).seconds >= 1e8


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_of_a_large_file_the_first_records_tell(tmp_path, suffix, engine):
    table = pa.table(
        {"age": [row % 97 for row in range(80_000)], "pay": [row * 1.5 for row in range(80_000)]}
    )
    path = tmp_path / f"large.{suffix}"
    write_table(table, path)
    recipe = Recipe(quasi_identifiers=("age", "pay"), k=3, method="mdav", cell_rows=1000)
    found = estimate(path, recipe, Where(engine=engine), progress=False, most=1 << 18)
    whole = estimate(path, recipe, Where(engine=engine), progress=False)
    assert any("only the first" in note for note in found.notes)
    assert not any("only the first" in note for note in whole.notes)
    assert found.records == pytest.approx(whole.records, rel=0.2)
    assert (found.engine, found.method, found.kinds) == (whole.engine, whole.method, whole.kinds)
    recipe = Recipe(quasi_identifiers="pay", k=3, within="age")
    found = estimate(path, recipe, Where(engine=engine), progress=False, most=1 << 18)
    assert found.records == pytest.approx(80_000, rel=0.2)


@pytest.mark.parametrize(
    "name",
    ["t.csv", "t.csv.gz", "t.csv.zst", "t.parquet", "t.arrow", "t.jsonl", "t.xlsx", "t.sav",
     "t.dta", "sqlite"],
)  # fmt: skip
def test_of_a_large_table_only_the_first_rows_are_looked_at(tmp_path, name, monkeypatch):
    rows = np.random.default_rng(0)
    table = pa.table({f"x{place}": rows.normal(size=20_000) for place in range(5)})
    address = str(tmp_path / name)
    if name == "sqlite":
        with closing(sqlite3.connect(tmp_path / "t.sqlite")) as base:
            table.to_pandas().to_sql("people", base, index=False)
        address = f"sqlite:///{tmp_path / 't.sqlite'}#people"
    else:
        write_table(table.slice(0, 6_000) if name == "t.xlsx" else table, tmp_path / name)
    held = []
    monkeypatch.setattr(
        Memory, "survey", lambda self, advance: held.append(self.rows) or survey(self, advance)
    )
    # A workbook is judged by cells, and what is compressed by bytes that are taken in blocks.
    most = {"t.xlsx": 1 << 22, "t.csv.gz": 1 << 19, "t.csv.zst": 1 << 19}.get(name, 1 << 16)
    found = estimate(address, Recipe(k=3, quasi_identifiers=["x0", "x3"]), Where(),
                     progress=False, most=most)  # fmt: skip
    assert any("only the first" in note for note in found.notes)
    total = 6_000 if name == "t.xlsx" else 20_000
    assert held[0] < total / 1.5
    assert found.records == pytest.approx(total, rel=0.4)


def test_a_wide_table_is_not_read_by_many_rows(tmp_path):
    wide = pa.table({f"x{place}": np.zeros(5_000) + place for place in range(400)})
    pq.write_table(wide, tmp_path / "wide.parquet")
    head = open_head(tmp_path / "wide.parquet", Reading(), None, 1 << 20)
    assert head.opened.frame.rows <= 600
    assert head.share == pytest.approx(head.opened.frame.rows / 5_000)


def test_of_a_wide_table_only_columns_that_are_asked_for_are_read(tmp_path):
    wide = pa.table({f"x{place}": np.arange(5_000.0) + place for place in range(40)})
    pq.write_table(wide, tmp_path / "wide.parquet")
    head = open_head(tmp_path / "wide.parquet", Reading(), ["x7", "x3"], 1 << 12)
    assert head.opened.frame.names == ["x7", "x3"]
    recipe = Recipe(k=3, quasi_identifiers=["x7", "x3"], identifiers=["x0"])
    found = estimate(tmp_path / "wide.parquet", recipe, Where(), progress=False, most=1 << 12)
    others = [name for name in wide.column_names if name not in ("x7", "x3", "x0")]
    assert found.roles["other"] == others
    with pytest.raises(MicroaggError, match="did you mean 'x7'"):
        estimate(
            tmp_path / "wide.parquet",
            Recipe(k=3, quasi_identifiers=["x77"]),
            Where(),
            progress=False,
            most=1 << 12,
        )


@pytest.mark.parametrize("setting", ["within", "entity"])
def test_strata_and_entities_of_a_large_table_are_not_looked_at_whole(tmp_path, setting):
    groups = np.arange(5_000) // 4
    table = pa.table({"age": np.arange(5_000) % 90, "who": groups})
    pq.write_table(table, tmp_path / "t.parquet")
    asked = {setting: "who" if setting == "entity" else ["who"]}
    recipe = Recipe(k=3, quasi_identifiers=["age"], **asked)
    found = estimate(tmp_path / "t.parquet", recipe, Where(), progress=False, most=1 << 12)
    assert any("only the first" in note for note in found.notes)
