"""Releases of which k counts households, wherever they are made."""

from collections import defaultdict

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.base.errors import InputError, OptionError
from microagg.release.telling import story_of

QUASI = ["age", "rent", "region"]


def people(n=400, seed=0, text=True):
    """Members of households who share rent and region, and have their own age."""
    rng = np.random.default_rng(seed)
    who = np.sort(rng.integers(0, n // 4, n))
    return pa.table(
        {
            "hid": [f"H{each:04}" for each in who] if text else who,
            "age": rng.integers(0, 90, n),
            "rent": rng.integers(300, 2000, n // 4)[who],
            "region": np.array(["north", "south", "west"])[who % 3],
            "illness": rng.integers(0, 5, n),
        }
    )


def households_in_classes(rows, households, names=QUASI):
    found = defaultdict(set)
    for values, who in zip(
        zip(*(rows[name].to_pylist() for name in names), strict=True), households, strict=True
    ):
        found[values].add(who)
    return min(map(len, found.values()))


def released(table, tmp_path, engine="memory", **settings):
    path = tmp_path / "in.parquet"
    pq.write_table(table, path)
    settings = {"household": "hid", "quasi_identifiers": QUASI, "k": 4, **settings}
    with microagg.protect(
        path, engine=engine, method="mdav", row_order="kept", progress=False, **settings
    ) as release:
        certificate = release.write(tmp_path / f"{engine}.parquet", force=True)
        pages = [story_of(release, public=public) for public in (False, True)]
        pages.append(release.record.plan_sha256)
    return pq.read_table(tmp_path / f"{engine}.parquet"), certificate, pages


FEATURES = {
    "plain": {},
    "cells": {"cell_rows": 60},
    "strata": {"within": ["region"], "quasi_identifiers": ["age", "rent"], "cell_rows": 60},
    "weights": {"weights": "illness", "cell_rows": 60},
    "dropped": {"identifiers": ["hid"], "cell_rows": 60},
    "cells that are small": {"cell_rows": 16, "k": 2},
}


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_every_class_has_records_of_k_households(tmp_path, feature, engine):
    table, settings = people(), FEATURES[feature]
    rows, certificate, _ = released(table, tmp_path, engine, **settings)
    k = settings.get("k", 4)
    assert certificate.passed
    assert certificate.counts == "households"
    assert certificate.k_found == households_in_classes(rows, table["hid"].to_pylist())
    assert certificate.k_found >= k
    assert f"at least {k} different households share" in certificate.checks[0].promise
    # Members keep what is theirs: not whole households are put together.
    assert len(set(zip(rows["age"].to_pylist(), table["hid"].to_pylist(), strict=True))) > 150


@pytest.mark.parametrize("feature", FEATURES)
def test_disk_publishes_what_memory_does(tmp_path, feature):
    one, two = (
        released(people(), tmp_path, engine, **FEATURES[feature]) for engine in ("memory", "disk")
    )
    assert one[0].equals(two[0])
    assert one[1].k_found == two[1].k_found
    assert [page.notes for page in one[2][:2]] == [page.notes for page in two[2][:2]]
    assert one[2][2] == two[2][2]


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_shuffled_rows_of_text_are_counted_too(tmp_path, engine):
    table = people(n=300, text=False)
    path = tmp_path / "in.csv"
    table.to_pandas().to_csv(path, index=False)
    with microagg.protect(
        path, k=3, quasi_identifiers=QUASI, household="hid", engine=engine, progress=False,
    ) as release:  # fmt: skip
        certificate = release.write(tmp_path / "out.csv")
    rows = pa.Table.from_pandas(pd.read_csv(tmp_path / "out.csv"))
    assert certificate.k_found == households_in_classes(rows, rows["hid"].to_pylist()) >= 3


def test_the_report_says_what_was_counted(tmp_path):
    _, _, (page, public, _) = released(people(), tmp_path)
    for story in (page, public):
        assert "different households" in " ".join(story.guarantee)
        assert any("who lives with whom" in note for note in story.notes)
        assert any("household as a whole" in limit for limit in story.limits)
    assert ("hid", "household", "kept as it is") in page.roles
    _, _, (page, *_) = released(people(), tmp_path, identifiers=["hid"])
    assert not any("lives with whom" in note for note in page.notes)


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize(
    ("table", "settings", "says"),
    [
        (people().slice(0, 12), {"k": 9}, "k is 9, but there are only 3 households"),
        (people().set_column(0, "hid", pa.array([None] + ["a", "b", "c"] * 133)), {},
         "which household a row belongs, but some rows have no value"),
        (people(), {"within": ["region"], "quasi_identifiers": ["age"], "k": 60},
         "3 of 3 strata of 'region' have fewer than k = 60 households"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_a_sentence(tmp_path, engine, table, settings, says):
    with pytest.raises(InputError, match=says):
        released(table, tmp_path, engine, **settings)


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_small_strata_are_merged_until_there_are_k_households(tmp_path, engine):
    table = people()
    region = ["a" if each < "H0002" else "b" if each < "H0003" else "c"
              for each in table["hid"].to_pylist()]  # fmt: skip
    table = table.set_column(3, "region", pa.array(region))
    settings = {"within": ["region"], "quasi_identifiers": ["age"], "small_strata": "merge"}
    rows, certificate, _ = released(table, tmp_path, engine, **settings)
    assert certificate.passed
    assert households_in_classes(rows, table["hid"].to_pylist(), ["age", "region"]) >= 4


def test_entity_and_household_are_not_both_given():
    with pytest.raises(OptionError, match="k counts one thing"):
        microagg.Recipe(quasi_identifiers=["age"], entity="who", household="hid")
    with pytest.raises(OptionError, match="is the household and cannot be"):
        microagg.Recipe(quasi_identifiers=["age", "hid"], household="hid")


def test_methods_are_compared_with_households():
    found = microagg.compare(
        people(), methods=["mdav", "zscore"], ks=[3, 5], household="hid", quasi_identifiers=QUASI,
        progress=False,
    )  # fmt: skip
    assert len(found.to_frame()) == 4
