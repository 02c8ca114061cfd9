"""What went wrong is said in one sentence, in the words of the command line."""

import datetime
import json
import logging
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import microagg as library
from microagg.base.errors import InputError, OptionError
from microagg.base.recipe import Recipe
from microagg.cli.options import in_options
from tests.commands import ROLES, microagg, refusal, survey

PROTECT = ("protect", "survey.csv", "-q", "age,income", "-m", "mdav", "-k", "3")


@pytest.fixture
def folder(tmp_path):
    survey(tmp_path / "survey.csv")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("quasi-ident = 3", "'quasi_identifiers'"),
        ("7 = 3", "there is no setting '7'"),
        ('"" = 3', "there is no setting ''"),
        ("seed = " + "9" * 5000, "thousands of digits"),
        ("k = " + "[" * 5000, "nested too deeply"),
        ("k = " + "1" * 4000, "-k: input should be less"),
        ("refine = 1e308", "--refine: input should be less"),
        ("refine = inf", "--refine"),
        ("seed = -1", "--seed"),
        ("seed = 'x'", "--seed"),
        ("[reading]\nde-limiter = ';'", "'delimiter'"),
        ("k = 1", "k is 1, so every record would be published as it is"),
    ],
)
def test_strange_recipes(folder, text, hint):
    (folder / "r.toml").write_text(f"quasi_identifiers = ['age']\n{text}")
    said = refusal("protect", "survey.csv", "--recipe", "r.toml", "-o", "r.csv", folder=folder)
    assert hint in said
    assert len(said) < 700


@pytest.mark.parametrize("name", ["k", "seed", "progress", "X", "standardize", "method", "refine"])
def test_only_a_methods_own_options(folder, name):
    for method in ("mdav", "auto"):
        arguments = ("-q", "age,income", "-m", method, "--option", f"{name}=7", "-o", "r.csv")
        for command in (("protect", "survey.csv"), ("protect", "survey.csv", "--dry-run")):
            said = refusal(*command, *arguments, folder=folder)
            assert f"has no option '{name}'" in said


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ((*PROTECT, "--seed", "-1"), "--seed: input should be greater"),
        ((*PROTECT, "--seed", "many"), "--seed"),
        ((*PROTECT, "--refine", "1e308"), "--refine: input should be less"),
        ((*PROTECT, "--refine", "9" * 5000), "--refine"),
        ((*PROTECT, "--delimiter", "xx"), "--delimiter: "),
        (("inspect", "survey.csv", "--delimiter", "xx"), "--delimiter: "),
        (("assess", "survey.csv", "survey.csv", "-q", "age,age"), "'age' stands twice in --quasi"),
        (
            ("assess", "survey.csv", "survey.csv", "-q", "age", "-c", "zip,zip"),
            "'zip' stands twice",
        ),
        (
            ("assess", "survey.csv", "survey.csv", "-q", "age", "--also", "survey.csv"),
            "an earlier release is for attacks only; say --attacks",
        ),
        (
            ("assess", "survey.csv", "survey.csv", "-q", "age,zip", "--target", "incom"),
            "did you mean 'income'",
        ),
        (("demo", "--seed", "-1"), "seed must be a whole number"),
        (("demo", "--k", "1"), "k is 1"),
        ((*PROTECT, "--kinds", "zip=nominal"), "--kinds names 'zip'"),
        ((*PROTECT[:-1], "1"), "say -k 2 or more"),
        (("protect", "survey.csv"), "-o says where"),
        (("protect", "survey.csv", "-o", "r.csv"), "--quasi-identifiers must be given"),
    ],
)
def test_strange_options(folder, arguments, hint):
    more = () if arguments[0] != "protect" or len(arguments) < 5 else ("-o", "r.csv")
    assert hint in refusal(*arguments, *more, folder=folder)


@pytest.mark.parametrize(
    "encoding",
    ["punycode", "idna", "base64", "martian", "unicode_escape", "rot13", "\0", "x" * 999],
)
def test_encodings_that_are_none(folder, encoding):
    for arguments in ((*PROTECT, "-o", "r.csv"), ("inspect", "survey.csv")):
        said = refusal(*arguments, "--encoding", encoding, folder=folder)
        assert "is unknown; utf-8" in said
        assert len(said) < 200


