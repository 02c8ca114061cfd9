"""What engines count of records that they do not hold is what is counted of a table in memory."""

from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pytest

from microagg.base.progress import silent
from microagg.base.recipe import Recipe
from microagg.engine.alike import Coding, counted


def homes(rows):
    """Households as text, and some who have none."""
    rng = np.random.default_rng(5)
    return pa.array([f"h{n}" if n else None for n in rng.integers(0, rows // 3, rows)])


def recipe(keys, *, weights=None, household=None, fraction=None):
    secret = [] if household is None else [household]
    return Recipe(quasi_identifiers=keys, weights=weights, confidential=secret)


def compare(engine, here, rows, keys, *, weights=None, household=None, fraction=None):
    """Hold what an engine counts against the risk of the same table in memory.

    rows: the numbers of some, whose frequencies are told.
    """
    coding = Coding(tuple(keys), weights, household, 1 / (fraction or 1), engine.origin, rows)
    found = counted(engine, coding, here.threshold, silent)
    assert found.tally.rows == here.rows
    sizes = tuple(zip(found.tally.sizes.tolist(), found.tally.times.tolist(), strict=True))
    assert sizes == here.class_sizes
    assert found.tally.expected == pytest.approx(here.expected, rel=1e-12)
    for mine, theirs in zip(found.columns, here.columns, strict=True):
        assert mine.name == theirs.name
        pair = (list(asdict(each).values())[1:-1] for each in (mine, theirs))
        np.testing.assert_allclose(*pair, rtol=1e-12)
    if household is not None:
        assert found.household_expected == pytest.approx(here.household_expected, rel=1e-12)
    return found


def compare_by_record(found, here, rows):
    np.testing.assert_array_equal(found.frequencies.sample, here.frequency[rows])
    np.testing.assert_allclose(found.frequencies.population, here.population[rows], rtol=1e-12)
    if found.household_risks is not None:
        np.testing.assert_allclose(found.household_risks, here.household[rows], rtol=1e-12)
