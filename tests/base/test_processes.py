"""Processes of our own run our own code, whatever lies in the folder that somebody works in."""

import subprocess
import sys

import pytest

from microagg.base.processes import python, start

NAMES = ("numpy", "pyarrow", "random", "microagg", "runpy")


@pytest.mark.parametrize("module", ["microagg.actions.warm_up", "microagg.app.worker"])
def test_nothing_is_imported_from_the_folder_one_works_in(tmp_path, module, monkeypatch):
    """Data of others may lie there, and files with names of modules among them."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(f"open('{name} was run', 'w')\nraise SystemExit(7)\n")
    monkeypatch.chdir(tmp_path)
    words = ("0", "1", "journey") if module.endswith("warm_up") else ()
    with start(module, *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        said, _ = child.communicate()
    assert said.splitlines() == [b"done"] * 3 * bool(words)
    assert child.returncode == 0
    assert [each.name for each in tmp_path.glob("* was run")] == []


def test_the_same_code_is_found_again(tmp_path):
    """Also where the way to it was told to this process only."""
    words = python("microagg.app.worker")
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "check": False}
    done = subprocess.run(words, cwd=tmp_path, env={}, **options)
    assert (done.returncode, done.stderr) == (0, b"")
    assert words[0] == sys.executable
