"""Input that nobody should send: one clear sentence, exit code 2, nothing lost, no value told."""

import errno
import os
import resource
import subprocess
import sys

import pyarrow as pa
import pytest

from microagg.table.formats import format_of
from tests import forking
from tests.commands import ROLES, microagg, refusal, survey
from tests.forking import PIPE

SECRET = "Zwiebelfisch"


def refused(folder, content, *arguments, columns="age,income"):
    """The sentence about a file with this content; a record's value is never in it."""
    content = content if isinstance(content, bytes) else content.encode()
    (folder / "in.csv").write_bytes(content)
    said = refusal(
        "protect", "in.csv", "-q", columns, "-k", "2", "-o", "out.csv", *arguments, folder=folder
    )
    assert SECRET not in said
    assert "4711" not in said
    return said


def accepted(folder, content, *arguments, columns="age,income"):
    content = content if isinstance(content, bytes) else content.encode()
    (folder / "in.csv").write_bytes(content)
    done = microagg(
        "protect", "in.csv", "-q", columns, "-k", "2", "-o", "out.csv", *arguments, folder=folder
    )
    assert done.code == 0, done.err
    return (folder / "out.csv").read_bytes()


@pytest.mark.parametrize("content", ["", "\n", "\n\n\n", "\ufeff", " "])
def test_an_empty_file(tmp_path, content):
    assert "in.csv" in refused(tmp_path, content) or content == " "


def test_a_header_and_nothing_else(tmp_path):
    assert "no records" in refused(tmp_path, "age,income\n")
    assert "no records" in refused(tmp_path, "age,income")


def test_one_column(tmp_path):
    lines = accepted(tmp_path, "age\n20\n21\n40\n41\n", columns="age").decode().split()
    assert [lines[0], *sorted(lines[1:])] == ["age", "21", "21", "41", "41"]


def test_one_record(tmp_path):
    assert "k is 2" in refused(tmp_path, "age,income\n20,4711\n")


def test_repeated_column_names(tmp_path):
    said = refused(tmp_path, "age,age,income\n20,1,4711\n30,2,4711\n")
    assert "'age'" in said


def test_a_column_without_a_name(tmp_path):
    assert "name" in refused(tmp_path, "age,,income\n20,1,4711\n30,2,4711\n")


def test_ten_thousand_columns(tmp_path):
    names = [f"c{place}" for place in range(10_000)]
    rows = [",".join(str(row * place % 97) for place in range(10_000)) for row in range(12)]
    text = ",".join(names) + "\n" + "\n".join(rows) + "\n"
    more = ("-m", "zscore", "--row-order", "kept")
    written = accepted(tmp_path, text, *more, columns="c1,c2,c9999").decode().splitlines()
    assert written[0].split(",") == names
    assert written[5].split(",")[3:9999] == rows[4].split(",")[3:9999]


def test_ragged_rows(tmp_path):
    said = refused(tmp_path, f"age,income\n20,1\n30,2,{SECRET}\n40,3\n")
    assert "row 3" in said
    said = refused(tmp_path, f"age,income,x\n20,1,2\n{SECRET}\n40,3,1\n")
    assert "row 3" in said


def test_a_line_of_a_hundred_megabytes(tmp_path):
    content = b"age,income\n20,1\n30," + b"9" * 100_000_000 + b"\n40,2\n"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "longer than" in refused(tmp_path, content)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # The test itself holds the content, and compares it with what is on the disk afterwards.
    assert after - before < 6 * len(content) / 1024


def test_a_first_line_without_an_end(tmp_path):
    assert "first line" in refused(tmp_path, b"age," * 500_000)


def test_zero_bytes(tmp_path):
    assert "NUL" in refused(tmp_path, b"age,income\n20,1\n3\x000,2\n40,4\n")


def test_bytes_that_are_no_text(tmp_path):
    assert "in.csv" in refused(tmp_path, bytes(range(256)) * 100)
    assert "zip" in refused(tmp_path, b"PK\x03\x04" + bytes(100))


def test_a_wrong_encoding(tmp_path):
    content = "age,name\n20,Jürgen\n21,Zoë\n40,x\n41,y\n"
    said = refused(tmp_path, content.encode("cp1252"), "--encoding", "utf-8", columns="age")
    assert "utf-8" in said
    assert "--encoding" in said
    assert "unknown" in refused(tmp_path, content, "--encoding", "martian", columns="age")
    written = accepted(tmp_path, content.encode("cp1252"), columns="age")
    assert "Jürgen".encode("cp1252") in written


def test_a_quote_that_never_closes(tmp_path):
    assert "quote" in refused(tmp_path, f'age,income\n20,1\n30,"{SECRET}\n40,2\n')


