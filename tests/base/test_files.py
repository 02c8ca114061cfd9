"""Files that appear whole or not at all, and locks that end with the process."""

import subprocess
import sys

from microagg.base.files import lock, write_json

WITHOUT_UNIX = """
import sys
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
import microagg
from microagg.cli import main
sys.argv = "microagg protect people.csv -q age -k 2 -m zscore -o release.csv".split()
main()
"""


def test_json_is_whole(tmp_path):
    write_json(tmp_path / "a.json", {"ä": [1, 2]})
    assert (tmp_path / "a.json").read_text(
        encoding="utf-8"
    ) == '{\n  "ä": [\n    1,\n    2\n  ]\n}\n'


def test_a_lock_keeps_others_out_until_it_is_closed(tmp_path):
    path = tmp_path / "lock"
    with path.open("a") as one, path.open("a") as other:
        assert lock(one, wait=False)
        assert not lock(other, wait=False)
        one.close()
        assert lock(other, wait=False)


def test_the_command_starts_where_there_is_no_unix(tmp_path):
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(map(str, range(10))) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_UNIX], cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "release.csv").exists()
