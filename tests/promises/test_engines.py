"""What every engine keeps: where a release is made never changes what is published."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.base.errors import MicroaggError
from microagg.release.telling import story_of
from microagg.table.checks import fingerprint
from tests.engine.tables import SETTINGS, nasty

pytestmark = [
    # Spark's own, about libraries and sockets that are not ours.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ENGINES = ("memory", "disk", "spark")
CELLS = {"cell_rows": 120}
FEATURES = {
    "every kind of column, with gaps": {},
    "cells": CELLS,
    "the automatic method": {"method": "auto"},
    "the automatic method in cells": {"method": "auto", **CELLS},
    "a method that draws lots, with a seed": {"method": "lloyd-mdav", "seed": 7, **CELLS},
    "a method with options": {"method": "vmdav", "options": {"gamma": 0.3}},
    "an ordering": {"method": "zscore", **CELLS},
    "an effort": {"method": "search", "effort": "quick", **CELLS},
    "a search that goes on": {"refine": True, **CELLS},
    "one column": {"quasi_identifiers": ["number"], "orders": {}, "method": "auto", **CELLS},
    "strata of texts": {"within": ["region"], **CELLS},
    "strata of whole numbers with gaps": {"within": ["class"], **CELLS},
    "strata of dates": {"within": ["year"]},
    "strata of truth values": {"within": ["even"], **CELLS},
    "strata of two columns": {"within": ["region", "even"], "k": 3},
    "small strata merged into one": {"within": ["rare"], "small_strata": "merge", "k": 6},
    "small strata merged into the nearest": {
        "within": ["rarer"], "small_strata": "merge", "k": 6, **CELLS,
    },
    "small strata dropped": {"within": ["rare"], "small_strata": "drop", "k": 6},
    "weights": {"weights": "weight", **CELLS},
    "weights with fewer digits": {"weights": "weight", "weight_digits": 2},
    "limits of dominance": {"weights": "weight", "dominance": {"number": 1.0, "whole": 1.0}},
    "different values of a text": {"diversity": {"note": 2}, **CELLS},
    "values that are hard to guess": {
        "diversity": {"illness": [{"l": 2, "kind": "entropy"}, 3]}, "method": "auto",
    },
    "no value too common": {
        "diversity": {"illness": {"l": 2, "kind": "recursive", "c": 2}}, "within": ["even"],
    },
    "values that span enough": {
        "diversity": {"weight": {"range": 0.5}, "illness": {"similar": 1, "share": 0.7}}, **CELLS,
    },
    "closeness of numbers, texts and dates": {
        "closeness": {"weight": 0.35, "note": 0.5, "year": 0.5}, **CELLS,
    },
    "closeness where small strata are dropped": {
        "closeness": {"illness": 0.3}, "within": ["rare"], "small_strata": "drop", "k": 6,
    },
    "closeness where small strata are merged": {
        "closeness": {"illness": 0.3}, "within": ["rare"], "small_strata": "merge", "k": 6,
    },
    "closeness by an order of one's own": {
        "quasi_identifiers": ["number"], "method": "zscore", "closeness": {"grade": 0.2},
        "kinds": {"illness": "nominal"}, "diversity": {"illness": 2}, **CELLS,
    },
    "every demand at once, with weights": {
        "weights": "weight", "dominance": {"offset": 0.6}, "diversity": {"illness": 3},
        "closeness": {"illness": 0.4}, **CELLS,
    },
    "decimals": {"decimals": 1},
    "decimals of one column": {"decimals": {"offset": -1, "number": 2}},
    "kinds that were declared": {
        "kinds": {"whole": "continuous", "far": "nominal", "number": "continuous"},
    },
    "weights of columns": {"attribute_weights": {"number": 5.0, "word": 0.0}, **CELLS},
    "several confidential columns": {"confidential": ["illness", "note", "weight"], **CELLS},
    "confidential columns of every kind": {
        "quasi_identifiers": ["number"], "orders": {}, "method": "auto", "k": 3,
        "confidential": ["note", "weight", "year", "even", "class", "moment", "money", "digits",
                         "date", "flag", "whole", "word"],
    },
    "confidential strata": {"within": ["region"], "confidential": ["region", "illness"], **CELLS},
    "rows that are shuffled": {"row_order": "shuffled", **CELLS},
    "rows that are shuffled, some dropped": {
        "row_order": "shuffled", "within": ["rare"], "small_strata": "drop", "k": 6,
    },
    "households": {"household": "digits", "k": 9, **CELLS},
    "households in strata, dropped": {
        "household": "digits", "within": ["region"], "identifiers": ["name", "digits"], **CELLS,
    },
    "k of all": {"k": 600},
}  # fmt: skip
REFUSED = {
    "a mean that one record dominates": {"k": 600, "dominance": {"far": 0.001}},
    "more values than there are": {"diversity": {"illness": 10}},
    "more entropy than there is": {"diversity": {"illness": {"l": 8.99, "kind": "entropy"}}},
    "a range of texts": {"diversity": {"note": {"range": 3}}},
    "a demand on a column that is not there": {"closeness": {"illnes": 0.2}},
    "a demand on a quasi-identifier": {"closeness": {"number": 0.2}},
    "a demand on what is dropped": {"diversity": {"name": 2}},
    "a distance beyond 1": {"closeness": {"illness": 1.2}},
    "an order that leaves out what is demanded": {
        "quasi_identifiers": ["number"],
        "closeness": {"grade": 0.2},
        "orders": {"grade": ("low", "high")},
    },
    "k of one": {"k": 1},
    "k beyond the records": {"k": 601},
    "missing values": {"missing": "error"},
    "small strata": {"within": ["rare"], "k": 6},
    "all strata too small": {"within": ["rare"], "small_strata": "drop", "k": 599},
    "a column that is not there": {"confidential": ["illnes"]},
    "a kind that is none": {"kinds": {"whole": "real"}},
    "a kind that does not fit": {"kinds": {"word": "integer"}},
    "an order that leaves one out": {"orders": {"grade": ("low", "high")}},
    "a method that is none": {"method": "mdaw"},
    "an option that is none": {"options": {"gama": 1}},
    "an option that is wrong": {"method": "vmdav", "options": {"gamma": -1}},
    "weights that are none": {"weights": "note"},
    "fewer households than k": {"household": "digits", "k": 51},
    "households that are missing": {"household": "class", "k": 2},
    "texts that are numbers": {"quasi_identifiers": ["digits"], "orders": {}},
}
ONLY_IN_MEMORY = {
    "entities": {"entity": "name"},
    "proximity": {"aggregate": "proximity"},
    "a proof": {"prove": 1.0},
}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Every kind of column, and strata of every kind, in a Parquet file."""
    rows = nasty(600)
    moment = rows["moment"].cast(pa.timestamp("us", "UTC"))
    rows = rows.set_column(rows.schema.get_field_index("moment"), "moment", moment)
    number, ill = rows["illness"], rows["illness"].to_pylist()
    more = {
        "class": pc.if_else(pc.less(number, 1), pa.scalar(None, pa.int64()), pc.divide(number, 4)),
        "year": pc.cast(pc.add(pc.multiply(pc.divide(number, 5), 365), 18262), pa.int32()).cast(
            pa.date32()
        ),
        "even": pc.equal(pc.bit_wise_and(number, 1), 0),
        "rare": pa.array(["a" if i in (3, 40) else "b" if i in (5, 6, 77, 80) else "c"
                          for i in range(600)]),
        "rarer": pa.array(["x" if i in (9, 33) else "even" if ill[i] % 2 else "odd"
                           for i in range(600)]),
        "digits": pa.array([str(i % 50) for i in range(600)]),
    }  # fmt: skip
    for name, column in more.items():
        rows = rows.append_column(name, column)
    path = tmp_path_factory.mktemp("table") / "people.parquet"
    pq.write_table(rows, path, row_group_size=170)
    return path


