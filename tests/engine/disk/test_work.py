"""The work folder: rows by cell, runs that were cut off, and what is left when all is over."""

import gc
import json
import signal
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import microagg
from microagg.base.errors import InputError, OptionError, PromiseError
from microagg.base.progress import silent
from microagg.engine.disk.work import Row, Work, remove_left, work_path
from microagg.engine.plan import DROPPED
from microagg.engine.planning import make_plan
from microagg.engine.profile import Profile
from microagg.measure.dominance import Dominance
from tests import forking
from tests.commands import microagg as command
from tests.commands import refusal
from tests.engine.disk.running import left, opened, protected, put
from tests.engine.tables import KINDS, SETTINGS, nasty
from tests.forking import PIPE

CELLS = {**SETTINGS, "cell_rows": 100}
IDENTITY = {"input": "one"}


@pytest.fixture
def source(tmp_path):
    return put(nasty(1000), tmp_path / "table.parquet")


@pytest.fixture
def work(tmp_path):
    return Work(tmp_path / "work", IDENTITY)


# --- Rows -----------------------------------------------------------------------------------------


def test_rows_come_out_as_they_went_in():
    rng = np.random.default_rng(0)
    # More columns than marks fit into one word.
    kinds = [np.dtype(kind) for kind in ("f8", "i8", "u8")] * 25
    row = Row(tuple(kinds), strata=True, households=False, weights=False, crossed=False)
    columns = [
        (rng.integers(0, 2**62, 50).view(kind), rng.random(50) < 0.3 if place % 2 else None)
        for place, kind in enumerate(kinds)
    ]
    assert row.words == row.published + 1 == 1 + 75 + 2 + 1
    packed = row.pack(np.arange(50) + 7, columns)
    assert packed.shape == (50, row.words)
    assert packed[:, 0].tolist() == list(range(7, 57))
    for (values, missing), (again, gone) in zip(columns, row.unpack(packed), strict=True):
        assert again.dtype == values.dtype
        assert again.tobytes() == values.tobytes()
        assert (gone is None) == (missing is None)
        assert missing is None or np.array_equal(gone, missing)


def routed(work, rows=200, leaves=5):
    """Rows that were sent to leaves in parts: all of them, and where each went."""
    rng = np.random.default_rng(1)
    packed = np.column_stack([np.arange(rows), rng.integers(0, 99, (rows, 2))])
    where = rng.integers(DROPPED, leaves, rows)
    counts = np.zeros(leaves, np.int64)
    for part in np.array_split(np.arange(rows), 4):
        counts += work.route(packed[part], where[part], leaves)
    assert counts.tolist() == [(where == leaf).sum() for leaf in range(leaves)]
    return packed, where


def test_rows_find_their_leaves_and_cells(work):
    packed, where = routed(work)
    for leaves in ([0], [1, 4], [3, 2]):
        there = np.isin(where, leaves)
        assert np.array_equal(work.cell(leaves, 3, there.sum()), packed[there])
    with pytest.raises(PromiseError, match="rows are left of a cell that had 7; leave out"):
        work.cell([0], 3, 7)


def found_in(cell):
    dominance = Dominance([0.8, 0.5])
    dominance.add([np.array([0.1 * cell, 0.9]), None], 2)
    return dominance


def test_ranges_are_put_together_from_all_cells(work):
    packed, where = routed(work)
    borders = np.append(np.arange(0, 200, 30), 200)
    for cell in range(5):
        assert not work.is_done(cell)
        work.keep(cell, packed[where == cell], borders, found_in(cell))
        assert work.is_done(cell)
        assert work.told(cell)[0].to_dict() == found_in(cell).to_dict()
        assert np.array_equal(work.kept(cell, 3, borders), packed[where == cell])
    for number in range(borders.size - 1):
        rows = slice(borders[number], borders[number + 1])
        found, there = work.published(5, 3, borders, number)
        assert np.array_equal(there, where[rows] != DROPPED)
        assert np.array_equal(found[there], packed[rows][there])
    work.keep(1, packed[where == 0], borders, found_in(0))
    with pytest.raises(PromiseError, match="a row came out of two cells; leave out"):
        work.published(5, 3, borders, 0)


