"""The tutorial does what it says: every command and every line of Python in it is run."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from microagg import cli

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"


def test_the_tutorial_runs(tmp_path, monkeypatch, capsys):
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
            monkeypatch.setattr(sys, "argv", shlex.split(line.removeprefix("$ ")))
            with pytest.raises(SystemExit) as done:
                cli.main()
            assert done.value.code == 0, (line, capsys.readouterr().err)
    hospital = tmp_path / "hospital"
    assert (hospital / "again.csv").read_bytes() == (hospital / "safe.csv").read_bytes()
    assert known["release"].certificate.k_found >= 2
