"""Optimal univariate microaggregation against numpy.argsort and its peers, as ratios in one run.

    python benchmarks/speed/univariate.py [--n 1000000] [--rounds 15] [--skip-peers]

The peers, microagg1d 0.4.0 and microaggregation 0.1.9, come with the dependency group `bench`.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import microagg
from benchmarks.measuring import best_times, save, show
from microagg.grouping.sequence.split import split_sequence, split_sorted

KS = (2, 3, 5, 10, 50, 200, 1000, 10_000)
ROWS: list[tuple[str, str, str, str]] = []


def bar(what: str, measured: float, limit: float, at_least: bool = False) -> None:
    kept = measured >= limit if at_least else measured <= limit
    sign = ">=" if at_least else "<="
    ROWS.append((what, f"{measured:.2f}", f"{sign} {limit:g}", "yes" if kept else "NO"))


def against_argsort(n: int, rounds: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    whole = rng.integers(-n // 2, n // 2, n)
    jobs = {"argsort": lambda: np.argsort(x)}
    for k in KS:
        jobs[f"sse {k}"] = lambda k=k: microagg.optimal_univariate(x, k)
        jobs[f"same {k}"] = lambda k=k: microagg.optimal_univariate(whole, k)
        jobs[f"integer {k}"] = lambda k=k: microagg.optimal_univariate(whole, k, cost="integer")
    jobs["size cost"] = lambda: microagg.optimal_univariate(x, 1, size_cost=450.0)
    times = best_times(jobs, rounds)
    for k in KS:
        ratio = times[f"sse {k}"] / times["argsort"]
        bar(f"whole call / argsort, n={n:,}, k={k}", ratio, limit_for(k))
    for k in KS:
        bar(f"integer / float cost, k={k}", times[f"integer {k}"] / times[f"same {k}"], 1.5)
    bar(f"SSE + c/size / argsort, n={n:,}", times["size cost"] / times["argsort"], 3.0)


def limit_for(k: int) -> float:
    return 0.9 if k <= 10 else 1.1 if k <= 1000 else 1.3


def beside_a_busy_core(n: int, rounds: int) -> None:
    x = np.random.default_rng(0).normal(size=n)
    jobs = {"argsort": lambda: np.argsort(x)}
    for k in KS:
        jobs[f"sse {k}"] = lambda k=k: microagg.optimal_univariate(x, k)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            times = best_times(jobs, rounds)
        finally:
            other.kill()
    for k in KS:
        ratio = times[f"sse {k}"] / times["argsort"]
        bar(f"the same beside a busy core, k={k}", ratio, limit_for(k))


def against_microagg1d(n: int, rounds: int) -> None:
    import microagg1d

    x = np.random.default_rng(1).normal(size=n)
    for k in (2, 3, 5, 10, 50, 200, 1000):
        times = best_times(
            {
                "ours": lambda k=k: microagg.optimal_univariate(x, k),
                "peer": lambda k=k: microagg1d.univariate_microaggregation(x, k),
            },
            rounds,
        )
        limit = 5 if k <= 10 else 10
        bar(f"microagg1d / ours, n={n:,}, k={k}", times["peer"] / times["ours"], limit, True)
        ours = microagg.information_loss(x, microagg.optimal_univariate(x, k))
        labels = microagg1d.univariate_microaggregation(x, k)
        peer = microagg.information_loss(x, np.unique(labels, return_inverse=True)[1])
        bar(f"SSE ours / microagg1d, k={k}", ours / peer, 1 + 1e-12)


def against_microaggregation(n: int, rounds: int) -> None:
    import microaggregation

    rng = np.random.default_rng(2)
    for d in (1, 10):
        X = np.sort(rng.normal(size=(n, d)), axis=0)
        for k in (3, 10):
            times = best_times(
                {
                    "ours": lambda k=k, X=X: split_sequence(X, k),
                    "peer": lambda k=k, X=X: microaggregation.calculate_sse_dynamic(X, k),
                },
                rounds,
            )
            ratio = times["peer"] / times["ours"]
            bar(f"microaggregation (C++) / ours, split, n={n:,}, d={d}, k={k}", ratio, 4, True)


@numba.njit
def quadratic(x, c):
    """The noise-aware split over all arcs, as the paper has it."""
    n = x.size
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    for start in range(n):
        total = scatter = 0.0
        for end in range(start + 1, n + 1):
            size = end - start
            away = x[end - 1] - x[start] - (total / (size - 1) if size > 1 else 0.0)
            total += x[end - 1] - x[start]
            scatter += away * away * (size - 1) / size
            best[end] = min(best[end], best[start] + scatter + c / size)
    return best[n]


def size_cost(rounds: int) -> None:
    rng = np.random.default_rng(3)
    x = np.sort(rng.normal(size=40_000))
    jobs = {
        "ours": lambda: split_sorted(x.copy(), 1, size_cost=450.0),
        "quadratic": lambda: quadratic(x, 450.0),
    }
    times = best_times(jobs, 2)
    bar("quadratic programme / ours, n=40,000", times["quadratic"] / times["ours"], 500, True)
    lines = {n: rng.normal(size=n) for n in (10**5, 10**7)}
    times = best_times(
        {
            str(n): lambda line=line: microagg.optimal_univariate(line, 1, size_cost=450.0)
            for n, line in lines.items()
        },
        max(2, rounds // 4),
    )
    growth = math.log(times[str(10**7)] / times[str(10**5)]) / math.log(100)
    bar("SSE + c/size, growth exponent from 1e5 to 1e7", growth, 1.1)


MEMORY = """
import json, resource, sys
import numpy as np, microagg
k, options = int(sys.argv[1]), json.loads(sys.argv[2])
microagg.optimal_univariate(np.random.default_rng(0).normal(size=70_000), k, **options)
x = np.random.default_rng(0).normal(size=10**7)
before = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
microagg.optimal_univariate(x, k, **options)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print((int(peak.split()[1]) * 1024 - before) / x.nbytes)
"""


def memory() -> None:
    for k, options in ((3, {}), (1000, {}), (1, {"size_cost": 450.0})):
        command = [sys.executable, "-c", MEMORY, str(k), json.dumps(options)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        what = "SSE + c/size" if options else f"k={k}"
        bar(f"peak memory in arrays of n doubles, n=1e7, {what}", float(done.stdout), 6)


START = """
import time; start = time.perf_counter()
import microagg; imported = time.perf_counter() - start
import numpy as np
x = np.random.default_rng(0).normal(size=1000)
microagg.optimal_univariate(x, 5); microagg.optimal_univariate(x, 50)
print(imported, time.perf_counter() - start)
"""


def cold_start() -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        for what, limit, tries in (("first call ever", 10, 1), ("second process", 1, 5)):
            runs = []
            for _ in range(tries):
                command = [sys.executable, "-c", START]
                done = subprocess.run(
                    command, env=environment, capture_output=True, text=True, check=True
                )
                runs.append([float(figure) for figure in done.stdout.split()])
            imported, elapsed = map(min, zip(*runs, strict=True))
            bar(f"{what}: import and 1000 values, by both algorithms (s)", elapsed, limit)
        bar("import microagg (s)", imported, 0.3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10**6)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--skip-peers", action="store_true")
    arguments = parser.parse_args()
    against_argsort(arguments.n, arguments.rounds)
    beside_a_busy_core(arguments.n, arguments.rounds)
    if not arguments.skip_peers:
        against_microagg1d(arguments.n, arguments.rounds)
        against_microaggregation(arguments.n, arguments.rounds)
    size_cost(arguments.rounds)
    memory()
    cold_start()
    header = ("what", "measured", "bar", "kept")
    show("Optimal univariate microaggregation", header, ROWS)
    save("univariate_speed", header, ROWS)


if __name__ == "__main__":
    main()
