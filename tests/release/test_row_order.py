"""Rows are written in an order that tells nothing, the same on every engine, and only once."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.base.errors import InputError, OptionError
from microagg.base.record import order_key
from microagg.engine.disk.order import in_order
from microagg.table.checks import fingerprint
from tests.engine.disk.running import protected, put, take
from tests.engine.tables import SETTINGS, nasty
from tests.naive import order as naive
from tests.naive.shuffling import place

SHUFFLED = {**SETTINGS, "row_order": "shuffled"}


def sorted_by_income(rows=1000):
    rng = np.random.default_rng(7)
    income = np.sort(rng.lognormal(10.3, 0.5, rows))
    age = rng.integers(18, 90, rows)
    height = rng.normal(170, 10, rows)
    return pd.DataFrame({"income": income, "age": age, "height": height, "row": np.arange(rows)})


SORTED = {"k": 5, "quasi_identifiers": ["income", "age", "height"], "method": "mdav"}


def lost(before, after):
    return float(((before - after) ** 2).sum())


def test_the_order_of_sorted_rows_gives_loss_back_and_shuffled_rows_do_not(tmp_path):
    table = sorted_by_income()
    income = table["income"].to_numpy()
    for order in ("kept", "shuffled"):
        release = microagg.protect(table, row_order=order, **SORTED, progress=False)
        release.write(tmp_path / f"{order}.csv")
        found = pd.read_csv(tmp_path / f"{order}.csv")
        # What an intruder has who knows that the table was sorted, row by row.
        guess = naive.steps_between(found["income"].to_numpy())
        true = income[found["row"]]
        published = found["income"].to_numpy()
        if order == "kept":
            assert lost(true, guess) < 0.6 * lost(true, published)
            close = 0.05 * income.std()
            hits = [(np.abs(true - each) < close).mean() for each in (published, guess)]
            assert hits[1] > 2 * hits[0]
        else:
            assert lost(true, guess) > lost(true, published)
            assert abs(np.corrcoef(found["row"], np.arange(1000))[0, 1]) < 0.15
        assert release.data["row"].tolist() == list(range(1000))


def test_two_releases_cannot_be_paired_by_row(tmp_path):
    table = sorted_by_income(300)
    for name in ("one", "two"):
        microagg.protect(table, **SORTED, progress=False).write(tmp_path / f"{name}.csv")
    one, two = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("one", "two"))
    assert (one["row"] == two["row"]).mean() < 0.05
    assert sorted(map(tuple, one.to_numpy())) == sorted(map(tuple, two.to_numpy()))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("more", [{}, {"within": ["rare"], "small_strata": "drop", "k": 5}])
def test_memory_and_disk_write_the_same_bytes(tmp_path, suffix, more):
    table = nasty(1000)
    rare = pa.array(["a" if row in (3, 40) else "b" for row in range(1000)])
    table = table.append_column("rare", rare).append_column("row", pa.array(range(1000)))
    if suffix == "parquet":
        # Arrow files written in parts have no dictionaries.
        table = table.append_column("code", table["word"].dictionary_encode())
    source = put(table, tmp_path / f"table.{suffix}")
    settings = {**SHUFFLED, "cell_rows": 100, **more}
    if suffix == "csv":
        settings["kinds"] = {"money": "continuous"}
    here = microagg.protect(source, engine="memory", progress=False, **settings)
    here.write(tmp_path / f"here.{suffix}")
    with microagg.protect(
        source, engine="disk", record=here.record, progress=False, **settings
    ) as there:
        for name in ("there", "again"):
            certificate = there.write(tmp_path / f"{name}.{suffix}")
            assert certificate.to_dict() | {"made": ""} == here.certificate.to_dict() | {"made": ""}
    contents = {(tmp_path / f"{name}.{suffix}").read_bytes() for name in ("here", "there", "again")}
    assert len(contents) == 1
    # Rows stand by the number that the definition gives them, those left out not counted.
    key = order_key(here.record.secret, "shuffled")
    found = take(tmp_path / f"here.{suffix}")
    stays = [row for row in range(1000) if not more or row not in (3, 40)]
    expected = sorted(stays, key=lambda row: place(key, row))
    assert found["row"].to_pylist() == expected
    illness = table["illness"].take(pa.array(expected)).to_pylist()
    assert found["illness"].to_pylist() == illness


def test_ranges_make_no_difference(tmp_path):
    source = put(nasty(700), tmp_path / "table.parquet")
    settings = {**SHUFFLED, "cell_rows": 100}
    contents, record = set(), None
    for range_rows in (7, 70, 699, 700, 1 << 18):
        with protected(source, range_rows=range_rows, record=record, **settings) as release:
            release.write(tmp_path / "release.parquet", force=True)
            record = release.record
        contents.add(fingerprint(pq.read_table(tmp_path / "release.parquet")))
    assert len(contents) == 1


def test_entities_are_counted_in_the_order_that_was_written(tmp_path):
    rng = np.random.default_rng(1)
    who = rng.integers(0, 60, 300)
    table = pd.DataFrame({"who": who, "age": rng.integers(20, 60, 60)[who], "row": range(300)})
    release = microagg.protect(
        table, k=4, quasi_identifiers="age", entity="who", method="mdav", progress=False
    )
    assert release.write(tmp_path / "release.csv").k_found == release.certificate.k_found >= 4
    members = pd.read_csv(tmp_path / "release.csv").groupby("age")["who"].nunique()
    assert members.min() == release.certificate.k_found


def test_parts_are_put_in_order_through_files(tmp_path):
    rng = np.random.default_rng(2)
    places = rng.integers(0, 2**63 - 1, 500)
    places[:20], places[20:30] = 0, 2**63 - 1
    texts = pa.array([None if row % 5 == 0 else "x" * (row % 9) for row in range(500)])
    table = pa.table({"row": range(500), "text": texts, "code": texts.dictionary_encode()})
    for files in (1, 7, 500):
        parts = ((places[at : at + 90], table.slice(at, 90)) for at in range(0, 500, 90))
        found = pa.Table.from_batches(in_order(parts, tmp_path / "rows", files))
        assert found.schema == table.schema
        order = np.argsort(places, kind="stable")
        assert found.to_pylist() == table.take(pa.array(order)).to_pylist()
        assert not (tmp_path / "rows").exists()


# --- What is kept, is told ------------------------------------------------------------------------


def telling(table, **settings):
    settings = {"quasi_identifiers": ["x"], "k": 2, "method": "mdav", **settings}
    release = microagg.protect(pd.DataFrame(table), progress=False, **settings)
    assert not any("order" in note for note in release.certificate.notes)
    notes = [note for note in release.record.notes if "The rows keep the order" in note]
    return notes[0] if notes else ""


def test_a_note_names_columns_that_are_ordered_along_the_rows():
    rng = np.random.default_rng(0)
    mixed, noisy = rng.normal(size=400), np.arange(400) + rng.normal(0, 150, 400)
    texts = [f"{row:04}" for row in range(400)]
    shuffled = rng.permutation(texts).tolist()
    kept = {"row_order": "kept"}
    assert "x is ordered" in telling({"x": np.arange(400)}, **kept)
    assert "x is ordered" in telling({"x": -np.arange(400.0)}, **kept)
    assert "x is ordered" in telling({"x": noisy}, **kept)
    # Sorted within each of many regions: neighbours are alike.
    assert "x is ordered" in telling({"x": np.arange(400) % 40}, **kept)
    assert telling({"x": mixed}, **kept) == ""
    assert telling({"x": np.arange(400)}) == ""
    dropped = {"identifiers": ["id"], **kept}
    assert "which id is ordered" in telling({"x": mixed, "id": texts}, **dropped)
    assert telling({"x": mixed, "id": shuffled}, **dropped) == ""
    assert telling({"x": mixed, "id": [[1], "a"] * 200}, **dropped) == ""
    assert "x, id are ordered" in telling({"x": noisy, "id": texts}, **dropped)
    # Untouched columns show for themselves.
    assert telling({"x": mixed, "other": np.arange(400)}, **kept) == ""
    assert "400" not in telling({"x": np.arange(400)}, **kept)


def test_chance_is_not_taken_for_order():
    wrong = 0
    for seed in range(60):
        x = np.random.default_rng(seed).normal(size=12 + seed)
        wrong += telling({"x": x}, row_order="kept") != ""
    assert wrong <= 1


def test_the_note_is_the_same_on_disk(tmp_path):
    table = nasty(1000)
    number = pc.sort_indices(table["number"])
    source = put(table.take(number), tmp_path / "table.parquet")
    notes = []
    for engine in ("memory", "disk"):
        with microagg.protect(source, engine=engine, progress=False, **SETTINGS) as release:
            notes.append(release.record.notes)
    assert notes[0] == notes[1]
    assert "along which number is ordered" in str(notes)


# --- Pairing rows ---------------------------------------------------------------------------------


def test_assess_pairs_rows_by_the_record(tmp_path):
    table = sorted_by_income(200)
    release = microagg.protect(table, **SORTED, progress=False)
    target = tmp_path / "release.parquet"
    release.write(target)
    quasi = {"quasi_identifiers": SORTED["quasi_identifiers"], "progress": False}
    plain = microagg.assess(table, release.data, **quasi)
    record = tmp_path / "release.parquet.record.json"
    for given in ({"record": record}, {"record": release.record}, {"key": "row"}, {}):
        found = microagg.assess(table, target, **given, **quasi)
        for name in ("loss", "interval", "expected_linkage", "rank_interval"):
            assert found.figures[name] == pytest.approx(plain.figures[name], rel=1e-9), name
    assert microagg.assess(table, target, record=record, progress=False).columns == plain.columns
    record.rename(tmp_path / "mine.json")
    with pytest.raises(InputError, match=r"rows of release\.parquet were shuffled.*--record"):
        microagg.assess(table, target, **quasi)
    with pytest.raises(InputError, match="of another original or release"):
        microagg.assess(table[::-1].reset_index(drop=True), target, record=release.record, **quasi)
    with pytest.raises(InputError, match="of another original or release"):
        microagg.assess(table, release.data, record=release.record, **quasi)
    with pytest.raises(OptionError, match="give one of them"):
        microagg.assess(table, target, key="row", record=release.record, **quasi)
    kept = microagg.protect(table, row_order="kept", **SORTED, progress=False)
    kept.write(target, force=True)
    for given in ({}, {"record": kept.record}):
        found = microagg.assess(table, target, **given, **quasi)
        assert found.information_loss == pytest.approx(plain.information_loss)


@pytest.mark.parametrize("kind", [pa.Table.from_pandas, lambda table: table])
def test_data_keep_their_order_also_once_they_were_written(tmp_path, kind):
    table = sorted_by_income(200)
    release = microagg.protect(kind(table), **SORTED, progress=False)
    before = pa.table({name: release.data[name] for name in ("row", "income")})
    first = release.write(tmp_path / "one.csv")
    for _ in range(2):
        after = pa.table({name: release.data[name] for name in ("row", "income")})
        assert after.equals(before)
        assert after["row"].to_pylist() == list(range(200))
        assert (
            release.write(tmp_path / "two.csv", force=True).release_sha256 == first.release_sha256
        )
