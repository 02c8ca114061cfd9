import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from microagg import example
from microagg.files import whole_file


def run(*arguments, folder):
    command = [sys.executable, "-m", "microagg", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def read(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_the_demo_protects_and_says_so(tmp_path):
    done = run("demo", "--records", "400", "--k", "4", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    original, released = (read(tmp_path / "demo" / f"{n}.csv") for n in ("patients", "protected"))
    assert len(original) == len(released) == 400
    assert "patient" not in released[0]
    for name in example.CONFIDENTIAL:
        assert [row[name] for row in original] == [row[name] for row in released]
    alike: dict[tuple, int] = {}
    for row in released:
        key = tuple(row[name] for name in example.QUASI_IDENTIFIERS)
        alike[key] = alike.get(key, 0) + 1
    assert min(alike.values()) >= 4
    assert f"at least {min(alike.values())}" in done.stdout
    assert str(Path("demo") / "protected.csv") in done.stdout
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "patients.csv",
        "protected.csv",
    ]


def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path):
    done = run("demo", "--records", "3", "--k", "9", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "microagg: k is 9, but there are only 3 records; groups of k need at least k records\n"
    )
    assert not (tmp_path / "demo").exists()
    (tmp_path / "file").write_text("")
    done = run("demo", "--folder", "file/inside", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("microagg: ")
    assert "Traceback" not in done.stderr
    assert run("no-such-command", folder=tmp_path).returncode == 2


def test_methods_are_listed(tmp_path):
    done = run("methods", folder=tmp_path)
    assert done.returncode == 0
    assert "mdav" in done.stdout


def test_the_same_seed_invents_the_same_patients():
    one, same, other = (example.patients(50, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(one[name], same[name]) for name in one)
    assert not np.array_equal(one["age"], other["age"])
    roles = {*example.IDENTIFIERS, *example.QUASI_IDENTIFIERS, *example.CONFIDENTIAL}
    assert roles == set(one)


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "table.csv"

    def write(text, failure=None):
        with whole_file(path) as stream:
            stream.write(text)
            if failure:
                raise failure

    with pytest.raises(RuntimeError):
        write("half", RuntimeError())
    assert list(tmp_path.iterdir()) == []
    write("first")
    with pytest.raises(KeyboardInterrupt):
        write("half", KeyboardInterrupt())
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_generated_pages_are_in_step():
    from docs.generate import HERE, PAGES

    for name, page in PAGES.items():
        assert (HERE / name).read_text(encoding="utf-8") == page(), (
            f"docs/{name} has drifted: run python docs/generate.py"
        )
