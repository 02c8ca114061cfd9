"""`microagg protect` on a file of 10^6 rows x 10 columns: where time and memory go.

    python benchmarks/speed/protect.py [--n 1000000] [--method zscore] [--form csv] [--runs 1]

Each run is a process of its own, warmed up on a small table; the steps are timed by wrapping the
library's own functions. `--method auto` takes the method that a user gets, `--form parquet` the
other common format. Beside it, in the same process: the three passes that nobody can do without,
pyarrow's own read + write + read of the same file.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.measuring import save, show

COLUMNS = 10
# All but the grouping, in pyarrow's three passes.
BARS = {"csv": 2.0, "parquet": 6.0}
STEPS = ("reading", "surveying", "grouping", "measuring", "writing", "recounting", "report")

RUN = """
import json, resource, sys, time
from pathlib import Path

folder, method, form = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
spent, inside = {}, []
clocks = (time.perf_counter, time.process_time)

def add(step, took):
    spent[step] = [one + other for one, other in zip(spent.get(step, (0.0, 0.0)), took)]

def timed(module, name, step):
    function = getattr(module, name)

    def wrapped(*given, **named):
        inside.append([0.0, 0.0])
        start = [clock() for clock in clocks]
        try:
            return function(*given, **named)
        finally:
            took = [clock() - begun for clock, begun in zip(clocks, start)]
            within = inside.pop()
            add(step, [one - other for one, other in zip(took, within)])
            if inside:
                inside[-1] = [one + other for one, other in zip(inside[-1], took)]

    setattr(module, name, wrapped)

import microagg
from microagg.actions import protect as action
from microagg.engine import choosing, memory
from microagg.release import release
from microagg.table.formats import format_of

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

def protect(name):
    columns = [f"x{place}" for place in range(10)]
    made = microagg.protect(
        folder / f"{name}.{form}", quasi_identifiers=columns, k=5, method=method, progress=False
    )
    made.write(folder / f"{name}-release.{form}", force=True)
    made.report(folder / f"{name}.html")

protect("small")
for module, name, step in (
    (choosing, "open_table", "reading"),
    (memory.Memory, "survey", "surveying"),
    (action, "make_plan", "surveying"),
    (memory.Memory, "count", "surveying"),
    (memory.Memory, "publish", "grouping"),
    (action, "assessed", "measuring"),
    (action, "shown", "measuring"),
    (type(format_of(f"a.{form}")), "write", "writing"),
    (memory, "write_file", "recounting"),
    (memory.Memory, "recount", "recounting"),
    (release.Release, "report", "report"),
):
    timed(module, name, step)
before = resident()
start = [clock() for clock in clocks]
protect("large")
spent["all"] = [clock() - begun for clock, begun in zip(clocks, start)]
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
spent["memory"] = int(peak.split()[1]) * 1024 - before

import pyarrow.csv, pyarrow.parquet

def three_passes():
    start = [clock() for clock in clocks]
    if form == "csv":
        table = pyarrow.csv.read_csv(folder / "large.csv")
        pyarrow.csv.write_csv(table, folder / "again.csv")
        pyarrow.csv.read_csv(folder / "again.csv")
    else:
        table = pyarrow.parquet.read_table(folder / "large.parquet")
        pyarrow.parquet.write_table(table, folder / "again.parquet")
        pyarrow.parquet.read_table(folder / "again.parquet")
    return [clock() - begun for clock, begun in zip(clocks, start)]

spent["passes"] = [min(each) for each in zip(*(three_passes() for _ in range(3)))]
print(json.dumps(spent))
"""


def write_table(path: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    columns = {f"x{place}": np.round(rng.normal(size=n), 6) for place in range(COLUMNS)}
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(pa.table(columns), path)
    else:
        pyarrow.parquet.write_table(pa.table(columns), path)


def measure(folder: Path, method: str, form: str) -> dict[str, Any]:
    """Of each step the seconds by the clock and by the processor, and bytes at the peak."""
    command = [sys.executable, "-c", RUN, str(folder), method, form]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10**6)
    parser.add_argument("--method", default="zscore")
    parser.add_argument("--form", default="csv", choices=BARS)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="only to see: write no results")
    arguments = parser.parse_args()
    form = arguments.form
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        write_table(folder / f"small.{form}", 2000)
        write_table(folder / f"large.{form}", arguments.n)
        runs = [measure(folder, arguments.method, form) for _ in range(arguments.runs)]
    best = min(runs, key=lambda run: run["all"][1])
    table = arguments.n * COLUMNS * 8
    around = [best["all"][clock] - best["grouping"][clock] for clock in (0, 1)]
    passes = [min(run["passes"][clock] for run in runs) for clock in (0, 1)]
    rows = [
        (f"{step} (s)", f"{best[step][0]:.2f}", f"{best[step][1]:.2f}", "", "")
        for step in (*STEPS, "all")
    ]
    rows += [
        ("pyarrow's read + write + read (s)", f"{passes[0]:.2f}", f"{passes[1]:.2f}", "", ""),
        judged(
            "all but grouping, in these three passes",
            [around[clock] / passes[clock] for clock in (0, 1)],
            BARS[form],
        ),
        judged(
            f"peak memory, in tables of {table / 1e6:.0f} MB",
            [min(run["memory"] for run in runs) / table],
            3.5,
        ),
    ]
    header = ("what", "measured", "processor time", "bar", "kept")
    title = f"microagg protect, {form}, {arguments.n:,} x {COLUMNS}, k = 5, {arguments.method}"
    show(title, header, rows)
    more = "" if form == "csv" else f"_{form}"
    save(f"protect_speed_{arguments.method}{more}", header, rows)


def judged(what: str, measured: list[float], bar: float) -> tuple[str, ...]:
    by_clock, by_processor = [f"{each:.2f}" for each in measured] + [""] * (2 - len(measured))
    return (what, by_clock, by_processor, f"<= {bar:g}", "yes" if measured[0] <= bar else "NO")


if __name__ == "__main__":
    main()