def test_the_environment_is_no_reason_to_crash(folder):
    def run(**more):
        return subprocess.run(
            [sys.executable, "-m", "microagg", *PROTECT, "-o", "r.csv", "--force"],
            cwd=folder, env={**os.environ, **more}, capture_output=True, text=True, check=False,
        )  # fmt: skip

    for name, value in (("NUMBA_NUM_THREADS", "0"), ("SOURCE_DATE_EPOCH", "yesterday")):
        said = run(**{name: value})
        assert said.returncode == 2
        assert f"variable {name} must be a whole number" in said.stderr


def test_k_of_one_protects_nothing():
    with pytest.raises(OptionError, match="k is 1, so every record would be published as it is"):
        Recipe(k=1, quasi_identifiers="age")
    # What is demanded beyond k makes groups too.
    assert Recipe(k=1, quasi_identifiers="age", diversity={"illness": 2}).k == 1


@pytest.mark.parametrize("seed", [-1, "x", 1.5, True])
def test_seeds_of_the_library(seed):
    with pytest.raises(OptionError, match="seed must be a whole number"):
        library.partition(np.arange(40.0), 3, seed=seed)


def test_columns_named_by_numbers_are_named_by_their_digits():
    frame = pd.DataFrame(np.arange(24.0).reshape(8, 3))
    release = library.protect(
        frame, quasi_identifiers=["0", "2"], k=2, method="mdav", progress=False
    )
    assert list(release.data.columns) == ["0", "1", "2"]
    assert list(frame.columns) == [0, 1, 2]
    assert any("named by numbers" in note for note in release.record.notes)
    with pytest.raises(InputError, match=r"table\.columns\.map\(str\)"):
        library.protect(frame.rename(columns={0: (1, 2)}), quasi_identifiers="0", k=2)


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("say kinds={'Geburtsdatum': 'date'}; or", "say --kinds Geburtsdatum=date; or"),
        ("as kinds={'two words': 'date'}", "as --kinds 'two words=date'"),
        ("as kinds={'a, b': 'date'}", "as --kinds '\"a, b\"=date'"),
        ("first: orders={'grade': [...]}", "first: --orders 'grade=low<middle<high'"),
        ('say small_strata="merge" or "drop"', 'say --small-strata merge or "drop"'),
        ("say engine=memory", "say --engine memory"),
        ("exists; say force (--force) to replace", "exists; say --force to replace"),
        ("say date_format (--date-format), otherwise", "say --date-format, otherwise"),
        ("that is in both (--key), or", "that is in both (--key), or"),
        ("or say simulate=True for", "or say --simulate for"),
        ("reading.delimiter: must be", "--delimiter: must be"),
        ("leave it out of quasi_identifiers", "leave it out of --quasi-identifiers"),
        ("column 'kinds=x' is in memory", "column 'kinds=x' is in memory"),
        ("as bounds={'column': (low, high)}: the", "as --bounds column=low:high: the"),
    ],
)
def test_sentences_speak_of_options(sentence, said):
    assert in_options(sentence) == said


def test_a_hint_on_the_command_line_can_be_followed(folder):
    lines = ["age,Geburtsdatum", *(f"{20 + row},{row % 12 + 1:02d}/03/1980" for row in range(12))]
    (folder / "in.csv").write_text("\n".join(lines) + "\n")
    said = refusal("protect", "in.csv", "-q", "age,Geburtsdatum", "-o", "r.csv", folder=folder)
    assert "={" not in said


