"""From a table to its release, page by page, without a browser."""

import io
import json
import shlex
import subprocess
import sys
import zipfile

import pytest

from microagg.actions.example import patients
from microagg.app.wording import k_sentence
from microagg.base.recipe import Recipe
from tests.app.serving import code_blocks
from tests.commands import microagg


def csv_of(columns, delimiter=","):
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines = [delimiter.join(columns), *(delimiter.join(map(str, row)) for row in rows)]
    return "\n".join([*lines, ""]).encode()


@pytest.fixture(scope="module")
def table():
    return csv_of(patients(300), ";")


def test_first_page_shows_all_entries(guest):
    page = guest.page("/")
    for words in ("Drop a file", "Open the demo table", "Open by its path", "/private", "/assess"):
        assert words in page


def test_the_whole_path_and_what_is_written_is_what_the_command_writes(guest, table, tmp_path):
    opened = guest.open("patients.csv", table)
    page = guest.page("/")
    assert "semicolon" in page
    assert "utf-8" in page
    assert guest.columns("identifier") == ["patient"]
    assert "age" in guest.columns("quasi-identifier")
    said = guest.live("/roles", {"role:4": "keep"})
    assert "income" in list(guest.desk.state.draft.roles)[4]
    assert "records" in said["alone"]
    assert "income" not in said["alone"]
    assert said["alone"] in guest.page("/roles")

    said = guest.live("/promise", {"k": "4", "decimals": "1", "method": "mdav"})
    assert said["problem"] == ""
    assert Recipe.from_toml(said["recipe"]) == guest.desk.state.recipe()
    assert said["k"] == k_sentence(4)
    assert guest.post("/protect", {"k": "4"}).headers["location"] == "/result"
    assert guest.wait().status == "done"
    run = guest.desk.state.runs[-1]
    assert (run.recipe.k, run.recipe.method, run.recipe.decimals) == (4, "mdav", 1)
    page = guest.page(f"/result/{run.number}")
    assert 'class="verdict kept"' in page
    assert "What an intruder may still do" in page
    assert ' style="' not in page

    # The command that is shown, on the table by the name it was given, with the record.
    page = guest.page(f"/takeaway/{run.number}")
    command, script = code_blocks(page)
    archive = zipfile.ZipFile(io.BytesIO(guest.ask("GET", f"/zip/{run.number}/everything").body))
    assert archive.testzip() is None
    (tmp_path / "patients.csv").write_bytes(table)
    keep = archive.read("keep/release.csv.record.json")
    (tmp_path / "release.csv.record.json").write_bytes(keep)
    words = shlex.split(command)
    assert words[:2] == ["microagg", "protect"]
    done = microagg(*words[1:], "--force", "--report", "report.html", folder=tmp_path)
    assert done.code == 0, done.err
    assert (tmp_path / "release.csv").read_bytes() == archive.read("publish/release.csv")
    assert (tmp_path / "release.csv").read_bytes() == guest.ask(
        "GET", f"/file/{run.number}/release"
    ).body
    mine, theirs = (
        json.loads(content)
        for content in (
            archive.read("publish/release.csv.certificate.json"),
            (tmp_path / "release.csv.certificate.json").read_bytes(),
        )
    )
    del mine["made"], theirs["made"]
    assert mine == theirs
    assert archive.read("keep/protect.py").decode() == script
    assert opened.name in script
    assert Recipe.from_toml(archive.read("keep/recipe.toml").decode()) == run.recipe
    # What may be published has nothing of the owner's.
    publish = zipfile.ZipFile(io.BytesIO(guest.ask("GET", f"/zip/{run.number}/publish").body))
    assert sorted(publish.namelist()) == [
        "release.csv", "release.csv.certificate.json", "report-public.html"
    ]  # fmt: skip


def test_the_script_does_the_same_to_the_byte(guest, table, tmp_path):
    guest.open("survey.csv", table)
    guest.post("/protect", {"k": "3", "row_order": "kept", "method": "mdav"})
    assert guest.wait().status == "done"
    run = guest.desk.state.runs[-1]
    (tmp_path / "survey.csv").write_bytes(table)
    script = tmp_path / "protect.py"
    script.write_bytes(guest.ask("GET", f"/file/{run.number}/script").body)
    subprocess.run([sys.executable, script.name], cwd=tmp_path, check=True, capture_output=True)
    written = (tmp_path / "release.csv").read_bytes()
    assert written == guest.ask("GET", f"/file/{run.number}/release").body


