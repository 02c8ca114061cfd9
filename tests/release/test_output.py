"""Where a release goes: a draft first, whole or not at all, and never over its input."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from microagg.base.errors import OptionError
from microagg.base.reading import Reading
from microagg.release.output import (
    certificate_path,
    open_place,
    record_path,
    refuse_overwriting,
    refuse_target,
)
from microagg.table.opening import Origin
from tests import forking
from tests.forking import PIPE

RELEASE = ["release.csv", "release.csv.certificate.json", "release.csv.record.json"]
ELSEWHERE = Origin("table", "frame", Reading())


def origin_at(path):
    return Origin(path.name, "csv", Reading(), path=path)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_and_its_certificate_take_their_names_together(tmp_path):
    target = tmp_path / "release.csv"
    with open_place(target, ELSEWHERE, force=False) as place:
        place.path.write_text("rows")
        place.certificate.write_text("promises")
        place.record.write_text("secrets")
        assert place.path.parent.stat().st_mode & 0o777 == 0o700
        assert not target.exists()
        assert place.path.suffix == ".csv"
    assert names(tmp_path) == RELEASE
    assert target.read_text() == "rows"
    assert certificate_path(target).read_text() == "promises"
    assert record_path(target).read_text() == "secrets"
    assert record_path(target).stat().st_mode & 0o777 == 0o600


def test_neither_certificate_nor_record_of_an_earlier_release_stays(tmp_path):
    target = tmp_path / "release.csv"
    for has_record in (True, False):
        with open_place(target, ELSEWHERE, force=True, has_record=has_record) as place:
            assert (place.record is None) != has_record
            for path in (place.path, place.certificate, *([place.record] if has_record else [])):
                path.touch()
        assert names(tmp_path) == RELEASE[: 2 + has_record]


@pytest.mark.parametrize("path", [certificate_path, record_path])
def test_neither_is_replaced_without_force(tmp_path, path):
    path(tmp_path / "release.csv").write_text("mine")
    with pytest.raises(OptionError, match=r"release\.csv\..*json exists; say force"):
        refuse_target(str(tmp_path / "release.csv"), None, None, force=False)


@pytest.mark.parametrize("path", [Path, certificate_path, record_path])
def test_what_appears_meanwhile_is_not_replaced_without_force(tmp_path, path):
    mine = path(tmp_path / "release.csv")

    def write(force):
        with open_place(tmp_path / "release.csv", ELSEWHERE, force=force) as place:
            place.path.write_text("rows")
            mine.write_text("mine")

    with pytest.raises(OptionError, match=rf"{mine.name} exists; say force"):
        write(force=False)
    assert names(tmp_path) == [mine.name]
    assert mine.read_text() == "mine"
    write(force=True)
    assert names(tmp_path) == RELEASE[:1]


def test_a_link_that_leads_nowhere_is_not_replaced_without_force(tmp_path):
    (tmp_path / "release.csv").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OptionError, match=r"release\.csv exists; say force"):
        refuse_target(str(tmp_path / "release.csv"), None, None, force=False)


def test_two_outputs_are_the_same_through_links_too(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "home")
    for name in RELEASE:
        others = [tmp_path / "link" / name]
        with pytest.raises(OptionError, match="two outputs have the same name"):
            refuse_target(str(tmp_path / "home" / "release.csv"), None, None, False, others)


RACE = """
import sys, time
import pyarrow as pa
import microagg
from microagg.base.errors import MicroaggError

release = microagg.protect(pa.table({"age": list(range(10)), "who": [sys.argv[1]] * 10}),
                           quasi_identifiers="age", k=2, method="zscore", progress=False)
print("ready", flush=True)
sys.stdin.readline()
try:
    release.write("release.csv", force="force" in sys.argv)
except MicroaggError as refused:
    print(refused)
else:
    print("written")
