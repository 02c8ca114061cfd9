"""The ledger: exact sums by data set, limits, links, edits, crashes, and two processes at once."""

import hashlib
import json
import math
import stat
import subprocess
import sys

import numpy as np
import pytest

from microagg.base.errors import InputError, MicroaggError, OptionError
from microagg.private import Ledger, prepared, release
from microagg.release.output import certificate_path

X = np.linspace(0, 1, 8)
BOUNDS = {"0": (0, 1)}
HEAD = '{\n "microagg ledger": 1,\n '


def spend(ledger, epsilon, x=X, dataset="survey", bounds=BOUNDS, **options):
    return release(x, epsilon=epsilon, bounds=bounds, ledger=ledger, dataset=dataset, **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.json"


def test_spends_up_to_the_limit_and_no_further(tmp_path):
    path = tmp_path / "deep" / "ledger.json"
    for _ in range(3):
        spend(Ledger(path, limit=0.3), 0.1)
    before = path.read_bytes()
    with pytest.raises(
        OptionError, match=r"of the limit 0\.3 the data set 'survey' has spent 0\.3"
    ):
        spend(Ledger(path, limit=0.3), 1e-6)
    assert path.read_bytes() == before
    assert Ledger(path).spent() == {"survey": 0.3}
    spend(Ledger(path, limit=0.3), 0.3, dataset="another")
    spend(Ledger(path), 5.0)  # without a limit it only counts
    assert Ledger(path).spent() == {"survey": 5.3, "another": 0.3}


def test_columns_rows_and_spellings_of_one_data_set_add_up(path):
    """Neither naming columns one by one nor sorting rows makes another data set."""
    ledger = Ledger(path, limit=1.0)
    wide = {"a": X, "b": X}
    for name, table in (("survey 2026", wide), ("Survey  2026 ", {"a": X[::-1], "b": X[::-1]})):
        for column in ("a", "b"):
            one = {column: table[column]}
            spend(ledger, 0.25, one, dataset=name, bounds={column: (0, 1)})
    assert ledger.spent() == {"survey 2026": 1.0}
    with pytest.raises(OptionError, match="has spent 1;"):
        spend(ledger, 0.1, X[:4], dataset="survey 2026")
    assert ledger.receipt == "epsilon 0.25 is spent on 'survey 2026': 1 of 1 in all"


@pytest.mark.parametrize("dataset", [None, "", "  ", 5])
def test_a_data_set_has_a_name(path, dataset):
    with pytest.raises(OptionError, match=r"dataset.*such as 'survey-2026'"):
        spend(Ledger(path), 1.0, dataset=dataset)
    with pytest.raises(OptionError, match="go together"):
        release(X, epsilon=1.0, bounds=BOUNDS, dataset="survey")
    assert not list(path.parent.iterdir())


def test_is_for_the_eyes_of_its_owner(path):
    path.touch(0o644)
    path.unlink()
    spend(Ledger(path), 1.0)
    assert {stat.S_IMODE(found.stat().st_mode) for found in path.parent.iterdir()} == {0o600}


def test_writes_down_what_kind_of_guarantee(path):
    spend(Ledger(path), 1.0, method="optimal", accept="partition-conditional")
    (entry,) = json.loads(path.read_text())["entries"]
    assert entry["epsilon"] == 1.0
    assert entry["definition"].endswith("given the partition")
    assert set(entry) == {"dataset", "epsilon", "definition", "time", "sha256"}


def test_simulations_spend_nothing(path):
    spend(Ledger(path), 1.0, simulate=True)
    assert Ledger(path).spent() == {}
    assert not list(path.parent.iterdir())


def test_is_spent_before_noise_is_drawn(path, monkeypatch):
    monkeypatch.setattr(prepared, "add_noise", lambda *_settings: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        spend(Ledger(path), 1.0)
    assert Ledger(path).spent() == {"survey": 1.0}


def test_what_is_refused_costs_nothing_and_leaves_nothing(path):
    folder = path.parent / "folder.csv"
    folder.mkdir()
    file = folder / "file"
    file.touch()
    address = f"sqlite:///{path.parent}/no-such-folder/survey.db#people"
    for message, options in (
        ("k must be", {"k": 0}),
        ("real releases have none", {"seed": 1}),
        ("is a folder", {"output": folder}),
        ("no folder one may write to", {"output": file / "release.csv"}),
        ("tells no format", {"output": path.parent / "x.strange"}),
        ("cannot be opened", {"output": address}),
        ("which table", {"output": f"sqlite:///{path.parent}/survey.db"}),
        ("limit 0.5", {"ledger": Ledger(path, 0.5)}),
    ):
        with pytest.raises((MicroaggError, OSError), match=message):
            spend(**{"ledger": Ledger(path), "epsilon": 1.0, **options})
    assert list(folder.iterdir()) == [file]
    file.unlink()
    folder.rmdir()
    assert not list(path.parent.iterdir())


def test_an_output_is_tried_before_epsilon_is_spent(path, monkeypatch):
    target = path.parent / "release.csv"

    def full(*_settings, **_named):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("microagg.private.outcome.write_json", full)
        with pytest.raises(OSError, match="No space"):
            spend(Ledger(path), 1.0, output=target)
    assert not list(path.parent.iterdir())
    made = spend(Ledger(path), 1.0, output=target)
    assert not target.exists()
    made.write(target)
    with pytest.raises(OptionError, match="exists"):
        spend(Ledger(path), 1.0, output=target)
    before = target.read_bytes()
    spend(Ledger(path), 1.0, output=target, force=True)
    assert target.read_bytes() == before
    assert Ledger(path).spent() == {"survey": 2.0}


def test_symbolic_links_are_one_ledger(path):
    link = path.parent / "elsewhere" / "link.json"
    link.parent.mkdir()
    link.symlink_to(path)
    spend(Ledger(link, 1.0), 0.75)
    assert Ledger(path).spent() == {"survey": 0.75}
    with pytest.raises(OptionError, match=r"has spent 0\.75"):
        spend(Ledger(path, 1.0), 0.75)
    spend(Ledger(link, 1.0), 0.25)
    assert link.is_symlink()
    assert sorted(found.name for found in path.parent.rglob("*")) == [
        "elsewhere", "ledger.json", "ledger.json.lock", "link.json",
    ]  # fmt: skip


def test_hard_links_are_refused(path):
    spend(Ledger(path), 0.75)
    other = path.parent / "other.json"
    other.hardlink_to(path)
    for name in (path, other):
        with pytest.raises(InputError, match="second name"):
            spend(Ledger(name), 0.75)
    other.unlink()
    assert Ledger(path).spent() == {"survey": 0.75}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "age,income\n1,2\n",
        '{"microagg ledger": 2, "entries": []}',
        HEAD + "}",
        HEAD + '"sha256": "", "entries": 5}',
        HEAD + '"sha256": "", "entries": [5]}',
        HEAD + '"sha256": "", "entries": [{}]}',
        HEAD + '"sha256": "0", "entries": []}',
        HEAD + '"sha256": "", "entries": ' + "[" * 10**5,
    ],
)
def test_a_damaged_ledger_is_no_empty_one(path, text):
    path.write_text(text)
    with pytest.raises(InputError, match="is no ledger"):
        spend(Ledger(path), 1.0)
    assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


