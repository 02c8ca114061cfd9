"""How much memory there is, under limits of the system too."""

import resource
import subprocess
import sys

import pytest

from microagg.base.errors import InputError
from microagg.base.memory import Arriving, addresses_left, available_memory
from tests.commands import survey

GB = 10**9


def limited(limit, *command, which=resource.RLIMIT_AS, folder=None):
    """A process that may use so many bytes, and what a shell sees of it."""
    return subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False,
        timeout=100, preexec_fn=lambda: resource.setrlimit(which, (limit, limit)),
    )  # fmt: skip


@pytest.mark.parametrize("which", [resource.RLIMIT_AS, resource.RLIMIT_DATA])
def test_what_a_limit_leaves_is_what_there_is(which):
    script = "from microagg.base.memory import *; print(addresses_left(), available_memory())"
    left, available = map(int, limited(GB, "-c", script, which=which).stdout.split())
    assert left == available
    assert 0.5 * GB < left < GB


def test_without_limits_there_is_what_is_free():
    if addresses_left() is not None:
        pytest.skip("there is a limit")
    assert available_memory() > 0


@pytest.mark.parametrize("limit", [100, 300, 600, 750, 900, 1500])
def test_a_limit_that_does_not_hold_the_libraries_is_a_sentence(tmp_path, limit):
    """Libraries would abort there, or, at 900 MB, wait for ever."""
    survey(tmp_path / "in.csv")
    before = sorted(tmp_path.iterdir())
    command = ("-m", "microagg", "protect", "in.csv", "-q", "age,income", "-o", "out.csv")
    done = limited(limit << 20, *command, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("microagg: this process may use ")
    assert done.stderr.count("\n") == 1
    assert "(ulimit -v or -d)" in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_what_comes_is_refused_once_it_is_more_than_is_left(monkeypatch):
    monkeypatch.setattr("microagg.base.memory.available_memory", lambda: GB)
    arriving = Arriving("standard input", look_after=100)
    for _ in range(10):
        arriving.add(GB // 10)
    with pytest.raises(InputError, match=r"standard input is too large for memory: 1\.1 GB have"):
        arriving.add(GB // 10)


def test_standard_input_that_never_ends(tmp_path):
    """Twice the room that the libraries need is filled by half, and no more."""
    script = "import sys\nprint('age')\nwhile True: sys.stdout.write('20\\n' * 10_000_000)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as endless:
        done = subprocess.run(
            [sys.executable, "-m", "microagg", "inspect", "-"], cwd=tmp_path, text=True,
            stdin=endless.stdout, capture_output=True, check=False, timeout=100,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 * GB, 2 * GB)),
        )  # fmt: skip
        endless.kill()
    assert done.returncode == 2
    assert "standard input is too large for memory" in done.stderr
    assert done.stderr.count("\n") == 1
