"""What every promise keeps: it is said in words, kept by what was meant, broken by what was not."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.base.errors import PromiseError
from microagg.base.recipe import Recipe
from microagg.engine.protocol import Recount
from microagg.measure.anonymity import ClassCount, Spread
from microagg.release import promises
from microagg.release.promises import all_promises, checks
from microagg.release.promises.promise import Promise
from microagg.table.classes import Classes

RECIPE = Recipe(
    k=4,
    quasi_identifiers=["age", "zip"],
    diversity={"illness": [2, {"l": 2, "kind": "recursive", "c": 3}, {"range": 5}]},
    closeness={"illness": 0.25},
    dominance={"age": 0.8},
)


def worst(least, largest):
    return Spread.of(np.array([least, largest]))


COUNTS = {
    ("distinct:2", "illness"): worst(2, 4),
    ("recursive:2:3", "illness"): worst(0.5, 2.9),
    ("range:5", "illness"): worst(5.0, 9.0),
    ("closeness", "illness"): worst(0.0, 0.25),
}
KEPT = Recount(
    Classes.of(np.array([4, 5, 9])),
    complete=True,
    same={"age": True, "zip": True, "illness": True, "note": True},
    sha256="0",
    counts=COUNTS,
    dominance={"age": 0.8, "zip": 1.0},
)
BROKEN = {
    "every row and column is there": {"complete": False},
    "columns that nobody asked to protect are as they were": {"same": {**KEPT.same, "note": False}},
    "protected columns hold the published values": {"same": {**KEPT.same, "zip": False}},
    "at least 4 records share each combination of values": {
        "classes": Classes.of(np.array([3, 5, 9]))
    },
    "no record contributes more to a published mean than 80 % of age": {"dominance": {"age": 0.81}},
    "each class has at least 2 different values of illness, and no value of illness as often as 3 "
    "times all but the 1 commonest together, and values of illness that span at least 5": {
        "counts": {**COUNTS, ("recursive:2:3", "illness"): worst(0.5, 3.0)}
    },
    "each class has values of illness distributed within 0.25 of those of all records": {
        "counts": {**COUNTS, ("closeness", "illness"): worst(0.0, 0.2501)}
    },
}


@pytest.mark.parametrize("promise", all_promises(), ids=lambda each: each.sentence(RECIPE))
def test_it_is_kept_by_what_was_meant_and_broken_by_something(promise):
    assert promise.is_asked(RECIPE)
    assert promise.sentence(RECIPE)
    assert promise.is_kept(RECIPE, KEPT)
    sentence = promise.sentence(RECIPE)
    assert sentence in BROKEN, "say here what breaks the new promise"
    assert promise.is_kept(RECIPE, replace(KEPT, **BROKEN[sentence])) is False


def test_sentences_are_distinct():
    sentences = [promise.sentence(RECIPE) for promise in all_promises()]
    assert len(set(sentences)) == len(sentences)


@pytest.mark.parametrize("sentence", BROKEN)
def test_one_broken_promise_shows_and_no_other(sentence):
    found = checks(RECIPE, replace(KEPT, **BROKEN[sentence]))
    assert [check.promise for check in found if not check.kept] == [sentence]


def test_before_anything_is_written_only_what_can_be_told_is_told():
    plain = {"dominance": {}, "diversity": {}, "closeness": {}}
    found = checks(RECIPE.model_copy(update=plain), Recount(KEPT.classes))
    assert [check.promise for check in found] == [
        "at least 4 records share each combination of values"
    ]
    entities = Recipe(k=4, quasi_identifiers=["age"], entity="who")
    assert "entities" in checks(entities, Recount(KEPT.classes))[0].promise


DIVERSE = next(each for each in BROKEN if "different values" in each)


@pytest.mark.parametrize(
    ("key", "spread"),
    [
        ("distinct:2", worst(1, 4)),
        ("recursive:2:3", worst(0.5, np.inf)),
        ("range:5", worst(4.9, 9.0)),
        ("range:5", None),
    ],
)
def test_every_demand_of_diversity_can_break_it(key, spread):
    counts = {**COUNTS, (key, "illness"): spread}
    broken = replace(KEPT, counts={each: found for each, found in counts.items() if found})
    assert [check.promise for check in checks(RECIPE, broken) if not check.kept] == [DIVERSE]


def test_a_check_says_what_was_asked_and_found():
    told = {check.promise: check.to_dict() for check in checks(RECIPE, KEPT)}
    assert told[DIVERSE]["found"] == [
        {"column": "illness", "asked": {"l": 2, "kind": "distinct"}, "found": 2.0},
        {"column": "illness", "asked": {"l": 2, "c": 3, "kind": "recursive"}, "found": 2.9},
        {"column": "illness", "asked": {"range": 5}, "found": 5.0},
    ]
    assert "found" not in told["at least 4 records share each combination of values"]


def commonest(within):
    """The largest share that one value has of a class."""
    return float((within.counts / within.sizes[within.groups]).max())


NEW = Promise(
    lambda _: "no class has more than half of its records in one illness",
    lambda _, recount: recount.counts["commonest", "illness"] <= 0.5,
    counts=lambda _: [ClassCount("commonest", "illness", commonest, max)],
)


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_promise_brings_its_own_count(tmp_path, monkeypatch, engine):
    monkeypatch.setattr(promises, "all_promises", lambda: (*all_promises(), NEW))
    known = np.arange(40) // 4
    for illness, is_kept in ((np.arange(40) % 2, True), (np.arange(40) % 3, True), (known, False)):
        table = pa.table({"known": known, "illness": illness})
        pq.write_table(table, tmp_path / "in.parquet")
        settings = {"k": 4, "quasi_identifiers": "known", "confidential": "illness"}
        with microagg.protect(tmp_path / "in.parquet", engine=engine, **settings) as release:
            assert release.certificate.passed == is_kept
            if is_kept:
                release.write(tmp_path / "out.parquet", force=True)
            else:
                with pytest.raises(PromiseError, match="more than half of its records"):
                    release.write(tmp_path / "other.parquet")
    assert not (tmp_path / "other.parquet").exists()
