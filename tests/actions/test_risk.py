import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.actions.risk import Asked
from microagg.base.errors import InputError, OptionError
from microagg.base.reading import Reading
from microagg.engine.sample import Sample
from microagg.table.opening import open_table
from tests.naive import risk as naive
from tests.reference import folder

KEYS = ["sex", "town", "age"]
TABLE = {
    "sex": ["f", "f", "m", "m", "f", None],
    "town": ["a", "a", "b", "b", "b", "a"],
    "age": [30, 30, 41, 42, 41, 30],
    "home": [1, 1, 2, 2, None, None],
    "weight": [10.0, 20.0, 5.0, 5.0, 4.0, 1.0],
    "illness": ["x", "y", "x", "x", "x", "y"],
}
RECORDS = list(zip(*(TABLE[name] for name in KEYS), strict=True))


@pytest.fixture(scope="module")
def reference():
    home = folder()
    if home is None or not (home / "testdata_reference.json").exists():
        pytest.skip("reference data 'testdata' not found; set MICROAGG_DATA to its folder")
    return home / "testdata.csv", json.loads((home / "testdata_reference.json").read_text())


def test_the_figures_of_sdcmicro(reference):
    path, told = reference
    # Whatever is told is compared here or below, or says what is compared.
    assert set(told) == {"made_with", "households", "diversity"}
    told = told["households"]
    found = microagg.risk(
        path, told["key_variables"], weights=told["weight"], household=told["household"]
    )
    arrays = {
        "fk": found.frequency,
        "Fk": found.population,
        "risk": found.individual,
        "hier_risk": found.household,
        "suda_score": found.suda,
        "suda_dis": found.suda_dis,
    }
    for name, array in arrays.items():
        assert np.abs(array - np.array(told[name])).max() < 1e-9, name
    settings = {"key_variables", "weight", "household"}
    assert set(told) == {*arrays, *settings, "global", "suda_contribution_percent"}
    total = told["global"]
    assert len(total) == 6
    share = found.household_expected / found.rows
    assert share == pytest.approx(total["hier_risk"], abs=1e-9)
    assert found.expected == pytest.approx(total["risk_ER"], abs=1e-9)
    assert found.expected_share == pytest.approx(total["risk"], abs=1e-9)
    assert found.household_expected == pytest.approx(total["hier_risk_ER"], abs=1e-9)
    assert found.figures["individual_risk"] == pytest.approx(total["risk_pct"], abs=1e-9)
    assert found.figures["household_risk"] == pytest.approx(total["hier_risk_pct"], abs=1e-9)
    expected = {
        each["variable"]: each["contribution"] for each in told["suda_contribution_percent"]
    }
    contributions = {column.name: column.contribution for column in found.columns}
    assert contributions == pytest.approx(expected, abs=1e-9)


def test_the_diversity_of_sdcmicro(reference):
    path, told = reference
    told = told["diversity"]
    found = microagg.risk(
        path,
        told["key_variables"],
        weights=told["weight"],
        confidential=told["confidential"],
        largest=0,
    )
    assert told["global"] == pytest.approx(
        {
            "risk": found.expected_share,
            "risk_ER": found.expected,
            "risk_pct": found.figures["individual_risk"],
        },
        abs=1e-9,
    )
    figures = dict(told["per_record"])
    # Of several columns together sdcMicro 5.8.1 names two figures, but works neither out: l is 1 at
    # least, and these are 0.
    for name in ("MultiEntropy_Ldiversity", "MultiRecursive_Ldiversity"):
        assert set(figures.pop(name)) == {0}
    for name in told["confidential"]:
        for way in ("distinct", "entropy", "recursive"):
            expected = np.array(figures.pop(f"{name}_{way.capitalize()}_Ldiversity"))
            assert np.abs(getattr(found.diversity[name], way) - expected).max() < 1e-9
    assert figures == {}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("missing", ["value", "wildcard"])
def test_every_kind_of_table(make, missing):
    found = microagg.risk(
        make(TABLE), KEYS, weights="weight", household="home", confidential="illness",
        missing=missing,
    )  # fmt: skip
    sample, population = naive.frequencies(RECORDS, TABLE["weight"], missing == "wildcard")
    risks = list(map(naive.individual, sample, population))
    assert found.frequency.tolist() == sample
    assert found.population.tolist() == population
    assert found.individual == pytest.approx(risks)
    # Who has no household lives alone.
    assert found.household == pytest.approx(naive.household(risks, [1, 1, 2, 2, 3, 4]))
    assert found.suda.tolist() == naive.suda(RECORDS, 3, missing == "wildcard")
    assert found.expected == pytest.approx(sum(risks))
    assert found.violations == {k: sum(f < k for f in sample) for k in (2, 3, 5)}
    assert found.violating(4) == sum(f < 4 for f in sample)
    assert found.missing == missing
    assert found.diversity["illness"].distinct[0] == 2


