import os
import signal
import subprocess
import sys

import pytest

SCRIPT = """
import signal
for each in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(each, signal.SIG_DFL)  # whoever started the tests may ignore one
from microagg.base.reading import Reading
from microagg.table.opening import open_table
opened = open_table("-", Reading())
print(opened.frame.rows, opened.frame.names, opened.origin.name, opened.origin.path)
"""
LINES = b"name,age\n" + b"".join(
    b"Zorro %06d,%d\n" % (place, place % 90) for place in range(50_000)
)


def started(folder):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
    )


def test_standard_input_is_read_as_often_as_needed(tmp_path):
    found, failures = started(tmp_path).communicate(LINES)
    assert found.decode().split("\n")[0] == "50000 ['name', 'age'] standard input None", failures
    found, failures = started(tmp_path).communicate(b"")
    assert b"standard input is empty" in failures


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_no_copy_of_standard_input_is_left_when_the_process_is_killed(tmp_path, name):
    process = started(tmp_path)
    # It comes back once all but what fits into the pipe was read.
    process.stdin.write(LINES)
    process.stdin.flush()
    process.send_signal(getattr(signal, name))
    process.wait()
    process.communicate()
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"Zorro" in path.read_bytes() for path in left)
