import os
import signal
import subprocess
import sys

import pyarrow as pa
import pytest

from microagg.base.errors import InputError
from microagg.base.reading import Reading
from microagg.table.formats import format_of
from microagg.table.opening import open_table

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


# --- What is hashed is what was read --------------------------------------------------------------


PASSES = {
    "table.csv": "csv.columns_of",
    "table.parquet": "arrow.sha256_of",
    "table.arrow": "arrow.sha256_of",
    "table.xlsx": "excel.sha256_of",
    "table.sav": "stats.files.sha256_of",
    "table.dta": "stats.files.sha256_of",
}


@pytest.mark.parametrize(("name", "between"), PASSES.items())
@pytest.mark.parametrize("quietly", [False, True])
def test_a_file_that_changes_between_passes_is_refused(
    tmp_path, monkeypatch, name, between, quietly
):
    """Also one that looks as old, and as long, as before."""
    path = tmp_path / name
    write = format_of(name).write
    write(pa.table({"age": [1.0, 2.0]}), path, None)
    before = path.stat()
    where, function = f"microagg.table.formats.{between}".rsplit(".", 1)
    real = getattr(sys.modules[where], function)

    def changed(*arguments):
        done = real(*arguments) if function == "sha256_of" else None
        write(pa.table({"age": [1.0, 3.0]}), path, None)
        if quietly:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return done or real(*arguments)

    assert open_table(path, Reading()).frame.rows == 2
    monkeypatch.setattr(f"{where}.{function}", changed)
    with pytest.raises(InputError, match=f"{name} was changed while it was being read"):
        open_table(path, Reading())
