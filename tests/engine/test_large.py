"""Large releases, disk to disk: the same as plain work on the whole table, whatever happens."""

import errno
import json
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from microagg.actions.large import bytes_of, engine_for, protect_large
from microagg.base.errors import InputError, OptionError, PromiseError
from microagg.engine import plan
from microagg.engine.disk import engine as out_of_core
from microagg.engine.disk import work
from tests.commands import microagg as command
from tests.commands import refusal
from tests.engine.tables import KINDS, SETTINGS, nasty
from tests.naive.large import groups_of, means


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch):
    """Few rows at a time, so that small tables have many ranges."""
    monkeypatch.setattr(out_of_core, "_RANGE_ROWS", 300)


def put(table, path):
    if path.suffix == ".csv":
        arrow_csv.write_csv(table, path)
    elif path.suffix == ".feather":
        feather.write_feather(table, path, chunksize=100)
    else:
        pq.write_table(table, path, row_group_size=170)
    return path


def take(path):
    return {
        ".csv": arrow_csv.read_csv,
        ".feather": feather.read_table,
        ".parquet": pq.read_table,
    }[path.suffix](path)


def protected(tmp_path, table, name="release.parquet", **settings):
    source = put(table, tmp_path / "table.parquet")
    settings = {**SETTINGS, "cell_rows": 100, **settings}
    return protect_large(source, tmp_path / name, progress=False, force=True, **settings)


def left(folder):
    """What is there that nobody asked for."""
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


# --- The release ----------------------------------------------------------------------------------


def test_it_is_what_plain_work_on_the_whole_table_gives(tmp_path):
    release = protected(tmp_path, nasty(1000))
    # Parquet has its own units of moments.
    table, found = pq.read_table(tmp_path / "table.parquet"), pq.read_table(release.path)
    labels = groups_of(table, release.plan)
    assert release.plan.cell_of.max() > 5
    for name in ("number", "offset"):
        published = found[name].to_numpy(zero_copy_only=False)
        np.testing.assert_allclose(published, means(table[name], labels), rtol=1e-12)
    for name in ("whole", "date"):
        middle = means(table[name].cast(pa.int32()) if name == "date" else table[name], labels)
        shown = found[name].cast(pa.int32()).cast(pa.float64()).to_numpy(zero_copy_only=False)
        assert np.nanmax(np.abs(shown - middle)) <= 0.5
        np.testing.assert_array_equal(np.isnan(shown), np.isnan(middle))
    assert found.column_names == [name for name in table.column_names if name != "name"]
    assert found.schema.types == table.drop_columns("name").schema.types
    for name in ("region", "illness", "weight", "note"):
        assert found[name].equals(table[name])


def test_the_certificate_counts_what_was_written(tmp_path):
    release = protected(tmp_path, nasty(1000))
    told = json.loads((tmp_path / "release.parquet.certificate.json").read_text())
    found = pq.read_table(release.path).select(KINDS)
    sizes = found.group_by(list(KINDS)).aggregate([([], "count_all")])["count_all"].to_numpy()
    assert told["k"] == {"asked": 4, "found": int(sizes.min()), "counts": "records"}
    assert told["k"]["found"] >= 4
    assert told["groups"]["count"] == sizes.size
    assert told["verdict"] == "passed"
    assert told["rows"] == {"read": 1000, "released": 1000}
    assert len(told["checks"]) == 4
    assert set(told["information_loss"]["attributes"]) == set(KINDS)
    saved = tmp_path / "release.parquet.plan.json"
    assert saved.stat().st_mode & 0o777 == 0o600
    assert saved.read_text() == release.plan.to_json()
    assert left(tmp_path) == []