def test_mixed_types_in_a_quasi_identifier(tmp_path):
    rows = "".join(f"{20 + row},{row}\n" for row in range(9))
    said = refused(tmp_path, f"age,income\n{rows}{SECRET},7\n")
    assert "'age' mixes numbers" in said
    assert "nominal" in said


def test_numbers_as_text(tmp_path):
    rows = "".join(f"{20 + row},+{4711 + row}\n" for row in range(9))
    said = refused(tmp_path, f"age,income\n{rows}")
    assert "'income'" in said
    accepted(tmp_path, f"age,income\n{rows}", "--kinds", "income=nominal")


def test_dates_as_text(tmp_path):
    rows = "".join(f"{20 + row},{row + 1}/3/4711\n" for row in range(9))
    said = refused(tmp_path, f"age,born\n{rows}", columns="age,born")
    assert "'born' holds dates as text" in said


def test_a_number_that_is_none(tmp_path):
    rows = "".join(f"{20 + row},{row}.5\n" for row in range(9))
    for odd in ("inf", "1e999", "-Infinity"):
        said = refused(tmp_path, f"age,income\n{rows}20,{odd}\n")
        assert "'income'" in said


def test_nothing_but_missing_values(tmp_path):
    rows = "".join(f"{20 + row},NA,{row}\n" for row in range(9))
    written = accepted(tmp_path, f"age,income,x\n{rows}").decode().splitlines()
    assert [line.split(",")[1] for line in written[1:]] == ["NA"] * 9
    said = refused(tmp_path, f"age,income,x\n{rows}", "--missing", "error", "--force")
    assert "'income' has 9 missing values" in said


@pytest.mark.parametrize("k", ["0", "-3", "61", "99999999999999999999"])
def test_a_bad_k(tmp_path, k):
    survey(tmp_path / "survey.csv")
    said = refusal("protect", "survey.csv", *ROLES, "-k", k, "-o", "r.csv", folder=tmp_path)
    assert "k" in said


def test_unknown_columns(tmp_path):
    survey(tmp_path / "survey.csv")
    for option, name, hint in (
        ("-q", "incme", "'income'"),
        ("-q", "INCOME", "'income'"),
        ("-c", "diagnose", "'diagnosis'"),
        ("-i", "nam", "'name'"),
        ("--within", "membr", "'member'"),
        ("--weights", "visit", "'visits'"),
        ("--entity", "nme", "'name'"),
    ):
        chosen = ("-q", "age") if option != "-q" else ()
        said = refusal(
            "protect", "survey.csv", *chosen, option, name, "-o", "r.csv", folder=tmp_path
        )
        assert f"did you mean {hint}?" in said
    said = refusal("protect", "survey.csv", "-q", "xyzzy", "-o", "r.csv", folder=tmp_path)
    assert "there are 'name', 'age'" in said
    for command in (("compare", "survey.csv"), ("assess", "survey.csv", "survey.csv")):
        assert "'income'" in refusal(*command, "-q", "incme", folder=tmp_path)
    said = refusal("assess", "survey.csv", "survey.csv", "--key", "nam", folder=tmp_path)
    assert "'name'" in said


def test_a_column_with_two_roles(tmp_path):
    survey(tmp_path / "survey.csv")
    said = refusal(
        "protect", "survey.csv", "-q", "age", "-c", "age", "-o", "r.csv", folder=tmp_path
    )
    assert "one role" in said


def test_places_that_cannot_be_written(tmp_path):
    survey(tmp_path / "survey.csv")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder.csv").mkdir()
    for option in ("-o", "--report", "--save-recipe"):
        others = () if option == "-o" else ("-o", "r.csv")
        for place in ("file/r.csv", "file/deeper/r.csv", "folder.csv"):
            said = refusal("protect", "survey.csv", *ROLES, option, place, *others, folder=tmp_path)
            assert place.rpartition("/")[2] in said
    said = refusal("protect", "survey.csv", *ROLES, "-o", "/proc/none/r.csv", folder=tmp_path)
    assert "/proc/none" in said
    assert refusal("compare", "survey.csv", "-q", "age", "-r", "file/x.html", folder=tmp_path)


def test_formats_that_cannot_be_written(tmp_path):
    survey(tmp_path / "survey.csv")
    for name in ("r.doc", "r", "r.sas7bdat", "r.xlsm", "r.csv.bz2"):
        said = refusal("protect", "survey.csv", *ROLES, "-o", name, folder=tmp_path)
        assert "written" in said or "suffix" in said