def test_demands_on_confidential_columns_are_kept_and_told(guest, table):
    guest.open("patients.csv", table)
    names = list(guest.desk.state.draft.roles)
    keys = {f"diversity:{names.index('diagnosis')}": "2", f"closeness:{names.index('cost')}": "0.5"}
    said = guest.live("/promise", {"k": "4", **keys})
    assert "--diversity diagnosis=2 --closeness cost=0.5" in said["command"]
    guest.post("/protect", {**keys, "method": "mdav"})
    job = guest.wait()
    assert job.status == "done", job.problem
    run = guest.desk.state.runs[-1]
    assert run.recipe.closeness == {"cost": 0.5}
    assert "at least 2 different values of diagnosis" in run.demands
    assert "at least 2 different values of diagnosis" in guest.page("/result")


def test_runs_stay_and_stand_side_by_side(guest, table):
    guest.open("patients.csv", table)
    for k in (3, 6):
        guest.post("/protect", {"k": k, "method": "mdav"})
        assert guest.wait().status == "done"
    first, second = guest.desk.state.runs[-2:]
    page = guest.page(f"/result?of={first.number}&of={second.number}")
    assert "k asked, found" in page
    before = guest.page(f"/result/{first.number}")
    guest.post("/name", {"run": first.number, "name": "<b>mine</b>"})
    page = guest.page(f"/result/{first.number}")
    assert "&lt;b&gt;mine&lt;/b&gt;" in page
    assert "<b>mine" not in page
    assert before.count("verdict kept") == page.count("verdict kept") == 1


def test_another_format_is_the_same_release(guest, table):
    guest.open("patients.csv", table)
    guest.post("/protect", {"k": 3, "method": "mdav"})
    assert guest.wait().status == "done"
    run = guest.desk.state.runs[-1]
    guest.post("/format", {"run": run.number, "format": ".parquet"})
    assert guest.wait().status == "done"
    import pyarrow.parquet

    content = guest.ask("GET", f"/file/{run.number}/release.parquet").body
    rows = pyarrow.parquet.read_table(io.BytesIO(content)).column("age").to_pylist()
    lines = guest.ask("GET", f"/file/{run.number}/release").text.splitlines()
    place = lines[0].split(";").index("age")
    assert rows == [int(line.split(";")[place]) for line in lines[1:]]


def test_risk_compare_private_and_assess(guest, table, tmp_path):
    guest.open("patients.csv", table)
    guest.post("/roles", {"next": "risk"})
    assert guest.wait().status == "done"
    assert "re-identifications are to be expected" in guest.page("/risk")

    place = list(guest.desk.state.draft.roles).index("diagnosis")
    asked = {"ks": "3, 5", "methods": ["mdav", "zscore"], f"diversity:{place}": "none, 3"}
    guest.post("/compare", asked)
    assert guest.wait().status == "done"
    page = guest.page("/compare?choice=5")
    assert page.count("/compare?choice=") >= 16
    assert "Take this one" in page
    assert "With diversity diagnosis=3 the best is" in page
    assert 'value="none, 3"' in page
    guest.post("/use", {"k": "5", "method": "mdav", "demands": "diversity diagnosis=3"})
    recipe = guest.desk.state.recipe()
    assert (recipe.k, recipe.method, recipe.diversity) == (5, "mdav", {"diagnosis": 3})
    guest.post("/use", {"k": "5", "method": "mdav", "demands": ""})
    assert guest.desk.state.recipe().diversity == {}
    jobs = len(guest.desk.jobs.all)
    guest.post("/compare", {"ks": ",".join(map(str, range(2, 99))), "methods": ["mdav", "tsp"]})
    assert "at most 100" in guest.desk.state.problem
    guest.post("/compare", {**asked, f"diversity:{place}": "none, many"})
    assert "many" in guest.desk.state.problem
    assert len(guest.desk.jobs.all) == jobs

    guest.post("/private", {"epsilon": "1", "bounds:1": "0:120", "method": "marginals"})
    assert guest.wait().status == "done"
    assert "epsilon-differential privacy" in guest.page("/private")
    assert guest.ask("GET", "/private/release").body.startswith(b"age")

    guest.post("/protect", {"k": 3, "method": "mdav"})
    assert guest.wait().status == "done"
    run = guest.desk.state.runs[-1]
    files = {
        "release": ("r.csv", guest.ask("GET", f"/file/{run.number}/release").body),
        "record": ("r.json", guest.ask("GET", f"/file/{run.number}/record").body),
    }
    guest.upload("/assess", files, table=guest.desk.state.table.number)
    job = guest.wait()
    assert job.status == "done", job.problem
    assert "At least" in guest.page("/assess")