# --- The folder -----------------------------------------------------------------------------------


def test_it_is_for_one_user_and_goes_when_it_is_closed(tmp_path, work):
    assert work.folder.stat().st_mode & 0o777 == 0o700
    work.close()
    assert list(tmp_path.iterdir()) == []
    work.close()
    with pytest.raises(OptionError, match="was closed"):
        work.check_open()


def test_it_goes_wherever_the_program_is_by_then(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    work = Work(Path("work"), IDENTITY)
    monkeypatch.chdir(tmp_path / "elsewhere")
    work.close()
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]


def test_what_others_have_in_the_same_place_stays(tmp_path):
    (tmp_path / "leaf-0").write_text("mine")
    (tmp_path / "folder").mkdir()
    work = Work(tmp_path, IDENTITY)
    (work.folder / "leaf-0").touch()
    work.clear()
    assert sorted(path.name for path in work.folder.iterdir()) == ["lock", "state.json"]
    (work.folder / "theirs").touch()
    work.close()
    assert [path.name for path in work.folder.iterdir()] == ["theirs"]
    (work.folder / "theirs").unlink()
    work.folder.rmdir()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "leaf-0"]
    assert (tmp_path / "leaf-0").read_text() == "mine"


def test_a_place_that_was_there_stays(tmp_path):
    (tmp_path / "mine").mkdir()
    for killed in (True, False):
        work = Work(tmp_path / "mine", IDENTITY)
        if killed:
            abandon(work)
        else:
            work.close()
    assert list((tmp_path / "mine").iterdir()) == []
    abandon(Work(tmp_path / "made", IDENTITY))
    Work(tmp_path / "made", IDENTITY).close()
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_place_that_only_runs_make_is_no_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    place = work_path(tmp_path / "release.csv")
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a link, which no run leaves there"):
        Work(place, IDENTITY)
    remove_left(place)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("way", ["symlink_to", "hardlink_to"])
def test_links_in_it_lead_nowhere(tmp_path, way):
    folder = abandon(Work(tmp_path / "work", IDENTITY))
    mine = tmp_path / "mine"
    mine.write_bytes(b"mine")
    getattr(folder / "leaf-0", way)(mine)
    with pytest.raises(InputError, match="there are links in microagg-work"):
        Work(tmp_path / "work", IDENTITY, resume=True)
    assert (folder / "leaf-0").exists()
    work = Work(tmp_path / "work", IDENTITY)
    work.route(np.zeros((3, 2), np.int64), np.zeros(3, np.int64), 1)
    assert mine.read_bytes() == b"mine"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no paths of what is open here")
@pytest.mark.parametrize("swapped", ["work", "work/microagg-work"])
def test_who_takes_its_name_meanwhile_gets_nothing(tmp_path, swapped):
    """A folder or link in place of the work folder, or of its parent, after it was looked at."""
    work = Work(tmp_path / "work", IDENTITY)
    theirs = tmp_path / "theirs"
    (theirs / "microagg-work").mkdir(parents=True)
    for folder in (theirs, theirs / "microagg-work"):
        (folder / "leaf-0").write_bytes(b"theirs")
    (tmp_path / swapped).rename(tmp_path / "away")
    (tmp_path / swapped).symlink_to(theirs)
    before = sorted(theirs.rglob("*"))
    work.route(np.zeros((3, 2), np.int64), np.zeros(3, np.int64), 1)
    work.note(counts=[3])
    assert work.cell([0], 2, 3).shape == (3, 2)
    work.clear()
    work.close()
    assert sorted(theirs.rglob("*")) == before
    assert {path.read_bytes() for path in before if path.is_file()} == {b"theirs"}