def rechained(entries):
    """Entries as somebody would write them who knows how hashes are made."""
    head, made = "", []
    for entry in entries:
        said = {key: value for key, value in entry.items() if key != "sha256"}
        head = hashlib.sha256((head + json.dumps(said, sort_keys=True)).encode()).hexdigest()
        made.append({**said, "sha256": head})
    return {"microagg ledger": 1, "sha256": head, "entries": made}


EDITS = {
    "less": lambda entries: entries[0].update(epsilon=0.1),
    "another name": lambda entries: entries[0].update(dataset="other"),
    "one gone": lambda entries: entries.pop(0),
    "the last gone": lambda entries: entries.pop(),
    "in another order": lambda entries: entries.reverse(),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_shows(path, edit):
    for epsilon in (1.0, 0.5):
        spend(Ledger(path), epsilon)
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content, indent=1))
    assert Ledger(path).spent() == {"survey": 1.5}
    edit(content["entries"])
    path.write_text(json.dumps(content, indent=1))
    with pytest.raises(InputError, match="changed by others"):
        Ledger(path).spent()


@pytest.mark.parametrize("epsilon", [-1.0, 0.0, math.nan, math.inf, "1", True, None])
def test_no_entry_gives_epsilon_back(path, epsilon):
    spend(Ledger(path), 1.0)
    entries = json.loads(path.read_text())["entries"]
    path.write_text(json.dumps(rechained([*entries, entries[0]]), indent=1))
    assert Ledger(path).spent() == {"survey": 2.0}
    path.write_text(json.dumps(rechained([*entries, {**entries[0], "epsilon": epsilon}]), indent=1))
    with pytest.raises(InputError, match="changed by others"):
        Ledger(path).spent()


