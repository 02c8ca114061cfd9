"""What the benchmarks run on: reference files, never part of the project, and made tables."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

CENSUS_RECORDS = 149_642
PART = 1 << 19  # rows that a large table is made in


def find(name: str) -> Path | None:
    """A reference file in the folder that MICROAGG_DATA names, else beside the project; or none."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("MICROAGG_DATA") or beside)
    files = (folder / f"{name}{suffix}" for suffix in (".csv", ".parquet"))
    return next((path for path in files if path.exists()), None)


def load(name: str, columns: Sequence[str] | None = None) -> np.ndarray:
    """All or some columns of a reference file as float64; without the file, the program ends."""
    path = find(name)
    if path is None:
        sys.exit(f"reference data {name!r} not found; set MICROAGG_DATA to its folder")
    if path.suffix == ".parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path, columns=columns)
        return np.column_stack([column.to_numpy() for column in table.columns]).astype(float)
    with path.open(encoding="utf-8") as stream:
        names = stream.readline().strip().split(",")
        wanted = [names.index(column) for column in columns or names]
        return np.loadtxt(stream, delimiter=",", usecols=wanted, ndmin=2)


def load_shuffled(name: str) -> np.ndarray:
    """A reference file in random order, so that its first n records are a sample."""
    records = load(name)
    return records[np.random.default_rng(1).permutation(len(records))]


def standardise(records: np.ndarray) -> np.ndarray:
    """Mean 0, deviation 1."""
    return np.ascontiguousarray((records - records.mean(axis=0)) / records.std(axis=0))


def records_of(kind: str, n: int, d: int) -> np.ndarray:
    """Standardised records: gaussian, correlated, clustered or skewed."""
    rng = np.random.default_rng(1)
    if kind == "gaussian":
        records = rng.normal(size=(n, d))
    elif kind == "correlated":
        records = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + 0.2 * rng.normal(size=(n, d))
    elif kind == "clustered":
        centres = rng.normal(size=(200, d))
        records = centres[rng.integers(200, size=n)] + 0.15 * rng.normal(size=(n, d))
    else:
        records = np.round(3.0 * np.exp(rng.normal(size=(n, d))))
    return standardise(records)


def ten_clusters() -> np.ndarray:
    """Ten normal clusters around random centres, 10,000 records of ten attributes."""
    rng = np.random.default_rng(1)
    centres = rng.random((10, 10))
    return centres[rng.integers(0, 10, 10_000)] + rng.normal(0.0, 0.157, (10_000, 10))


def large_census(n: int = CENSUS_RECORDS) -> np.ndarray:
    """Thirteen columns of skewed and even factors, five of them, mixed otherwise in each of eight
    kinds of households, and a little noise."""
    rng = np.random.default_rng(13)
    factors = np.column_stack(
        [np.exp(0.6 * rng.normal(size=(n, 2))), rng.random((n, 1)) * 3, rng.normal(size=(n, 2))]
    )
    shared = rng.normal(size=(5, 13))
    kind = rng.integers(8, size=n)
    records = 0.22 * rng.normal(size=(n, 13)) + 0.5 * rng.normal(size=(8, 13))[kind]
    for own in range(8):
        mixing = shared + 0.12 * rng.normal(size=(5, 13))
        records[kind == own] += factors[kind == own] @ mixing
    return standardise(records)


def gaussian_parts(n: int, d: int) -> Iterator[np.ndarray]:
    """A large table, part by part."""
    rng = np.random.default_rng(1)
    for start in range(0, n, PART):
        yield rng.standard_normal((min(PART, n - start), d))


def clustered_parts(n: int, d: int) -> Iterator[np.ndarray]:
    """A large table of fifty clusters, part by part."""
    rng = np.random.default_rng(2)
    centres = rng.uniform(-10, 10, (50, d))
    for start in range(0, n, PART):
        rows = min(PART, n - start)
        yield centres[rng.integers(0, 50, rows)] + rng.standard_normal((rows, d))
