"""The ledger: exact sums, limits, and two processes at once."""

import json
import subprocess
import sys

import numpy as np
import pytest

from microagg.base.errors import InputError, OptionError
from microagg.private import Ledger, release, releasing
from microagg.private.ledger import fingerprint

X = np.linspace(0, 1, 8)
BOUNDS = {"0": (0, 1)}


def spend(ledger, epsilon, x=X, **options):
    return release(x, epsilon=epsilon, bounds=BOUNDS, method="marginals", ledger=ledger, **options)


def test_spends_up_to_the_limit_and_no_further(tmp_path):
    path = tmp_path / "deep" / "ledger.json"
    for _ in range(3):
        spend(Ledger(path, limit=0.3), 0.1)
    before = path.read_bytes()
    with pytest.raises(OptionError, match=r"of the limit 0\.3 the table has spent 0\.3"):
        spend(Ledger(path, limit=0.3), 1e-6)
    assert path.read_bytes() == before
    assert list(Ledger(path).spent().values()) == [0.3]
    spend(Ledger(path, limit=0.3), 0.3, X + 0.001)  # another table
    assert sorted(Ledger(path).spent().values()) == [0.3, 0.3]
    spend(Ledger(path), 5.0)  # without a limit it only counts
    assert sorted(Ledger(path).spent().values()) == [0.3, 5.3]


def test_writes_down_what_kind_of_guarantee(tmp_path):
    path = tmp_path / "ledger.json"
    release(
        X,
        epsilon=1.0,
        bounds=BOUNDS,
        method="optimal",
        accept="partition-conditional",
        ledger=Ledger(path),
    )
    ((line,),) = json.loads(path.read_text())["tables"].values()
    assert line["epsilon"] == 1.0
    assert line["definition"].endswith("given the partition")


def test_simulations_spend_nothing(tmp_path):
    path = tmp_path / "ledger.json"
    spend(Ledger(path), 1.0, simulate=True)
    assert Ledger(path).spent() == {}


def test_is_spent_before_noise_is_drawn(tmp_path, monkeypatch):
    path = tmp_path / "ledger.json"
    monkeypatch.setattr(releasing, "add_noise", lambda *_settings: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        spend(Ledger(path), 1.0)
    assert list(Ledger(path).spent().values()) == [1.0]


def test_what_is_refused_costs_nothing(tmp_path):
    path = tmp_path / "ledger.json"
    with pytest.raises(OptionError):
        spend(Ledger(path), 1.0, k=0)
    with pytest.raises(OptionError):
        spend(Ledger(path), 1.0, seed=1)
    assert not path.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": 2, "tables": {}}',
        '{"version": 1}',
        '{"version": 1, "tables": {"a": [{}]}}',
        '{"version": 1, "tables": {"a": [{"epsilon": "much"}]}}',
        '{"version": 1, "tables": {"a": 5}}',
    ],
)
def test_a_damaged_ledger_is_no_empty_one(tmp_path, text):
    path = tmp_path / "ledger.json"
    path.write_text(text)
    with pytest.raises(InputError, match="cannot be read"):
        spend(Ledger(path), 1.0)
    assert path.read_text() == text


def test_fingerprints():
    table = {"a": np.array([1.0, 2.0]), "b": np.array(["x", "y"])}
    same = {"b": np.array(["x", "y"]), "a": np.array([1.0, 2.0])}
    assert fingerprint(table) == fingerprint(same)
    others = [
        {"a": np.array([1.0, 2.5]), "b": table["b"]},
        {"a": table["a"], "c": table["b"]},
        {"a": table["a"], "b": np.array(["xy", ""])},
        {"a": table["a"]},
    ]
    assert len({fingerprint(other) for other in [table, *others]}) == 5
    assert fingerprint({"a": np.array([0.0])}) == fingerprint({"a": np.array([-0.0])})


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
