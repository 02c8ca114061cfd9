"""Tables with every kind of column, some of them nasty."""

import datetime
import decimal

import numpy as np
import pyarrow as pa

KINDS = ("number", "offset", "whole", "far", "date", "moment", "money", "flag", "word", "grade")


def nasty(rows, seed=0, gaps=True):
    """Every kind of quasi-identifier, with gaps, and some columns that nobody touches."""
    rng = np.random.default_rng(seed)
    gone = lambda: rng.random(rows) < 0.05 if gaps else np.zeros(rows, bool)  # noqa: E731
    day = datetime.date(2020, 1, 1).toordinal() - datetime.date(1970, 1, 1).toordinal()
    words = np.array(["red", "green", "blue", "", "ümlaut"])
    grades = np.array(["low", "middle", "high"])
    columns = {
        "name": pa.array([f"person {place}" for place in range(rows)]),
        "number": pa.array(rng.standard_normal(rows).round(3), mask=gone()),
        "offset": pa.array(1e9 + rng.standard_normal(rows)),
        "whole": pa.array(rng.integers(-50, 50, rows), mask=gone()),
        "far": pa.array(2**62 + rng.integers(0, 1000, rows)),
        "date": pa.array((day + rng.integers(0, 900, rows)).astype("int32"), mask=gone()).cast(
            pa.date32()
        ),
        "moment": pa.array(rng.integers(0, 10**6, rows) * 3600, pa.int64()).cast(
            pa.timestamp("s", "UTC")
        ),
        "money": pa.array(
            [decimal.Decimal(int(each)) / 100 for each in rng.integers(0, 10**6, rows)]
        ),
        "flag": pa.array(rng.random(rows) < 0.3, mask=gone()),
        "word": pa.array(words[rng.integers(0, 5, rows)].tolist(), mask=gone()),
        "grade": pa.array(grades[rng.integers(0, 3, rows)].tolist()),
        "region": pa.array(np.array(["n", "s", "w"])[rng.choice(3, rows, p=[0.6, 0.3, 0.1])]),
        "illness": pa.array(rng.integers(0, 9, rows)),
        "weight": pa.array(rng.uniform(0, 3, rows)),
        "note": pa.array([None if place % 7 == 0 else "x" * (place % 5) for place in range(rows)]),
    }
    return pa.table(columns)


SETTINGS = {
    "row_order": "kept",
    "k": 4,
    "quasi_identifiers": list(KINDS),
    "confidential": ["illness"],
    "identifiers": ["name"],
    "orders": {"grade": ("low", "middle", "high")},
    "method": "mdav",
}


def few(table, region, count):
    """The table with so many records of one region left."""
    there = np.array(table["region"].to_pylist()) == region
    there &= np.cumsum(there) > count
    return table.filter(pa.array(~there))
