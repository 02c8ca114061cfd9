"""Where the reference data sets are: never part of the project."""

import os
from pathlib import Path

import numpy as np
import pytest


def folder() -> Path | None:
    """The folder named by MICROAGG_DATA, or the one beside the project, or none."""
    named = os.environ.get("MICROAGG_DATA")
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    for candidate in ([Path(named)] if named else []) + [beside]:
        if candidate.is_dir():
            return candidate
    return None


def load(name: str) -> np.ndarray:
    """A numeric reference set as a float64 array, or a skipped test."""
    home = folder()
    if home is None or not (home / f"{name}.csv").exists():
        pytest.skip(f"reference data {name!r} not found; set MICROAGG_DATA to its folder")
    return np.loadtxt(home / f"{name}.csv", delimiter=",", skiprows=1)
