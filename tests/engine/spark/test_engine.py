"""Spark on a real cluster: the same releases as on disk and in memory."""

import gc

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions

import microagg
from microagg.base.errors import InputError, OptionError
from microagg.base.progress import silent
from microagg.engine.planning import make_plan
from microagg.engine.spark.engine import Spark
from tests.engine.spark.tables import SIMPLE, WARNINGS, plane, protect, put, rows_of, same, sizes_of
from tests.engine.tables import KINDS, SETTINGS

pytestmark = WARNINGS


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
def test_the_same_release_as_on_disk_and_in_memory(session, table, tmp_path, settings):
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
    settings = {**SETTINGS, "progress": False, "measures": False, **settings}
    on_disk = microagg.protect(source, engine="disk", **settings)
    in_memory = microagg.protect(source, engine="memory", **settings)
    with on_disk, protect(source, session, **settings) as release:
        on_disk.write(tmp_path / "release.parquet")
        found = rows_of(release.data)
        same(found, pq.read_table(tmp_path / "release.parquet"))
        same(found, in_memory.data)
        told = release.certificate.to_dict()
        assert release.record.cells > 3
    for other in (on_disk, in_memory):
        meant = other.certificate.to_dict()
        for name in ("k", "groups", "rows", "columns", "method", "recipe", "notes", "verdict"):
            assert told[name] == meant[name], name
        for name in ("plan_sha256", "attribute_losses", "notes"):
            assert getattr(release.record, name) == getattr(other.record, name), name


def test_data_frames(session, table):
    settings = {**SETTINGS, "cell_rows": 150}
    by_path = protect(table, session, **settings)
    frame = session.read.parquet(str(table))
    by_frame = protect(frame, session, **settings)
    same(rows_of(by_path.data), rows_of(by_frame.data))
    # Rows that were put together have no numbers; how they are dealt out makes no difference.
    together = frame.where("illness < 4").union(frame.where("illness >= 4"))
    together = together.union(frame.where("illness > 99"))
    outcomes, record = [], None
    for dealt in (together, together.repartition(5)):
        shuffled = {**settings, "row_order": "shuffled", "record": record}
        release = protect(dealt, session, **shuffled)
        record = release.record
        found = rows_of(release.data)
        assert sizes_of(found, KINDS).min() >= 4
        outcomes.append(found)
    same(*outcomes)
    with pytest.raises(OptionError, match='row_order="kept" needs rows that have numbers'):
        protect(together, session, **settings)
    session.catalog.clearCache()


def test_a_frame_of_spark_is_protected_there(session):
    frame = session.range(60).selectExpr("id", "id * id % 17 as x")
    with microagg.protect(frame, k=4, quasi_identifiers=["x"], progress=False) as release:
        assert release.engine == release.record.engine == "spark"
        assert sizes_of(rows_of(release.data), ["x"]).min() >= 4
    with pytest.raises(OptionError, match="say engine=spark too"):
        microagg.protect(pa.table({"x": [1, 2]}), session=session, k=2, quasi_identifiers=["x"])


@pytest.mark.parametrize("share", [0.9, 1.0], ids=["skewed", "constant"])
def test_many_equal_rows(session, tmp_path, share):
    rows = plane(2500).drop_columns("id")
    equal = np.arange(2500) < 2500 * share
    rows = pa.table({name: np.where(equal, 1.0, rows[name]) for name in rows.column_names})
    path = put(rows, tmp_path / "rows.parquet")
    expected = microagg.protect(path, engine="memory", progress=False, **SIMPLE)
    with protect(path, session, row_order="kept", **SIMPLE) as release:
        same(rows_of(release.data), expected.data)
        assert release.certificate.information_loss < 100.0
    frame = session.read.parquet(str(path))
    computed = frame.union(frame.limit(0)).repartition(3)
    computed = computed.withColumn("equal", functions.expr("x = 1.0 and y = 1.0"))
    with protect(computed, session, **SIMPLE) as release:
        found = rows_of(release.data)
    if share < 1.0:
        # Rows that are alike have one hash, and yet do not stand side by side.
        changes = np.diff(found["equal"].to_numpy(zero_copy_only=False).astype(int))
        assert np.count_nonzero(changes) > 300
    found = found.drop_columns(["equal"])
    assert found.num_rows == 2500
    assert sizes_of(found, ["x", "y"]).min() >= 3


@pytest.mark.parametrize("share", [0.9, 1.0], ids=["skewed", "constant"])
def test_equal_rows_have_equal_hashes_and_a_sample_still_has_its_size(session, share):
    # So few are sampled that a limit on hashes misses all of a constant table, or none.
    rows = plane(2500).drop_columns("id")
    equal = np.arange(2500) < 2500 * share
    rows = pa.table({name: np.where(equal, 1.0, rows[name]) for name in rows.column_names})
    frame = session.createDataFrame(rows)
    for dealt in (frame, frame.repartition(3)):
        engine = Spark(dealt, microagg.Recipe(**SIMPLE), session=session, sampled=200)
        survey = engine.survey(silent)
        sample, _ = survey.sample.result()
        assert (sample.num_rows, survey.rows) == (200, 2500)
        plan = make_plan(survey, {"name": "rows", "sha256": engine.sha256})
        counts, _ = engine.count(plan, silent)
        assert counts.sum() == 2500
        engine.close()