def test_losses_are_those_that_assess_finds(tmp_path):
    import microagg

    table = nasty(800)
    release = protected(tmp_path, table)
    judged = microagg.assess(
        tmp_path / "table.parquet",
        release.path,
        quasi_identifiers=KINDS,
        orders=SETTINGS["orders"],
        progress=False,
    )
    losses = release.certificate.attribute_losses
    for name in KINDS:
        assert losses[name] == pytest.approx(judged.attribute_losses[name], rel=1e-9), name
    assert release.certificate.information_loss == pytest.approx(judged.information_loss, rel=1e-9)
    # The sample is the whole table here, so figures are the same too.
    for name in ("interval", "il1s", "correlation_change"):
        assert release.assessment.figures[name] == pytest.approx(judged.figures[name], rel=1e-9)


def test_linkage_is_looked_for_among_all_records(tmp_path):
    import microagg

    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.standard_normal(900), "y": rng.standard_normal(900)})
    release = protected(
        tmp_path, table, k=3, quasi_identifiers=["x", "y"], confidential=[], identifiers=[],
        orders={},
    )  # fmt: skip
    judged = microagg.assess(tmp_path / "table.parquet", release.path, progress=False)
    linked = release.assessment.figures["expected_linkage"]
    assert linked == pytest.approx(judged.figures["expected_linkage"], rel=1e-6)
    assert "Linkage is of 900 of these" in release.assessment.notes[1]


@pytest.mark.parametrize("suffix", ["csv", "feather", "parquet"])
@pytest.mark.parametrize("target", ["csv", "feather", "parquet"])
def test_every_format_in_and_out(tmp_path, suffix, target):
    table = nasty(500, gaps=False).select(["name", "number", "whole", "date", "word", "illness"])
    # An empty text is a missing value in a text file.
    table = table.filter(pc.not_equal(table["word"], "")).combine_chunks()
    source = put(table, tmp_path / f"table.{suffix}")
    settings = {
        "k": 4, "quasi_identifiers": ["number", "whole", "date", "word"], "identifiers": ["name"],
        "method": "mdav", "cell_rows": 100, "progress": False,
    }  # fmt: skip
    release = protect_large(source, tmp_path / f"release.{target}", **settings)
    found = take(release.path)
    labels = groups_of(table, release.plan)
    published = found["number"].to_numpy()
    np.testing.assert_allclose(published, means(table["number"], labels), rtol=1e-12)
    assert found["illness"].equals(table["illness"])
    assert release.certificate.k_found >= 4


def test_a_folder_of_files_is_one_table(tmp_path):
    table = nasty(1000)
    folder = tmp_path / "table"
    folder.mkdir()
    for number, start in enumerate(range(0, 1000, 300)):
        put(table.slice(start, 300), folder / f"part-{number}.parquet")
    whole = protected(tmp_path, table)
    settings = {**SETTINGS, "cell_rows": 100, "progress": False}
    parted = protect_large(folder, tmp_path / "other.parquet", **settings)
    assert pq.read_table(parted.path).equals(pq.read_table(whole.path))
    assert parted.certificate.rows_read == 1000


def test_threads_and_memory_make_no_difference(tmp_path, threads):
    table = nasty(1500)
    threads(2)
    once = protected(tmp_path, table).path.read_bytes()
    threads(1)
    assert protected(tmp_path, table, memory="8GB").path.read_bytes() == once


def test_strata_are_not_crossed(tmp_path):
    release = protected(tmp_path, nasty(1200), within=["region"])
    found = pq.read_table(release.path)
    names = [*KINDS, "region"]
    sizes = found.group_by(names).aggregate([([], "count_all")])["count_all"].to_numpy()
    assert sizes.min() >= 4
    assert release.certificate.k_found == sizes.min()
    assert release.counted == tuple(names)


def few(table, region, count):
    there = np.array(table["region"].to_pylist()) == region
    there &= np.cumsum(there) > count
    return table.filter(pa.array(~there))


