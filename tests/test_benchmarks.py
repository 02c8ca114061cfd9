"""The pages that say which result is whose, and what became of the papers' figures."""

import ast
import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize("script", ["index.py", "papers/page.py"])
def test_pages_of_results_are_in_step(script):
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / script), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_quick_run_writes_over_no_result(tmp_path, monkeypatch):
    save = runpy.run_path(str(SCRIPTS / "measuring.py"))["save"]
    monkeypatch.setitem(save.__globals__, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["p3m.py", "--quick"])
    save("table", ["a"], [[1]])
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(sys, "argv", ["p3m.py"])
    save("table", ["a"], [[1]])
    assert {path.name for path in tmp_path.iterdir()} == {"table.csv", "table.md"}


def test_scripts_need_nothing_that_only_tests_have():
    for script in SCRIPTS.rglob("*.py"):
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & {"pytest", "tests", "hypothesis"}


def job(ratio, megabytes):
    return {"ratio": ratio, "megabytes": megabytes}


def test_what_got_slower_or_larger_is_told(tmp_path):
    runs = {
        "old": {"a": job(1.0, 100), "b": job(2.0, 100), "c": job(1.0, 100), "d": job(1.0, 1)},
        "new": {"a": job(1.2, 100), "b": job(1.7, 150), "c": job(1.05, 80), "e": job(1.0, 15)},
    }
    for name, jobs in runs.items():
        (tmp_path / name).write_text(json.dumps({"commit": name, "jobs": jobs}))
    script = runpy.run_path(str(SCRIPTS / "compare.py"))
    load, compare = script["load"], script["compare"]
    old, new = (load(str(tmp_path / name)) for name in runs)
    words = [(name, word) for name, *_, word in compare(old, new)]
    assert words == [
        ("a", "slower"), ("b", "faster"), ("b", "larger"), ("c", ""), ("c", "smaller"),
        ("d", "gone"), ("e", "new"),
    ]  # fmt: skip
    with pytest.raises(SystemExit, match="neither a file nor a revision"):
        load("no-such-revision")