def test_a_fraction_stands_for_weights():
    found = microagg.risk(pa.table(TABLE), KEYS, fraction=0.1)
    same = {**TABLE, "weight": [10.0] * 6}
    weighted = microagg.risk(pa.table(same), KEYS, weights="weight")
    assert found.individual == pytest.approx(weighted.individual)
    assert found.figures["population_uniques"] == weighted.figures["population_uniques"]
    alone = microagg.risk(pa.table(TABLE), KEYS)
    assert "population_uniques" not in alone.figures
    assert alone.individual.tolist() == (1 / alone.frequency).tolist()
    assert alone.expected == pytest.approx(len({*RECORDS}))


def test_no_value_in_whatever_words(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex,age\nf,30\nNA,30\n,30\nf,\n")
    assert microagg.risk(path, ["sex"]).frequency.tolist() == [2, 2, 2, 2]
    assert microagg.risk(path, ["sex"], missing="wildcard").frequency.tolist() == [4, 4, 4, 4]
    floats = pa.table({"x": [1.0, float("nan"), None, -0.0, 0.0]})
    assert microagg.risk(floats, ["x"]).frequency.tolist() == [1, 2, 2, 2, 2]


def test_the_k_that_is_suggested():
    table = pa.table({"a": [1] * 4 + [2] * 12 + [3] * 20})
    for threshold, k in ((0.09, 12), (0.05, 20), (0.3, 4), (0.5, 2), (1e-9, 10**9)):
        assert microagg.risk(table, ["a"], threshold=threshold).suggested_k == k
    unique = pa.table({"a": list(range(50))})
    assert microagg.risk(unique, ["a"]).suggested_k == 12
    # A record that stands for ten hides among these, but not one that stands for itself.
    assert microagg.risk(table, ["a"], fraction=0.1).suggested_k == 2
    assert microagg.risk(table, ["a"], fraction=0.1, threshold=0.01).suggested_k == 11
    light = table.append_column("w", pa.array([1.0] * 4 + [10.0] * 32))
    assert microagg.risk(light, ["a"], weights="w").suggested_k == 12


@pytest.mark.parametrize("threshold", [0.3, 0.09])
def test_with_the_k_suggested_no_risk_is_above_the_threshold(threshold):
    table = pa.table({"a": [*range(1, 31), *range(1, 31), *[99] * 100]})
    k = microagg.risk(table, ["a"], threshold=threshold).suggested_k
    release = microagg.protect(table, k=k, quasi_identifiers=["a"], method="mdav")
    assert microagg.risk(release.data, ["a"]).individual.max() <= threshold


def test_how_the_unique_of_the_population_were_estimated():
    sizes = [1] * 30 + [2] * 20 + [5] * 6
    table = pa.table({"a": np.repeat(np.arange(len(sizes)), sizes)})
    small = microagg.risk(table, ["a"], fraction=0.05).notes
    assert small == (
        "How many are unique in the population is estimated by Pitman's model (Hoshino 2001), as "
        "the table is a tenth of it or less.",
    )
    large = microagg.risk(table, ["a"], fraction=0.5).notes
    assert large == (
        "How many are unique in the population is estimated as by Zayatz (1991), as the table is "
        "more than a tenth of it.",
    )
    alone = microagg.risk(pa.table({"a": list(range(50))}), ["a"], fraction=0.05)
    assert alone.notes == (
        "All records are unique by the keys, so nothing tells how many are in the population: all "
        "are taken to be.",
    )
    nobody = microagg.risk(pa.table({"a": [1, 1, 2, 2]}), ["a"], fraction=0.05)
    assert nobody.notes == microagg.risk(table, ["a"]).notes == ()


def test_what_is_shown_and_told():
    found = microagg.risk(pa.table(TABLE), KEYS, weights="weight", household="home")
    assert repr(found).startswith("Risk(records=6, keys=3, unique=4, expected=")
    assert "<table>" in found._repr_html_()
    told = json.loads(json.dumps(found.to_dict()))
    assert told["violations"] == {"2": 4, "3": 6, "5": 6}
    assert [column["name"] for column in told["columns"]] == KEYS
    assert all(isinstance(each["columns"], list) for each in told["combinations"])
    assert set(told["figures"]) == set(found.figures)
    # Nothing is told record by record.
    assert max(len(value) for value in told.values() if isinstance(value, list)) < 10


def test_what_would_take_too_long_is_said():
    columns = {f"c{i}": [i, i + 1, i + 2, 9] for i in range(12)}
    opened = open_table(pa.table(columns), Reading())
    found = Asked(keys=list(columns), most_work=1200).measure(opened)
    assert found.notes == (
        "Special uniques are of up to 3 of 12 columns: the 495 combinations of 4 would take long; "
        "say largest=4 to look at them.",
    )
    many = {f"c{i}": [1, 2] for i in range(61)}
    found = microagg.risk(pa.table(many), list(many))
    assert found.suda is None
    assert "Special uniques were not looked for" in found.notes[0]
    assert microagg.risk(pa.table(many), list(many)[:8], largest=2).notes == ()


def test_on_disk_a_small_table_is_its_own_sample(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(
        "\n".join(",".join("" if v is None else str(v) for v in row) for row in
                  [TABLE.keys(), *zip(*TABLE.values(), strict=True)]) + "\n"
    )  # fmt: skip
    asked = {"weights": "weight", "confidential": ["illness"], "household": "home"}
    here = microagg.risk(path, KEYS, **asked)
    there = microagg.risk(path, KEYS, engine="disk", **asked)
    assert there.to_dict() == here.to_dict()
    for name in ("frequency", "population", "individual", "household", "suda", "suda_dis"):
        assert getattr(there, name).tolist() == getattr(here, name).tolist()


@pytest.mark.parametrize("settings", [{"weights": "w", "household": "h"}, {"fraction": 0.1}])
def test_frequencies_on_disk_are_those_of_all_records(tmp_path, settings):
    rng, n = np.random.default_rng(0), 140_000
    table = pa.table(
        {
            "a": pa.array(rng.integers(0, 3000, n), mask=rng.random(n) < 0.01),
            "b": np.array(["x", "y", "z"])[rng.integers(0, 3, n)],
            "c": np.where(rng.random(n) < 0.01, np.nan, rng.integers(0, 40, n)),
            "w": rng.integers(1, 9, n) / 2,
            "h": pa.array(rng.integers(0, n // 3, n), mask=rng.random(n) < 0.01),
        }
    )
    pq.write_table(table, tmp_path / "large.parquet")
    keys = ["a", "b", "c"]
    here = microagg.risk(tmp_path / "large.parquet", keys, largest=0, **settings)
    there = microagg.risk(tmp_path / "large.parquet", keys, largest=2, engine="disk", **settings)
    assert there.rows == here.rows == n
    assert there.sampled == there.frequency.size == 1 << 17
    assert f"counted on all {n:,} records; special uniques" in there.notes[0]
    assert "on a sample of 131,072" in there.notes[0]
    exact = {name: value for name, value in there.figures.items() if name != "highest_dis"}
    assert exact == pytest.approx(here.figures, rel=1e-12)
    assert there.violations == here.violations
    assert there.class_sizes == here.class_sizes
    assert there.suggested_k == here.suggested_k
    for mine, theirs in zip(there.columns, here.columns, strict=True):
        assert mine.contribution is not None
        assert mine.name == theirs.name
        pair = (list(asdict(each).values())[1:-1] for each in (mine, theirs))
        np.testing.assert_allclose(*pair, rtol=1e-12)
    # What is known of a sampled record is known of it among all.
    rows = Sample()
    rows.add(table.select(["b"]), np.arange(n))
    chosen = rows.result()[1]
    for name in ("frequency", "population", "individual", "household"):
        mine, theirs = getattr(there, name), getattr(here, name)
        if theirs is not None:
            np.testing.assert_allclose(mine, theirs[chosen], rtol=1e-12)
        assert (mine is None) == (theirs is None)
    assert (here.household_expected is None) == ("household" not in settings)
    if here.household_expected is not None:
        assert there.household_expected == pytest.approx(here.household_expected, rel=1e-12)


def test_wildcards_on_disk_are_looked_at_in_a_sample(tmp_path):
    rng, n = np.random.default_rng(0), 140_000
    table = pa.table({"a": rng.integers(0, 3000, n), "h": rng.integers(0, 3000, n)})
    pq.write_table(table, tmp_path / "large.parquet")
    found = microagg.risk(tmp_path / "large.parquet", ["a"], engine="disk", missing="wildcard")
    assert "All figures are of a sample of 131,072 of the 140,000 records" in found.notes[0]
    assert found.population.sum() > found.frequency.sum()
    with pytest.raises(OptionError, match="household and wildcards together need all records"):
        microagg.risk(
            tmp_path / "large.parquet", ["a"], engine="disk", missing="wildcard", household="h"
        )


@pytest.mark.parametrize(
    ("settings", "problem", "sentence"),
    [
        ({"keys": []}, OptionError, "at least one column"),
        ({"keys": ["sex", "sex"]}, OptionError, "'sex' stands twice in keys"),
        ({"keys": ["Sex"]}, OptionError, "did you mean 'sex'"),
        ({"weights": "sex"}, InputError, "sex"),
        ({"weights": "home"}, InputError, "must be numbers of 0 or more"),
        ({"weights": "weight", "fraction": 0.1}, OptionError, "give one of them"),
        ({"fraction": 0.0}, OptionError, "above 0 and at most 1"),
        ({"missing": "any"}, OptionError, "value or wildcard"),
        ({"threshold": 1.0}, OptionError, "between 0 and 1"),
        ({"largest": -1}, OptionError, "0 or more"),
        ({"household": "nobody"}, OptionError, "no column 'nobody'"),
    ],
)
def test_one_sentence_for_what_is_wrong(settings, problem, sentence):
    with pytest.raises(problem, match=sentence):
        microagg.risk(pa.table(TABLE), **{"keys": KEYS, **settings})
