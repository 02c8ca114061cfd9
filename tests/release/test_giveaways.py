"""Columns that stay and give protected ones away, or people."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

import microagg
from microagg.columns.coded import encode
from microagg.release.giveaways import _rank_correlation, _Seen
from microagg.table.frames import Frame


def notes(table, engine="memory", **wanted):
    with microagg.protect(
        table, k=3, method="zscore", engine=engine, measures=False, progress=False, **wanted
    ) as release:
        return " ".join(release.record.notes)


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    school = rng.integers(0, 6, 400)
    return pd.DataFrame(
        {
            "income": rng.lognormal(10, 1, 400).round(2),
            "school": np.array(["none", "basic", "middle", "high", "first", "second"])[school],
            "illness": rng.integers(0, 5, 400),
        }
    )


def test_a_table_without_copies_has_no_notes(people):
    assert notes(people, quasi_identifiers=["income", "school"], confidential="illness") == ""


@pytest.mark.parametrize("role", ["other", "confidential"])
def test_copies_of_quasi_identifiers_are_named(people, role):
    rng = np.random.default_rng(1)
    people["dollars"] = -1.2 * people["income"] + rng.normal(0, 100, 400)
    people["school_code"] = people["school"].map(len) + people["school"].str.startswith("s")
    people["nearly"] = np.where(rng.random(400) < 0.02, "high", people["school"])
    roles = {"confidential": ["dollars", "school_code", "nearly"]} if role != "other" else {}
    found = notes(people, quasi_identifiers=["income", "school"], **roles)
    assert "dollars stays in the release and tells income: they rise and fall together" in found
    assert "nearly stays in the release and tells school: it is right for 9" in found
    people["school_code"] = people["school"].astype("category").cat.codes
    found = notes(people, quasi_identifiers=["income", "school"], **roles)
    assert "school_code stays in the release and tells school: each of its values" in found
    assert "illness" not in found.replace("of illness", "")


def test_values_of_ones_own_are_named(people):
    people["contact"] = [f"person{place}@example.org" for place in range(400)]
    people["CaseNumber"] = np.random.default_rng(0).permutation(400)
    people["distance"] = np.random.default_rng(0).normal(size=400)
    found = notes(people, quasi_identifiers=["income", "school"], confidential="illness")
    for name in ("contact", "CaseNumber"):
        assert f"{name} stays in the release, and nearly every record has its own value" in found
    assert "distance stays" not in found
    assert "have a value of distance that no other has" in found
    dropped = {"identifiers": ["contact", "CaseNumber", "distance"], "confidential": "illness"}
    assert notes(people, quasi_identifiers=["income", "school"], **dropped) == ""


def test_the_certificate_says_what_the_release_shows_of_identifiers(people):
    people["Kundennummer"] = np.random.default_rng(0).permutation(400)
    people["dollars"] = 3 * people["income"]
    release = microagg.protect(
        people, k=4, quasi_identifiers=["income", "school"], method="zscore", progress=False
    )
    (note,) = release.certificate.notes
    assert note.startswith("Kundennummer stays in the release, and nearly every record has its own")
    assert note in release.record.notes
    assert any("dollars stays in the release and tells income" in n for n in release.record.notes)


def test_the_same_notes_on_disk(people, tmp_path):
    people["contact"] = [f"person{place}@example.org" for place in range(400)]
    people["dollars"] = 3 * people["income"]
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    found = {
        engine: notes(path, engine=engine, quasi_identifiers=["income", "school"])
        for engine in ("memory", "disk")
    }
    assert found["memory"] == found["disk"]
    assert "dollars stays" in found["disk"]


def test_no_note_holds_a_value(people):
    people["contact"] = [f"person{place}@example.org" for place in range(400)]
    people["copy"] = people["school"]
    found = notes(people, quasi_identifiers=["income", "school"])
    assert "copy stays" in found
    assert not any(value in found for value in [*people["contact"], "basic", "middle", "second"])


@given(
    pairs=st.lists(
        st.tuples(st.integers(-5, 5), st.integers(-5, 5) | st.none()), min_size=3, max_size=40
    )
)
@settings(max_examples=150)
def test_rank_correlations_are_those_of_spearman(pairs):
    first, second = (pd.Series(each, dtype="Int64") for each in zip(*pairs, strict=True))
    table = pd.DataFrame({"a": first, "b": second})
    columns = [_Seen(encode(name, Frame(table).column(name))) for name in "ab"]
    known = table.dropna().astype(float)
    meant = 0.0
    if len(known) and known["a"].nunique() > 1 and known["b"].nunique() > 1:
        meant = abs(spearmanr(known["a"], known["b"]).statistic)
    assert _rank_correlation(*columns) == pytest.approx(meant, abs=1e-9)


def test_columns_that_single_people_out_are_named_in_one_line():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 9, (300, 20)), columns=[f"c{j}" for j in range(20)])
    found = notes(table, quasi_identifiers=["c0"])
    assert "a combination of c1, c2, c3, c4, c5, c6 and 13 more that no other has" in found
    one = notes(table[["c0", "c1"]].assign(c1=range(300)), quasi_identifiers=["c0"])
    assert "have a value of c1 that no other has" in one
    assert "who knows this column, which stays as it is, may" in one
