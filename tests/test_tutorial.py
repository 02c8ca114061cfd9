"""The tutorial does what it says: every command and every line of Python in it is run."""

from pathlib import Path

from tests.commands import microagg
from tests.pages import blocks_of, commands_in

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"


def test_the_tutorial_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known: dict = {}
    blocks = blocks_of(TUTORIAL)
    assert len(blocks) > 8
    for language, block in blocks:
        if language == "python":
            exec(compile(block, str(TUTORIAL), "exec"), known)
            continue
        for program, *arguments in commands_in(block):
            assert program == "microagg"
            done = microagg(*arguments, folder=tmp_path)
            assert done.code == 0, (arguments, done.err)
    hospital = tmp_path / "hospital"
    for name in ("again.csv", "on-disk.csv"):
        assert (hospital / name).read_bytes() == (hospital / "safe.csv").read_bytes()
    assert known["release"].certificate.k_found >= 2
