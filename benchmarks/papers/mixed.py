"""Mixed tables: what is lost by each method, and by a search with and without a look at categories.

    python benchmarks/papers/mixed.py [set ...] [--ks 3,5,10] [--quick]

The sets are adult-5000, the first 5,000 records of Adult; adult, all of it; testdata, the survey of
sdcMicro; california, which has numbers only. Quasi-identifiers of Adult: age, workclass, education,
occupation, sex and native-country; of testdata: urbrur, roof, walls, water, electcon, relat, sex,
all of them categories, and age; of california: all nine numbers.

Information loss is what certificates report, in percent: each column counts alike. "by points" is
the search of `auto` for the least SSE of points, where categories are corners of a simplex: what
`auto` does where there are numbers only. Seconds are of processor time for all of `protect`, by
`auto` and by points, and their ratio.

Writes benchmarks/results/mixed_losses as .csv and .md, row by row; rows of other sets and k stay.
With --quick nothing is written, and there are 1,000 records of each set.
"""

import argparse
import csv
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import microagg
from benchmarks.data import find
from benchmarks.measuring import RESULTS, save, show
from microagg.grouping.doors import partition_points

ADULT = ["age", "workclass", "education", "occupation", "sex", "native-country"]
HOUSES = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
METHODS = ("tsp", "mdav", "mdav-mhm", "npn", "pca")
HEADER = ["set", "records", "k", "auto", "by points", *METHODS, "seconds", "by points", "ratio"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="set", default=list(SETS), help=", ".join(SETS))
    parser.add_argument("--ks", default="3,5,10", help="least group sizes")
    parser.add_argument("--quick", action="store_true", help="1,000 records, nothing is written")
    given = parser.parse_args()
    for name in given.sets:
        if name not in SETS:
            parser.error(f"there is no set {name!r}; there are {', '.join(SETS)}")
        table, settings = SETS[name]()
        # Compiled before time is taken.
        grouped(table.slice(0, 200), 3, settings)
        table = table.slice(0, 1000) if given.quick else table
        rows = []
        for k in given.ks.split(","):
            rows.append([name, len(table), k, *grouped(table, int(k), settings)])
            if not given.quick:
                save("mixed_losses", HEADER, together(rows))
        show(name, HEADER, rows)


def grouped(table: pa.Table, k: int, settings: dict) -> list[str]:
    """The losses, and the times of both searches."""
    loss, seconds = {}, {}
    for method in ("auto", "by points", *METHODS):
        how = by_points if method == "by points" else method
        started = time.process_time()
        release = microagg.protect(table, k=k, method=how, progress=False, **settings)
        loss[method] = f"{release.certificate.information_loss:.3f}"
        seconds[method] = time.process_time() - started
    pair = seconds["auto"], seconds["by points"]
    return [*loss.values(), *(f"{each:.1f}" for each in pair), f"{pair[0] / pair[1]:.2f}"]


def by_points(points: np.ndarray, k: int) -> np.ndarray:
    """The search of `auto` without a look at categories."""
    return partition_points(points, k, method="auto", seed=0, options={}).labels


def together(rows: list[list[object]]) -> list[list[object]]:
    """These rows, and others that were written before."""
    path = RESULTS / "mixed_losses.csv"
    if not path.exists():
        return rows
    with path.open(newline="", encoding="utf-8") as stream:
        before = list(csv.reader(stream))[1:]
    new = {(row[0], row[2]) for row in rows}
    kept = [row for row in before if (row[0], row[2]) not in new]
    return sorted([*kept, *rows], key=lambda row: (list(SETS).index(str(row[0])), int(str(row[2]))))


def read(name: str) -> pa.Table:
    path = find(name)
    if path is None:
        sys.exit(f"reference data {name!r} not found; set MICROAGG_DATA to its folder")
    return pyarrow.csv.read_csv(path)


def adult() -> tuple[pa.Table, dict]:
    return read("adult"), {"quasi_identifiers": ADULT}


def some_of_adult() -> tuple[pa.Table, dict]:
    table, settings = adult()
    return table.slice(0, 5000), settings


def testdata() -> tuple[pa.Table, dict]:
    settings = {"kinds": dict.fromkeys(HOUSES, "nominal")}
    return read("testdata"), {"quasi_identifiers": [*HOUSES, "age"], **settings}


def california() -> tuple[pa.Table, dict]:
    table = read("california_housing")
    names = [name for name in table.column_names if name != "ocean_proximity"]
    return table, {"quasi_identifiers": names}


SETS = {
    "adult-5000": some_of_adult,
    "testdata": testdata,
    "california": california,
    "adult": adult,
}

if __name__ == "__main__":
    main()