def test_small_strata_are_left_out_or_merged(tmp_path):
    table = few(nasty(1000), "w", 3)
    dropped = protected(tmp_path, table, within=["region"], small_strata="drop")
    found = pq.read_table(dropped.path)
    stays = pc.not_equal(table["region"], "w")
    assert found["note"].equals(table["note"].filter(stays))
    assert dropped.certificate.rows_released == table.num_rows - 3
    assert "dropped from the release" in " ".join(dropped.certificate.notes)
    merged = protected(tmp_path, table, within=["region"], small_strata="merge")
    assert pq.read_table(merged.path)["note"].equals(table["note"])
    assert merged.counted == KINDS
    assert merged.certificate.k_found >= 4


def test_weights_count(tmp_path):
    table = nasty(600, gaps=False)
    settings = {"quasi_identifiers": ["number", "offset"], "orders": {}, "weights": "weight"}
    release = protected(tmp_path, table, **settings)
    labels = groups_of(table, release.plan)
    weights, values = table["weight"].to_numpy(), table["number"].to_numpy()
    sums = np.bincount(labels, weights * values) / np.bincount(labels, weights)
    found = pq.read_table(release.path)["number"].to_numpy()
    np.testing.assert_allclose(found, sums[labels], rtol=1e-9)


@pytest.mark.parametrize("rows", [4, 5, 7, 8, 299, 300, 301])
def test_awkward_sizes(tmp_path, rows):
    table = nasty(rows)
    release = protected(tmp_path, table, cell_rows=None)
    assert pq.read_table(release.path)["note"].equals(table["note"])
    assert release.certificate.k_found >= 4


@pytest.mark.parametrize("method", ["auto", "mdav", "zscore", "lloyd-mdav", "search"])
def test_methods_and_seeds(tmp_path, method):
    table = nasty(700)
    once = protected(tmp_path, table, method=method, seed=3).path.read_bytes()
    assert protected(tmp_path, table, method=method, seed=3).path.read_bytes() == once


def test_records_that_are_all_alike_or_nearly(tmp_path):
    same = pa.table({"x": np.ones(3000), "y": np.r_[np.zeros(2990), np.arange(10.0)]})
    release = protected(
        tmp_path, same, quasi_identifiers=["x", "y"], orders={}, identifiers=[], confidential=[]
    )
    assert release.certificate.k_found >= 4
    assert release.certificate.rows_released == 3000


def test_reports_show_what_they_should(tmp_path):
    release = protected(tmp_path, nasty(900))
    release.report(tmp_path / "report.html")
    release.report(tmp_path / "public.html", public=True)
    full = (tmp_path / "report.html").read_text()
    public = (tmp_path / "public.html").read_text()
    for name in KINDS:
        assert name in full
        assert name in public
    assert release.certificate.input_sha256 in full
    assert release.certificate.input_sha256 not in public
    assert "Expected linkage" in full
    assert "sample of" in full


# --- What goes wrong ------------------------------------------------------------------------------


def corrupted(path):
    """The file with a page of a later row group damaged."""
    place = pq.ParquetFile(path).metadata.row_group(3).column(2).data_page_offset
    data = bytearray(path.read_bytes())
    data[place : place + 40] = bytes(40)
    path.write_bytes(data)


