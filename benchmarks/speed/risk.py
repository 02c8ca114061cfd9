"""How long it takes to say how risky a table is, each job in a process of its own.

    python benchmarks/speed/risk.py [--rounds 3]

Keys have 2 to 200 values and depend on each other; nearly every record is alone with its eight
keys, which is the most work. Processor seconds are of all cores, and the same on a busy machine.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.measuring import save, show

KINDS = (2, 5, 8, 9, 17, 40, 90, 200)
JOBS = {
    "inspect --risk, 10^6 x 8 keys": (10**6, "inspect(path, risk=True, fraction=0.05)"),
    "risk without special uniques, 10^6 x 8 keys": (10**6, "risk(path, keys, largest=0)"),
    "risk with all special uniques, 10^5 x 8 keys": (10**5, "risk(path, keys, largest=8)"),
}
HEADER = ("job", "seconds", "processor seconds", "peak memory, MB")
WORK = """
import json, resource, sys, time
from microagg import inspect, risk
path, keys = sys.argv[1], [f"age_{i}" for i in range(8)]
warm = sys.argv[2]
for path in (warm, path):
    start, spent = time.perf_counter(), time.process_time()
    JOB
    took = time.perf_counter() - start, time.process_time() - spent
print(json.dumps([*took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def write_table(path: Path, n: int) -> Path:
    rng = np.random.default_rng(0)
    common = rng.normal(size=n)
    columns = {}
    for place, kinds in enumerate(KINDS):
        rank = np.argsort(np.argsort(0.8 * rng.normal(size=n) + 0.6 * common)) / n
        columns[f"age_{place}"] = np.minimum((rank**1.7 * kinds).astype(np.int64), kinds - 1)
    pq.write_table(pa.table(columns), path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    rows = []
    with tempfile.TemporaryDirectory() as room:
        warm = write_table(Path(room, "warm.parquet"), 1000)
        for title, (n, job) in JOBS.items():
            path = write_table(Path(room, "table.parquet"), n)
            runs = []
            for _ in range(rounds):
                command = [sys.executable, "-c", WORK.replace("JOB", job), str(path), str(warm)]
                runs.append(json.loads(subprocess.check_output(command)))
                time.sleep(0.1)
            seconds, spent, peak = (min(run[which] for run in runs) for which in range(3))
            rows.append((title, f"{seconds:.1f}", f"{spent:.1f}", f"{peak:.0f}"))
    show("Risk before anything is done", HEADER, rows)
    save("risk_speed", HEADER, rows)


if __name__ == "__main__":
    main()
