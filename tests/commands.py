"""The command line called inside the test's own process, and a table to call it with."""

import io
import random
import sys
from contextlib import chdir
from dataclasses import dataclass
from unittest.mock import patch

from microagg.cli import main


@dataclass(frozen=True)
class Done:
    """What a command left behind: its exit code and both streams."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode("utf-8")


def microagg(*arguments, folder, stdin=b""):
    """`microagg ARGUMENTS` in a folder, with its own standard streams."""
    streams = [io.TextIOWrapper(io.BytesIO(each), encoding="utf-8") for each in (stdin, b"", b"")]
    code = 0
    with (
        chdir(folder),
        patch.object(sys, "argv", ["microagg", *map(str, arguments)]),
        patch.object(sys, "stdin", streams[0]),
        patch.object(sys, "stdout", streams[1]),
        patch.object(sys, "stderr", streams[2]),
    ):
        try:
            main()
        except SystemExit as done:
            code = done.code
    for stream in streams:
        stream.flush()
    return Done(code, streams[1].buffer.getvalue(), streams[2].buffer.getvalue().decode("utf-8"))


def refusal(*arguments, folder, code=2, stdin=b""):
    """The one sentence with which a command refuses; nothing may appear in the folder."""
    before = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    done = microagg(*arguments, folder=folder, stdin=stdin)
    assert done.code == code, done.err or done.out
    assert done.out == ""
    assert done.err.startswith("microagg: ")
    assert done.err.count("\n") == 1
    assert done.err.endswith("\n")
    assert "should not" not in done.err, done.err
    after = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    assert after == before
    return done.err.removeprefix("microagg: ").strip()


def survey(path, records=60):
    """A small survey in which every person has a name, an income and a birthday of their own."""
    draw = random.Random(7)
    lines = ["name,age,income,zip,diagnosis,visits,born,member"]
    for person in range(records):
        fields = (
            f"Person {person}",
            draw.randint(18, 90),
            f"{draw.gauss(30_000, 8_000):.2f}",
            f"0{draw.randint(1000, 1010)}",
            draw.choice(["flu", "cold", "none"]),
            "NA" if person % 7 == 0 else draw.randint(0, 9),
            f"19{draw.randint(40, 99)}-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}",
            draw.choice(["true", "false"]),
        )
        lines.append(",".join(map(str, fields)))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


ROLES = ("-q", "age,income,zip", "-c", "diagnosis", "-i", "name", "-m", "mdav")