def test_temporary_places_of_dead_runs_go(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "microagg-mine").mkdir()
    dead, alive = Work(None, IDENTITY), Work(None, IDENTITY)
    place = abandon(dead).parent
    assert place.stat().st_mode & 0o777 == 0o700
    Work(None, IDENTITY).close()
    assert not place.exists()
    assert alive.folder.exists()
    alive.close()
    assert [path.name for path in tmp_path.iterdir()] == ["microagg-mine"]


def test_a_place_that_is_no_folder_is_named(tmp_path):
    (tmp_path / "work").touch()
    with pytest.raises(OSError, match=r"directory.*work'$"):
        Work(tmp_path / "work", IDENTITY)


def test_a_folder_that_others_made_or_can_look_into_is_refused(tmp_path, monkeypatch):
    for way in ("rights", "link", "owner"):
        place = tmp_path / way
        place.mkdir()
        folder = place / "microagg-work"
        if way == "link":
            (tmp_path / "elsewhere").mkdir(mode=0o700)
            folder.symlink_to(tmp_path / "elsewhere")
        else:
            folder.mkdir(mode=0o700)
        if way == "rights":
            folder.chmod(0o750)
        if way == "owner":
            monkeypatch.setattr("os.getuid", lambda: 4711)
        (folder / "theirs").touch()
        for resume in (False, True):
            with pytest.raises(InputError, match="made by somebody else, or is open to others"):
                Work(place, IDENTITY, resume=resume)
        assert [path.name for path in folder.iterdir()] == ["theirs"]


def test_two_runs_in_one_place_are_kept_apart(tmp_path, work):
    work.note(counts=[1])
    for resume in (False, True):
        with pytest.raises(InputError, match="another run is at work in work right now; wait"):
            Work(tmp_path / "work", IDENTITY, resume=resume)
    assert work.state["counts"] == [1]


def test_it_goes_with_whoever_held_it(tmp_path):
    work = Work(tmp_path / "work", IDENTITY)
    assert (tmp_path / "work").exists()
    del work
    assert not (tmp_path / "work").exists()


def test_a_release_that_is_dropped_takes_it_along(tmp_path, source):
    release = protected(source, tmp_path / "work", **CELLS)
    assert (tmp_path / "work").exists()
    del release
    gc.collect()
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("step", ["survey", "count", "publish"])
def test_a_failure_takes_it_along(tmp_path, source, monkeypatch, step):
    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"microagg.engine.disk.engine.Disk.{step}", fail)
    with pytest.raises(KeyboardInterrupt):
        microagg.protect(source, engine="disk", work=tmp_path / "work", progress=False, **CELLS)
    assert not (tmp_path / "work").exists()


