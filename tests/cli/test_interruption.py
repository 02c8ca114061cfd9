"""Ctrl-C ends a command with nothing written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from microagg.grouping.refine.search import compile_search


@pytest.mark.skipif(os.name != "posix", reason="signals of Unix")
def test_an_interrupted_search_publishes_nothing(tmp_path):
    rng = np.random.default_rng(0)
    records = rng.normal(size=(5_000, 4))
    # Compiled before, so that the signal meets the search.
    compile_search(records[:100].copy(), 3)
    np.savetxt(tmp_path / "in.csv", records, delimiter=",", header="a,b,c,d", comments="")
    command = [sys.executable, "-m", "microagg", "protect", "in.csv", "-k", "3", "-q", "a,b,c,d"]
    command += ["-m", "search", "--option", "steps=1000000000000", "-o", "out.csv"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        try:
            wait_until_busy(running)
            assert running.poll() is None
            running.send_signal(signal.SIGINT)
            _, told = running.communicate(timeout=120)
        finally:
            running.kill()
    assert running.returncode == 130
    assert "stopped" in told
    assert "Traceback" not in told
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def wait_until_busy(running, seconds=3.0):
    """Until it has worked for so long, which takes longer on a machine that is busy already."""
    told = Path(f"/proc/{running.pid}/stat")
    time.sleep(seconds)
    while told.exists() and running.poll() is None:
        user, system = told.read_text().rsplit(")", 1)[1].split()[11:13]
        if (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") >= seconds:
            return
        time.sleep(0.2)