def test_a_damaged_row_group_is_one_sentence(tmp_path):
    source = put(nasty(1000), tmp_path / "table.parquet")
    corrupted(source)
    with pytest.raises(InputError, match=r"table\.parquet"):
        protect_large(source, tmp_path / "release.parquet", progress=False, **SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


@pytest.mark.parametrize("after", ["plan", "route", "group"])
def test_an_input_that_changes_between_passes_is_noticed(tmp_path, monkeypatch, after):
    source = put(nasty(1000), tmp_path / "table.parquet")
    step = getattr(out_of_core.OutOfCore, after)

    def changed(self, *arguments):
        done = step(self, *arguments)
        put(nasty(1000, seed=1), source)
        return done

    monkeypatch.setattr(out_of_core.OutOfCore, after, changed)
    with pytest.raises(InputError, match=r"table\.parquet was changed while it was being read"):
        protect_large(source, tmp_path / "release.parquet", progress=False, **SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_a_full_disk_leaves_nothing(tmp_path):
    source = put(nasty(1000), tmp_path / "table.parquet")
    protect_large(source, tmp_path / "release.parquet", progress=False, **SETTINGS)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limit[1]))
        with pytest.raises(OSError, match=r"release\.parquet") as failure:
            protect_large(
                source, tmp_path / "release.parquet", progress=False, force=True, **SETTINGS
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, ignored)
    assert failure.value.errno == errno.EFBIG
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_too_little_disk_is_said_before_work_begins(tmp_path, monkeypatch):
    monkeypatch.setattr("microagg.actions.large.free_space", lambda _: 1000)
    with pytest.raises(OptionError, match=r"needs about 0\.0 GB of disk beside release\.parquet"):
        protected(tmp_path, nasty(1000))


@pytest.mark.parametrize("what", ["twice", "lost"])
def test_every_row_comes_out_once(tmp_path, monkeypatch, what):
    keep = work.Work.keep

    def wrong(self, cell, packed, borders, leaves):
        if cell == 1:
            packed = packed.copy()
            if what == "twice":
                packed[0, 0] = packed[1, 0]
            else:
                packed = packed[1:]
        keep(self, cell, packed, borders, leaves)

    monkeypatch.setattr(work.Work, "keep", wrong)
    with pytest.raises(PromiseError):
        protected(tmp_path, nasty(1000))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.parquet"]


def test_a_damaged_release_is_never_published(tmp_path, monkeypatch):
    from microagg.table.sinks import Sink

    write = Sink.write

    def damaged(self, batch):
        place = batch.schema.get_field_index("number")
        values = batch.column(place).to_numpy(zero_copy_only=False).copy()
        values[0] = 99.0
        write(self, batch.set_column(place, batch.schema.field(place), pa.array(values)))

    monkeypatch.setattr(Sink, "write", damaged)
    with pytest.raises(PromiseError, match="protected columns hold the published values"):
        protected(tmp_path, nasty(1000))
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_two_runs_for_one_release_are_kept_apart(tmp_path):
    with (
        work.open_work(tmp_path / "release.parquet", False),
        pytest.raises(InputError, match=r"another run is making release\.parquet"),
        work.open_work(tmp_path / "release.parquet", False),
    ):
        pass


def test_the_input_is_never_written_over(tmp_path):
    source = put(nasty(100), tmp_path / "table.parquet")
    with pytest.raises(OptionError, match="never written over"):
        protect_large(source, source, force=True, **SETTINGS)
    (tmp_path / "release.parquet").touch()
    with pytest.raises(OptionError, match="exists"):
        protect_large(source, tmp_path / "release.parquet", **SETTINGS)


# --- Cut off, and resumed -------------------------------------------------------------------------

CUT_OFF = """
import sys, time
from pathlib import Path
from microagg.engine import plan
from microagg.engine.disk import engine as out_of_core
from microagg.engine.disk import work

out_of_core._RANGE_ROWS = 300
plan._CELL_ROWS = 100, 100
stop = sys.argv.pop(1)
def wait():
    Path("ready").touch()
    time.sleep(60)

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
else:
    published = work.Work.published
    def slow(self, *more):
        if more[-1] == 2:
            wait()
        return published(self, *more)
    work.Work.published = slow
sys.argv = ["microagg", *sys.argv[1:]]
from microagg.cli import main
main()
"""


@pytest.fixture
def arguments(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "_CELL_ROWS", (100, 100))
    put(nasty(1000), tmp_path / "table.parquet")
    (tmp_path / "recipe.toml").write_text(
        "\n".join(
            [
                "k = 4",
                f"quasi_identifiers = {json.dumps(KINDS)}",
                'method = "mdav"',
                'orders = { grade = ["low", "middle", "high"] }',
            ]
        )
    )
    return ("protect", "table.parquet", "--recipe", "recipe.toml", "--engine", "disk")


