import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.actions import example
from microagg.base.errors import InputError, OptionError


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_example(make):
    columns = example.patients(300)
    found = microagg.inspect(make(columns))
    assert found.rows == 300
    assert [column.name for column in found.columns] == list(columns)
    assert found.names("identifier") == list(example.IDENTIFIERS)
    assert found.names("quasi-identifier") == list(example.QUASI_IDENTIFIERS)
    assert found.names("confidential") == list(example.CONFIDENTIAL)
    kinds = {column.name: column.kind for column in found.columns}
    assert kinds["age"] == "integer"
    assert kinds["height_cm"] == "continuous"
    assert kinds["diagnosis"] == "nominal"
    for column in found.columns:
        assert column.distinct == np.unique(columns[column.name]).size
        assert column.missing == 0
        assert column.reason
    known = zip(*(columns[name].tolist() for name in example.QUASI_IDENTIFIERS), strict=True)
    rows = pd.Series(list(known)).value_counts()
    assert found.unique == (rows == 1).sum()


def test_any_column_can_be_looked_at():
    n = 40
    table = pa.table(
        {
            "list": [[1]] * n,
            "struct": [{"a": 1}] * n,
            "nothing": pa.nulls(n),
            "half": pa.array(np.arange(n, dtype=np.float16)),
            "view": pa.array([str(i % 3) for i in range(n)], pa.string_view()),
            "flag": [True, None] * (n // 2),
            "born": [dt.date(1990, 1, 1) + dt.timedelta(i) for i in range(n)],
            "length": pa.array(range(n), pa.duration("s")),
            "level": pa.array(["a", "b"] * (n // 2)).dictionary_encode(),
            "bytes": [b"x"] * n,
            "texts": [f"{i}.5" for i in range(n)],
            "constant": [1] * n,
            "note": [f"some words {i}" for i in range(n)],
        }
    )
    found = microagg.inspect(table)
    by_name = {column.name: column for column in found.columns}
    assert by_name["flag"].missing == 20
    assert by_name["flag"].kind == "boolean"
    assert by_name["level"].distinct == 2
    assert by_name["constant"].role == "other"
    assert by_name["note"].role == "identifier"
    assert by_name["born"].role == "quasi-identifier"
    assert by_name["list"].role == by_name["texts"].role == "look at it"
    assert "numbers as text" in by_name["texts"].reason
    assert found.to_dict()["columns"][0]["name"] == "list"


def test_objects_and_mixtures():
    table = pd.DataFrame({"age": [1, 2, 3], "mixed": [1, "a", None], "thing": [object()] * 3})
    found = microagg.inspect(table)
    roles = {column.name: column.role for column in found.columns}
    assert roles == {"age": "quasi-identifier", "mixed": "look at it", "thing": "look at it"}


def test_unique_records():
    table = pd.DataFrame({"age": [30, 30, 31], "zip": ["a", "a", "b"], "x": [1, 2, 3]})
    assert microagg.inspect(table).unique == 1
    assert microagg.inspect(pd.DataFrame({"flag": [True, False]})).unique is None


def test_files(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age;income\n30;1,5\n31;2,5\n32;3,5\n")
    found = microagg.inspect(path)
    assert found.source == "people.csv"
    assert {column.name: column.kind for column in found.columns} == {
        "age": "integer",
        "income": "continuous",
    }


def test_identifiers_are_found_by_value():
    n = 60
    table = pa.table(
        {
            "contact": [f"somebody.{i % 30}@example.org" for i in range(n)],
            "tel": [f"+49 89 55 {i:04}" for i in range(n)],
            "Geschlecht": ["m", "w"] * (n // 2),
            "Krankheit": ["a", "b", "c"] * (n // 3),
            "Gewichtung": [1.0, 2.5] * (n // 2),
        }
    )
    found = {column.name: column for column in microagg.inspect(table).columns}
    assert found["contact"].role == found["tel"].role == "identifier"
    assert found["contact"].reason == "its values are e-mail addresses"
    assert found["Geschlecht"].role == "quasi-identifier"
    assert found["Krankheit"].role == "confidential"
    assert found["Gewichtung"].role == "weights"


def test_risk_is_by_what_is_suggested():
    n = 90
    table = pa.table(
        {
            "sex": ["f", "m"] * (n // 2),
            "age": [20 + i % 9 for i in range(n)],
            "hhid": [i // 3 for i in range(n)],
            "survey_weight": [3.0] * n,
        }
    )
    found = microagg.inspect(table, risk=True)
    expected = microagg.risk(table, ["sex", "age"], weights="survey_weight", household="hhid")
    assert found.risk.figures == expected.figures
    assert found.risk.notes == (
        "survey_weight was taken for weights, as it is named so.",
        "hhid was taken for households, as it is named so.",
    )
    assert found.unique == expected.violations[2]
    assert found.to_dict()["risk"]["expected"] == expected.expected
    assert "risk" not in microagg.inspect(table).to_dict()
    named = microagg.inspect(table, risk=True, quasi_identifiers="age", fraction=0.5)
    assert named.risk.keys == ("age",)
    assert named.risk.population[0] == 20.0
    with pytest.raises(microagg.MicroaggError, match="name some: quasi_identifiers"):
        microagg.inspect(pa.table({"flag": [True, False]}), risk=True)


def test_ids_that_records_share_are_told_from_those_they_own():
    who = np.repeat(np.arange(150), 2)
    table = pd.DataFrame(
        {"hid": who + 1000, "pid": np.arange(300), "person_id": who + 7, "age": np.arange(300) % 90}
    )
    found = microagg.inspect(table)
    assert found.names("identifier") == ["hid", "pid", "person_id"]
    reasons = {each.name: each.reason for each in found.columns}
    assert "own value" in reasons["pid"]
    assert "share" in reasons["hid"]
    assert found.household == "hid"
    notes = " ".join(found.notes)
    assert "--household hid" in notes
    assert "members keep their own values" in notes
    assert "as in a panel, say --entity person_id" in notes
    assert microagg.inspect(table[["pid", "age"]]).household is None


def test_a_table_on_disk_is_looked_at_in_a_sample_and_counted_whole(tmp_path):
    rng, n = np.random.default_rng(0), 140_000
    table = pa.table(
        {
            "age": rng.integers(0, 60_000, n),
            "city": np.array(["x", "y", "z"])[rng.integers(0, 3, n)],
            "household_id": rng.integers(0, n // 3, n),
        }
    )
    pq.write_table(table, tmp_path / "people.parquet")
    asked = {"risk": True, "fraction": 0.1, "largest": 0}
    here = microagg.inspect(tmp_path / "people.parquet", **asked)
    there = microagg.inspect(tmp_path / "people.parquet", engine="disk", memory="1GB", **asked)
    assert (there.rows, there.sampled, here.sampled) == (n, 1 << 17, None)
    assert "in a sample of 131,072 of the 140,000 records" in there.notes[0]
    assert there.unique == here.unique > 0
    assert [column.role for column in there.columns] == [column.role for column in here.columns]
    assert there.risk.household_expected == pytest.approx(here.risk.household_expected)
    assert there.risk.figures == pytest.approx(here.risk.figures, rel=1e-12)
    alone = microagg.inspect(tmp_path / "people.parquet", engine="disk")
    assert alone.unique == here.unique
    small = microagg.inspect(tmp_path / "people.parquet", engine="memory", risk=True, largest=0)
    assert small.risk.violations == there.risk.violations


def test_where_a_table_is_looked_at():
    with pytest.raises(InputError, match="a table that is in memory"):
        microagg.inspect(pa.table({"a": [1]}), engine="disk")
    with pytest.raises(OptionError, match="there is no engine"):
        microagg.inspect(pa.table({"a": [1]}), engine="tape")
