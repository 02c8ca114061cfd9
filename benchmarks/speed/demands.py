"""Demands beyond k at size: what they add to the time of a release, and memory on disk.

    python benchmarks/speed/demands.py [time] [disk] [--sizes 5 20] [--limit BYTES] [--folder DIR]

Ten gaussian quasi-identifiers, a diagnosis of twelve values, the commoner the lower its number, and
an income that a quasi-identifier tells a little of, no two alike; k = 5, three different diagnoses
in each class, incomes within 0.2 of those of all. Once more with an income that two of them tell
half of: then no group of neighbours has incomes like those of all, and far more has to be tried.
time: 10^6 records in memory, with and without, in turns; in processor seconds of all cores.
disk: Parquet files of 5 and 20 million records, each in a process of its own that may not have more
than 2 GB of data, or LIMIT; the peak is what all its processes together have in memory.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.data import PART
from benchmarks.measuring import save, show
from benchmarks.speed.engines import LIMIT, run

COLUMNS = [f"x{place}" for place in range(10)]
DIAGNOSES = np.array([f"D{number:02}" for number in range(12)])
TURNS = 1
# What two quasi-identifiers have to do with the income: little, or much.
TIES = {"told a little": (0.2, 0.0), "told half": (0.7, 0.3)}

RELEASE = """
import json, os, resource, sys, time
source, target, engine, limit, demanded = *sys.argv[1:4], *map(int, sys.argv[4:])
if limit:
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
from microagg.kernels.announcing import seconds_compiling
import microagg
demands = {"diversity": {"diagnosis": 3}, "closeness": {"income": 0.2}} if demanded else {}
where = {"work": target + ".parts", "memory": "2GB"} if engine == "disk" else {}
begun, spent = time.perf_counter(), sum(os.times()[:4])
with microagg.protect(
    source, k=5, quasi_identifiers=[f"x{place}" for place in range(10)],
    confidential=["diagnosis", "income"], engine=engine, progress=False, **where, **demands,
) as release:
    made = sum(os.times()[:4]) - spent
    found = release.write(target, force=True)
print(json.dumps({
    "seconds": time.perf_counter() - begun, "compiling": seconds_compiling(),
    "made": made, "processor": sum(os.times()[:4]) - spent, "k": found.k_found,
    "loss": release.record.information_loss, "cells": release.record.cells,
    "kept": found.passed,
}))
"""


def parts_of(n: int, ties: tuple[float, float]) -> Iterator[pa.Table]:
    """A large table of records with something to hide, part by part."""
    rng = np.random.default_rng(1)
    shares = 1.0 / np.arange(1, DIAGNOSES.size + 1)
    for start in range(0, n, PART):
        rows = min(PART, n - start)
        points = rng.standard_normal((rows, len(COLUMNS)))
        told = ties[0] * points[:, 0] + ties[1] * points[:, 1]
        yield pa.table(
            dict(zip(COLUMNS, points.T.copy(), strict=True))
            | {
                "diagnosis": DIAGNOSES[rng.choice(DIAGNOSES.size, rows, p=shares / shares.sum())],
                "income": np.exp(10.0 + 0.5 * (told + rng.standard_normal(rows))),
            }
        )


def write(n: int, path: Path, tie: str = "told a little") -> None:
    """The table as a Parquet file."""
    writer = None
    for part in parts_of(n, TIES[tie]):
        writer = writer or pq.ParquetWriter(path, part.schema, compression="none")
        writer.write_table(part)
    if writer is not None:
        writer.close()


def warm(folder: Path) -> None:
    """Compile what a release needs, so that no measured one has to."""
    source = folder / "warm.parquet"
    write(20_000, source)
    for demanded in (0, 1):
        run(RELEASE, source, folder / "warm-release.parquet", "memory", 0, demanded)


def seconds(folder: Path) -> None:
    """What demands add to the time of a release in memory."""
    source, target = folder / "table.parquet", folder / "release.parquet"
    lines = []
    for tie in TIES:
        write(10**6, source, tie)
        found = [
            [run(RELEASE, source, target, "memory", 0, demanded) for demanded in (0, 1)]
            for _ in range(TURNS)
        ]
        alone, demanding = (
            {key: min(turn[which][key] for turn in found) for key in ("made", "processor", "loss")}
            for which in (0, 1)
        )
        lines.append(
            (
                tie,
                *(f"{each['made']:.1f}" for each in (alone, demanding)),
                f"{demanding['made'] / alone['made']:.2f}",
                f"{demanding['processor'] / alone['processor']:.2f}",
                *(f"{each['loss']:.3f}" for each in (alone, demanding)),
            )
        )
    header = (
        "income, 10^6 x 10", "k = 5 alone, processor seconds", "with demands", "times (bar: 2)",
        "times, with write", "loss % alone", "with demands",
    )  # fmt: skip
    show("what demands beyond k cost", header, lines)
    save("demands_time", header, lines)


def disk(folder: Path, sizes: list[float], limit: int) -> None:
    """Memory and time on disk."""
    rows = []
    for millions in sizes:
        n = int(millions * 1e6)
        source, target = folder / "table.parquet", folder / "release.parquet"
        write(n, source)
        size = source.stat().st_size
        found = run(RELEASE, source, target, "disk", limit, 1)
        rows.append(
            (
                f"{n:,}",
                f"{size / 1e9:.2f}",
                f"{found['seconds'] - found['compiling']:.0f}",
                f"{found['processor']:.0f}",
                f"{found['peak'] / 1e9:.2f}",
                f"{found['loss']:.3f}",
                found["cells"],
                found["k"],
                "yes" if found["kept"] else "NO",
            )
        )
        source.unlink()
        target.unlink()
    header = ("records", "GB", "seconds", "processor seconds", "peak GB", "loss %", "cells",
              "k found", "promises kept")  # fmt: skip
    show("on disk with diversity and closeness, at most 2 GB of memory", header, rows)
    save("demands_disk", header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=["time", "disk", []], default=[])
    parser.add_argument("--sizes", nargs="+", type=float, default=[5, 20], help="in millions")
    parser.add_argument("--limit", type=int, default=LIMIT, help="bytes of data; 0: none")
    parser.add_argument("--folder", type=Path, help="where files go for a while")
    arguments = parser.parse_args()
    parts = arguments.parts or ["time", "disk"]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as home:
        warm(Path(home))
        if "time" in parts:
            seconds(Path(home))
        if "disk" in parts:
            disk(Path(home), arguments.sizes, arguments.limit)


if __name__ == "__main__":
    main()
