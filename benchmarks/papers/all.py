"""Every table and figure of the papers, one script after the other, and the page about them.

    python benchmarks/papers/all.py [--quick] [--only COMMAND]

Writes into benchmarks/results, and how long each command took into papers_seconds. With --quick
small parts of each are run, to see that they do; nothing is written. With --only one of them is
run, and the seconds of the others stay as they are.
"""

import argparse
import csv
import resource
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from benchmarks.measuring import RESULTS, save, show

COMMANDS = (
    "imhmi.py table1",
    "imhmi.py table3",
    "imhmi.py figures",
    "reporder.py",
    "pca.py",
    "dp.py --runs 100",
    "p3m.py",
    "p3m_figures.py",
    "best.py losses --best 30",
    "leaderboard.py",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small parts; nothing is written")
    parser.add_argument("--only", choices=COMMANDS, help="one of them")
    given = parser.parse_args()
    found = _found_before() if given.only else {}
    for command in [given.only] if given.only else COMMANDS:
        script, *arguments = command.split()
        began, used = time.perf_counter(), _processor()
        own = [*arguments, "--quick"] if given.quick else arguments
        done = subprocess.run([sys.executable, str(HERE / script), *own], check=False)
        if done.returncode:
            sys.exit(f"{command} failed")
        spent = time.perf_counter() - began, _processor() - used
        found[command] = [command, f"{spent[1]:.0f}", f"{spent[0]:.0f}"]
    rows = [found[command] for command in COMMANDS if command in found]
    header = ["command", "processor seconds", "seconds"]
    show("Seconds", header, rows)
    save("papers_seconds", header, rows)
    for page in () if given.quick else (HERE / "page.py", HERE.parent / "index.py"):
        subprocess.run([sys.executable, str(page)], check=True)


def _found_before() -> dict[str, list[str]]:
    with (RESULTS / "papers_seconds.csv").open(encoding="utf-8", newline="") as stream:
        _, *rows = csv.reader(stream)
    return {row[0]: row for row in rows}


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