def test_inputs_that_are_not_there(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for name in ("missing.csv", "folder.csv", "missing.parquet", "missing.xlsx", "missing.sav"):
        for arguments in (
            ("protect", name, "-q", "age", "-o", "r.csv"),
            ("inspect", name),
            ("assess", name, name),
            ("compare", name, "-q", "age"),
        ):
            assert name in refusal(*arguments, folder=tmp_path)
    for name in ("folder", "what.doc", "sqlite:///missing.db#people", "postgresql://nowhere"):
        assert refusal("inspect", name, folder=tmp_path)
    (tmp_path / "empty").mkdir()
    assert "no Parquet files" in refusal("inspect", "empty", folder=tmp_path)


@pytest.mark.parametrize("suffix", ["parquet", "feather", "xlsx", "sav", "dta", "sas7bdat"])
def test_files_that_are_not_what_they_are_called(tmp_path, suffix):
    for content in (b"", b"age,income\n20,4711\n", bytes(range(256)) * 64):
        (tmp_path / f"in.{suffix}").write_bytes(content)
        said = refusal("protect", f"in.{suffix}", "-q", "age", "-o", "r.csv", folder=tmp_path)
        assert f"in.{suffix}" in said
        assert "4711" not in said


def test_nothing_on_standard_input(tmp_path):
    assert "empty" in refusal("protect", "-", "-q", "age", "-o", "-", folder=tmp_path)
    assert "empty" in refusal("inspect", "-", folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("k = = 5", "TOML"),
        ("quasi_identifiers = ['age'", "TOML"),
        ("quasi_identifiers = ['age']\nkk = 5", "'k'"),
        ("quasi_identifier = ['age']", "quasi_identifiers"),
        ("quasi_identifiers = ['age']\nk = 'five'", "k: "),
        ("quasi_identifiers = ['age']\nk = 2.5", "k: "),
        ("quasi_identifiers = ['age']\nmissing = 'ignore'", "missing"),
        ("quasi_identifiers = ['age']\nmethod = 'mdv'", "mean mdav"),
        ("quasi_identifiers = ['age']\nmethod = 'mdav'\noptions = {gama = 1}", "gama"),
        ("quasi_identifiers = ['age']\n[kinds]\nage = 'numeric'", "kinds"),
        ("quasi_identifiers = ['age']\n[kinds]\nagee = 'integer'", "'age'"),
        ("quasi_identifiers = ['age']\n[reading]\ndelimitr = ','", "'delimiter'"),
        ("quasi_identifiers = ['age']\n[reading]\ndelimiter = 'abc'", "delimiter"),
        ("k = 5", "--quasi-identifiers"),
        ("", "--quasi-identifiers"),
        ("quasi_identifiers = []", "--quasi-identifiers"),
        ("quasi_identifiers = 7", "--quasi-identifiers"),
    ],
)
def test_broken_recipes(tmp_path, text, hint):
    survey(tmp_path / "survey.csv")
    (tmp_path / "r.toml").write_text(text)
    said = refusal("protect", "survey.csv", "--recipe", "r.toml", "-o", "r.csv", folder=tmp_path)
    assert hint in said


def test_recipes_that_are_no_text_or_not_there(tmp_path):
    survey(tmp_path / "survey.csv")
    (tmp_path / "r.toml").write_bytes(b"\xff\xfe\x00")
    for name in ("r.toml", "missing.toml", str(tmp_path)):
        assert refusal("protect", "survey.csv", "--recipe", name, "-o", "r.csv", folder=tmp_path)


def test_assessing_tables_that_do_not_belong_together(tmp_path):
    survey(tmp_path / "survey.csv")
    (tmp_path / "short.csv").write_text("age,income\n20,4711\n")
    (tmp_path / "other.csv").write_text("x\n" + "1\n" * 60)
    for name in ("short.csv", "other.csv"):
        said = refusal("assess", "survey.csv", name, folder=tmp_path)
        assert "4711" not in said
    said = refusal("assess", "survey.csv", "survey.csv", "--key", "zip", folder=tmp_path)
    assert "zip" in said
    assert "0100" not in said


def test_comparing_what_cannot_be_done(tmp_path):
    survey(tmp_path / "survey.csv")
    command = ("compare", "survey.csv", "-q", "age")
    assert "mdav" in refusal(*command, "--methods", "mdv", folder=tmp_path)
    assert "61" in refusal(*command, "-k", "3,61", "--methods", "mdav", folder=tmp_path)
    assert refusal(*command, "-k", "0", "--methods", "mdav", folder=tmp_path)