def test_a_table_is_no_ledger_nor_is_an_output(path):
    table, target = path.with_name("survey.csv"), path.with_name("release.csv")
    table.write_text("age\n" + "30\n" * 8)
    settings = {"bounds": {"age": (0, 110)}, "output": target}
    for name, message in ((table, "too"), (target, "too"), (certificate_path(target), "too")):
        with pytest.raises(OptionError, match=message):
            spend(Ledger(name), 1.0, table, **settings)
    path.write_text(table.read_text())
    with pytest.raises(InputError, match="is no ledger"):
        spend(Ledger(path), 1.0, table, **settings)
    assert sorted(path.parent.iterdir()) == [path, table]


def test_a_ledger_is_never_written_over(path):
    made = spend(Ledger(path), 1.0)
    before = path.read_bytes()
    (path.parent / "report.html").symlink_to(path)
    (path.parent / "release.csv").symlink_to(path)
    with pytest.raises(OptionError, match="is a ledger"):
        made.write(path.parent / "release.csv", force=True)
    with pytest.raises(OptionError, match="is a ledger"):
        made.report(path.parent / "report.html")
    assert path.read_bytes() == before


def test_without_a_lock_nothing_is_spent(path, monkeypatch):
    monkeypatch.setattr("microagg.private.ledger.lock", lambda _file, *, wait: not wait)
    with pytest.raises(InputError, match="cannot be locked"):
        spend(Ledger(path), 1.0)
    assert Ledger(path).spent() == {}


def test_a_crash_leaves_the_ledger_as_it_was(path, monkeypatch):
    spend(Ledger(path), 1.0)
    before = path.read_bytes()

    def crash(*_settings):
        raise OSError(5, "Input/output error")

    for step in ("os.fsync", "pathlib.Path.replace"):
        with monkeypatch.context() as patch:
            patch.setattr(step, crash)
            with pytest.raises(OSError, match="Input/output"):
                spend(Ledger(path), 1.0)
        assert path.read_bytes() == before
    assert sorted(found.name for found in path.parent.iterdir()) == [
        "ledger.json", "ledger.json.lock",
    ]  # fmt: skip


def test_works_where_there_is_no_fcntl():
    script = (
        "import sys; sys.modules['fcntl'] = None\n"
        "import microagg.private.ledger, microagg.cli.private, microagg.private.outcome\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_two_processes_at_once(tmp_path):
    """Both want 60 times 0.01; the limit lets 100 through, whoever is faster."""
    path = tmp_path / "ledger.json"
    script = (
        "import sys\n"
        "from microagg.base.errors import OptionError\n"
        "from microagg.private.ledger import Ledger\n"
        "ledger = Ledger(sys.argv[1], limit=1.0)\n"
        "done = 0\n"
        "for _ in range(60):\n"
        "    try:\n"
        "        ledger.spend('the table', 0.01, 'a test')\n"
        "        done += 1\n"
        "    except OptionError:\n"
        "        pass\n"
        "print(done)\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    done = [int(process.communicate()[0]) for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert sum(done) == 100
    assert Ledger(path).spent() == {"the table": 1.0}
    assert sorted(found.name for found in tmp_path.iterdir()) == ["ledger.json", "ledger.json.lock"]
