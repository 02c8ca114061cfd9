"""The engines: rate and memory of work on disk, what the borders of cells cost, Spark beside disk.

    python benchmarks/speed/engines.py [rate] [loss] [spark] [--sizes 1 5 20] [--folder DIR]

rate: gaussian Parquet files of 1, 5 and 20 million x 10, k = 5, each in a process of its own that
may not have more than 2 GB of data; the peak is that of all its processes together.
loss: 10^6 gaussian and clustered records in cells and as a whole, by the same method.
spark: 3 million records by Spark local[2] and on disk; the releases must be the same.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.data import clustered_parts, gaussian_parts
from benchmarks.measuring import save, show

COLUMNS = [f"x{place}" for place in range(10)]
LIMIT = 2 * 10**9
K = 5

ON_DISK = """
import json, resource, sys, time
source, target, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
from microagg.kernels.announcing import seconds_compiling
import microagg
columns = [f"x{place}" for place in range(10)]
begun = time.perf_counter()
with microagg.protect(
    source, k=5, quasi_identifiers=columns, engine="disk", work=target + ".parts", memory="2GB",
    progress=False,
) as release:
    found = release.write(target, force=True)
seconds = time.perf_counter() - begun
print(json.dumps({
    "seconds": seconds, "compiling": seconds_compiling(), "k": found.k_found,
    "loss": release.record.information_loss, "rows": found.rows_released,
    "cells": release.record.cells,
}))
"""

BY_SPARK = """
import json, sys, time
import microagg
columns = [f"x{place}" for place in range(10)]
begun = time.perf_counter()
with microagg.protect(
    sys.argv[1], k=5, quasi_identifiers=columns, engine="spark", master="local[2]", progress=False
) as release:
    release.write(sys.argv[2], force=True)
seconds = time.perf_counter() - begun
print(json.dumps({"seconds": seconds, "loss": release.record.information_loss}))
"""


def write(parts: Iterator[np.ndarray], path: Path) -> None:
    schema = pa.schema([(name, pa.float64()) for name in COLUMNS])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for part in parts:
            writer.write_table(pa.table(list(part.T.copy()), schema=schema))


def resident(root: int) -> int:
    """Bytes that a process and all its children have in memory."""
    parents, sizes = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            sizes[int(entry.name)] = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    family, total = {root}, 0
    for process in sorted(parents):
        if parents[process] in family:
            family.add(process)
    for process in family:
        total += sizes.get(process, 0)
    return total


def run(script: str, *arguments: Any) -> dict[str, Any]:
    """What a script in a process of its own says, and the peak of its memory."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            time.sleep(0.2)
        said = process.stdout.read() if process.stdout else ""
    if process.returncode:
        sys.exit(f"a run failed with exit code {process.returncode}")
    return {**json.loads(said.splitlines()[-1]), "peak": peak}


def rate(folder: Path, sizes: list[float]) -> None:
    warm = folder / "warm.parquet"
    write(gaussian_parts(20_000, len(COLUMNS)), warm)
    run(ON_DISK, warm, folder / "warm-release.parquet", 0)
    rows, times = [], []
    for millions in sizes:
        n = int(millions * 1e6)
        source, target = folder / "table.parquet", folder / "release.parquet"
        write(gaussian_parts(n, len(COLUMNS)), source)
        size = source.stat().st_size
        found = run(ON_DISK, source, target, LIMIT)
        seconds = found["seconds"] - found["compiling"]
        times.append((n, seconds))
        growth = ""
        if len(times) > 1:
            (few, short), (many, long) = times[-2:]
            growth = f"{math.log(long / short) / math.log(many / few):.2f}"
        rows.append(
            (
                f"{n:,}",
                f"{size / 1e9:.2f}",
                f"{seconds:.0f}",
                f"{n / seconds:,.0f}",
                f"{found['peak'] / 1e9:.2f}",
                growth,
                f"{found['loss']:.3f}",
                found["cells"],
                found["k"],
            )
        )
        source.unlink()
        target.unlink()
    header = ("records", "GB", "seconds", "records a second", "peak GB", "growth n^", "loss %",
              "cells", "k found")  # fmt: skip
    show("on disk, 10 columns, k = 5, at most 2 GB of memory", header, rows)
    save("engines_rate", header, rows)
    print(
        "bars: at least 130,000 records a second at 20 million, in at most 1 GB; growth at most 1.1"
    )


def loss(folder: Path) -> None:
    import microagg

    rows = []
    for name, parts in (("gaussian", gaussian_parts), ("clustered", clustered_parts)):
        source = folder / "table.parquet"
        write(parts(10**6, len(COLUMNS)), source)
        settings = {"k": K, "quasi_identifiers": COLUMNS, "measures": False, "progress": False}
        cells = microagg.protect(source, **settings).record
        whole = microagg.protect(source, cell_rows=10**6, **settings).record
        above = 100 * (cells.information_loss / whole.information_loss - 1)
        rows.append(
            (
                name,
                cells.method,
                f"{whole.information_loss:.3f}",
                f"{cells.information_loss:.3f}",
                cells.cells,
                f"{above:+.2f}",
                "<= +5",
            )
        )
    header = ("10^6 x 10, k = 5", "method", "loss % as a whole", "in cells", "cells", "more, %",
              "bar")  # fmt: skip
    show("what the borders of cells cost", header, rows)
    save("engines_loss", header, rows)


def spark(folder: Path) -> None:
    source = folder / "table.parquet"
    write(gaussian_parts(3 * 10**6, len(COLUMNS)), source)
    disk = run(ON_DISK, source, folder / "disk.parquet", 0)
    cluster = run(BY_SPARK, source, folder / "spark.parquet")
    order = [(name, "ascending") for name in COLUMNS]
    one = pq.read_table(folder / "disk.parquet").sort_by(order)
    other = pq.read_table(folder / "spark.parquet").select(COLUMNS).sort_by(order)
    same = one.combine_chunks().equals(other.combine_chunks().cast(one.schema))
    times = cluster["seconds"] / disk["seconds"]
    header = ("3 million x 10, k = 5", "seconds", "loss %", "peak GB")
    rows = [
        (name, f"{each['seconds']:.0f}", f"{each['loss']:.3f}", f"{each['peak'] / 1e9:.2f}")
        for name, each in (("on disk", disk), ("Spark local[2]", cluster))
    ]
    rows.append(("ratio (bar: 2)", f"{times:.2f}", "same release" if same else "OTHER RELEASE", ""))
    show("Spark beside work on disk", header, rows)
    save("engines_spark", header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=["rate", "loss", "spark", []], default=[])
    parser.add_argument("--sizes", nargs="+", type=float, default=[1, 5, 20], help="in millions")
    parser.add_argument("--folder", type=Path, help="where files go for a while")
    arguments = parser.parse_args()
    parts = arguments.parts or ["rate", "loss", "spark"]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as home:
        folder = Path(home)
        if "rate" in parts:
            rate(folder, arguments.sizes)
        if "loss" in parts:
            loss(folder)
        if "spark" in parts:
            spark(folder)


if __name__ == "__main__":
    main()
