"""Tables on disk are judged by whole classes of the release, and counted whole."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.base.errors import InputError, OptionError
from microagg.base.progress import silent
from microagg.base.reading import Reading
from microagg.release.pairing import beside
from microagg.release.pairing_in_parts import open_streams

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
    return open_streams(*written, NAMES, Reading(), key, None, beside(written[1]), silent, most)


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
    monkeypatch.setattr(open_streams, "__defaults__", (400,))
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
    with pytest.raises(OptionError, match="an earlier release is put beside one in memory only"):
        microagg.assess(*written, engine="disk", attacks=True, also=written[1])
    with pytest.raises(OptionError, match="say engine=disk"):
        microagg.assess(*written, engine="spark")
    pq.write_table(people(), tmp_path / "other.parquet")
    with pytest.raises(OptionError, match="name them: quasi_identifiers"):
        microagg.assess(tmp_path / "other.parquet", tmp_path / "other.parquet", engine="disk")
