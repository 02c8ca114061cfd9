"""Which engine it is, how much memory that takes, and what is refused before any work."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.actions.estimate import estimate
from microagg.base.errors import InputError, OptionError
from microagg.base.progress import silent
from microagg.base.recipe import Recipe
from microagg.engine.choosing import (
    LEAST_MEMORY,
    Where,
    bytes_of,
    choose_engine,
    memory_for_cells,
    memory_for_table,
    refuse_large_cells,
)
from microagg.engine.memory import Memory
from microagg.table.streams import estimated_size
from tests.commands import microagg as command
from tests.commands import refusal
from tests.engine.disk.running import left, plan_of, put
from tests.engine.tables import KINDS, SETTINGS, few, nasty

DISK = SimpleNamespace(name="disk", memory=None)


@pytest.fixture
def source(tmp_path):
    return put(nasty(1000), tmp_path / "table.parquet")


# --- Where ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GB", 4 * 10**9), ("500 MB", 5 * 10**8), ("1.5g", 15 * 10**8), (7, 7), ("12", 12)],
)
def test_sizes_of_memory(text, size):
    assert bytes_of(text) == size


@pytest.mark.parametrize("text", ["lots", "", "4 elephants", "inf", "nan", True, None])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(OptionError, match="must be a size such as 4GB or 500MB"):
        bytes_of(text)


def test_tables_that_do_not_fit_are_protected_on_disk(tmp_path, source):
    assert Where().settled(source) == "memory"
    assert Where().settled(str(source)) == "memory"
    assert Where(memory="1GB").settled(source) == "memory"
    assert Where().settled(tmp_path) == "disk"
    assert Where(memory="1GB").settled("-") == "memory"
    assert Where(memory="1GB").settled(pa.table({"x": [1.0]})) == "memory"
    assert Where(resume=True).settled(source) == "disk"
    assert Where().settled(tmp_path / "nowhere.csv") == "memory"
    assert Where().settled("sqlite:///somewhere.db#people") == "memory"


def test_what_fits_is_told_by_the_size_of_the_table(source, monkeypatch):
    for size, engine in ((10**8, "memory"), (2 * 10**8, "disk")):
        monkeypatch.setattr("microagg.engine.choosing.estimated_size", lambda _, size=size: size)
        assert Where(memory="1GB").settled(source) == engine
        assert (memory_for_table(size) <= LEAST_MEMORY) == (engine == "memory")


def test_nothing_that_is_free_is_unlimited(source, monkeypatch):
    monkeypatch.setattr("microagg.engine.choosing.available_memory", lambda: None)
    assert Where().settled(source) == "memory"
    assert Where().allowed is None
    refuse_large_cells(plan_of(source, **SETTINGS), DISK, Where())


def test_it_is_passed_on_by_name():
    where = Where(engine="disk", memory="2GB", work="there", resume=True)
    assert Where(**where.settings()) == where
    assert where.allowed == 2 * 10**9


def test_what_makes_no_sense_is_refused(source):
    with pytest.raises(OptionError, match="there is no engine 'cloud'; there are auto, memory"):
        Where(engine="cloud")
    with pytest.raises(OptionError, match=r"memory is 1MB, but at least 1GB are needed.*give that"):
        Where(memory="1MB")
    with pytest.raises(OptionError, match="master and session are Spark's; say engine=spark too"):
        Where(master="spark://here:7077").settled(source)
    with pytest.raises(OptionError, match="resume goes on with a run on disk; say engine=disk"):
        Where(engine="memory", resume=True).settled(source)


# --- The engine -----------------------------------------------------------------------------------


def chosen(table, where, prove=0.0, **settings):
    engine = choose_engine(table, Recipe(**{**SETTINGS, **settings}), where, silent, prove)
    engine.close()
    return engine


def test_the_engine_has_the_table_open(source):
    for name in ("memory", "disk"):
        engine = chosen(source, Where(engine=name))
        assert engine.name == name
        assert engine.rows == 1000
        assert "name" not in engine.columns
    assert isinstance(chosen(pq.read_table(source), Where()), Memory)


def test_a_table_in_memory_is_not_protected_on_disk():
    with pytest.raises(InputError, match=r"in memory is protected there: .* or give the path"):
        chosen(nasty(100), Where(engine="disk"))


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ({"entity": "region"}, "entity"),
        ({"aggregate": "proximity"}, 'aggregate="proximity"'),
        ({"prove": 1.0}, "prove"),
    ],
)
def test_what_needs_all_records_at_once_is_refused_in_parts(source, setting, named):
    wanted = f"{named} needs all records in one place, which only engine=memory has; leave it out"
    with pytest.raises(OptionError, match=wanted):
        chosen(source, Where(engine="disk"), **setting)
    chosen(source, Where(engine="memory"), **setting)


@pytest.mark.parametrize("setting", [{"within": ["region"]}, {"entity": "note"}])
def test_what_cannot_be_proved_is_refused_at_first(source, setting):
    with pytest.raises(OptionError, match="leave out within and entity, or it"):
        chosen(source, Where(), prove=1.0, **setting)


# --- Memory ---------------------------------------------------------------------------------------


def sized(source, rows, **settings):
    """The plan of a table as if it had more rows."""
    return replace(plan_of(source, **{**SETTINGS, **settings}), rows=rows)


def test_a_whole_table_that_does_not_fit_is_refused_with_what_helps(source):
    plan = sized(source, 10**8)
    assert plan.cell_rows is None
    with pytest.raises(
        OptionError,
        match=r"mdav would group all records at once, which takes about \d+\.\d GB, but 2\.0 GB "
        r"may be used; say cell_rows=\d+ to divide them, or allow more memory",
    ) as refused:
        refuse_large_cells(plan, DISK, Where(memory="2GB"))
    # What it says does help.
    told = int(str(refused.value).split("cell_rows=")[1].split()[0])
    refuse_large_cells(replace(plan, cell_rows=told), DISK, Where(memory="2GB"))
    # Memory holds the whole table anyway.
    refuse_large_cells(plan, SimpleNamespace(name="memory"), Where(memory="2GB"))
    refuse_large_cells(sized(source, 10**5), DISK, Where(memory="2GB"))


@pytest.mark.parametrize("cell_rows", [10**7, 200_000])
def test_cells_that_do_not_fit_are_too(source, cell_rows):
    plan = replace(sized(source, 10**8), cell_rows=cell_rows)
    wide = replace(plan, codings=plan.codings * 20)
    assert memory_for_cells(wide) > memory_for_cells(plan) > LEAST_MEMORY / 2
    with pytest.raises(OptionError, match=f"would group {cell_rows} records") as refused:
        refuse_large_cells(wide, DISK, Where(memory="1GB"))
    told = int(str(refused.value).split("cell_rows=")[1].split()[0])
    assert 1000 < told < 200_000
    refuse_large_cells(replace(wide, cell_rows=told), DISK, Where(memory="1GB"))


def test_two_cells_are_held_at_a_time(source):
    plan = replace(sized(source, 10**6), cell_rows=1000)
    each = memory_for_cells(plan) - LEAST_MEMORY / 2
    assert each == 8 * 2000 * (len(KINDS) + plan.width) * 6
    assert memory_for_cells(replace(plan, rows=500)) - LEAST_MEMORY / 2 == each / 4


# --- The dry run ----------------------------------------------------------------------------------


def refused(action):
    with pytest.raises((InputError, OptionError)) as failure:
        action()
    return type(failure.value), str(failure.value)


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize(
    "settings",
    [
        {"method": "nonsense"},
        {"options": {"nonsense": 1}},
        {"k": 1001},
        {"missing": "error"},
        {"within": ["region"]},
        {"quasi_identifiers": ["number", "nothing"], "orders": {}},
        {"kinds": {"word": "continuous"}},
        {"weights": "note"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_a_dry_run_refuses_what_the_run_refuses(tmp_path, engine, settings):
    source = put(few(nasty(1000), "w", 3), tmp_path / "table.parquet")
    settings = {**SETTINGS, **settings}
    where = Where(engine=engine)
    run = refused(lambda: microagg.protect(source, engine=engine, progress=False, **settings))
    dry = refused(lambda: estimate(source, Recipe(**settings), where, progress=False))
    assert dry == run


def test_a_dry_run_refuses_cells_that_do_not_fit(tmp_path):
    source = tmp_path / "table.parquet"
    columns = {f"c{place}": np.arange(3000.0) % (7 + place) for place in range(300)}
    pq.write_table(pa.table(columns), source)
    settings = {"quasi_identifiers": list(columns), "method": "mdav", "k": 3}
    where = Where(engine="disk", memory="1GB")
    assert estimate(source, Recipe(**settings), where, progress=False).cell_rows is None
    # As if a record took more than it does.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("microagg.engine.choosing._CELL_COPIES", 100)
        run = refused(
            lambda: microagg.protect(source, progress=False, **where.settings(), **settings)
        )
        dry = refused(lambda: estimate(source, Recipe(**settings), where, progress=False))
    assert dry == run
    assert "mdav would group all records at once" in dry[1]


def test_an_estimate_tells_what_the_run_would_do(source):
    recipe = Recipe(**SETTINGS)
    told = {
        engine: estimate(source, recipe, Where(engine=engine), progress=False)
        for engine in ("memory", "disk")
    }
    for engine, each in told.items():
        assert each.engine == engine
        assert (each.records, each.method, each.cell_rows, each.k) == (1000, "mdav", None, 4)
        assert each.roles["identifiers"] == ["name"]
        assert each.roles["other"] == ["region", "weight", "note"]
        assert each.kinds["grade"] == "ordinal"
        assert each.seconds > 0
    assert told["memory"].megabytes == memory_for_table(estimated_size(source)) / 1e6
    assert told["disk"].megabytes == memory_for_cells(plan_of(source, **SETTINGS)) / 1e6


# --- The command line -----------------------------------------------------------------------------


@pytest.fixture
def arguments(tmp_path, source):
    recipe = Recipe(**{**SETTINGS, "identifiers": ["name"]})
    recipe.write(tmp_path / "recipe.toml")
    return ("protect", source.name, "--recipe", "recipe.toml", "--engine", "disk")


def test_command_line(tmp_path, arguments):
    done = command(*arguments, "-o", "out.csv", "-r", "report.html", "--json", folder=tmp_path)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["files"] == {
        "release": "out.csv", "certificate": "out.csv.certificate.json",
        "record": "out.csv.record.json", "report": "report.html",
    }  # fmt: skip
    assert (tmp_path / "report.html").exists()
    assert told["verdict"] == "passed"
    assert left(tmp_path) == []
    streamed = command(*arguments, "-o", "-", folder=tmp_path)
    assert streamed.code == 0, streamed.err
    assert streamed.raw == (tmp_path / "out.csv").read_bytes()


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_the_command_line_refuses_before_any_work(tmp_path, arguments, dry):
    arguments = (*arguments, *dry)
    assert "prove" in refusal(*arguments, "-o", "a.csv", "--prove", "5", folder=tmp_path)
    assert "master" in refusal(*arguments, "-o", "a.csv", "--master", "x", folder=tmp_path)
    assert "1GB" in refusal(*arguments, "-o", "a.csv", "--memory", "1MB", folder=tmp_path)
    assert "such as 4GB" in refusal(*arguments, "-o", "a.csv", "--memory", "lots", folder=tmp_path)
    assert "cannot be written in parts" in refusal(*arguments, "-o", "a.xlsx", folder=tmp_path)
    database = "sqlite:///out.db#people"
    assert "cannot be written in parts" in refusal(*arguments, "-o", database, folder=tmp_path)
    assert "never written" in refusal(*arguments, "-o", "table.parquet", "--force", folder=tmp_path)
    assert "exists" in refusal(*arguments, "-o", "recipe.parquet", "-r", "recipe.toml",
                               folder=tmp_path)  # fmt: skip


def test_a_dry_run_looks_at_all_and_writes_nothing(tmp_path, arguments):
    before = sorted(tmp_path.iterdir())
    done = command(*arguments, "--dry-run", folder=tmp_path)
    assert done.code == 0, done.err
    assert "1000 records, groups of at least 4, by mdav" in done.out
    assert "engine     disk" in done.out
    assert sorted(tmp_path.iterdir()) == before
