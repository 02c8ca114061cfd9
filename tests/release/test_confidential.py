"""What a release says of its confidential columns: counted on what was written, at any size."""

from html import unescape

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.release.judging import MEASURED
from tests.naive import measures
from tests.tables import write_table

NAMES = ["ill", "cost", "day", "sure", "moment", "when", "took"]


def people(rows, classes, gaps=True):
    """Records that stay as they are, for their classes are the groups; secrets of every kind."""
    rng = np.random.default_rng(0)
    known = rng.permutation(np.arange(rows) % classes)
    gone = lambda: rng.random(rows) < 0.2 if gaps else None  # noqa: E731
    moments = pa.array(rng.integers(0, 9, rows) * 10**6, pa.timestamp("us"), mask=gone())
    return pa.table(
        {
            "known": known.astype(float),
            "ill": pa.array(
                np.array(["flu", "gout", "a,b"])[rng.integers(0, 3, rows)], mask=gone()
            ),
            "cost": pa.array(rng.integers(0, 40, rows) / 8 - 1, mask=gone()),
            "day": pa.array(rng.integers(0, 9, rows).astype("int32"), pa.date32(), mask=gone()),
            "sure": pa.array(known % 5 < rng.integers(0, 6, rows), mask=gone()),
            "moment": moments.cast(pa.timestamp("us", "UTC")),
            "when": pa.array(rng.integers(0, 9, rows), pa.time64("us"), mask=gone()),
            "took": pa.array(rng.integers(0, 9, rows), pa.duration("s"), mask=gone()),
        }
    )


def figures_of(source, target, engine, **settings):
    recipe = {"k": 2, "quasi_identifiers": "known", "confidential": NAMES, **settings}
    with microagg.protect(source, engine=engine, progress=False, **recipe) as release:
        before = release.assessment
        release.write(target)
        after = release.assessment
        assert before.to_dict() == after.to_dict(), "as it was written, so it was meant"
        return after


@pytest.mark.parametrize("target", ["csv", "parquet"])
@pytest.mark.parametrize("source", ["csv", "parquet"])
def test_the_same_from_every_file_to_every_file_on_every_engine(tmp_path, source, target):
    table = people(300, 60)
    if source == "csv":
        # No zone, and a count of seconds, in texts.
        table = table.drop_columns(["moment"]).append_column("moment", table["took"])
        write_table(table, tmp_path / "in.csv")
    else:
        pq.write_table(table, tmp_path / "in.parquet")
    labels = np.asarray(table["known"]).astype(int).tolist()
    for engine in ("memory", "disk"):
        path = tmp_path / f"{engine}.{target}"
        found = figures_of(tmp_path / f"in.{source}", path, engine)
        for name in NAMES:
            texts = source == "csv" and name == "when"
            entries = table[name].to_pylist()
            values = sorted({each for each in entries if each is not None})
            ranks = [-1 if each is None else values.index(each) for each in entries]
            ordered = name not in ("ill", "sure") and not texts
            apart = measures.closeness(ranks, labels, ordered)
            told = found.confidential[name]
            assert told["closeness"]["largest"] == pytest.approx(max(apart)), name
            least = min(distinct for distinct, _ in measures.diversity(ranks, labels))
            assert told["diversity"]["distinct"]["least"] == least
            assert told["disclosed"]["records"] == measures.alone(ranks, labels)


def test_of_many_records_all_are_counted(tmp_path):
    rows = MEASURED + 20_000
    table = people(rows, rows // 3)
    pq.write_table(table, tmp_path / "in.parquet")
    told = [
        figures_of(tmp_path / "in.parquet", tmp_path / f"{engine}.parquet", engine)
        for engine in ("memory", "disk")
    ]
    assert told[0].to_dict() == told[1].to_dict()
    alone = table.group_by("known").aggregate(
        [("ill", "count_distinct", only("all")), ("ill", "count", only("all"))]
    )
    records = sum(
        size
        for distinct, size in zip(
            *(alone[name].to_pylist() for name in alone.column_names[1:]), strict=True
        )
        if distinct == 1
    )
    assert records > 0
    assert told[0].confidential["ill"]["disclosed"]["records"] == records
    assert told[0].figures["attribute_disclosure"]["ill"] == pytest.approx(100 * records / rows)
    assert any(f"{records} records" in note and "ill" in note for note in told[0].notes)
    assert any(
        "losses, classes and confidential columns are of a sample" in n for n in told[0].notes
    )


def only(mode):
    return pa.compute.CountOptions(mode=mode)


@pytest.mark.parametrize("public", [False, True])
def test_a_report_says_how_many_records_share_one_value(tmp_path, public):
    table = pa.table({"known": [1.0, 1.0, 2.0, 2.0], "ill": ["a", "a", "a", "b"]})
    recipe = {"k": 2, "quasi_identifiers": "known", "confidential": "ill"}
    release = microagg.protect(table, **recipe, progress=False)
    release.report(tmp_path / "report.html", public=public)
    page = unescape((tmp_path / "report.html").read_text())
    assert "of records are in a class with one single ill" in page
    assert "50.00 %" in page
    assert ("whoever finds the class knows it" in page) == (not public)


def test_nothing_is_noted_where_no_class_shares_one_value():
    table = pa.table({"known": [1.0, 1.0, 2.0, 2.0], "ill": ["a", "b", "a", "b"]})
    release = microagg.protect(table, k=2, quasi_identifiers="known", confidential="ill")
    assert not any("one single" in note or "knows it" in note for note in release.assessment.notes)
    assert release.assessment.figures["attribute_disclosure"] == {"ill": 0.0}


def test_without_measures_nothing_is_counted_but_classes():
    table = pa.table({"known": [1.0, 1.0, 2.0, 2.0], "ill": ["a", "b", "a", "b"]})
    release = microagg.protect(
        table, k=2, quasi_identifiers="known", confidential="ill", measures=False
    )
    assert release.certificate.passed
    assert release._recount.counts == {}
    assert release.assessment is None


def test_a_column_that_cannot_be_counted_is_released_all_the_same(tmp_path):
    table = pa.table({"known": [1.0, 1.0, 2.0, 2.0], "ill": [[1], [2], [1], None]})
    release = microagg.protect(table, k=2, quasi_identifiers="known", confidential="ill")
    assert release.write(tmp_path / "out.parquet").passed
    assert release.assessment.confidential == {}
