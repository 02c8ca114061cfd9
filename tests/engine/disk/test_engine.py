"""Releases made on disk: the same as plain work on the whole table, whatever happens."""

import errno
import json
import resource
import signal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.base.errors import InputError, OptionError, PromiseError
from microagg.engine.disk.engine import Disk
from microagg.engine.disk.work import Work
from microagg.table.sinks import Sink
from tests.engine.disk.running import left, opened, plan_of, protected, put, take
from tests.engine.tables import KINDS, SETTINGS, few, nasty
from tests.naive.cells import are_means, groups_of, means

CELLS = {**SETTINGS, "cell_rows": 100}


@pytest.fixture
def source(tmp_path):
    """The file that tables are put into."""
    return tmp_path / "table.parquet"


@pytest.fixture
def target(tmp_path):
    return tmp_path / "release.parquet"


def written(source, target, table=None, **settings):
    """The certificate of a release, and the release."""
    if table is not None:
        put(table, source)
    with protected(source, **{**CELLS, **settings}) as release:
        return release.write(target, force=True), release


# --- The release ----------------------------------------------------------------------------------


def test_it_is_what_plain_work_on_the_whole_table_gives(source, target):
    _, release = written(source, target, nasty(1000))
    # Parquet has its own units of moments.
    table, found = pq.read_table(source), pq.read_table(target)
    plan = plan_of(source, **CELLS)
    labels = groups_of(table, plan)
    assert release.record.plan_sha256 == plan.sha256
    assert release.record.cells == plan.n_cells > 6
    for name in ("number", "offset"):
        published = found[name].to_numpy(zero_copy_only=False)
        assert are_means(published, table[name], labels)
    for name in ("whole", "date"):
        middle = means(table[name].cast(pa.int32()) if name == "date" else table[name], labels)
        shown = found[name].cast(pa.int32()).cast(pa.float64()).to_numpy(zero_copy_only=False)
        assert np.nanmax(np.abs(shown - middle)) <= 0.5
        np.testing.assert_array_equal(np.isnan(shown), np.isnan(middle))
    assert found.column_names == [name for name in table.column_names if name != "name"]
    assert found.schema.types == table.drop_columns("name").schema.types
    for name in ("region", "illness", "weight", "note"):
        assert found[name].equals(table[name])


@pytest.mark.parametrize("more", [{}, {"within": ["region"]}, {"weights": "weight"}])
def test_it_is_what_memory_gives(source, target, more):
    certificate, release = written(source, target, nasty(1000), **more)
    there = microagg.protect(source, engine="memory", progress=False, **CELLS, **more)
    assert pq.read_table(target).equals(there.data)
    for fact in ("information_loss", "attribute_losses", "plan_sha256", "recipe_sha256", "notes"):
        assert getattr(release.record, fact) == getattr(there.record, fact), fact
    for fact in ("information_loss", "groups", "k_found", "recipe"):
        assert getattr(certificate, fact) == getattr(there.certificate, fact), fact
    assert release.assessment == there.assessment
    assert release.shown == there.shown