"""


@pytest.mark.parametrize("more", [(), ("force",)])
def test_of_two_that_write_the_same_one_wins_whole(tmp_path, more):
    """Release, certificate and record are those of one run; the other gets a sentence."""
    runs = [
        forking.Process("-c", RACE, who, *more, cwd=tmp_path, stdin=PIPE, stdout=PIPE, text=True)
        for who in ("one", "other")
    ]
    for run in runs:
        assert run.stdout.readline() == "ready\n"
    for run in runs:
        run.stdin.write("\n")
        run.stdin.flush()
    said = []
    for run in runs:
        with run:
            said.append(run.stdout.read().strip())
    assert "written" in said
    for each in said:
        sentence = r"another run is writing release\.csv right now|release\.csv.* exists; say force"
        assert each == "written" or re.match(sentence, each)
    assert names(tmp_path) == RELEASE
    found = hashlib.sha256((tmp_path / "release.csv").read_bytes()).hexdigest()
    for path in (certificate_path, record_path):
        told = json.loads(path(tmp_path / "release.csv").read_text())
        assert told["sha256"]["release"] == found


def test_after_a_failure_what_was_there_is_still_there(tmp_path):
    target = tmp_path / "release.csv"
    target.write_text("old")
    certificate_path(target).write_text("old promises")
    record_path(target).write_text("old secrets")

    def fail():
        with open_place(target, ELSEWHERE, force=True) as place:
            place.path.write_text("new")
            place.certificate.write_text("new promises")
            place.record.write_text("new secrets")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert names(tmp_path) == RELEASE
    assert record_path(target).read_text() == "old secrets"
    assert target.read_text() == "old"
    assert certificate_path(target).read_text() == "old promises"


def test_a_folder_takes_its_name_whole(tmp_path):
    target = tmp_path / "release.parquet"
    target.mkdir()
    (target / "old").touch()
    with open_place(target, ELSEWHERE, force=True, folder=True) as place:
        (place.path / "new").touch()
        place.certificate.touch()
        place.record.touch()
        assert names(target) == ["old"]
    assert names(target) == ["new"]
    assert names(tmp_path) == [name.replace("csv", "parquet", 1) for name in RELEASE]


def test_standard_output_gets_what_was_checked(capfdbinary):
    import sys
    from unittest.mock import patch

    with (
        open("/dev/fd/1", "wb", closefd=True) as raw,  # noqa: PTH123
        patch.object(sys, "stdout") as stream,
    ):
        stream.buffer = raw
        with open_place("-", ELSEWHERE, force=False) as place:
            assert place.certificate is place.record is None
            place.path.write_bytes(b"age\n1\n")
            assert capfdbinary.readouterr().out == b""
    assert capfdbinary.readouterr().out == b"age\n1\n"


@pytest.mark.parametrize("folder", [False, True])
def test_the_input_is_never_written_over_into_or_around(tmp_path, folder):
    home = tmp_path / "data" / "table"
    home.mkdir(parents=True)
    part = home / "part-0.parquet"
    part.touch()
    for path in (home, home / "release.parquet", home / "deep" / "release.parquet", home.parent):
        with pytest.raises(OptionError, match="never written over"):
            refuse_overwriting(path, home, force=True, folder=folder)
    (tmp_path / "link").symlink_to(home)
    with pytest.raises(OptionError, match="never written over"):
        refuse_overwriting(tmp_path / "link" / "new.parquet", home, force=True, folder=folder)
    refuse_overwriting(home.parent / "release.parquet", home, force=False, folder=folder)
    refuse_overwriting(home / "release.parquet", part, force=False, folder=folder)


def test_what_exists_is_replaced_by_force_only(tmp_path):
    old = tmp_path / "release.csv"
    old.touch()
    with pytest.raises(OptionError, match="exists; say force"):
        refuse_target(str(old), None, None, force=False)
    refuse_target(str(old), None, None, force=True)
    with pytest.raises(OptionError, match="same name"):
        refuse_target(str(old), None, None, True, [tmp_path / "." / "release.csv"])
    with pytest.raises(OptionError, match="is a folder"):
        refuse_overwriting(tmp_path, None, force=True)
    with pytest.raises(OptionError, match="is no folder"):
        refuse_overwriting(old / "release.csv", None, force=False)
    with pytest.raises(OptionError, match="read but not written"):
        refuse_target("release.sas7bdat", None, None, force=False)