KINDS = {
    "far days": pa.array([4_000_000 + row for row in range(12)], pa.int32()).cast(pa.date32()),
    "far moments": pa.array([4 * 10**15 + row for row in range(12)]).cast(pa.timestamp("s")),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([5, 12], pa.int32()), pa.array([1.5, 2.5])),
    "runs inside": pa.StructArray.from_arrays(
        [pa.RunEndEncodedArray.from_arrays(pa.array([5, 12], pa.int32()), pa.array([1.5, 2.5]))],
        ["inner"],
    ),
    "one of several types": pa.UnionArray.from_sparse(
        pa.array([0, 1] * 6, pa.int8()), [pa.array(range(12)), pa.array(["a"] * 12)]
    ),
    "views": pa.array(["a", "b"] * 6, pa.string_view()),
    "views of lists": pa.array([[1], [2]] * 6, pa.list_view(pa.int64())),
}
for _name, _values in {
    "texts": ["low", "middle", "high"],
    "integers": [10, 20, 30],
    "gaps": [1.0, float("nan"), 3.0],
    "dates": [datetime.date(2000 + year, 1, 1) for year in range(3)],
}.items():
    for _ordered in (False, True):
        KINDS[f"dictionary of {_name}, {_ordered}"] = pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 2] * 4, pa.int8()), pa.array(_values), ordered=_ordered
        )


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_types_of_arrow_are_kept_or_refused_in_words(tmp_path, name, engine):
    table = pa.table({"x": KINDS[name], "age": list(range(12)), "z": [0, 1] * 6})
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as file:
        for batch in table.to_batches(max_chunksize=4):
            file.write_batch(batch)
    for roles in (
        ("-q", "x,age"),
        ("-q", "age", "-c", "x"),
        ("-q", "age", "--within", "x"),
        ("-q", "age"),
    ):
        for target in ("o.arrow", "o.parquet", "o.csv"):
            done = microagg(
                *("protect", "in.arrow", *roles, "-k", "2", "-m", "mdav", "--engine", engine),
                *("-o", target, "--force", "--report", "r.html", "--row-order", "kept"),
                folder=tmp_path,
            )
            assert done.code in (0, 2), (roles, target, done.err)
            assert "should not" not in done.err, (roles, target, done.err)
            only_in_memory = name == "one of several types" and engine == "disk"
            if roles == ("-q", "age") and target == "o.arrow" and not only_in_memory:
                assert done.code == 0, done.err
                back = pa.ipc.open_file(tmp_path / target).read_all()["x"]
                # Python has no dates so far away, and NaN is not equal to itself.
                same = back.combine_chunks().equals(KINDS[name])
                assert same or repr(back.to_pylist()) == repr(KINDS[name].to_pylist())
    assert microagg("inspect", "in.arrow", folder=tmp_path).code == 0


def test_errors_are_json_where_json_was_asked_for(folder):
    done = microagg(*PROTECT[:-1], "61", "-o", "r.csv", "--json", folder=folder)
    assert done.code == 2
    assert done.err == ""
    told = json.loads(done.out)
    assert told["exit"] == 2
    assert told["error"].startswith("k is 61")
    told = json.loads(microagg("inspect", "--json", folder=folder).out)
    assert told["exit"] == 2


def test_version_quiet_and_the_default_k(folder):
    assert microagg("--version", folder=folder).out == f"microagg {library.__version__}\n"
    quiet = microagg(*PROTECT, "-o", "r.csv", "--quiet", folder=folder)
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    said = microagg("protect", "survey.csv", *ROLES, "-o", "s.csv", folder=folder).out
    assert "(5 by default)" in said
    said = microagg(*PROTECT, "-o", "t.csv", folder=folder).out
    assert "(3 asked)" in said
    assert "by default" in microagg("protect", "survey.csv", *ROLES, "--dry-run", folder=folder).out


def test_a_shell_can_complete_commands(folder):
    done = subprocess.run(
        [sys.executable, "-m", "microagg"], capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "_MICROAGG_COMPLETE": "complete_bash", "COMP_WORDS": "microagg ins",
             "COMP_CWORD": "1"},
    )  # fmt: skip
    assert "inspect" in done.stdout.split()


