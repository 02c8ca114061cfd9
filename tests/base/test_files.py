"""Files that appear whole or not at all, and locks that end with the process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from microagg.base.errors import InputError
from microagg.base.files import recover, whole_path, whole_paths, write_json
from microagg.base.folders import OwnFolder, lock

WITHOUT_UNIX = """
import sys, types
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
import microagg
from microagg.cli import main
sys.modules["msvcrt"] = types.SimpleNamespace(LK_LOCK=1, LK_NBLCK=2, locking=lambda *_: None)
sys.argv = "microagg protect people.csv -q age -k 2 -m zscore -o release.csv".split()
main()
"""


def test_json_is_whole(tmp_path):
    write_json(tmp_path / "a.json", {"ä": [1, 2]})
    assert (tmp_path / "a.json").read_text(
        encoding="utf-8"
    ) == '{\n  "ä": [\n    1,\n    2\n  ]\n}\n'


def test_a_lock_keeps_others_out_until_it_is_closed(tmp_path):
    path = tmp_path / "lock"
    with path.open("a") as one, path.open("a") as other:
        assert lock(one, wait=False)
        assert not lock(other, wait=False)
        one.close()
        assert lock(other, wait=False)


def test_the_command_starts_where_there_is_no_unix(tmp_path):
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(map(str, range(10))) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_UNIX], cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "release.csv").exists()


# --- Several at once, and what a dead run left ----------------------------------------------------


TRIO = ["a.csv", "a.csv.record.json", "a.csv.certificate.json"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def wanted(folder):
    return [(folder / name, 0o666) for name in TRIO]


def write_all(folder, word):
    with whole_paths(*wanted(folder)) as drafts:
        for draft in drafts:
            draft.write_text(word)


DIES = f"""
import os, sys
from pathlib import Path
from microagg.base import files

home, at = Path(sys.argv[1]), int(sys.argv[2])
calls = 0
def dying(function):
    def call(*arguments, **options):
        global calls
        calls += 1
        if calls == at:
            os.kill(os.getpid(), 9)
        return function(*arguments, **options)
    return call

for name in ("replace", "rename", "unlink", "mkdir", "rmdir", "chmod"):
    setattr(Path, name, dying(getattr(Path, name)))
os.fsync = dying(os.fsync)
with files.whole_paths(*((home / name, 0o666) for name in {TRIO!r})) as drafts:
    for draft in drafts:
        draft.write_text("new")
