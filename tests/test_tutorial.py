"""The tutorial does what it says: every command and every line of Python in it is run."""

import re
import shlex
from pathlib import Path

from tests.commands import microagg

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"


def test_the_tutorial_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = TUTORIAL.read_text(encoding="utf-8")
    known: dict = {}
    blocks = re.findall(r"```(console|python)\n(.*?)```", text, re.DOTALL)
    assert len(blocks) > 8
    for language, block in blocks:
        if language == "python":
            exec(compile(block, str(TUTORIAL), "exec"), known)
            continue
        for line in block.splitlines():
            program, *arguments = shlex.split(line.removeprefix("$ "))
            assert program == "microagg"
            done = microagg(*arguments, folder=tmp_path)
            assert done.code == 0, (line, done.err)
    hospital = tmp_path / "hospital"
    assert (hospital / "again.csv").read_bytes() == (hospital / "safe.csv").read_bytes()
    assert known["release"].certificate.k_found >= 2
