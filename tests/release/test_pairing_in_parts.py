"""Tables on disk are judged by whole classes of the release, and counted whole."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.base.errors import InputError, OptionError
from microagg.base.progress import silent
from microagg.base.reading import Reading
from microagg.release.pairing import Paired, beside
from microagg.release.pairing_in_parts import open_pair

NAMES = ["age", "town"]


def people(rows=2000):
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "number": rng.permutation(rows),
            "age": rng.integers(0, 90, rows),
            "town": np.array(["x", "y", "z"])[rng.integers(0, 3, rows)],
            "illness": np.array(["a", "b", "c"])[rng.integers(0, 3, rows)],
            "stay": rng.normal(size=rows).round(2),
        }
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    table = people()
    pq.write_table(table, folder / "people.parquet", row_group_size=300)
    release = microagg.protect(
        folder / "people.parquet",
        k=4,
        quasi_identifiers=NAMES,
        confidential=["illness"],
        method="mdav",
    )
    release.write(folder / "release.parquet")
    return folder / "people.parquet", folder / "release.parquet"


def opened(written, most, key=None):
    how = Paired(None, beside(written[1]))
    return open_pair(*written, "disk", NAMES, Reading(), key, how, silent, most)


@pytest.mark.parametrize("key", [None, "number"])
def test_whole_classes_beside_their_originals(written, key):
    streams = opened(written, 500, key)
    before, after = (
        pa.table({name: side.frame.column(name) for name in people().column_names})
        for side in (streams.tables.before, streams.tables.after)
    )
    assert streams.rows == (2000, 2000)
    assert 500 <= after.num_rows < 600
    # Whose row is whose: columns that stay as they are agree.
    for name in ("number", "illness", "stay"):
        assert before[name].equals(after[name])
    original = people().sort_by("number").take(before["number"])
    assert before.equals(original)
    release = pq.read_table(written[1])
    whole = release.group_by(NAMES).aggregate([([], "count_all")])
    there = after.group_by(NAMES).aggregate([([], "count_all")])
    sizes = {
        (age, town): count for age, town, count in zip(*whole.to_pydict().values(), strict=True)
    }
    for age, town, count in zip(*there.to_pydict().values(), strict=True):
        assert sizes[age, town] == count
    chosen = {*zip(*after.select(NAMES).to_pydict().values(), strict=True)}
    assert 20 < len(chosen) < len(sizes)


def test_all_that_fits_is_as_in_memory(written):
    asked = {"attacks": True, "targets": ["stay"]}
    here = microagg.assess(*written, **asked)
    there = microagg.assess(*written, engine="disk", memory="1GB", **asked)
    assert there.to_dict() == here.to_dict()
    assert there.attacks
    assert there.models


def test_counted_on_all_and_attacked_in_a_sample(written, monkeypatch):
    monkeypatch.setattr(open_pair, "__defaults__", (400,))
    here = microagg.assess(*written, attacks=True)
    there = microagg.assess(*written, engine="disk", attacks=True)
    told, whole = there.to_dict(), here.to_dict()
    for name in ("k", "classes", "confidential", "rows"):
        assert told[name] == whole[name]
    assert 400 <= there.linked < 500
    assert f"everything else is of {there.linked} of them" in there.notes[0]
    # What whole classes tell is as in the whole, but for chance.
    inferred, of_all = (
        next(each for each in found.attacks if each.found.column == "illness").found
        for found in (there, here)
    )
    assert inferred.values.percent == pytest.approx(of_all.values.percent, abs=8.0)
    assert inferred.records.percent == pytest.approx(of_all.records.percent, abs=5.0)


def test_what_cannot_be_done_in_parts(written, tmp_path):
    with pytest.raises(InputError, match="a table that is in memory"):
        microagg.assess(people(), written[1], engine="disk")
    pq.write_table(people(), tmp_path / "other.parquet")
    with pytest.raises(OptionError, match="name them: quasi_identifiers"):
        microagg.assess(tmp_path / "other.parquet", tmp_path / "other.parquet", engine="disk")


@pytest.fixture(scope="module")
def earlier(written):
    """Releases that came before: shuffled, in the order of the rows, and of some people only."""
    folder = written[0].parent
    settings = {"k": 7, "quasi_identifiers": ["age", "stay"], "method": "mdav"}
    found = {}
    for name, row_order in (("shuffled", "shuffled"), ("kept", "kept")):
        release = microagg.protect(written[0], row_order=row_order, **settings)
        found[name] = folder / f"{name}.parquet"
        release.write(found[name])
    some = pq.read_table(found["shuffled"]).slice(0, 1500)
    found["some"] = folder / "some.parquet"
    pq.write_table(some, found["some"])
    return found


CASES = [("shuffled", None), ("shuffled", "number"), ("kept", None), ("some", "number")]


def intersection(found):
    [one] = [each for each in found.attacks if each.attack.name == "intersection"]
    return one.to_dict()


@pytest.mark.parametrize(("name", "key"), CASES)
def test_an_earlier_release_as_in_memory(written, earlier, name, key):
    asked = {"attacks": True, "also": earlier[name], "key": key}
    here = microagg.assess(*written, **asked)
    there = microagg.assess(*written, engine="disk", **asked)
    assert intersection(there) == intersection(here)
    assert there.to_dict() == here.to_dict()


@pytest.mark.parametrize(("name", "key"), CASES)
def test_whole_classes_of_an_earlier_release(written, earlier, name, key, monkeypatch):
    """Of everybody in the sample it is known as much as if all records were looked at."""
    monkeypatch.setattr(open_pair, "__defaults__", (600,))
    pair = opened(written, 600, key)
    before, after = (
        pa.table({each: side.frame.column(each) for each in people().column_names})
        for side in (pair.tables.before, pair.tables.after)
    )
    asked = {"attacks": True, "also": earlier[name], "key": key}
    there = microagg.assess(*written, engine="disk", **asked)
    assert len(after) == there.linked < 700
    # By hand: of the people of a class those who are in the same class of the earlier release, and
    # who cannot be told from each other by what both show as it is.
    old = pq.read_table(earlier[name]).to_pylist()
    # Without a certificate beside it, classes are by what this release protects.
    protected = NAMES if name == "some" else ["age", "stay"]
    kept = [each for each in people().column_names if each not in (*NAMES, *protected)]
    seen = {row["number"]: tuple(map(row.get, protected)) for row in old}
    marks = {}
    for row in old:
        marks.setdefault(seen[row["number"]], set()).add(tuple(map(row.get, kept)))
    alone = 0
    rows = after.to_pylist()
    for row, first in zip(rows, before.to_pylist(), strict=True):
        assert row["number"] == first["number"]
        if row["number"] not in seen:
            continue
        then = marks[seen[row["number"]]]
        left = [
            other
            for other in rows
            if (other["age"], other["town"]) == (row["age"], row["town"])
            and tuple(map(other.get, kept)) in then
        ]
        alone += [each["number"] for each in left] == [row["number"]]
    assert intersection(there)["records"]["percent"] == pytest.approx(100 * alone / len(rows))


def test_an_earlier_release_of_others(written, tmp_path):
    others = people().set_column(0, "number", pa.array(np.arange(10_000, 12_000)))
    pq.write_table(others, tmp_path / "others.parquet")
    with pytest.raises(InputError, match="nobody of this release is in the earlier one"):
        microagg.assess(
            *written, engine="disk", attacks=True, key="number", also=tmp_path / "others.parquet"
        )