def test_the_certificate_counts_what_was_written(tmp_path, source, target):
    written(source, target, nasty(1000))
    told = json.loads((tmp_path / "release.parquet.certificate.json").read_text())
    found = pq.read_table(target).select(KINDS)
    sizes = found.group_by(list(KINDS)).aggregate([([], "count_all")])["count_all"].to_numpy()
    assert told["k"] == {"asked": 4, "found": int(sizes.min()), "counts": "records"}
    assert told["k"]["found"] >= 4
    assert told["groups"]["count"] == sizes.size
    assert told["verdict"] == "passed"
    assert told["rows"] == {"released": 1000}
    assert len(told["checks"]) == 4
    assert set(told["information_loss"]["attributes"]) == set(KINDS)
    names = {"", ".certificate.json", ".record.json"}
    names = {f"release.parquet{name}" for name in names} | {"table.parquet"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_it_is_counted_before_it_is_written_too(source, target):
    put(nasty(1000), source)
    with protected(source, **CELLS) as release:
        before = release.certificate
        after = release.write(target)
    assert before.k_found == after.k_found
    assert before.groups == after.groups
    assert before.release_sha256 is None
    assert release.certificate == after


def test_losses_are_those_that_assess_finds(source, target):
    _, release = written(source, target, nasty(800))
    judged = microagg.assess(
        source, target, quasi_identifiers=KINDS, orders=SETTINGS["orders"], progress=False
    )
    for name in KINDS:
        loss = release.record.attribute_losses[name]
        assert loss == pytest.approx(judged.attribute_losses[name], rel=1e-9), name
    assert release.record.information_loss == pytest.approx(judged.information_loss, rel=1e-9)
    # The sample is the whole table here, so figures are the same too.
    for name in ("interval", "il1s", "correlation_change", "expected_linkage"):
        assert release.assessment.figures[name] == pytest.approx(judged.figures[name], rel=1e-9)


def test_linkage_is_looked_for_among_all_records(source, target):
    # More records than are measured one by one; of these, every 101st is linked.
    rows = 100_001
    rng = np.random.default_rng(0)
    pq.write_table(pa.table({name: rng.standard_normal(rows) for name in "xy"}), source)
    settings = {"quasi_identifiers": ["x", "y"], "k": 3, "method": "zscore", "cell_rows": 40_000}
    settings["row_order"] = "kept"
    with protected(source, range_rows=1 << 15, **settings) as release:
        release.write(target)
    before, after = (np.column_stack(pq.read_table(path).columns) for path in (source, target))
    published, sizes = np.unique(after, axis=0, return_counts=True)
    scale, linked = before.std(axis=0), np.arange(0, rows, 101)
    rightly = classes = 0.0
    for row in linked:
        squares = ((published - before[row]) / scale) ** 2
        nearest = squares.sum(axis=1) <= squares.sum(axis=1).min() * (1 + 1e-12)
        if (published[nearest] == after[row]).all(axis=1).any():
            rightly += 1.0 / sizes[nearest].sum()
            classes += 1.0 / nearest.sum()
    expected = 100.0 * rightly / linked.size
    figures = release.assessment.figures
    assert figures["expected_linkage"] == pytest.approx(expected, rel=1e-6)
    assert figures["class_linkage"] == pytest.approx(100.0 * classes / linked.size, rel=1e-6)
    assert release.assessment.linked == linked.size
    note = f"Linkage looks for {linked.size} of these among all {rows} records, by x, y."
    assert note in release.assessment.notes


@pytest.mark.parametrize("suffix", ["csv", "feather", "parquet"])
@pytest.mark.parametrize("asked", ["csv", "feather", "parquet"])
def test_every_format_in_and_out(tmp_path, suffix, asked):
    table = nasty(500, gaps=False).select(["name", "number", "whole", "date", "word", "illness"])
    # An empty text is a missing value in a text file.
    table = table.filter(pc.not_equal(table["word"], "")).combine_chunks()
    source, target = put(table, tmp_path / f"table.{suffix}"), tmp_path / f"release.{asked}"
    settings = {
        "k": 4, "quasi_identifiers": ["number", "whole", "date", "word"], "identifiers": ["name"],
        "method": "mdav", "cell_rows": 100, "row_order": "kept",
    }  # fmt: skip
    with protected(source, **settings) as release:
        certificate = release.write(target)
    found = take(target)
    labels = groups_of(table, plan_of(source, **settings))
    published = found["number"].to_numpy()
    assert are_means(published, table["number"], labels)
    assert found["illness"].equals(table["illness"])
    assert certificate.k_found >= 4


def test_a_folder_of_files_is_one_table(tmp_path, source, target):
    table = nasty(1000)
    folder = tmp_path / "table"
    folder.mkdir()
    for number, start in enumerate(range(0, 1000, 300)):
        put(table.slice(start, 300), folder / f"part-{number}.parquet")
    written(source, target, table)
    _, release = written(folder, tmp_path / "other.parquet")
    assert pq.read_table(tmp_path / "other.parquet").equals(pq.read_table(target))
    assert release.record.rows_read == 1000


def test_threads_memory_and_ranges_make_no_difference(source, target, threads):
    threads(2)
    written(source, target, nasty(1500))
    once = target.read_bytes()
    threads(1)
    written(source, target, memory="8GB", range_rows=1 << 18)
    assert target.read_bytes() == once


def test_strata_are_not_crossed(source, target):
    certificate, release = written(source, target, nasty(1200), within=["region"])
    names = [*KINDS, "region"]
    found = pq.read_table(target)
    sizes = found.group_by(names).aggregate([([], "count_all")])["count_all"].to_numpy()
    assert sizes.min() >= 4
    assert certificate.k_found == sizes.min()
    assert release.counted == tuple(names)


def test_small_strata_are_left_out_or_merged(source, target):
    table = few(nasty(1000), "w", 3)
    dropped, release = written(source, target, table, within=["region"], small_strata="drop")
    stays = pc.not_equal(table["region"], "w")
    assert pq.read_table(target)["note"].equals(table["note"].filter(stays))
    assert dropped.rows_released == table.num_rows - 3
    assert "dropped from the release" in " ".join(release.record.notes)
    assert "dropped from the release" not in str(dropped.to_dict())
    merged, release = written(source, target, within=["region"], small_strata="merge")
    assert pq.read_table(target)["note"].equals(table["note"])
    names = [*KINDS, "region"]
    assert release.counted == tuple(names)
    sizes = pq.read_table(target).group_by(names).aggregate([([], "count_all")])["count_all"]
    assert merged.k_found == pc.min(sizes).as_py() >= 4


def test_weights_count(source, target):
    table = nasty(600, gaps=False)
    settings = {"quasi_identifiers": ["number", "offset"], "orders": {}, "weights": "weight"}
    written(source, target, table, **settings)
    labels = groups_of(table, plan_of(source, **{**CELLS, **settings}))
    weights, values = table["weight"].to_numpy(), table["number"].to_numpy()
    sums = np.bincount(labels, weights * values) / np.bincount(labels, weights)
    found = pq.read_table(target)["number"].to_numpy()
    # Three decimals came, so three are published.
    np.testing.assert_allclose(found, sums[labels], atol=0.0005 + 1e-9)


@pytest.mark.parametrize("rows", [4, 5, 7, 8, 299, 300, 301])
def test_awkward_sizes(source, target, rows):
    table = nasty(rows)
    certificate, _ = written(source, target, table, cell_rows=None)
    assert pq.read_table(target)["note"].equals(table["note"])
    assert certificate.k_found >= 4


@pytest.mark.parametrize("method", ["auto", "mdav", "zscore", "lloyd-mdav", "search"])
def test_methods_and_seeds(source, target, method):
    written(source, target, nasty(700), method=method, seed=3)
    once = target.read_bytes()
    written(source, target, method=method, seed=3)
    assert target.read_bytes() == once


def test_records_that_are_all_alike_or_nearly(source, target):
    same = pa.table({"x": np.ones(3000), "y": np.r_[np.zeros(2990), np.arange(10.0)]})
    settings = {"quasi_identifiers": ["x", "y"], "orders": {}}
    certificate, _ = written(source, target, same, identifiers=[], confidential=[], **settings)
    assert certificate.k_found >= 4
    assert certificate.rows_released == 3000


def test_reports_show_what_they_should(tmp_path, source, target):
    _, release = written(source, target, nasty(900))
    release.report(tmp_path / "report.html")
    release.report(tmp_path / "public.html", public=True)
    full = (tmp_path / "report.html").read_text()
    public = (tmp_path / "public.html").read_text()
    for name in KINDS:
        assert name in full
        assert name in public
    assert release.record.plan_sha256 in full
    assert release.record.plan_sha256 not in public
    assert "Expected record linkage" in full


def test_what_was_written_is_a_dataset(tmp_path, source, target):
    put(nasty(500), source)
    with protected(source, **CELLS) as release:
        with pytest.raises(OptionError, match="write it first"):
            _ = release.data
        with pytest.raises(OptionError, match="engine=memory"):
            _ = release.partition
        release.write(target)
        assert release.data.to_table().equals(pq.read_table(target))
        release.write(tmp_path / "release.feather")
        assert release.data.to_table().equals(take(tmp_path / "release.feather"))
        release.write(tmp_path / "release.csv")
        with pytest.raises(OptionError, match=r"but release\.csv was written; .* \.parquet"):
            _ = release.data


def test_a_release_that_was_closed_is_not_written(source, target):
    put(nasty(500), source)
    release = protected(source, **CELLS)
    release.close()
    with pytest.raises(OptionError, match=r"was closed, .*; write it before, or protect"):
        release.write(target)
    with pytest.raises(OptionError, match="was closed"):
        _ = release.certificate
    assert not target.exists()


# --- What goes wrong ------------------------------------------------------------------------------


def corrupted(path):
    """The file with a page of a later row group damaged."""
    place = pq.ParquetFile(path).metadata.row_group(3).column(2).data_page_offset
    data = bytearray(path.read_bytes())
    data[place : place + 40] = bytes(40)
    path.write_bytes(data)


def test_a_damaged_row_group_is_one_sentence(tmp_path, source):
    put(nasty(1000), source)
    corrupted(source)
    with pytest.raises(InputError, match=r"table\.parquet"):
        protected(source, tmp_path / "work", **SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


@pytest.mark.parametrize("after", ["survey", "count", "publish"])
def test_an_input_that_changes_between_passes_is_noticed(
    tmp_path, source, target, monkeypatch, after
):
    put(nasty(1000), source)
    step = getattr(Disk, after)

    def changed(self, *arguments):
        done = step(self, *arguments)
        put(nasty(1000, seed=1), source)
        return done

    monkeypatch.setattr(Disk, after, changed)
    with (
        pytest.raises(InputError, match=r"table\.parquet was changed while it was being read"),
        protected(source, tmp_path / "work", **SETTINGS) as release,
    ):
        release.write(target)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


# Whole, the rows on their way to the only cell are too many; in cells the release is.
@pytest.mark.parametrize(("cell_rows", "where"), [(None, "work"), (100, "release.parquet")])
def test_a_full_disk_leaves_nothing(tmp_path, source, target, cell_rows, where):
    table = nasty(1000)
    noise = np.random.default_rng(0).bytes(64_000).hex()
    texts = pa.array([noise[start : start + 128] for start in range(0, 128_000, 128)])
    table = table.set_column(table.column_names.index("note"), "note", texts)
    written(source, target, table)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    settings = {**SETTINGS, "cell_rows": cell_rows}
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, limit[1]))
        with (
            pytest.raises(OSError, match=where) as failure,
            protected(source, tmp_path / "work", **settings) as release,
        ):
            release.write(target, force=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, ignored)
    assert failure.value.errno == errno.EFBIG
    assert failure.value.filename == str(tmp_path / where)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_too_little_disk_is_said_before_work_begins(tmp_path, source, monkeypatch):
    put(nasty(1000), source)
    monkeypatch.setattr(Work, "free_space", 1000)
    monkeypatch.setattr(Work, "route", None)
    with pytest.raises(OptionError, match=r"needs about 0\.0 GB in .*work, .*; say by work where"):
        protected(source, tmp_path / "work", **CELLS)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