def test_types_change_only_if_they_must(session):
    from pyspark.sql import Row

    rows = [
        Row(**{"a.b": place % 7, "c`d": bytes([place]), "deep": {"x": [place]}, "w": str(place)})
        for place in range(40)
    ]
    frame = session.createDataFrame(rows)
    release = protect(
        frame,
        session,
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
    release.close()


def test_what_cannot_work_is_refused_in_one_sentence(session, tmp_path):
    frame = session.createDataFrame(
        [(float(place), str(place)) for place in range(9)], "x double, s string"
    )

    def refused(error, words, source=frame, **settings):
        settings = {"k": 3, "quasi_identifiers": ["x"], **settings}
        with pytest.raises(error, match=words) as found:
            protect(source, session, **settings)
        assert "\n" not in str(found.value)

    refused(OptionError, "did you mean 'x'", quasi_identifiers=["X"])
    for name, setting in (
        ("entity", {"entity": "s"}),
        ('aggregate="proximity"', {"aggregate": "proximity"}),
        ("prove", {"prove": 1.0}),
    ):
        sentence = f"{name} needs all records in one place, which only engine=memory has"
        refused(OptionError, sentence, **setting)
    refused(OptionError, "resume goes on with a run on disk", resume=True)
    refused(InputError, "only 9 records", k=10)
    refused(InputError, "holds numbers as text", quasi_identifiers=["s"])
    refused(InputError, "infinite numbers", frame.selectExpr("double('inf') as x"))
    refused(InputError, "no rows", frame.where("x < 0"))
    refused(InputError, "no such file", tmp_path / "nowhere.parquet")
    refused(InputError, "Spark could not read the table: TABLE_OR_VIEW_NOT_FOUND", "nowhere")
    refused(OptionError, "nothing that Spark reads", tmp_path / "table.xlsx")
    refused(OptionError, "nothing that Spark reads", tmp_path / "table.arrow")
    refused(InputError, "type list", [1, 2, 3])
    # What Spark itself has to say might quote a record.
    odd = frame.selectExpr("cast(concat('secret', s) as double) as x")
    with pytest.raises(InputError) as found:
        protect(odd, session, k=3, quasi_identifiers=["x"])
    assert "secret" not in str(found.value)
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    refused(InputError, "torn.parquet", tmp_path / "torn.parquet")


def test_a_cell_must_fit_a_worker(session, tmp_path, monkeypatch):
    monkeypatch.setattr("microagg.engine.choosing.LEAST_MEMORY", 1.2e9 - 1e5)
    path = put(plane(2000), tmp_path / "plane.parquet")
    settings = {**SIMPLE, "cell_rows": None}
    # Executors have 600 MB, whatever this machine has.
    with pytest.raises(OptionError, match=r"takes about 0\.6 GB, but 0\.6 GB may be used"):
        protect(path, session, **settings)
    protect(path, session, memory="2GB", measures=False, **settings).close()


def test_reports_say_what_became_of_the_order(session, tmp_path):
    path = put(plane(200), tmp_path / "plane.parquet")
    pages = {}
    for ordered in (False, True):
        order = {"row_order": "kept"} if ordered else {}
        with protect(path, session, **order, **SIMPLE) as release:
            release.report(tmp_path / "report.html")
            pages[ordered] = (tmp_path / "report.html").read_text()
            assert "--engine spark" in pages[ordered]
    assert "Kept all other columns as they were, and shuffled the rows." in pages[False]
    assert "Kept all other columns and the order of the rows as they were." in pages[True]


def test_closing_lets_spark_forget_the_rows(session, tmp_path):
    def held():
        return session.sparkContext._jsc.getPersistentRDDs().size()

    path = put(plane(200), tmp_path / "plane.parquet")
    session.catalog.clearCache()
    gc.collect()
    before = held()
    with protect(path, session, **SIMPLE) as release:
        data = release.data
        assert data.storageLevel.useMemory or held() > before
    assert held() == before
    with pytest.raises(OptionError, match="the release was closed"):
        release.data  # noqa: B018
    release.close()
    # The session is not ours to end.
    assert session.range(3).count() == 3
    with pytest.raises(OptionError, match="say engine=memory"):
        release.partition  # noqa: B018


def test_the_risk_of_a_table_of_spark(session, table):
    keys = ["whole", "region"]
    here = microagg.risk(table, keys, weights="weight")
    there = microagg.risk(session.read.parquet(str(table)), keys, weights="weight")
    assert there.to_dict()["figures"] == pytest.approx(here.to_dict()["figures"])
    assert there.violations == here.violations
