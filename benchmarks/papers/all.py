"""Every table and figure of the papers, one script after the other, and the page about them.

    python benchmarks/papers/all.py [--quick]

Writes into benchmarks/results, and how long each command took into papers_seconds. With --quick
small parts of each are run, to see that they do; nothing is written.
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from benchmarks.measuring import save, show

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
)


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    rows = []
    for command in COMMANDS:
        script, *arguments = command.split()
        began, used = time.perf_counter(), _processor()
        own = [*arguments, "--quick"] if quick else arguments
        done = subprocess.run([sys.executable, str(HERE / script), *own], check=False)
        if done.returncode:
            sys.exit(f"{command} failed")
        spent = time.perf_counter() - began, _processor() - used
        rows.append([command, f"{spent[1]:.0f}", f"{spent[0]:.0f}"])
    header = ["command", "processor seconds", "seconds"]
    show("Seconds", header, rows)
    save("papers_seconds", header, rows)
    for page in () if quick else (HERE / "page.py", HERE.parent / "index.py"):
        subprocess.run([sys.executable, str(page)], check=True)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
