"""A table of Spark is looked at by the workers, and tells what one on disk tells."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.base.errors import InputError
from microagg.base.progress import silent
from microagg.base.reading import Reading
from microagg.engine.disk.looking import OnDisk
from microagg.engine.looking import rows_at, rows_with, whole_classes
from microagg.engine.spark.looking import OnSpark
from microagg.release.pairing_in_parts import open_pair
from tests.engine.spark.tables import WARNINGS, as_spark_has_it, rows_of, same
from tests.engine.tables import nasty

pytestmark = WARNINGS
NAMES = ["age", "town"]


def people(rows=900):
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "number": rng.permutation(rows),
            "age": rng.integers(18, 60, rows),
            "town": np.array(["x", "y", "z"])[rng.integers(0, 3, rows)],
            "illness": np.array(["a", "b", "c"])[rng.integers(0, 3, rows)],
            "stay": rng.normal(size=rows).round(2),
        }
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A table, its release, and an earlier one of the same people."""
    folder = tmp_path_factory.mktemp("tables")
    pq.write_table(people(), folder / "people.parquet", row_group_size=200)
    found = [folder / "people.parquet"]
    for name, k in (("release", 4), ("earlier", 7)):
        release = microagg.protect(
            found[0], k=k, quasi_identifiers=NAMES, confidential=["illness"], method="mdav"
        )
        release.write(folder / f"{name}.parquet")
        found.append(folder / f"{name}.parquet")
    return found


def test_the_same_lot_and_counts_as_on_disk(session, tmp_path):
    rows = as_spark_has_it(nasty(700))
    pq.write_table(rows, tmp_path / "people.parquet", row_group_size=150)
    disk, spark = (
        kind(tmp_path / "people.parquet", Reading(), sampled=80) for kind in (OnDisk, OnSpark)
    )
    names = ["whole", "word", "flag"]
    assert spark.names == disk.names
    assert (spark.rows, spark.sha256, spark.in_order) == (700, disk.sha256, True)
    here, there = (whole_classes(each, names, 200) for each in (disk, spark))
    assert 200 <= len(here.table) < 700
    assert there.numbers.tolist() == here.numbers.tolist()
    same(here.table, there.table)
    numbers = np.array([5, 3, 699, 3])
    assert rows_at(spark, numbers).table["whole"].equals(rows["whole"].take(numbers))
    ones, others = (each.counted(names, ["number"]) for each in (disk, spark))
    assert ones[1].keys() == others[1].keys()
    assert ones[0].sizes.tolist() == others[0].sizes.tolist()
    assert ones[0].times.tolist() == others[0].times.tolist()
    sample = spark.sample(silent)
    assert sample.num_rows == 80
    same(disk.sample(silent), sample)


@pytest.mark.parametrize(("key", "most"), [(None, 300), ("number", 300), (None, 1 << 17)])
def test_the_same_judgement_as_on_disk(session, written, key, most, monkeypatch):
    monkeypatch.setattr(open_pair, "__defaults__", (most,))
    *tables, also = written
    asked = {"attacks": True, "targets": ["stay"], "also": also, "key": key}
    here, there = (microagg.assess(*tables, engine=engine, **asked) for engine in ("disk", "spark"))
    assert json.loads(json.dumps(there.to_dict())) == json.loads(json.dumps(here.to_dict()))
    assert ("chosen by lot" in " ".join(there.notes)) == (most == 300)
    assert any(each.attack.name == "intersection" for each in there.attacks)


def test_data_frames_need_a_key(session, written):
    frames = [session.read.parquet(str(path)) for path in written[:2]]
    asked = {"quasi_identifiers": NAMES, "confidential": ["illness"]}
    with pytest.raises(InputError, match="have no order in Spark"):
        microagg.assess(*frames, **asked)
    here = microagg.assess(*written[:2], key="number", **asked)
    there = microagg.assess(*frames, key="number", **asked)
    # Rows come in the order of their hashes, and sums of them may differ in the last digit.
    told, whole = there.to_dict(), here.to_dict()
    assert told["confidential"] == whole["confidential"]
    assert told["classes"] == whole["classes"]
    assert there.information_loss == pytest.approx(here.information_loss)
    assert there.figures["expected_linkage"] == pytest.approx(here.figures["expected_linkage"])


def test_keys_that_tell_nobody_apart(session, written, tmp_path):
    twice = people().set_column(0, "number", pa.array(np.arange(900) // 2))
    pq.write_table(twice, tmp_path / "twice.parquet")
    asked = {"quasi_identifiers": NAMES, "key": "number", "engine": "spark"}
    with pytest.raises(InputError, match="missing or repeated in the release"):
        microagg.assess(written[0], tmp_path / "twice.parquet", **asked)
    others = people().set_column(0, "number", pa.array(np.arange(5, 905)))
    pq.write_table(others, tmp_path / "others.parquet")
    with pytest.raises(InputError, match="5 records of the release have a key"):
        microagg.assess(written[0], tmp_path / "others.parquet", **asked)


def test_some_rows_by_their_keys(session, written):
    spark = OnSpark(session.read.parquet(str(written[0])), Reading())
    values = pa.array(["7", "nobody", "3"])
    found, places = rows_with(spark, "number", values)
    numbers = found.table["number"].to_pylist()
    assert [None if at < 0 else numbers[at] for at in places.tolist()] == [7, None, 3]


@pytest.mark.parametrize("form", ["parquet", "csv", "frame"])
def test_inspection(session, tmp_path, form):
    rng, n = np.random.default_rng(0), 600
    rows = pa.table(
        {
            "age": rng.integers(0, 90, n),
            "city": np.array(["x", "y", "z"])[rng.integers(0, 3, n)],
            "household_id": rng.integers(0, n // 3, n),
            "mail": [f"somebody{number}@example.org" for number in range(n)],
        }
    )
    path = tmp_path / f"people.{form}"
    if form == "csv":
        csv.write_csv(rows, path)
    else:
        pq.write_table(rows, path)
    source = session.createDataFrame(rows) if form == "frame" else path
    asked = {"risk": True, "fraction": 0.1, "largest": 2}
    here = microagg.inspect(rows if form == "frame" else path, engine="memory", **asked)
    there = microagg.inspect(source, engine="auto" if form == "frame" else "spark", **asked)
    assert there.columns == here.columns
    assert (there.rows, there.unique) == (here.rows, here.unique)
    assert there.risk.figures == pytest.approx(here.risk.figures, rel=1e-12)
    alone = microagg.inspect(source, engine="spark")
    assert alone.unique == here.unique


def test_a_release_of_spark_beside_its_original(session, written, tmp_path):
    """Shuffled, in a folder of files, with its record beside it."""
    release = microagg.protect(
        written[0], k=4, quasi_identifiers=NAMES, engine="spark", session=session, progress=False
    )
    with release:
        release.write(tmp_path / "release.parquet")
        assert rows_of(release.data).num_rows == 900
    here, there = (
        microagg.assess(written[0], tmp_path / "release.parquet", engine=engine)
        for engine in ("memory", "spark")
    )
    assert there.to_dict() == here.to_dict()
    assert there.information_loss > 0.0