@pytest.mark.parametrize("what", ["twice", "lost"])
def test_every_row_comes_out_once(tmp_path, source, target, monkeypatch, what):
    keep = Work.keep

    def wrong(self, cell, packed, borders, *told):
        if cell == 1:
            packed = packed.copy()
            if what == "twice":
                packed[0, 0] = packed[1, 0]
            else:
                packed = packed[1:]
        keep(self, cell, packed, borders, *told)

    monkeypatch.setattr(Work, "keep", wrong)
    with pytest.raises(PromiseError):
        written(source, target, nasty(1000))
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_a_damaged_release_is_never_published(tmp_path, source, target, monkeypatch):
    flush = Sink.flush

    def damaged(self):
        for number, batch in enumerate(self._gathered):
            place = batch.schema.get_field_index("number")
            values = batch.column(place).to_numpy(zero_copy_only=False).copy()
            values[0] = 99.0
            field = batch.schema.field(place)
            self._gathered[number] = batch.set_column(place, field, pa.array(values))
        flush(self)

    monkeypatch.setattr(Sink, "flush", damaged)
    with pytest.raises(PromiseError, match="protected columns hold the published values"):
        written(source, target, nasty(1000))
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_the_input_is_never_written_over(source, target):
    put(nasty(100), source)
    with protected(source, **SETTINGS) as release:
        with pytest.raises(OptionError, match="never written over"):
            release.write(source, force=True)
        target.touch()
        with pytest.raises(OptionError, match="exists"):
            release.write(target)


def test_a_folder_that_is_the_input_is_never_written_into(tmp_path, target):
    folder = tmp_path / "table"
    folder.mkdir()
    put(nasty(100), folder / "part-0.parquet")
    for work in (folder, folder / "work"):
        with pytest.raises(OptionError, match=f"work folder {work.name} is the input or in it"):
            opened(folder, work, **SETTINGS)
    with protected(folder, **SETTINGS) as release:
        for place in (folder, folder / "part-1.parquet", folder / "new" / "release.parquet"):
            with pytest.raises(OptionError, match=r"never written over|is a folder"):
                release.write(place, force=True)
        release.write(target)
    assert [path.name for path in folder.iterdir()] == ["part-0.parquet"]
    assert left(tmp_path) == []
