import csv
import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from microagg.actions import example
from microagg.actions.risk import risk
from microagg.base.files import whole_file
from tests import forking
from tests.commands import ROLES, microagg, refusal, survey
from tests.forking import PIPE


def run(*arguments, folder):
    return forking.run("-m", "microagg", *arguments, cwd=folder)


def read(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_the_demo_protects_and_says_so(tmp_path):
    done = run("demo", "--records", "400", "--k", "4", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    original, released = (read(tmp_path / "demo" / f"{n}.csv") for n in ("patients", "release"))
    assert len(original) == len(released) == 400
    assert "patient" not in released[0]
    for name in example.CONFIDENTIAL:
        before, after = ([row[name] for row in rows] for rows in (original, released))
        assert before != after
        assert sorted(before) == sorted(after)
    alike: dict[tuple, int] = {}
    for row in released:
        key = tuple(row[name] for name in example.QUASI_IDENTIFIERS)
        alike[key] = alike.get(key, 0) + 1
    assert min(alike.values()) >= 4
    assert f"at least {min(alike.values())}" in done.stdout
    assert str(Path("demo") / "release.csv") in done.stdout
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "patients.csv",
        "recipe.toml",
        "release.csv",
        "release.csv.certificate.json",
        "release.csv.record.json",
        "report-public.html",
        "report.html",
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


LONG = ("protect", "survey.csv", "-k", "5", "--quasi-identifiers", "age,income,zip")
LONG += ("--confidential", "diagnosis", "--identifiers", "name")
LONG += ("-o", "release.csv", "--report", "report.html")


def alike(path, names):
    counts = Counter(tuple(row[name] for name in names) for row in read(path))
    return min(counts.values())


def as_json(text):
    """JSON as the standard has it: it knows no NaN."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_protect_writes_release_certificate_and_report(tmp_path):
    original = read(survey(tmp_path / "survey.csv"))
    done = run(*LONG, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    released = read(tmp_path / "release.csv")
    assert list(released[0]) == [name for name in original[0] if name != "name"]
    untouched = ("diagnosis", "visits", "born", "member")
    before, after = (
        [tuple(row[name] for name in untouched) for row in rows] for rows in (original, released)
    )
    assert before != after
    assert sorted(before) == sorted(after)
    k = alike(tmp_path / "release.csv", ("age", "income", "zip"))
    assert k >= 5
    certificate = json.loads((tmp_path / "release.csv.certificate.json").read_text())
    assert certificate["verdict"] == "passed"
    assert certificate["k"] == {"asked": 5, "found": k, "counts": "records"}
    for said in (
        "60 records",
        f"at least {k} records",
        f"Information loss {certificate['information_loss']['total']:.2f} %",
        " s",
        "release     release.csv",
        "certificate release.csv.certificate.json",
        "record      release.csv.record.json (not for publication)",
        "report      report.html (not for publication)",
    ):
        assert said in done.stdout
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


def test_short_options_and_a_recipe_say_the_same(tmp_path):
    survey(tmp_path / "survey.csv")
    common = ("protect", "survey.csv", "-k", "4", "--seed", "3")
    long = ("--quasi-identifiers", "age,income", "--quasi-identifiers", "zip")
    long += ("--confidential", "diagnosis", "--identifiers", "name", "--method", "mdav")
    one = microagg(*common, *long, "--output", "one.csv", folder=tmp_path)
    assert one.code == 0, one.err
    same = ("--record", "one.csv.record.json")
    two = microagg(
        *(*common, *ROLES, *same, "-o", "two.csv", "--save-recipe", "r.toml"), folder=tmp_path
    )
    assert two.code == 0, two.err
    three = microagg(
        "protect", "survey.csv", "--recipe", "r.toml", *same, "-o", "three.csv", folder=tmp_path
    )
    assert three.code == 0, three.err
    releases = [(tmp_path / f"{name}.csv").read_bytes() for name in ("one", "two", "three")]
    assert releases[0] == releases[1] == releases[2]
    four = microagg(
        "protect", "survey.csv", "--recipe", "r.toml", "-k", "9", "-o", "4.csv", folder=tmp_path
    )
    assert four.code == 0, four.err
    assert alike(tmp_path / "4.csv", ("age", "income", "zip")) >= 9
    said = refusal(
        *("protect", "survey.csv", "--recipe", "r.toml", "-k", "9", *same, "-o", "5.csv"),
        folder=tmp_path,
    )
    assert "the record is of another input or recipe" in said


def test_every_setting_can_be_given_as_an_option(tmp_path):
    survey(tmp_path / "survey.csv")
    done = microagg(
        *("protect", "survey.csv", "-q", "age,income,zip,diagnosis", "-i", "name", "-k", "3"),
        *("-m", "vmdav", "--option", "gamma=0.3", "--seed", "5", "--missing", "error"),
        *("--kinds", "zip=nominal,age=continuous", "--orders", "diagnosis=none<cold<flu"),
        *("--within", "member", "--small-strata", "merge", "--attribute-weights", "age=2"),
        *("--decimals", "income=0,age=1", "--delimiter", ",", "--encoding", "utf-8"),
        *(
            "--cell-rows",
            "50000",
            "--decimal",
            ".",
            "--missing-values",
            "NA",
            "--missing-values",
            "?",
        ),
        *("-o", "release.csv", "--save-recipe", "recipe.toml"),
        folder=tmp_path,
    )
    assert done.code == 0, done.err
    assert tomllib.loads((tmp_path / "recipe.toml").read_text()) == {
        "k": 3,
        "quasi_identifiers": ["age", "income", "zip", "diagnosis"],
        "identifiers": ["name"],
        "method": "vmdav",
        "options": {"gamma": 0.3},
        "seed": 5,
        "missing": "error",
        "kinds": {"zip": "nominal", "age": "continuous"},
        "orders": {"diagnosis": ["none", "cold", "flu"]},
        "within": ["member"],
        "small_strata": "merge",
        "cell_rows": 50000,
        "attribute_weights": {"age": 2.0},
        "decimals": {"income": 0, "age": 1},
        "reading": {
            "delimiter": ",",
            "encoding": "utf-8",
            "decimal": ".",
            "missing_values": ["NA", "?"],
        },
    }


def test_options_are_made_from_the_settings():
    from microagg.base.reading import Reading
    from microagg.base.recipe import Recipe
    from microagg.cli.options import setting_options

    settings = {*Recipe.model_fields, *Reading.model_fields} - {"reading"}
    assert {option.name for option in setting_options()} == settings


def test_settings_arrive_as_a_recipe_takes_them():
    import typer
    from typer.testing import CliRunner

    from microagg.cli.options import with_settings

    app, calls = typer.Typer(), []

    @app.command()
    @with_settings(without=("k",))
    def work(source: str, *, settings: dict, force: bool = False) -> None:
        """Work."""
        calls.append((source, settings, force))

    def call(*arguments):
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
        return calls.pop()

    assert call("a") == ("a", {}, False)
    given = ("a", "-q", "b,c", "--refine", "true", "--relative", "--cell-rows", "9", "--force")
    assert call(*given, "--missing-values", "NA", "--sheet", "s") == (
        "a",
        {
            "quasi_identifiers": ["b", "c"],
            "refine": True,
            "relative": True,
            "cell_rows": 9,
            "reading": {"missing_values": ["NA"], "sheet": "s"},
        },
        True,
    )
    assert CliRunner().invoke(app, ["a", "-k", "3"]).exit_code == 2


def test_a_dry_run_shows_the_plan_and_writes_nothing(tmp_path):
    survey(tmp_path / "survey.csv")
    before = sorted(tmp_path.iterdir())
    done = microagg(
        *("protect", "survey.csv", *ROLES, "-o", "r.csv", "--report", "r.html", "--dry-run"),
        folder=tmp_path,
    )
    assert done.code == 0, done.err
    for said in ("60 records", "by mdav", "age (integer)", "name", "about", " s,", " MB"):
        assert said in done.out
    assert sorted(tmp_path.iterdir()) == before
    told = as_json(microagg(*LONG, "--dry-run", "--json", folder=tmp_path).out)
    assert told["records"] == 60
    assert told["seconds"] >= 0
    assert sorted(tmp_path.iterdir()) == before


def test_a_pipe_carries_the_release(tmp_path):
    survey(tmp_path / "survey.csv")
    assert microagg("protect", "survey.csv", *ROLES, "-o", "r.csv", folder=tmp_path).code == 0
    command = ["-m", "microagg", "protect", "-", *ROLES, "-o", "-", "--record", "r.csv.record.json"]
    with (tmp_path / "survey.csv").open("rb") as stream:
        done = forking.run(*command, cwd=tmp_path, stdin=stream, text=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (tmp_path / "r.csv").read_bytes()
    assert b"at least 5 records" in done.stderr


def test_whoever_reads_may_stop_reading(tmp_path):
    survey(tmp_path / "survey.csv", 5000)
    command = ["-m", "microagg", "protect", "survey.csv", "-q", "age,visits"]
    command += ["--method", "zscore", "-o", "-"]
    with forking.Process(*command, cwd=tmp_path, stdout=PIPE, stderr=PIPE) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 141
    assert said == b""


def test_progress_is_shown_on_a_terminal(tmp_path):
    pty = pytest.importorskip("pty")
    survey(tmp_path / "survey.csv", 2000)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "microagg", "protect", "survey.csv", "-q", "age,income"]
    command += ["-m", "mdav", "-o", "release.csv"]
    with (tmp_path / "said.txt").open("w") as said:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=said, stderr=theirs)
        os.close(theirs)
        shown = b""
        # The end of a terminal without a writer is an error on Linux and nothing elsewhere. It is
        # read all the while: whoever writes to a full one waits.
        with suppress(OSError):
            while more := os.read(ours, 65536):
                shown += more
        os.close(ours)
        assert process.wait() == 0, shown
    assert "━".encode() in shown
    said_at_last = (tmp_path / "said.txt").read_text(encoding="utf-8")
    assert "at least 5 records" in said_at_last
    assert "━" not in said_at_last


def test_json_is_valid_and_alone_on_standard_output(tmp_path):
    survey(tmp_path / "survey.csv")
    protected = microagg("protect", "survey.csv", *ROLES, "-o", "r.csv", "--json", folder=tmp_path)
    told = as_json(protected.out)
    on_disk = json.loads((tmp_path / "r.csv.certificate.json").read_text())
    # Whoever runs it reads the notes of the owner.
    owners = json.loads((tmp_path / "r.csv.record.json").read_text())["notes"]
    assert {name: told[name] for name in on_disk} == {**on_disk, "notes": owners}
    assert told["files"]["release"] == "r.csv"
    assert told["seconds"] > 0
    commands = {
        ("inspect", "survey.csv"): "columns",
        ("assess", "survey.csv", "r.csv", "--record", "r.csv.record.json"): "figures",
        ("compare", "survey.csv", "-k", "3,5", "--methods", "mdav", *ROLES[:2]): "choices",
        ("methods",): None,
        ("demo", "--records", "50"): "files",
    }
    for command, name in commands.items():
        done = microagg(*command, "--json", folder=tmp_path)
        assert done.code == 0, done.err
        assert done.err == ""
        told = as_json(done.out)
        assert name is None or name in told


def test_figures_that_cannot_be_had_are_null_in_json(tmp_path, monkeypatch):
    survey(tmp_path / "survey.csv")
    figures = {"loss": float("nan"), "few": [float("inf"), 1.5], "word": "ß"}
    monkeypatch.setattr("microagg.actions.inspect.Inspection.to_dict", lambda _: figures)
    done = microagg("inspect", "survey.csv", "--json", folder=tmp_path)
    assert as_json(done.out) == {"loss": None, "few": [None, 1.5], "word": "ß"}
    assert done.out.isascii()


def test_json_and_the_release_cannot_share_standard_output(tmp_path):
    survey(tmp_path / "survey.csv")
    done = microagg("protect", "survey.csv", *ROLES, "-o", "-", "--json", folder=tmp_path)
    assert done.code == 2
    assert "standard output" in as_json(done.out)["error"]


def test_inspect_shows_columns_and_roles(tmp_path):
    survey(tmp_path / "survey.csv")
    done = microagg("inspect", "survey.csv", folder=tmp_path)
    assert done.code == 0, done.err
    assert "60 records" in done.out
    assert "microagg protect survey.csv -k 5 -i name -q age,income,zip,born" in done.out
    told = as_json(microagg("inspect", "survey.csv", "--json", folder=tmp_path).out)
    roles = {column["name"]: (column["kind"], column["role"]) for column in told["columns"]}
    assert roles["name"] == ("nominal", "identifier")
    assert roles["age"] == ("integer", "quasi-identifier")
    assert roles["zip"] == ("nominal", "quasi-identifier")
    assert roles["born"][0] == "date"
    assert roles["member"][0] == "boolean"
    assert roles["diagnosis"][1] == "confidential"
    piped = microagg("inspect", "-", folder=tmp_path, stdin=(tmp_path / "survey.csv").read_bytes())
    assert "standard input" in piped.out


def test_inspect_measures_risk(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    survey(tmp_path / "survey.csv")
    ask = ("inspect", "survey.csv", "--risk", "-q", "age,zip", "--fraction", "0.1")
    done = microagg(*ask, folder=tmp_path)
    assert done.code == 0, done.err
    tables, notes = done.out[done.out.index("Risk by age, zip") :].split("Note: ", 1)
    assert "Pitman" in notes
    assert "With k = 2 or more, no record that is released has an individual risk above" in notes
    assert "for somebody who knows who is there, that takes k = 12." in notes
    assert max(map(len, tables.splitlines())) <= 80
    for words in ("Expected re-identifications", "Unique in the population", "age, zip"):
        assert words in tables
    assert "-q age,zip" in done.out.splitlines()[-1]
    told = as_json(microagg(*ask, "--json", folder=tmp_path).out)["risk"]
    found = risk(tmp_path / "survey.csv", ["age", "zip"], fraction=0.1)
    assert told["figures"] == found.figures
    assert [column["name"] for column in told["columns"]] == ["age", "zip"]
    wrong = microagg(*ask, "--missing", "none", folder=tmp_path)
    assert wrong.code == 2
    assert "missing must be value or wildcard" in wrong.err


def test_assess_pairs_records_by_their_key(tmp_path):
    survey(tmp_path / "survey.csv")
    roles = ("-q", "age,income", "-m", "mdav")
    assert microagg("protect", "survey.csv", *roles, "-o", "r.csv", folder=tmp_path).code == 0
    head, *lines = (tmp_path / "r.csv").read_text().splitlines()
    (tmp_path / "shuffled.csv").write_text("\n".join([head, *sorted(lines)]) + "\n")
    (tmp_path / "r.csv.record.json").rename(tmp_path / "mine.json")
    said = refusal("assess", "survey.csv", "r.csv", folder=tmp_path)
    assert "the rows of r.csv were shuffled" in said
    own = ("--record", "mine.json")
    said = refusal("assess", "survey.csv", "shuffled.csv", *own, folder=tmp_path)
    assert "the record is of another original or release" in said
    straight, by_key, without = (
        microagg("assess", "survey.csv", name, *more, "--json", folder=tmp_path)
        for name, more in (
            ("r.csv", own),
            ("shuffled.csv", ("--key", "name", "-q", "age,income")),
            ("shuffled.csv", ("-q", "age,income")),
        )
    )
    one, two, three = (as_json(done.out) for done in (straight, by_key, without))
    assert one["k"] == two["k"] == three["k"]
    lost = [told["information_loss"]["total"] for told in (one, two, three)]
    assert lost[0] == pytest.approx(lost[1])
    assert lost[2] > 2 * lost[0]
    more = ("-c", "diagnosis", "--attacks", "--target", "income", "--json")
    tried = as_json(microagg("assess", "survey.csv", "r.csv", *own, *more, folder=tmp_path).out)
    assert {each["attack"] for each in tried["attacks"]} >= {"nearest", "inference", "order"}
    assert tried["models"][0]["target"] == "income"
    shown = microagg("assess", "survey.csv", "r.csv", *own, "-c", "diagnosis", folder=tmp_path)
    assert f"At least {one['k']['found']} records" in shown.out
    assert f"Information loss {lost[0]:.2f} %" in shown.out


def test_compare_shows_a_table_a_map_and_a_recommendation(tmp_path):
    survey(tmp_path / "survey.csv")
    command = ("compare", "survey.csv", "-k", "3,5", "--methods", "mdav,zscore", *ROLES[:2])
    done = microagg(*command, "--report", "map.html", folder=tmp_path)
    assert done.code == 0, done.err
    for said in ("mdav", "zscore", "information loss", "loses least", "together are least"):
        assert said in done.out
    page = (tmp_path / "map.html").read_text()
    assert "<svg" in page
    assert "mdav, k = 3" in page
    assert "exists" in refusal(*command, "--report", "map.html", folder=tmp_path)
    assert microagg(*command, "--report", "map.html", "--force", folder=tmp_path).code == 0
    told = as_json(microagg(*command, "--json", folder=tmp_path).out)
    assert [(one["method"], one["k"]) for one in told["choices"]] == [
        ("mdav", 3),
        ("mdav", 5),
        ("zscore", 3),
        ("zscore", 5),
    ]
    assert told["recommended"] in told["choices"]


def test_wrong_usage_is_one_sentence(tmp_path):
    survey(tmp_path / "survey.csv")
    assert "--foo" in refusal("protect", "survey.csv", "--foo", folder=tmp_path)
    assert "frobnicate" in refusal("frobnicate", folder=tmp_path)
    assert "source" in refusal("protect", folder=tmp_path)
    assert "-k" in refusal("protect", "survey.csv", "-k", "five", folder=tmp_path)
    assert "-o" in refusal("protect", "survey.csv", "-q", "age", folder=tmp_path)
    assert "requires" in refusal("protect", "survey.csv", "-q", folder=tmp_path).lower()
    assert "-k" in refusal("compare", "survey.csv", "-q", "age", "-k", "3,x", folder=tmp_path)
    for options in (
        ("--kinds", "age"),
        ("--orders", "age=1"),
        ("--attribute-weights", "age=much"),
        ("--decimals", "many"),
        ("--option", "gamma"),
        ("--kinds", "age=real"),
    ):
        said = refusal("protect", "survey.csv", *ROLES, "-o", "r.csv", *options, folder=tmp_path)
        assert options[0].lstrip("-") in said


def test_help_is_no_error(tmp_path):
    for arguments in ((), ("--help",), ("protect", "--help"), ("compare", "--help")):
        done = microagg(*arguments, folder=tmp_path)
        assert done.code == 0
        assert "Usage: microagg" in done.out
        assert done.err == ""


def test_a_surprise_does_not_quote_what_the_error_says(tmp_path, monkeypatch):
    def fail(*_given, **_named):
        raise KeyError("Mrs Smith of 12 High Street")

    survey(tmp_path / "survey.csv")
    monkeypatch.setattr("microagg.actions.publish.protect", fail)
    done = microagg("protect", "survey.csv", *ROLES, "-o", "r.csv", folder=tmp_path)
    assert done.code == 2
    assert done.err.startswith(
        "microagg: something happened that should not: KeyError in test_commands"
    )
    assert "Smith" not in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("failure", "code", "said"),
    [(KeyboardInterrupt(), 130, "stopped"), (MemoryError(), 2, "memory")],
)
def test_what_stops_the_work_is_one_sentence(tmp_path, monkeypatch, failure, code, said):
    def fail(*_given, **_named):
        raise failure

    survey(tmp_path / "survey.csv")
    monkeypatch.setattr("microagg.actions.publish.protect", fail)
    assert said in refusal(
        "protect", "survey.csv", *ROLES, "-o", "r.csv", folder=tmp_path, code=code
    )


def test_a_terminal_without_the_letters_does_not_stop_it(tmp_path):
    (tmp_path / "survey.csv").write_text("âge,x\n" + "".join(f"{i},{i}\n" for i in range(10)))
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "microagg", "inspect", "survey.csv"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "\\xe2ge" in done.stdout


NOISY = """
import os, sys
from microagg.actions import publish

protect = publish.protect

def noisy(*given, **named):
    os.write(1, b"a library's own words")
    return protect(*given, **named)

publish.protect = noisy
sys.argv = ["microagg", *sys.argv[1:]]
from microagg.cli import main
main()
"""


def test_what_a_library_prints_is_not_in_the_result(tmp_path):
    survey(tmp_path / "survey.csv")
    done = forking.run("-c", NOISY, "protect", "survey.csv", *ROLES, "-o", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("age,income,zip")
    assert "a library's own words" in done.stderr