def made(engine, table, target, session, **settings):
    where = {"session": session} if engine == "spark" else {}
    settings = {"progress": False, **SETTINGS, **settings}
    with microagg.protect(table, engine=engine, **where, **settings) as release:
        certificate = release.write(target).to_dict()
        pages = [story_of(release, public=public) for public in (False, True)]
        return {
            "rows": pq.read_table(target),
            "certificate": certificate,
            "record": release.record,
            "figures": release.assessment.to_dict(),
            "pages": pages,
        }


def without_where(told):
    """All but where and when it was made, and the bytes of files, which are one or many."""
    known = {**told, "sha256": {**told["sha256"], "release": None}}
    return {name: value for name, value in known.items() if name not in ("where", "made")}


@pytest.mark.parametrize("feature", FEATURES)
def test_the_same_release_wherever_it_is_made(table, tmp_path, session, feature):
    outcomes, again = {}, {}
    for engine in ENGINES:
        target = tmp_path / f"{engine}.parquet"
        outcomes[engine] = made(engine, table, target, session, **FEATURES[feature], **again)
        again = {"record": outcomes[engine]["record"]}
    meant = outcomes["memory"]
    assert meant["certificate"]["verdict"] == "passed"
    settings = {**SETTINGS, **FEATURES[feature]}
    demanded = {**settings.get("diversity", {}), **settings.get("closeness", {})}
    asked = list(dict.fromkeys([*settings["confidential"], *demanded]))
    assert list(meant["figures"]["confidential"]) == asked
    for engine, found in outcomes.items():
        assert found["record"].engine == engine
        assert found["rows"].column_names == meant["rows"].column_names
        for name in meant["rows"].column_names:
            one, other = (each["rows"].select([name]) for each in (found, meant))
            assert fingerprint(one) == fingerprint(other), (engine, name)
        assert without_where(found["certificate"]) == without_where(meant["certificate"]), engine
        one, other = (without_where(each["record"].to_dict()) for each in (found, meant))
        assert one == other, engine
        assert found["figures"] == meant["figures"], engine
        for page, other in zip(found["pages"], meant["pages"], strict=True):
            parts = ("attributes", "correlations", "figures", "group_sizes", "facts", "roles")
            for part in (*parts, "beyond", "beyond_sentence"):
                assert getattr(page, part) == getattr(other, part), (engine, part)
            assert page.notes == other.notes


@pytest.mark.parametrize("what", REFUSED)
def test_the_same_refusal_wherever_it_is_tried(table, tmp_path, session, what):
    sentences = set()
    for engine in ENGINES:
        with pytest.raises(MicroaggError) as failure:
            made(engine, table, tmp_path / "release.parquet", session, **REFUSED[what])
        sentences.add((type(failure.value).__name__, str(failure.value)))
    assert len(sentences) == 1, sentences
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ONLY_IN_MEMORY)
def test_what_needs_all_records_in_one_place_is_refused_elsewhere(table, tmp_path, session, what):
    settings = {"orders": {}, "quasi_identifiers": ["number", "offset"], **ONLY_IN_MEMORY[what]}
    settings["identifiers"] = ["name"]
    assert made("memory", table, tmp_path / "release.parquet", None, **settings)
    sentences = set()
    for engine in ("disk", "spark"):
        with pytest.raises(MicroaggError, match="needs all records in one place") as failure:
            made(engine, table, tmp_path / "other.parquet", session, **settings)
        sentences.add(str(failure.value))
    assert len(sentences) == 1
