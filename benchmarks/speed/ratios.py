"""What everything takes, as ratios to sorting a million numbers, with the commit: to compare later.

    python benchmarks/speed/ratios.py [--only NAME ...] [--rounds 3] [--quick]

Each job is a process of its own, warmed up on little, with one thread and with two, in turns with
the yardstick; the least of its times counts. The serial share is what Amdahl's law makes of the two
times: s where T(2) = T(1) (s + (1 - s) / 2). From it follows how many times faster 16 and 64 cores
would be at best. `benchmarks/compare.py` holds two runs against each other.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.data import records_of
from benchmarks.measuring import RESULTS, save, show

D = 10
HEADER = (
    "job", "T(1), s", "T(2), s", "serial share", "16 cores", "64 cores", "ratio", "peak memory, MB"
)  # fmt: skip
Job = Callable[[], Any]


def partitioned(n: int, k: int, method: str, kind: str = "gaussian", **options: Any) -> Job:
    import microagg

    records = records_of(kind, n, D)
    return lambda: microagg.partition(records, k, method, **options)


def univariate(n: int, k: int) -> Job:
    import microagg

    line = np.random.default_rng(0).normal(size=n)
    return lambda: microagg.optimal_univariate(line, k)


def lists(n: int) -> Job:
    from microagg.kernels.trees.lists import nearest_lists

    records, everyone = records_of("gaussian", n, D), np.arange(n, dtype=np.int32)
    return lambda: nearest_lists(records, everyone, 12, 64, few=0)


def linkage(n: int) -> Job:
    import microagg
    from microagg.measure.linkage import Records, link

    records = records_of("gaussian", n, D)
    released = np.asarray(microagg.aggregate(records, microagg.partition(records, 5, "zscore")))
    return lambda: link(Records(records, released, np.ones(D)))


def journey(n: int, suffix: str, what: str, method: str = "zscore") -> Job:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    import microagg

    rng = np.random.default_rng(0)
    columns = {f"x{place}": np.round(rng.normal(size=n), 6) for place in range(D)}
    folder = Path(tempfile.mkdtemp(dir=os.environ["MICROAGG_RATIOS"]))
    source, target = folder / f"in{suffix}", folder / f"out{suffix}"
    write = pyarrow.csv.write_csv if suffix == ".csv" else pyarrow.parquet.write_table
    write(pa.table(columns), source)
    settings = {"k": 5, "quasi_identifiers": list(columns), "method": method, "progress": False}

    def protect(engine: str) -> None:
        with microagg.protect(source, engine=engine, **settings) as release:
            release.write(target, force=True)

    if what != "assess":
        return lambda: protect(what)
    with microagg.protect(source, row_order="kept", **settings) as release:
        release.write(target, force=True)
    return lambda: microagg.assess(source, target, quasi_identifiers=list(columns))


def recount(n: int) -> Job:
    import pyarrow as pa

    from microagg.table.classes import class_of

    rng = np.random.default_rng(0)
    numbers = np.repeat(rng.normal(size=(n // 5, D)), 5, axis=0)
    table = pa.table({f"x{place}": numbers[:, place] for place in range(D)})
    return lambda: class_of(table, table.column_names)


def risk(n: int) -> Job:
    import pyarrow as pa

    import microagg

    rng = np.random.default_rng(0)
    table = pa.table({f"age_{i}": rng.integers(0, m, n) for i, m in enumerate((2, 5, 9, 17, 40))})
    return lambda: microagg.risk(table, table.column_names, largest=0)


# What each is made with, at full size and small, to warm up and for a quick run.
JOBS: dict[str, tuple[Callable[..., Job], tuple[Any, ...], int, int]] = {
    "one attribute, k = 5": (univariate, (5,), 10**6, 20_000),
    "one attribute, k = 100": (univariate, (100,), 10**6, 20_000),
    "zscore": (partitioned, (5, "zscore"), 10**6, 20_000),
    "mdav, clustered": (partitioned, (5, "mdav", "clustered"), 10**5, 5_000),
    "lloyd-mdav": (partitioned, (5, "lloyd-mdav"), 10**5, 5_000),
    "search, brief": (partitioned, (5, "search"), 10**5, 5_000),
    "tsp": (partitioned, (5, "tsp"), 10_000, 1_000),
    "reporder": (partitioned, (5, "reporder"), 3_000, 500),
    "neighbour lists": (lists, (), 10**5, 5_000),
    "linkage": (linkage, (), 10**5, 5_000),
    "recount": (recount, (), 10**6, 20_000),
    "protect, CSV": (journey, (".csv", "memory"), 10**6, 20_000),
    "protect, Parquet": (journey, (".parquet", "memory"), 10**6, 20_000),
    "protect, Parquet, auto": (journey, (".parquet", "memory", "auto"), 200_000, 20_000),
    "protect on disk, auto": (journey, (".parquet", "disk", "auto"), 200_000, 20_000),
    "assess": (journey, (".parquet", "assess"), 10**6, 20_000),
    "risk": (risk, (), 10**6, 20_000),
}
OPTIONS: dict[str, dict[str, Any]] = {"search, brief": {"effort": "brief"}}


def run(name: str, rounds: int, quick: bool) -> dict[str, float]:
    """In this process: the least seconds of a job and of the yardstick, and the peak of memory."""
    make, given, full, small = JOBS[name]
    more = OPTIONS.get(name, {})
    make(small, *given, **more)()
    job = make(small if quick else full, *given, **more)
    line = np.random.default_rng(1).normal(size=10**6)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    least = {"seconds": np.inf, "yardstick": np.inf}
    for _ in range(rounds):
        for what, work in (("seconds", job), ("yardstick", lambda: np.argsort(line))):
            start = time.perf_counter()
            work()
            least[what] = min(least[what], time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {**least, "megabytes": (peak - before) / 1024}


def measured(name: str, rounds: int, quick: bool) -> dict[str, float]:
    """By processes with one thread and with two."""
    found = []
    for threads in ("1", "2"):
        words = [sys.executable, __file__, "--job", name, "--rounds", str(rounds)]
        with tempfile.TemporaryDirectory() as room:
            around = {**os.environ, "MICROAGG_THREADS": threads, "MICROAGG_RATIOS": room}
            done = subprocess.run(
                words + ["--quick"] * quick, capture_output=True, text=True, env=around, check=False
            )
        if done.returncode:
            sys.exit(done.stderr)
        found.append(json.loads(done.stdout))
    one, two = found
    # Noise makes two threads seem more than twice as fast, or slower than one.
    serial = min(1.0, max(0.0, 2.0 * two["seconds"] / one["seconds"] - 1.0))
    yardstick = min(one["yardstick"], two["yardstick"])
    return {
        "one_thread": one["seconds"],
        "two_threads": two["seconds"],
        "serial_share": serial,
        "ratio": two["seconds"] / yardstick,
        "megabytes": two["megabytes"],
    }


def row(name: str, job: dict[str, float]) -> tuple[str, ...]:
    times = (
        f"{1.0 / (job['serial_share'] + (1.0 - job['serial_share']) / c):.0f}" for c in (16, 64)
    )
    return (
        name, f"{job['one_thread']:.2f}", f"{job['two_threads']:.2f}",
        f"{100 * job['serial_share']:.0f} %", *times,
        f"{job['ratio']:.1f}", f"{job['megabytes']:.0f}",
    )  # fmt: skip


def commit() -> str:
    words = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small sizes; nothing is written")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job:
        print(json.dumps(run(asked.job, asked.rounds, asked.quick)))
        return
    jobs = {name: measured(name, asked.rounds, asked.quick) for name in asked.only}
    rows = [row(name, job) for name, job in jobs.items()]
    show("seconds with one thread and two, and as a ratio to sorting 10^6 numbers", HEADER, rows)
    if not asked.quick and asked.only == list(JOBS):
        about = {"commit": commit(), "processor": platform.machine(), "cores": os.cpu_count()}
        text = json.dumps({**about, "jobs": jobs}, indent=1, default=lambda x: round(float(x), 4))
        (RESULTS / "ratios.json").write_text(text + "\n", encoding="utf-8")
        save("ratios", HEADER, rows)


if __name__ == "__main__":
    main()