@pytest.mark.parametrize("stop", ["route", "group", "write"])
def test_a_killed_run_is_resumed(tmp_path, arguments, stop):
    arguments = (*arguments, "-o", "release.parquet")
    with subprocess.Popen(
        [sys.executable, "-c", CUT_OFF, stop, *arguments], cwd=tmp_path, stderr=subprocess.PIPE
    ) as process:
        until = time.monotonic() + 60
        while not (tmp_path / "ready").exists() and time.monotonic() < until:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        process.kill()
    assert left(tmp_path)
    assert not (tmp_path / "release.parquet").exists()
    done = command(*arguments, "--resume", folder=tmp_path)
    assert done.code == 0, done.err
    resumed = (tmp_path / "release.parquet").read_bytes()
    assert [name for name in left(tmp_path) if name.endswith(".parts")] == []
    assert command(*arguments, "--force", folder=tmp_path).code == 0
    assert (tmp_path / "release.parquet").read_bytes() == resumed


def test_what_cannot_be_resumed_is_refused(tmp_path, arguments):
    arguments = (*arguments, "-o", "release.parquet")
    said = refusal(*arguments, "--resume", folder=tmp_path)
    assert "there is nothing to resume" in said
    folder = work.work_path(tmp_path / "release.parquet")
    folder.mkdir()
    (folder / "state.json").write_text('{"identity": {"input": "another"}}')
    done = command(*arguments, "--resume", folder=tmp_path)
    assert done.code == 2
    assert "had another input, recipe or version" in done.err


# --- The command line and its choices -------------------------------------------------------------


def test_tables_that_do_not_fit_are_protected_on_disk(tmp_path, arguments):
    size = (tmp_path / "table.parquet").stat().st_size
    assert engine_for(str(tmp_path / "table.parquet"), "auto", None, False) == "memory"
    assert engine_for(str(tmp_path / "table.parquet"), "auto", size, False) == "disk"
    assert engine_for(str(tmp_path), "auto", None, False) == "disk"
    assert engine_for("-", "auto", "1GB", False) == "memory"
    with pytest.raises(OptionError, match="there is no engine 'cloud'"):
        engine_for("-", "cloud", None, False)


def test_command_line(tmp_path, arguments):
    done = command(*arguments, "-o", "out.csv", "-r", "report.html", "--json", folder=tmp_path)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["files"]["plan"] == "out.csv.plan.json"
    assert (tmp_path / "report.html").exists()
    assert told["verdict"] == "passed"
    said = refusal(*arguments, "-o", "-", folder=tmp_path)
    assert said == "in parts a release goes to a file, not to standard output"
    assert "--prove" in refusal(*arguments, "-o", "a.csv", "--prove", "5", folder=tmp_path)
    assert "--master" in refusal(*arguments, "-o", "a.csv", "--master", "x", folder=tmp_path)
    assert "1GB" in refusal(*arguments, "-o", "a.csv", "--memory", "1MB", folder=tmp_path)
    assert "such as 4GB" in refusal(*arguments, "-o", "a.csv", "--memory", "lots", folder=tmp_path)
    assert "cannot be written in parts" in refusal(*arguments, "-o", "a.xlsx", folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GB", 4 * 10**9), ("500 MB", 5 * 10**8), ("1.5g", 15 * 10**8), (7, 7), ("12", 12)],
)
def test_sizes_of_memory(text, size):
    assert bytes_of(text) == size


def test_a_dry_run_reads_only_the_beginning(tmp_path, arguments):
    done = command(*arguments, "--dry-run", folder=tmp_path)
    assert done.code == 0, done.err
    assert "1000 records, groups of at least 4, by mdav" in done.out
    assert "works on disk" in done.out
    assert left(tmp_path) == []