def test_what_does_not_fit_is_said_and_nothing_is_made(guest, table):
    guest.open("patients.csv", table)
    runs = len(guest.desk.state.runs)
    for name, text in (("k", "1"), ("k", "many"), ("decimals", "x=y"), ("method", "magic")):
        guest.post("/promise", {"k": "5", "decimals": "", "method": "", name: text})
        guest.post("/protect", {"page": "/promise"})
        guest.wait()
        page = guest.page("/promise")
        assert "That did not work" in page or 'class="job failed"' in page
    assert len(guest.desk.state.runs) == runs
    # What was typed is still there.
    assert 'value="5"' in page


def test_reading_can_be_put_right(guest):
    guest.open("odd.csv", b"a|b\n1|2\n3|4\n5|6\n")
    assert guest.post("/reading", {"delimiter": ","}).headers["location"] == "/"
    assert guest.wait().status == "done"
    assert len(guest.desk.state.table.look.columns) == 1
    guest.post("/reading", {"delimiter": "too long"})
    assert "delimiter" in guest.desk.state.problem


HOSTILE = "<script>alert(1)</script>\"'{{7*7}}&"


def test_cells_and_names_are_text_and_nothing_else(guest):
    rows = "".join(f'"{HOSTILE.replace(chr(34), chr(34) * 2)}",{n},{n % 7}\n' for n in range(30))
    name = HOSTILE.replace('"', '""')
    guest.open(HOSTILE + ".csv", f'"{name}",age,"cost {name}"\n{rows}'.encode())
    guest.post("/protect", {"k": 3, "method": "mdav"})
    assert guest.wait().status == "done"
    for path in (
        "/",
        "/roles",
        "/promise",
        "/compare",
        "/result",
        "/takeaway",
        "/private",
        "/assess",
    ):
        page = guest.page(path)
        assert "<script>alert" not in page, path
        assert "49" not in page or "{{7*7}}" in page, path
    assert "&lt;script&gt;alert(1)" in guest.page("/roles")


def test_a_form_of_another_table_does_nothing(guest, table):
    old = guest.open("first.csv", table).number
    guest.open("second.csv", b"age,town\n" + b"1,a\n" * 10)
    runs = len(guest.desk.state.runs)
    for path in ("/roles", "/promise", "/protect", "/compare", "/risk", "/use", "/reading"):
        guest.post(path, {"table": old, "role:0": "identifier", "k": "7"})
        assert "not open any more" in guest.desk.state.problem, path
    assert guest.desk.state.draft.roles["age"] != "identifier"
    assert len(guest.desk.state.runs) == runs
    assert not guest.desk.jobs.under_way


def test_a_file_is_opened_in_its_place(guest, table):
    path = guest.desk.doors.folder / "here.csv"
    path.write_bytes(table)
    assert "here.csv" in guest.page("/")
    guest.post("/open", {"path": "here.csv"})
    assert guest.wait().status == "done"
    assert guest.desk.state.table.address == str(path.resolve())


def test_delete_everything(guest, table):
    desk = guest.desk
    guest.open("patients.csv", table)
    guest.post("/protect", {"k": 3, "method": "mdav"})
    guest.wait()
    assert desk.state.runs
    assert list(desk.home.path.rglob("*.csv"))
    assert guest.post("/forget").headers["location"] == "/"
    assert desk.state.table is None
    assert not list(desk.home.path.rglob("*.csv"))
    # The app goes on.
    assert guest.open("patients.csv", table).look.rows == 300
