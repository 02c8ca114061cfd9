"""Names that nobody should give to a column or a file, on a terminal and in a shell."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from microagg import cli
from microagg.base import texts
from tests.commands import microagg, refusal, survey

HOSTILE = [
    "\x1b[31mred",
    "a\x9b2J",
    "two\nlines",
    "right\u202eleft",
    "[/bold]",
    "name, first",
    "it's $(x)",
]


def hostile(folder, name="in.csv"):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    head = ",".join('"{}"'.format(each.replace('"', '""')) for each in [*HOSTILE, "age", "income"])
    rows = [
        ",".join([str(n * place % 53 + 0.5) for place in range(1, 8)] + [str(n), "1"])
        for n in range(60)
    ]
    (folder / name).write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")


def harmless(text):
    return all(each.isprintable() or each == "\n" for each in text)


def test_names_are_lists_that_may_hold_commas():
    names = ["name, first", "age", ' "quoted" ', "a=b", "plain name"]
    assert texts.names([texts.listed(names)], "-q") == names
    assert texts.names(['"name, first",age', " b , c ,"], "-q") == ["name, first", "age", "b", "c"]
    assert texts.pairs(['"name, first"=nominal,b = date'], "--kinds") == {
        "name, first": "nominal",
        "b": "date",
    }
    assert texts.orders(['"a, b"=low, or so<high'], "--orders") == {"a, b": ["low, or so", "high"]}
    assert texts.places(['"a,b"=2,c=1'], "--decimals") == {"a,b": 2, "c": 1}


def test_a_command_is_what_a_shell_makes_of_it():
    words = ["microagg", *HOSTILE, "\\x", "é", "", "\u0007'\\"]
    said = texts.command(*words)
    assert said.isprintable()
    back = subprocess.run(["bash", "-c", f"printf '%s\\0' {said}"], capture_output=True, check=True)
    assert back.stdout.decode().split("\0")[:-1] == words


def test_no_name_reaches_the_terminal_raw(tmp_path):
    hostile(tmp_path)
    known = texts.listed(HOSTILE)
    protect = ("protect", "in.csv", "-q", known, "-c", "age", "-k", "3", "-m", "mdav")
    for arguments in (
        ("inspect", "in.csv"),
        (*protect, "--dry-run"),
        (*protect, "-o", "out\x1b[2J.csv", "--report", "[/x].html"),
        ("assess", "in.csv", "in.csv", "-q", known, "-c", "age"),
        ("compare", "in.csv", "-q", known, "-k", "3", "--methods", "mdav"),
        ("protect", "in.csv", "-q", "\x1b[31mre", "-o", "r.csv"),
        ("protect", "in.csv", "-q", "age", "-i", "age", "-o", "\x1b.csv"),
        ("inspect", "in\x1b[31m\u202e.csv"),
        ("inspect", "in.csv", "\x9b31m"),
        ("private", "in.csv", "-e", "1", "-b", "\x1b[31mred=0:5", "--simulate", "-o", "\x1bp.csv"),
    ):
        done = microagg(*arguments, folder=tmp_path)
        assert harmless(done.out), arguments
        assert harmless(done.err), arguments
        assert "should not" not in done.err, done.err
    assert (tmp_path / "[/x].html").exists()


def test_the_suggestion_of_inspect_does_what_it_says(tmp_path):
    """Every role is in it, it can be pasted into a shell, and no identifier is published."""
    lines = ['"name, first",person id,age,zip code,diagnosis,household_id,income']
    for n in range(60):
        fields = (f'"P, {n}"', 7000 + n, n % 40 + 20, n % 30 + 1000, "flu" if n % 2 else "cold")
        lines.append(",".join(map(str, (*fields, n // 2, 30000 + 17.5 * n))))
    (tmp_path / "sub dir").mkdir()
    (tmp_path / "sub dir" / "in.csv").write_text("\n".join(lines).replace(",", ";") + "\n")
    text = (
        (tmp_path / "sub dir" / "in.csv")
        .read_text()
        .replace('"P; ', '"P, ')
        .replace('"name; ', '"name, ')
    )
    (tmp_path / "sub dir" / "in.csv").write_text(text)
    done = microagg("inspect", "sub dir/in.csv", "--delimiter", ";", folder=tmp_path)
    assert done.code == 0, done.err
    words = shlex.split(done.out.splitlines()[-1])
    assert words[:3] == ["microagg", "protect", "sub dir/in.csv"]
    assert words[words.index("-i") + 1] == '"name, first",person id,household_id'
    assert words[words.index("-c") + 1] == "diagnosis"
    assert words[words.index("--delimiter") + 1] == ";"
    assert words[words.index("--kinds") + 1] == "zip code=nominal"
    assert "say --kinds 'zip code=nominal' (or" in done.out
    made = microagg(*words[1:], "-m", "mdav", folder=tmp_path)
    assert made.code == 0, made.err
    released = (tmp_path / "release.csv").read_text()
    assert released.splitlines()[0] == "age;zip code;diagnosis;income"
    assert "P, 1" not in released


def roles(folder, **columns):
    names, values = list(columns), list(columns.values())
    lines = [",".join(names), *(",".join(map(str, row)) for row in zip(*values, strict=True))]
    (folder / "in.csv").write_text("\n".join(lines) + "\n")
    done = microagg("inspect", "in.csv", "--json", folder=folder)
    return {
        each["name"]: (each["role"], each["reason"]) for each in json.loads(done.out)["columns"]
    }


def test_weights_and_shared_identifiers_are_no_quasi_identifiers(tmp_path):
    n = range(200)
    found = roles(
        tmp_path,
        household_id=[row // 3 for row in n],
        hhid=[row // 2 for row in n],
        household=[row // 2 for row in n],
        sampling_weight=[1 + row * 0.37 for row in n],
        fnlwgt=[1000 + 7 * row for row in n],
        weight=[50 + row % 40 for row in n],
        household_size=[row % 5 + 1 for row in n],
        dose=[(0.5, 1.0, 1.5)[row % 3] for row in n],
        level=[row * 1.5 for row in n],
    )
    kinds = {name: role for name, (role, _) in found.items()}
    assert kinds == {
        "household_id": "identifier",
        "hhid": "identifier",
        "household": "identifier",
        "sampling_weight": "weights",
        "fnlwgt": "weights",
        "weight": "quasi-identifier",
        "household_size": "quasi-identifier",
        "dose": "other",
        "level": "quasi-identifier",
    }
    assert [name for name, (_, reason) in found.items() if "many values" in reason] == ["level"]


@pytest.mark.parametrize("command", ["inspect", "compare", "assess", "attacks", "methods"])
def test_tables_fit_a_narrow_terminal_and_cut_no_word(tmp_path, command):
    survey(tmp_path / "survey.csv")
    arguments = {
        "inspect": ("survey.csv",),
        "compare": ("survey.csv", "-q", "age,income,zip", "-k", "3", "--methods", "auto,mdav"),
        "assess": ("survey.csv", "survey.csv", "-q", "age,income", "-c", "diagnosis"),
        "attacks": (
            *("survey.csv", "survey.csv", "-q", "age,income,zip", "-c", "diagnosis", "--attacks"),
            *("--also", "survey.csv", "--target", "income,diagnosis"),
        ),
        "methods": (),
    }[command]
    if command == "attacks":
        command = "assess"
        done = microagg(command, *arguments, folder=tmp_path)
        said = done.out[done.out.index("What an intruder") : done.out.index("Note: ")]
        assert all(len(line) <= 80 for line in said.splitlines())
        for word in ("singling out", "linkability", "inference", "One-to-one linkage", "R²", "AUC"):
            assert word in said
    done = microagg(command, *arguments, folder=tmp_path)
    assert done.code == 0, done.err
    assert "…" not in done.out
    table = [line for line in done.out.splitlines() if "──" in line]
    assert all(len(line) <= 80 for line in table)
    assert table
    for word in {"inspect": ("quasi-identifier", "diagnosis"), "assess": ("confidential",)}.get(
        command, ()
    ):
        assert word in done.out


def test_a_stray_argument_gets_a_hint(tmp_path):
    survey(tmp_path / "survey.csv")
    said = refusal("protect", "survey.csv", "-q", "age,", "zip", "-o", "r.csv", folder=tmp_path)
    assert "-q age,sex" in said


def test_there_is_one_place_where_people_are_told():
    for path in Path(cli.__file__).parent.glob("*.py"):
        told = re.findall(r"\b(print|echo)\(", path.read_text())
        assert not told or path.name == "saying.py", path.name