def test_no_color_is_kept(folder, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" in microagg("inspect", "survey.csv", folder=folder).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in microagg("inspect", "survey.csv", folder=folder).out


def test_steps_are_logged_and_no_values(folder, caplog):
    caplog.set_level(logging.INFO, "microagg")
    library.protect(folder / "survey.csv", quasi_identifiers=("age", "income"), k=3, method="mdav")
    assert "grouping by mdav" in caplog.text
    assert "Person" not in caplog.text


def test_confidential_columns_have_a_table(folder):
    done = microagg(
        "assess", "survey.csv", "survey.csv", "-q", "age", "-c", "diagnosis", folder=folder
    )
    lines = done.out.splitlines()
    heading = next(place for place, line in enumerate(lines) if "disclosed %" in line)
    assert lines[heading].split()[0] == "confidential"
    assert lines[heading + 2].split()[0] == "diagnosis"


def test_every_command_reads_alike(folder):
    text = (folder / "survey.csv").read_text().replace(",", ";")
    (folder / "odd.dat").write_text(text.replace("NA", "-99"))
    reading = (
        "--delimiter",
        ";",
        "--encoding",
        "utf-8",
        "--missing-values",
        "-99",
        "--decimal",
        ".",
    )
    for command in (
        ("inspect", "odd.dat"),
        ("assess", "odd.dat", "odd.dat", "-q", "age"),
        ("compare", "odd.dat", "-q", "age", "-k", "3", "--methods", "mdav"),
        ("protect", "odd.dat", "-q", "age", "-m", "mdav", "-o", "a.csv"),
        ("private", "odd.dat", "-e", "1", "-b", "age=0:99", "--simulate", "-o", "b.csv"),
    ):
        done = microagg(*command, *reading, folder=folder)
        assert done.code == 0, done.err


@pytest.mark.parametrize("target", ["-", "sqlite:///out.db#people"])
def test_a_certificate_for_what_is_no_file(folder, target):
    """The record stands beside it, and pairs the rows that were shuffled."""
    done = microagg(*PROTECT, "-o", target, "--certificate", "x.certificate.json", folder=folder)
    assert done.code == 0, done.err
    told = json.loads((folder / "x.certificate.json").read_text())
    assert told["verdict"] == "passed"
    record = folder / "x.record.json"
    assert record.stat().st_mode & 0o777 == 0o600
    if target == "-":
        (folder / "out.csv").write_bytes(done.raw)
        paired = (
            "assess",
            "survey.csv",
            "out.csv",
            "--record",
            "x.record.json",
            "-q",
            "age,income",
        )
        assert microagg(*paired, folder=folder).code == 0
    again = (*PROTECT, "-o", target, "--certificate", "x.certificate.json")
    said = refusal(*again, folder=folder)
    # Of a database the table is looked at first; both are refused.
    assert ("x.certificate.json exists" if target == "-" else "already has a table") in said
    private = ("private", "survey.csv", "-e", "1", "-b", "age=0:99", "--simulate")
    done = microagg(*private, "-o", "-", "--certificate", "p.json", folder=folder)
    assert done.code == 0, done.err
    assert json.loads((folder / "p.json").read_text())["guarantee"]


def test_seconds_beyond_all_time():
    for settings in (
        {"refine": 1e308},
        {"refine": np.inf},
        {"method": "search", "time_limit": 1e308},
    ):
        with pytest.raises(OptionError, match="a number of seconds, 0 to a billion"):
            library.partition(np.arange(40.0).reshape(20, 2), 3, **settings)


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_column_that_groups_can_keep_nothing_of(tmp_path, engine):
    """Distances among as many categories as records would take hours, for nothing."""
    codes = [f"c{row}" for row in range(20_001)]
    path = tmp_path / "in.csv"
    path.write_text("\n".join(["code,age", *(f"{code},{len(code)}" for code in codes)]) + "\n")
    with pytest.raises(InputError, match="'code' has 20001 categories for 20001 records"):
        library.protect(path, quasi_identifiers=("code", "age"), engine=engine)


def test_notes_speak_of_options_too(folder):
    rows = ["age,income,weight", *(f"{i % 9},{i},{1 + 9000 * (i == 4)}" for i in range(40))]
    (folder / "weighted.csv").write_text("\n".join(rows))
    wanted = ("protect", "weighted.csv", "-q", "age,income", "-m", "mdav", "--weights", "weight")
    done = microagg(*wanted, "-o", "w.csv", "--row-order", "kept", folder=folder)
    assert done.code == 0, done.err
    for words in ("--weight-digits 2.", "--dominance income=0.8 refuses", "--row-order shuffled"):
        assert words in done.out
    assert microagg(*wanted, "-o", "d.csv", "--weight-digits", "2", folder=folder).code == 0