def test_the_end_of_the_program_takes_it_along(tmp_path, source):
    script = """
import sys, json, microagg
from pathlib import Path
release = microagg.protect("table.parquet", engine="disk", work="work", progress=False,
                           **json.loads(sys.argv[1]))
assert Path("work").exists()
sys.exit(3)
"""
    done = forking.run("-c", script, json.dumps(CELLS), cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


# --- Cut off, and resumed -------------------------------------------------------------------------


def abandon(work):
    """Leave it as a run does that is killed: neither removed nor locked."""
    _, _, (own, _), _ = work._end.detach()
    own.let_go()
    return own.path


def test_a_run_that_goes_on_finds_what_was_noted(tmp_path):
    folder = abandon(Work(tmp_path / "work", IDENTITY))
    (folder / "cell-0").touch()
    again = Work(tmp_path / "work", IDENTITY, resume=True)
    assert again.is_done(0)
    abandon(again)
    anew = Work(tmp_path / "work", {"input": "another"})
    assert not anew.is_done(0)


def test_a_refused_resume_loses_nothing(tmp_path):
    folder = abandon(Work(tmp_path / "work", IDENTITY))
    (folder / "cell-0").touch()
    with pytest.raises(OptionError, match=r"another input, recipe or version; .* leave out"):
        Work(tmp_path / "work", {"input": "another"}, resume=True)
    gc.collect()
    assert Work(tmp_path / "work", IDENTITY, resume=True).is_done(0)


def test_what_is_not_there_cannot_be_resumed(tmp_path):
    (tmp_path / "work").mkdir()
    for place in ("work", "nowhere"):
        with pytest.raises(OptionError, match=f"nothing to resume: no run left {place} behind"):
            Work(tmp_path / place, IDENTITY, resume=True)
    with pytest.raises(OptionError, match="nothing to resume in a temporary folder; say by work"):
        Work(None, IDENTITY, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["work"]


def test_what_the_reading_back_left_is_cleared_too(tmp_path):
    folder = abandon(Work(tmp_path / "work", IDENTITY))
    (folder / ".microagg-classes").mkdir()
    (folder / ".microagg-classes" / "0").touch()
    work = Work(tmp_path / "work", IDENTITY)
    assert sorted(path.name for path in work.folder.iterdir()) == ["lock", "state.json"]


def test_cells_that_are_done_are_counted_but_not_grouped_again(tmp_path, source, monkeypatch):
    with protected(source, tmp_path / "work", **CELLS) as release:
        expected = release.certificate, release.assessment, release.shown
    kept = []
    keep = Work.keep

    def counted(self, cell, *more):
        if len(kept) == 3:
            raise KeyboardInterrupt
        kept.append(cell)
        keep(self, cell, *more)

    monkeypatch.setattr(Work, "keep", counted)
    engine = opened(source, tmp_path / "work", **CELLS)
    with pytest.raises(KeyboardInterrupt):
        _publish(engine)
    abandon(engine._work)
    monkeypatch.undo()
    done = {path.name: path.stat().st_mtime_ns for path in _cells(tmp_path / "work")}
    assert len(done) == 3
    with protected(source, tmp_path / "work", resume=True, **CELLS) as release:
        again = {path.name: path.stat().st_mtime_ns for path in _cells(tmp_path / "work")}
        assert done.items() <= again.items()
        assert (release.assessment, release.shown) == expected[1:]
        facts = [{**each.to_dict(), "made": None} for each in (release.certificate, expected[0])]
        assert facts[0] == facts[1]


def _publish(engine):
    survey = engine.survey(silent)
    plan = make_plan(survey, {"name": engine.origin.name, "sha256": engine.sha256})
    plan = plan.with_counts(*engine.count(plan, silent))
    engine.publish(plan, Profile(plan, *survey.sample.result()), silent)


def _cells(place):
    return [path for path in place.rglob("cell-*") if path.suffix != ".part"]


CUT_OFF = """
import sys, threading, time
from pathlib import Path
from microagg.engine.disk import engine, work

stop = sys.argv.pop(1)
def wait():
    Path("ready").touch()
    # Who is asked to end waits for the cell of the other thread.
    time.sleep(60 if threading.current_thread() is threading.main_thread() else 2)

if stop == "route":
    route = work.Work.route
    def slow(self, *more):
        route(self, *more)
        wait()
    work.Work.route = slow
elif stop == "group":
    keep = work.Work.keep
    def slow(self, cell, *more):
        if self["cell-0"].exists() or self["cell-1"].exists():
            wait()
        keep(self, cell, *more)
    work.Work.keep = slow
elif stop == "write":
    def slow(self, *more):
        wait()
    work.Work.published = slow
else:
    def slow(*more):
        wait()
    engine.classes_in_parts = slow
sys.argv = ["microagg", *sys.argv[1:]]
from microagg.cli import main
main()
"""


@pytest.fixture
def arguments(tmp_path, source):
    (tmp_path / "recipe.toml").write_text(
        "\n".join(
            [
                "k = 4",
                f"quasi_identifiers = {json.dumps(KINDS)}",
                'method = "mdav"',
                "cell_rows = 100",
                'row_order = "kept"',
                'orders = { grade = ["low", "middle", "high"] }',
            ]
        )
    )
    options = ("--recipe", "recipe.toml", "--engine", "disk", "-o", "release.parquet")
    return ("protect", source.name, *options)


@contextmanager
def started(tmp_path, arguments, stop):
    """Run a command until it gets to a point, and waits there."""
    with forking.Process("-c", CUT_OFF, stop, *arguments, cwd=tmp_path, stderr=PIPE) as process:
        until = time.monotonic() + 60
        while not (tmp_path / "ready").exists() and time.monotonic() < until:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        yield process


def killed(tmp_path, arguments, stop):
    """Run a command until it gets to a point, and kill it there."""
    with started(tmp_path, arguments, stop) as process:
        process.kill()
    (tmp_path / "ready").unlink()
    assert work_path(Path("release.parquet")).name in left(tmp_path)
    assert not (tmp_path / "release.parquet").exists()


@pytest.mark.parametrize("stop", ["route", "group", "write", "recount"])
def test_a_killed_run_is_resumed(tmp_path, arguments, stop):
    killed(tmp_path, arguments, stop)
    done = command(*arguments, "--resume", folder=tmp_path)
    assert done.code == 0, done.err
    resumed = (tmp_path / "release.parquet").read_bytes()
    assert [name for name in left(tmp_path) if name.endswith(".parts")] == []
    assert command(*arguments, "--force", folder=tmp_path).code == 0
    assert (tmp_path / "release.parquet").read_bytes() == resumed


@pytest.mark.parametrize("engine", ["disk", "memory"])
def test_the_next_run_leaves_nothing_of_one_that_was_killed(tmp_path, arguments, engine, caplog):
    killed(tmp_path, arguments, "recount")
    assert set(left(tmp_path)) == {".release.parquet.drafts", ".release.parquet.parts"}
    done = command(*arguments, "--engine", engine, folder=tmp_path)
    assert done.code == 0, done.err
    assert left(tmp_path) == []
    said = [each for each in caplog.messages if "--resume would have gone on" in each]
    assert len(said) == (engine == "disk")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("stop", ["group", "write", "recount"])
def test_a_run_that_is_asked_to_end_leaves_nothing(tmp_path, arguments, stop, name):
    with started(tmp_path, arguments, stop) as process:
        process.send_signal(getattr(signal, name))
        assert process.wait(60) == 128 + getattr(signal, name)
        assert process.stderr.read() == b"microagg: stopped\n"
    (tmp_path / "ready").unlink()
    assert left(tmp_path) == []
    assert {path.name for path in tmp_path.iterdir()} == {"recipe.toml", "table.parquet"}


def test_what_cannot_be_resumed_is_refused(tmp_path, arguments):
    said = refusal(*arguments, "--resume", folder=tmp_path)
    assert "there is nothing to resume" in said
    killed(tmp_path, arguments, "group")
    # Nothing of it is lost by what is refused, or only looked at.
    said = refusal(*arguments, "--resume", "--seed", "1", folder=tmp_path)
    assert "had another input, recipe or version" in said
    before = sorted(tmp_path.rglob("*"))
    done = command(*arguments, "--resume", "--dry-run", folder=tmp_path)
    assert done.code == 0, done.err
    assert sorted(tmp_path.rglob("*")) == before
    put(nasty(1000, seed=1), tmp_path / "table.parquet")
    said = refusal(*arguments, "--resume", folder=tmp_path)
    assert "had another input, recipe or version" in said


def test_the_place_of_work_can_be_named(tmp_path, arguments):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine").touch()
    done = command(*arguments, "--work", "elsewhere", folder=tmp_path)
    assert done.code == 0, done.err
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["mine"]
    assert left(tmp_path) == []


def test_a_resumed_run_says_so_by_its_engine(source):
    with pytest.raises(OptionError, match="resume goes on with a run on disk; say engine=disk"):
        microagg.protect(pa.table({"x": [1.0, 2.0]}), resume=True, quasi_identifiers="x")
    with pytest.raises(OptionError, match="nothing to resume in a temporary folder"):
        microagg.protect(source, resume=True, progress=False, **CELLS)
