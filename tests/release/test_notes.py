import numpy as np
import pandas as pd
import pyreadstat
import pytest

import microagg


def survey(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "sex": rng.integers(1, 3, n),
            "zip": rng.integers(1000, 9999, n),
            "pay": rng.lognormal(10, 1, n),
        }
    )


def released(table, **settings):
    settings = {"k": 5, "quasi_identifiers": list(table.columns), "method": "mdav", **settings}
    return microagg.protect(table, **{"measures": False, **settings})


def noted(release, words):
    return [note for note in release.record.notes if words in note]


def test_what_looks_like_codes_is_asked_about():
    release = released(survey())
    (asked,) = noted(release, "--kinds")
    assert "--kinds sex=nominal,zip=nominal" in asked
    assert not noted(released(survey(), kinds={"sex": "nominal", "zip": "nominal"}), "--kinds")
    # Whoever says that they are numbers is not asked again.
    assert not noted(released(survey(), kinds={"sex": "integer", "zip": "integer"}), "--kinds")
    # The note is the owner's.
    assert not any("--kinds" in note for note in release.certificate.notes)


def test_inspect_proposes_kinds():
    found = microagg.inspect(survey())
    assert found.kinds == {"sex": "nominal", "zip": "nominal"}
    assert any("sex=nominal,zip=nominal" in note for note in found.notes)
    assert found.to_dict()["kinds"] == found.kinds


def test_values_that_no_record_had_are_counted():
    table = survey().assign(sex=lambda t: t["sex"] * 2)
    release = released(table)
    strange = int((~release.data["sex"].isin([2, 4])).sum())
    assert strange
    (note,) = noted(release, "no record had")
    assert f"sex in {strange}" in note
    assert not noted(released(table, kinds={"sex": "nominal"}), "no record had")


def test_gaps_that_were_filled_are_counted():
    table = survey()
    table["pay"] = table["pay"].mask(np.arange(300) % 20 == 0)
    release = released(table)
    filled = int((table["pay"].isna() & release.data["pay"].notna()).sum())
    assert filled
    (note,) = noted(release, "filled in")
    assert f"pay {filled}" in note
    assert not noted(released(survey()), "filled in")


def test_categories_that_vanished_are_counted():
    table = survey().assign(town=["rare" if row == 7 else "ab"[row % 2] for row in range(300)])
    release = released(table)
    assert "rare" not in set(release.data["town"])
    (note,) = noted(release, "vanished")
    assert "town 1" in note
    assert "rare" not in note


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_files_of_statistics_packages_say_which_columns_are_codes(tmp_path, suffix):
    table = survey().assign(grade=np.arange(300) % 4, joined=np.arange(300) % 7)
    labels = {"sex": {1: "man", 2: "woman"}, "joined": {0: "never"}}
    if suffix == ".sav":
        measures = {"sex": "nominal", "grade": "ordinal", "age": "scale"}
        pyreadstat.write_sav(
            table, tmp_path / "t.sav", variable_value_labels=labels, variable_measure=measures
        )
    else:
        pyreadstat.write_dta(table, tmp_path / "t.dta", variable_value_labels=labels)
    release = released_file(tmp_path / f"t{suffix}", table)
    kinds = {each.name: each.kind for each in release.shown.attributes}
    # A label for one value of many does not make a column codes.
    assert (kinds["sex"], kinds["joined"], kinds["age"]) == ("nominal", "integer", "integer")
    assert kinds["grade"] == ("ordinal" if suffix == ".sav" else "integer")
    assert set(release.data.column("sex").to_pylist()) <= {1, 2}
    assert noted(release, "the file says: ")
    inspected = {each.name: each.kind for each in microagg.inspect(tmp_path / f"t{suffix}").columns}
    assert inspected == kinds
    # The recipe goes before.
    other = released_file(tmp_path / f"t{suffix}", table, kinds={"sex": "integer"})
    assert {each.name: each.kind for each in other.shown.attributes}["sex"] == "integer"


def released_file(path, table, **settings):
    return microagg.protect(
        path, k=5, quasi_identifiers=list(table.columns), method="mdav", measures=False, **settings
    )
