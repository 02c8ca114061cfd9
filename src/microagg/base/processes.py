"""Processes of our own, for work that may have to be ended, or that may not survive."""

import subprocess
import sys
from pathlib import Path
from typing import IO, Any

_ROOT = str(Path(__file__).parents[2])
# A folder of data that somebody works in may hold files with the names of modules: unlike with -m
# alone, nothing is ever imported from there.
_START = (
    "import sys; root = sys.argv.pop(1); root in sys.path or sys.path.insert(0, root); "
    "from microagg.base.memory import live_within_limits; live_within_limits(); "
    "import importlib; importlib.import_module(sys.argv.pop(1)).main()"
)


def python(module: str, *words: str) -> list[str]:
    """The command that runs `main` of a module of ours, wherever it is called from."""
    return [sys.executable, "-P", "-c", _START, _ROOT, module, *words]


def start(
    module: str,
    *words: str,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    **more: Any,
) -> "subprocess.Popen[bytes]":
    """Run `main` of a module of ours in a process of its own; what it prints as errors is lost.

    Libraries may quote records in what they print.
    """
    none = subprocess.DEVNULL
    return subprocess.Popen(python(module, *words), stdin=stdin, stdout=stdout, stderr=none, **more)