"""


@pytest.mark.parametrize("before", [False, True])
def test_a_run_that_is_killed_at_any_call_leaves_all_or_nothing(tmp_path, before):
    """At once: never an old file beside a new one. After the next run: all, and nothing else."""
    ends = set()
    for at in range(1, 40):
        home = tmp_path / str(at)
        home.mkdir()
        if before:
            write_all(home, "old")
        done = subprocess.run([sys.executable, "-c", DIES, home, str(at)], check=False)
        found = {name: text for name, text in contents_of(home).items() if name in TRIO}
        assert len(set(found.values())) <= 1 or found.keys() <= {TRIO[0]}, (at, found)
        recover(home / "a.csv")
        found = contents(home)
        assert found in [{}, dict.fromkeys(TRIO, "old"), dict.fromkeys(TRIO, "new")], (at, found)
        assert bool(found) or not before
        ends.add((done.returncode, *found.values()))
        if done.returncode == 0:
            break
    else:
        pytest.fail("it never got to the end")
    assert len(ends) == 3


def contents_of(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_a_name_is_taken_by_one_run_at_a_time(tmp_path):
    with whole_path(tmp_path / "a.csv") as draft:
        draft.write_text("mine")
        with pytest.raises(InputError, match=r"another run is writing a\.csv right now"):
            recover(tmp_path / "a.csv")
        with pytest.raises(InputError, match=r"another run is writing a\.csv right now"):
            write_json(tmp_path / "a.csv", {})
    assert contents(tmp_path) == {"a.csv": "mine"}


def test_a_draft_that_nobody_wrote_takes_the_name_away(tmp_path):
    write_all(tmp_path, "old")
    with whole_paths(*wanted(tmp_path)) as drafts:
        drafts[0].write_text("new")
    assert contents(tmp_path) == {"a.csv": "new"}


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("before", [False, True])
def test_a_disk_that_refuses_a_name_keeps_what_was_there(tmp_path, monkeypatch, number, before):
    if before:
        write_all(tmp_path, "old")
    replace = Path.replace

    def refuse(self, target):
        if self.stem == f"draft-{number}":
            raise OSError(28, "no space", str(self))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match=r"No space left.*a\.csv'$"):
        write_all(tmp_path, "new")
    assert contents(tmp_path) == (dict.fromkeys(TRIO, "old") if before else {})


def test_who_is_stopped_while_names_are_taken_takes_them_all(tmp_path, monkeypatch):
    write_all(tmp_path, "old")
    replace, calls = Path.replace, []

    def stop(self, target):
        calls.append(target)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        write_all(tmp_path, "new")
    assert contents(tmp_path) == dict.fromkeys(TRIO, "new")


def test_a_folder_is_never_replaced_by_a_file(tmp_path):
    (tmp_path / "a.csv").mkdir()
    (tmp_path / "a.csv" / "mine").touch()
    with pytest.raises(OSError, match=r"a\.csv"):
        write_all(tmp_path, "new")
    assert names(tmp_path) == ["a.csv"]
    assert names(tmp_path / "a.csv") == ["mine"]


def test_names_elsewhere_are_never_taken(tmp_path):
    home = tmp_path / "here" / ".a.csv.drafts"
    home.mkdir(parents=True, mode=0o700)
    (tmp_path / "mine.csv").write_text("mine")
    (home / "draft-0.csv").write_text("theirs")
    for name in ("../mine.csv", "other.csv", "a.csv/../../mine.csv"):
        (home / "names.json").write_text(json.dumps([name]))
        recover(tmp_path / "here" / "a.csv")
        home.mkdir(mode=0o700)
        (home / "draft-0.csv").write_text("theirs")
    assert (tmp_path / "mine.csv").read_text() == "mine"
    assert names(tmp_path / "here") == [".a.csv.drafts"]


# --- A folder of one's own ------------------------------------------------------------------------


def own(path):
    return OwnFolder(path, r"made-\d", "it is busy")


def test_only_what_has_a_known_name_is_removed(tmp_path):
    folder = own(tmp_path / "own")
    for name in ("made-0", "mine", "made-0.bak"):
        (folder.path / name).touch()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine").touch()
    (folder.path / "made-1").symlink_to(tmp_path / "elsewhere")
    folder.remove()
    assert names(folder.path) == ["made-0.bak", "mine"]
    assert names(tmp_path / "elsewhere") == ["mine"]


@pytest.mark.parametrize("way", ["link", "lock", "rights", "file"])
def test_what_somebody_else_may_have_made_is_refused(tmp_path, way):
    path, mine = tmp_path / "own", tmp_path / "mine"
    if way == "link":
        mine.mkdir(mode=0o700)
        path.symlink_to(mine)
    elif way == "file":
        path.write_text("mine")
    else:
        path.mkdir(mode=0o750 if way == "rights" else 0o700)
    if way == "lock":
        mine.write_text("mine")
        (path / "lock").symlink_to(mine)
    with pytest.raises(InputError, match="made by somebody else, or is open to others"):
        own(path)
    if way == "lock":
        assert mine.read_text() == "mine"


def test_a_forked_process_removes_nothing(tmp_path):
    folder = own(tmp_path / "own")
    child = os.fork()
    if not child:
        folder.remove()
        os._exit(0)
    os.waitpid(child, 0)
    assert folder.path.exists()
    folder.remove()
    assert names(tmp_path) == []
