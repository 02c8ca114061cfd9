"""Spark on a real cluster: the same releases as out of core, also when a worker is lost."""

import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.actions.large import protect_large
from microagg.base.errors import InputError, OptionError
from microagg.engine.sample import Sample
from microagg.table.checks import fingerprint
from tests.engine import cluster as clusters
from tests.engine.tables import KINDS, SETTINGS, nasty

pytestmark = [
    # Spark's own, about libraries and sockets that are not ours.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SIMPLE = {"k": 3, "quasi_identifiers": ["x", "y"], "method": "mdav", "cell_rows": 100}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    reason = clusters.why_not()
    if reason is not None and clusters.is_required():
        pytest.fail(f"Spark must be tested here, but {reason}")
    if reason is not None:
        pytest.skip(reason)
    with clusters.running(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="module")
def session(cluster):
    from microagg.engine.spark.session import start_session

    settings = {
        "spark.executor.memory": "600m",
        "spark.sql.shuffle.partitions": "4",
        "spark.default.parallelism": "2",
        # Queries on few rows take longer to compile than to run.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.session.timeZone": "America/New_York",
        # Small batches, so that small tables have many.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "300",
    }
    made = start_session(cluster.url, settings)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Every kind of column in three files, one of them empty."""
    rows = as_spark_has_it(nasty(1000))
    folder = tmp_path_factory.mktemp("table") / "people.parquet"
    folder.mkdir()
    for name, piece in (
        ("b", rows.slice(300, 700)),
        ("a + [më%20re]", rows.slice(0, 300)),
        ("c", rows[:0]),
    ):
        pq.write_table(piece, folder / f"{name}.parquet", row_group_size=170)
    return folder


def as_spark_has_it(rows):
    """Moments to the microsecond; and NaN where there is no value, beside columns with nulls."""
    offset, moment = rows["offset"].to_numpy().copy(), rows["moment"]
    offset[::11] = np.nan
    moment = moment.cast(pa.timestamp("us", "UTC"))
    for name, column in (("offset", pa.array(offset)), ("moment", moment)):
        rows = rows.set_column(rows.schema.get_field_index(name), name, column)
    return rows


def rows_of(frame):
    """The rows of a DataFrame, moments in the zone of the files."""
    found = frame.toArrow()
    for place, each in enumerate(found.schema):
        if pa.types.is_timestamp(each.type) and each.type.tz is not None:
            utc = found.column(place).cast(pa.timestamp("us", "UTC"))
            found = found.set_column(place, each.name, utc)
    return found


def same(one, other):
    assert one.column_names == other.column_names
    for name in one.column_names:
        assert one[name].type == other[name].type, name
        assert fingerprint(one.select([name])) == fingerprint(other.select([name])), name


def sizes_of(rows, names):
    return rows.group_by(list(names)).aggregate([([], "count_all")])["count_all"].to_numpy()


def plane(rows, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "x": rng.standard_normal(rows),
            "y": rng.standard_normal(rows),
            "id": np.arange(rows),
        }
    )


def put(rows, path):
    pq.write_table(rows, path)
    return path


@pytest.mark.parametrize(
    "settings",
    [
        {"cell_rows": 150},
        {"cell_rows": 150, "within": ["region"], "weights": "weight", "decimals": 2},
        {"cell_rows": 150, "within": ["region", "whole_region"], "small_strata": "merge"},
        {"cell_rows": 150, "within": ["whole_region"], "small_strata": "drop", "k": 30},
    ],
    ids=["plain", "strata and weights", "small strata merged", "small strata dropped"],
)
def test_the_same_release_as_out_of_core(session, table, tmp_path, settings):
    source = table
    if "whole_region" in settings.get("within", ()):
        whole = pq.read_table(table)
        region = pc.if_else(
            pc.less(whole["illness"], 1), pa.scalar(None, pa.int64()), whole["whole"]
        )
        region = pc.min_element_wise(region, 0, skip_nulls=False)
        source = tmp_path / "strata.parquet"
        source.mkdir()
        whole = whole.append_column("whole_region", region)
        pq.write_table(whole.slice(0, 500), source / "1.parquet")
        pq.write_table(whole.slice(500), source / "2.parquet")
    settings = {**SETTINGS, **settings}
    expected = protect_large(
        source, tmp_path / "release.parquet", progress=False, measures=False, **settings
    )
    release = microagg.spark.protect(source, session=session, ordered=True, **settings)
    assert release.plan.cell_of.max() > 2
    assert release.plan.to_json() == expected.plan.to_json()
    same(rows_of(release.data), pq.read_table(expected.path))
    told, meant = release.certificate.to_dict(), expected.certificate.to_dict()
    for name in ("k", "groups", "rows", "columns", "method", "recipe", "notes", "verdict"):
        assert told[name] == meant[name], name
    losses = meant["information_loss"]["attributes"]
    assert told["information_loss"]["attributes"] == pytest.approx(losses, rel=1e-9)
    assert told["sha256"]["input"] == meant["sha256"]["input"]
    release.forget()


def test_a_release_is_written_whole_and_the_same_again_by_its_plan(session, table, tmp_path):
    settings = {**SETTINGS, "within": ["region"]}
    release = microagg.spark.protect(table, session=session, cell_rows=150, **settings)
    first = release.write(tmp_path / "first.parquet")
    assert first.passed
    assert first.release_sha256 is not None
    release.forget()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "first.parquet",
        "first.parquet.certificate.json",
        "first.parquet.plan.json",
    ]
    found = pq.read_table(tmp_path / "first.parquet")
    counted = sizes_of(found, [*KINDS, "region"])
    assert (first.k_found, first.groups) == (counted.min(), counted.size)
    assert first.median_group == np.median(counted)
    assert first.rows_released == found.num_rows == 1000
    saved = tmp_path / "first.parquet.plan.json"
    recipe = microagg.Recipe(**settings)
    again = microagg.spark.protect(table, recipe, plan=saved, session=session)
    again.write(tmp_path / "again.parquet")
    for path in sorted((tmp_path / "first.parquet").iterdir()):
        assert (tmp_path / "again.parquet" / path.name).read_bytes() == path.read_bytes()
    assert again.certificate.release_sha256 == first.release_sha256
    release.report(tmp_path / "report.html")
    assert "people.parquet" in (tmp_path / "report.html").read_text()
    with pytest.raises(OptionError, match="exists; say force"):
        again.write(tmp_path / "first.parquet")
    for inside in (table, table / "new.parquet", table.parent):
        with pytest.raises(OptionError, match="never written over"):
            again.write(inside, force=True)
    again.write(tmp_path / "first.parquet", force=True)
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    again.forget()
    with pytest.raises(OptionError, match="another recipe"):
        microagg.spark.protect(table, recipe, plan=saved, session=session, k=9)
    other = put(pq.read_table(table).slice(1), tmp_path / "other.parquet")
    with pytest.raises(InputError, match="another table"):
        microagg.spark.protect(other, plan=saved, session=session)


def test_data_frames(session, table):
    settings = {**SETTINGS, "cell_rows": 150, "session": session}
    by_path = microagg.spark.protect(table, ordered=True, **settings)
    frame = session.read.parquet(str(table))
    by_frame = microagg.spark.protect(frame, ordered=True, **settings)
    same(rows_of(by_path.data), rows_of(by_frame.data))
    # Rows that were put together have no numbers; how they are dealt out makes no difference.
    together = frame.where("illness < 4").union(frame.where("illness >= 4"))
    together = together.union(frame.where("illness > 99"))
    outcomes = []
    for dealt in (together, together.repartition(5)):
        release = microagg.spark.protect(dealt, **settings)
        found = rows_of(release.data)
        assert sizes_of(found, KINDS).min() >= 4
        outcomes.append(found)
    same(*outcomes)
    with pytest.raises(OptionError, match="ordered needs rows that have numbers"):
        microagg.spark.protect(together, ordered=True, **settings)
    session.catalog.clearCache()


@pytest.mark.parametrize("share", [0.9, 1.0], ids=["skewed", "constant"])
def test_many_equal_rows(session, tmp_path, share, monkeypatch):
    # So few are sampled that a limit on hashes misses all of a constant table, or none.
    monkeypatch.setattr("microagg.engine.spark.engine.SAMPLED", 200)
    monkeypatch.setattr(Sample.__init__, "__defaults__", (200, None))
    rows = plane(2500).drop_columns("id")
    equal = np.arange(2500) < 2500 * share
    rows = pa.table({name: np.where(equal, 1.0, rows[name]) for name in rows.column_names})
    path = put(rows, tmp_path / "rows.parquet")
    expected = protect_large(path, tmp_path / "release.parquet", progress=False, **SIMPLE)
    release = microagg.spark.protect(path, session=session, ordered=True, **SIMPLE)
    same(rows_of(release.data), pq.read_table(expected.path))
    frame = session.read.parquet(str(path))
    computed = frame.union(frame.limit(0)).repartition(3)
    found = rows_of(microagg.spark.protect(computed, session=session, **SIMPLE).data)
    assert found.num_rows == 2500
    assert sizes_of(found, ["x", "y"]).min() >= 3
    assert release.certificate.information_loss < 100.0
    session.catalog.clearCache()


def test_types_change_only_if_they_must(session):
    from pyspark.sql import Row

    rows = [
        Row(**{"a.b": place % 7, "c`d": bytes([place]), "deep": {"x": [place]}, "w": str(place)})
        for place in range(40)
    ]
    frame = session.createDataFrame(rows)
    release = microagg.spark.protect(
        frame,
        session=session,
        k=3,
        quasi_identifiers=["a.b"],
        kinds={"a.b": "continuous"},
        identifiers=["w"],
        weights="w",
    )
    names = [each.name for each in release.data.schema.fields]
    assert names == ["a.b", "c`d", "deep"]
    kinds = [each.dataType.simpleString() for each in release.data.schema.fields]
    assert kinds == ["double", "binary", frame.schema["deep"].dataType.simpleString()]
    found = {bytes(row[1])[0]: row[2] for row in release.data.collect()}
    assert found == {place: {"x": [place]} for place in range(40)}
    release.forget()


def test_text_files(session, tmp_path):
    rng = np.random.default_rng(1)
    lines = ["name;age;born;zip;member;size;note"]
    lines += [
        f"P{place};{'NA' if place % 9 == 0 else rng.integers(18, 90)};19{rng.integers(40, 99)}-0"
        f"{rng.integers(1, 9)}-1{rng.integers(0, 9)};0{rng.integers(1000, 1003)};"
        f'{"true" if place % 3 else "false"};{rng.integers(0, 9)},5;"a ""{place}"" b"'
        for place in range(200)
    ]
    source = tmp_path / "people.csv"
    source.write_text("\n".join(lines) + "\n")
    settings = {
        "k": 5,
        "quasi_identifiers": ["age", "born", "zip", "member", "size"],
        "identifiers": ["name"],
        "reading": {"decimal": ","},
    }
    release = microagg.spark.protect(source, session=session, **settings)
    kinds = {each.name: each.dataType.simpleString() for each in release.data.schema.fields}
    assert kinds == {
        "age": "bigint", "born": "date", "zip": "string", "member": "boolean", "size": "double",
        "note": "string",
    }  # fmt: skip
    certificate = release.write(tmp_path / "release.csv")
    assert certificate.k_found >= 5
    notes = {row[0] for row in release.data.select("note").collect()}
    assert notes == {f'a "{place}" b' for place in range(200)}
    written = b"".join(path.read_bytes() for path in (tmp_path / "release.csv").iterdir())
    assert b'"a ""17"" b"' in written
    assert written.startswith(b"age;born;zip;member;size;note\n")
    release.forget()
    source.write_text("a,b\n1,2\n3\n4,5\n")
    with pytest.raises(InputError, match="Spark could not"):
        microagg.spark.protect(source, session=session, k=2, quasi_identifiers=["a"])


def test_tables_by_name(session):
    session.range(100).selectExpr("id", "id * id % 17 as x").createOrReplaceTempView("numbers")
    release = microagg.spark.protect("numbers", session=session, k=4, quasi_identifiers=["x"])
    assert release.data.count() == 100
    assert release.certificate.k_found >= 4
    release.forget()


def test_what_cannot_work_is_refused_in_one_sentence(session, tmp_path):
    frame = session.createDataFrame(
        [(float(place), str(place)) for place in range(9)], "x double, s string"
    )

    def refused(error, words, source=frame, **settings):
        settings = {"k": 3, "quasi_identifiers": ["x"], **settings}
        with pytest.raises(error, match=words) as found:
            microagg.spark.protect(source, session=session, **settings)
        assert "\n" not in str(found.value)

    refused(OptionError, "did you mean 'x'", quasi_identifiers=["X"])
    refused(OptionError, "entity keeps the rows", entity="s")
    refused(OptionError, "work in parts cannot do", aggregate="proximity")
    refused(InputError, "only 9 records", k=10)
    refused(InputError, "holds numbers as text", quasi_identifiers=["s"])
    refused(InputError, "infinite numbers", frame.selectExpr("double('inf') as x"))
    refused(InputError, "no rows", frame.where("x < 0"))
    refused(InputError, "no such file", tmp_path / "nowhere.parquet")
    refused(InputError, "Spark could not read the table: TABLE_OR_VIEW_NOT_FOUND", "nowhere")
    refused(OptionError, "nothing that Spark reads", tmp_path / "table.xlsx")
    refused(InputError, "type list", [1, 2, 3])
    # What Spark itself has to say might quote a record.
    odd = frame.selectExpr("cast(concat('secret', s) as double) as x")
    with pytest.raises(InputError) as found:
        microagg.spark.protect(odd, session=session, k=3, quasi_identifiers=["x"])
    assert "secret" not in str(found.value)
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    refused(InputError, "torn.parquet", tmp_path / "torn.parquet")


def test_paths(session, table, tmp_path):
    recipe = microagg.Recipe(**SETTINGS)
    release = microagg.spark.protect_path(table, tmp_path / "out.parquet", recipe)
    assert release.certificate.release_sha256 is not None
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 1000
    with pytest.raises(OptionError, match="exists"):
        microagg.spark.protect_path(table, tmp_path / "out.parquet", recipe)


def test_pyspark_is_loaded_on_use_only():
    script = "import sys, microagg.actions.spark; print('pyspark' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_a_worker_lost_in_the_middle(cluster, session, tmp_path):
    """The last test of all: it leaves another worker behind."""
    path = put(plane(30_000, seed=5), tmp_path / "plane.parquet")
    settings = {**SIMPLE, "cell_rows": 1500, "session": session}
    whole = microagg.spark.protect(path, **settings)
    whole.write(tmp_path / "whole.parquet")
    whole.forget()
    found = {}

    def run():
        release = microagg.spark.protect(path, **settings)
        release.write(tmp_path / "torn.parquet")
        found["release"] = release

    at_work = threading.Thread(target=run)
    at_work.start()
    done, cells = in_the_middle(session, at_work)
    cluster.kill_worker()
    cluster.start_worker()
    at_work.join(timeout=240)
    assert 0 < done < cells
    release = found["release"]
    assert release.plan.to_json() == whole.plan.to_json()
    files = sorted(path.name for path in (tmp_path / "whole.parquet").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "torn.parquet").iterdir())
    for name in files:
        torn, meant = (tmp_path / each / name for each in ("torn.parquet", "whole.parquet"))
        assert torn.read_bytes() == meant.read_bytes()
    rows = pq.read_table(tmp_path / "torn.parquet")
    assert np.array_equal(np.sort(rows["id"]), np.arange(30_000))
    assert sizes_of(rows, ["x", "y"]).min() >= 3
    assert release.certificate.k_found >= 3


def in_the_middle(session, at_work):
    """Wait until some cells are done and others are not; how many are, and how many there are."""
    tracker = session.sparkContext.statusTracker()
    while at_work.is_alive():
        for stage in tracker.getActiveStageIds():
            told = tracker.getStageInfo(stage)
            # No other stage has so many tasks as there are cells.
            if told is not None and told.numTasks > 8 and told.numCompletedTasks > 1:
                return told.numCompletedTasks, told.numTasks
        time.sleep(0.005)
    return 0, 0