def test_a_real_process_says_the_same(tmp_path):
    """Without a traceback, whatever surrounds the call."""
    (tmp_path / "in.csv").write_text(f"age,income\n20,1\n30,2,{SECRET}\n")
    command = [sys.executable, "-m", "microagg", "protect", "in.csv", "-q", "age", "-o", "r.csv"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("microagg: row 3 of in.csv has 3 field")
    assert done.stderr.count("\n") == 1


# --- A process in poor surroundings ---------------------------------------------------------------


def run(folder, *arguments, stdout=None):
    """A process of its own, and what a shell sees of it."""
    return forking.run("-m", "microagg", *arguments, cwd=folder, stdout=stdout)


def run_without(stream, folder, *arguments):
    """The same from its very start, with a standard stream that is closed."""
    command = [sys.executable, "-m", "microagg", *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120,
        preexec_fn=lambda: os.close(stream),
    )  # fmt: skip


PROTECT = ("protect", "in.csv", "-q", "age,income", "-k", "3", "-m", "zscore")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx"])
def test_a_pipe_that_is_called_a_file(tmp_path, suffix):
    pipe = tmp_path / f"in.{suffix}"
    os.mkfifo(pipe)
    for command in ("protect", "inspect"):
        more = ("-q", "age", "-o", "out.csv") if command == "protect" else ()
        done = run(tmp_path, command, pipe.name, *more)
        assert done.returncode == 2
        assert done.stderr == (
            f"microagg: '{pipe.name}' is a pipe or a device, not a file; pipe a table into - "
            "instead\n"
        )


@pytest.mark.parametrize(
    ("option", "said"),
    [("--recipe", "is a pipe or a device, not a file"), ("--record", "is no record of a release")],
)
def test_a_pipe_that_nobody_writes_to(tmp_path, option, said):
    survey(tmp_path / "in.csv")
    os.mkfifo(tmp_path / "pipe")
    done = run(tmp_path, *PROTECT, "-o", "out.csv", option, "pipe")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_standard_streams_that_are_closed(tmp_path, closed):
    survey(tmp_path / "in.csv")
    done = run_without(closed, tmp_path, *PROTECT, "-o", "out.csv")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.csv").read_text().startswith("name,age")
    if closed == 0:
        done = run_without(0, tmp_path, "protect", "-", *PROTECT[2:], "-o", "out2.csv")
        assert "standard input, but nothing is piped in" in done.stderr
    if closed == 1:
        done = run_without(1, tmp_path, *PROTECT, "-o", "-")
        assert done.stderr.endswith("standard output, which is closed; name a file\n")
    if closed == 2:
        done = run_without(2, tmp_path, *PROTECT, "-o", "-")
        assert done.stdout.startswith("name,age")
        assert len(done.stdout.splitlines()) == 61
        done = run_without(2, tmp_path, "protect", "no.csv", "-q", "x", "-o", "-")
        assert done.stdout == ""
    assert done.returncode == (0 if closed == 2 and done.stdout else 2)
    assert done.stderr.count("\n") == (closed != 2)


def test_a_reader_that_goes_away(tmp_path):
    survey(tmp_path / "in.csv", records=20_000)
    command = ("-m", "microagg", *PROTECT, "-o", "-")
    with forking.Process(*command, cwd=tmp_path, stdout=PIPE, stderr=PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 141
    assert said == b""


def test_a_standard_output_that_is_full(tmp_path):
    survey(tmp_path / "in.csv")
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = run(tmp_path, *PROTECT, "-o", "-", stdout=full)
    assert done.returncode == 2
    assert done.stderr == "microagg: No space left on device\n"


FAILURES = [
    MemoryError(),
    pa.ArrowMemoryError("malloc of size 47114711 failed"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    RuntimeError("can't start new thread"),
    ImportError("x.so: failed to map segment from shared object"),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize(
    ("suffix", "inside"),
    [
        ("csv", "microagg.table.formats.csv.columns._Utf8Stream.read"),
        ("xlsx", "openpyxl.reader.excel.ExcelReader.read"),
        ("sav", "pyreadstat.read_sav"),
        ("parquet", "pyarrow.parquet.ParquetFile.iter_batches"),
        ("csv", "microagg.actions.protect.make_plan"),
    ],
)
def test_memory_that_is_not_enough(tmp_path, monkeypatch, suffix, inside, failure):
    """One sentence that says what helps, wherever it happens, and not that a file is damaged."""
    table = pa.table({"age": [1.0] * 9, "income": [2.0] * 9})
    format_of(f"in.{suffix}").write(table, tmp_path / f"in.{suffix}", None)

    def fail(*_, **__):
        raise failure

    monkeypatch.setattr(inside, fail)
    said = refusal("protect", f"in.{suffix}", *PROTECT[2:], "-o", "out.csv", folder=tmp_path)
    if inside.startswith("microagg.actions") or isinstance(failure, MemoryError):
        assert said.startswith("there is not enough memory")
        assert "--engine disk" in said
