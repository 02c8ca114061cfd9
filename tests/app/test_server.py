"""The app as a program."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import pytest

from microagg.app.desk import Doors
from microagg.app.server import Server
from microagg.base.errors import OptionError
from tests.app.serving import Guest, running
from tests.commands import microagg


@pytest.fixture
def program(tmp_path):
    """`microagg app`, started in a folder; each is ended."""
    children = []

    def start(*words):
        child = subprocess.Popen(
            [sys.executable, "-m", "microagg", "app", "--no-browser", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # The address must come through a pipe at once.
            env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": ""},
            cwd=tmp_path,
        )
        children.append(child)
        return child, child.stdout.readline().strip()

    yield start
    for child in children:
        child.kill()
        child.communicate()


def homes(folder):
    return [path for path in folder.iterdir() if path.name.startswith("microagg-app-")]


def test_it_prints_its_address_and_leaves_nothing(program, tmp_path):
    (tmp_path / "t.csv").write_text("age,town\n1,a\n2,b\n")
    child, address = program("t.csv")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/open/[\w-]{40,}", address)
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(address, timeout=60) as page:
        assert b"t.csv" in page.read()
    child.send_signal(signal.SIGTERM)
    child.wait(60)
    assert homes(tmp_path) == []
    assert child.stdout.read().startswith("The app answers this machine only")
    assert child.stderr.read() == "microagg: stopped\n"


def test_a_killed_one_ends_with_its_children_and_what_it_left_goes_at_the_next_start(
    program, tmp_path
):
    child, _ = program()
    (home,) = homes(tmp_path)
    (home / "uploads" / "9").mkdir()
    (home / "uploads" / "9" / "table.csv").write_text("a\n1\n")
    workers = children_of(child)
    child.kill()
    child.wait()
    assert homes(tmp_path) == [home]
    end = time.monotonic() + 60
    while any(Path(f"/proc/{each}").exists() for each in workers) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [each for each in workers if Path(f"/proc/{each}").exists()]
    program()
    assert home not in homes(tmp_path)
    assert len(homes(tmp_path)) == 1


def children_of(child):
    """The numbers of the processes that it started, where the system lists them."""
    listed = Path(f"/proc/{child.pid}/task/{child.pid}/children")
    if not listed.exists():
        return []
    end = time.monotonic() + 60
    while not (workers := listed.read_text().split()) and time.monotonic() < end:
        time.sleep(0.05)
    assert workers
    return workers


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--host", "0.0.0.0"], "--allow-remote"),
        (["--host", "192.168.1.1"], "--allow-remote"),
        (["--host", "example.org"], "--allow-remote"),
        (["--host", "0.0.0.0", "--allow-remote"], "every address"),
        (["--port", "70000"], "port 70000"),
        (["--max-upload", "much"], "--max-upload must be a size"),
        (["--folder", "nowhere"], "no folder"),
        (["nothing.csv"], "nothing.csv"),
    ],
)
def test_bad_input_gets_one_sentence(tmp_path, monkeypatch, words, sentence):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = microagg("app", "--no-browser", *words, folder=tmp_path)
    assert done.code == 2
    assert sentence in done.err
    assert done.err.count("\n") == 1
    assert homes(tmp_path) == []


def test_a_port_that_is_taken_is_refused(server, tmp_path):
    with pytest.raises(OptionError, match="--port 0"):
        Server(Doors(folder=tmp_path, parent=tmp_path), port=server.port)


def test_it_stops_when_nobody_comes(tmp_path):
    server = Server(Doors(folder=tmp_path, parent=tmp_path, idle=0.5))
    started = time.monotonic()
    server.run()
    assert time.monotonic() - started < 30
    assert homes(tmp_path) == []


def test_it_does_not_stop_while_something_is_made(tmp_path):
    with running(tmp_path, tmp_path, idle=1.0) as server:
        guest = Guest(server)
        guest.post("/open", {"demo": 1})
        # Nobody asks meanwhile.
        while server.desk.jobs.under_way:
            time.sleep(0.05)
        assert server.desk.state.ready is not None
        assert "patients.csv" in guest.page("/")
        assert list(homes(tmp_path)[0].rglob("*.csv"))
    assert homes(tmp_path) == []
