"""Text files on Spark: understood, kept and written as everywhere."""

import datetime

import numpy as np
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.base.errors import InputError
from tests.engine.spark.tables import WARNINGS, protect, rows_of, same

pytestmark = WARNINGS


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
    release = protect(source, session, **settings)
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
    release.close()
    source.write_text("a,b\n1,2\n3\n4,5\n")
    with pytest.raises(InputError, match=r"row 3 of people\.csv has 1 field"):
        protect(source, session, k=2, quasi_identifiers=["a"])


@pytest.fixture
def odd_texts(tmp_path):
    """A file in which nearly every column may be misread."""
    rng = np.random.default_rng(2)
    moment = datetime.datetime(2020, 3, 8, 0, 30)
    columns = "number;plus;born;seen;answer;share;kept;code;empty;weight"
    lines = [columns]
    for place in range(240):
        lines.append(
            ";".join(
                [
                    "k.A." if place % 8 == 0 else f"{rng.normal():.3f}".replace(".", ","),
                    f"+{rng.integers(1, 4)}",
str(datetime.date(1950, 1, 1) + datetime.timedelta(int(rng.integers(9000)))),
                    # The night in which New York has no second hour.
                    str(moment + datetime.timedelta(minutes=int(rng.integers(300)))),
                    ("" if place % 5 == 0 else ["yes", "no", " no"][place % 3]),
                    f"{rng.random():.2e}".replace(".", ","),
                    [" 1,50", "1,5", "k.A.", "0,0", "-0"][place % 5],
                    f"00{place % 7}",
                    "",
                    f"{1 + place % 3},25",
                ]
            )
        )  # fmt: skip
    path = tmp_path / "odd.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


ODD = {
    "k": 4,
    "quasi_identifiers": ["number", "plus", "born", "seen", "answer"],
    "kinds": {"plus": "nominal"},
    "confidential": ["share"],
    "weights": "weight",
    "reading": {"missing_values": ["k.A."]},
    "method": "mdav",
    "cell_rows": 60,
    "measures": False,
    "row_order": "kept",
}


def test_texts_are_understood_and_kept_as_in_memory(session, odd_texts, tmp_path):
    expected = microagg.protect(odd_texts, engine="memory", progress=False, **ODD)
    expected.write(tmp_path / "memory.csv")
    with protect(odd_texts, session, **ODD) as release:
        found = rows_of(release.data)
        assert release.record.cells > 2
        assert release.record.plan_sha256 == expected.record.plan_sha256
        assert release.write(tmp_path / "spark.csv").passed
        # What files of another format hold is not the texts but what they say.
        assert release.write(tmp_path / "spark.parquet").passed
    assert found.column_names == expected.data.column_names
    for name in found.column_names:
        assert found[name].to_pylist() == expected.data[name].to_pylist(), name
    written = [path.read_text() for path in sorted((tmp_path / "spark.csv").iterdir())]
    header, *lines = (tmp_path / "memory.csv").read_text().splitlines()
    assert [part.splitlines()[0] for part in written] == [header] * len(written)
    assert [line for part in written for line in part.splitlines()[1:]] == lines
    expected.write(tmp_path / "memory.parquet")
    meant = pq.read_table(tmp_path / "memory.parquet")
    found = pq.read_table(tmp_path / "spark.parquet")
    same(found, meant)


def test_records_over_several_lines_are_refused(session, tmp_path):
    source = tmp_path / "lines.csv"
    lines = ["a;b", *(f"{place};{place}" for place in range(9)), '"1\n2";3', "1;2"]
    source.write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"lines\.csv has records that go over several lines"):
        protect(source, session, k=2, quasi_identifiers=["b"])
