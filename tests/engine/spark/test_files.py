"""Releases that Spark writes: whole, the same again, and refused if they are not as meant."""

import numpy as np
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.base.errors import OptionError, PromiseError
from microagg.engine.spark import files
from tests.commands import microagg as command
from tests.engine.spark.tables import SIMPLE, WARNINGS, plane, protect, put, sizes_of
from tests.engine.tables import KINDS, SETTINGS

pytestmark = WARNINGS


def test_a_release_is_written_whole_and_the_same_again(session, table, tmp_path):
    settings = {**SETTINGS, "within": ["region"], "cell_rows": 150, "row_order": "shuffled"}
    release = protect(table, session, **settings)
    first = release.write(tmp_path / "first.parquet")
    assert first.passed
    assert first.release_sha256 is not None
    release.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "first.parquet",
        "first.parquet.certificate.json",
        "first.parquet.record.json",
    ]
    found = pq.read_table(tmp_path / "first.parquet")
    counted = sizes_of(found, [*KINDS, "region"])
    assert (first.k_found, first.groups) == (counted.min(), counted.size)
    assert first.median_group == np.median(counted)
    assert first.rows_released == found.num_rows == 1000
    own = {"record": tmp_path / "first.parquet.record.json"}
    again = protect(table, session, recipe=microagg.Recipe(**settings), **own)
    again.write(tmp_path / "again.parquet")
    for path in sorted((tmp_path / "first.parquet").iterdir()):
        assert (tmp_path / "again.parquet" / path.name).read_bytes() == path.read_bytes()
    assert again.certificate.release_sha256 == first.release_sha256
    release.report(tmp_path / "report.html")
    assert "people.parquet" in (tmp_path / "report.html").read_text()
    with pytest.raises(OptionError, match="exists; say force"):
        again.write(tmp_path / "first.parquet")
    for inside in (table, table / "new.parquet", table.parent):
        with pytest.raises(OptionError, match="never written over"):
            again.write(inside, force=True)
    again.write(tmp_path / "first.parquet", force=True)
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    for elsewhere in ("-", "sqlite:///release.db#people"):
        with pytest.raises(OptionError, match="Spark writes a folder of files"):
            again.write(elsewhere)
    with pytest.raises(OptionError, match="cannot be written in parts"):
        again.write(tmp_path / "again.xlsx")
    again.write(tmp_path / "plain")
    assert {path.suffix for path in (tmp_path / "plain").iterdir()} == {".parquet"}
    again.close()


def test_a_release_that_is_not_what_was_meant_is_refused(session, tmp_path, monkeypatch):
    source = put(plane(300), tmp_path / "plane.parquet")
    before = sorted(tmp_path.iterdir())
    write_parts = files.write_parts

    def damaging(damage):
        def write_and_damage(data, units, room, suffix, origin):
            meant = write_parts(data, units, room, suffix, origin)
            damage(sorted(room.iterdir()))
            return meant

        return write_and_damage

    def other_numbers(name):
        def damage(paths):
            rows = pq.read_table(paths[0])
            column = rows[name].to_numpy().copy()
            column[0] += 1
            place = rows.schema.get_field_index(name)
            pq.write_table(rows.set_column(place, name, [column]), paths[0])

        return damage

    def fewer(paths):
        pq.write_table(pq.read_table(paths[0]).slice(1), paths[0])

    def torn(paths):
        paths[0].write_bytes(paths[0].read_bytes()[:-9])

    def another(paths):
        paths[0].with_name("other.parquet").write_bytes(paths[0].read_bytes())

    with protect(source, session, **SIMPLE) as release:
        for damage, words in (
            (other_numbers("id"), "columns that nobody asked to protect are as they were"),
            (other_numbers("x"), "protected columns hold the published values"),
            (fewer, "every row and column is there"),
            (another, "every row and column is there"),
            (torn, "cannot be read back"),
            (lambda paths: paths[0].unlink(), "not where it was written"),
        ):
            monkeypatch.setattr(files, "write_parts", damaging(damage))
            with pytest.raises(PromiseError, match=words):
                release.write(tmp_path / "release.parquet")
            assert sorted(tmp_path.iterdir()) == before
        monkeypatch.undo()
        assert release.write(tmp_path / "release.parquet").passed


def test_what_lost_workers_left_is_removed(session, tmp_path):
    source = put(plane(300), tmp_path / "plane.parquet")
    room = tmp_path / "room"
    room.mkdir()
    (room / ".7.part-00000.parquet").write_bytes(b"half a file")
    with protect(source, session, **SIMPLE) as release:
        units = dict.fromkeys(release.data.columns, "us")
        meant = files.write_parts(release.data, units, room, ".parquet", release.origin)
    assert {path.name for path in room.iterdir()} == meant.keys()


def test_on_the_command_line(session, table, tmp_path):
    microagg.Recipe(**SETTINGS).write(tmp_path / "recipe.toml")
    arguments = (
        "protect", table, "--recipe", "recipe.toml", "--engine", "spark", "-o", "out.parquet"
    )  # fmt: skip
    done = command(*arguments, "--report", "report.html", folder=tmp_path)
    assert done.code == 0, done.err
    assert "out.parquet.certificate.json" in done.out
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 1000
    certificate = microagg.protect(
        table, engine="memory", progress=False, measures=False, **SETTINGS
    ).certificate
    assert f"{certificate.information_loss:.2f} %" in done.out
    assert "--engine spark" in (tmp_path / "report.html").read_text()
    done = command(*arguments, folder=tmp_path)
    assert done.code == 2
    assert "exists" in done.err
    # The session that was there still is.
    assert session.range(3).count() == 3
