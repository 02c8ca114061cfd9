"""What every aggregate keeps."""

import numpy as np
import pyarrow as pa
import pytest

import microagg
from microagg.aggregation.values import AGGREGATES
from microagg.base.errors import OptionError


@pytest.fixture
def numbers():
    return np.random.default_rng(0).integers(-50, 50, (60, 3))


@pytest.mark.parametrize("name", AGGREGATES)
def test_a_group_publishes_one_value_and_rows_keep_their_order(name, numbers):
    groups = microagg.partition(numbers, 4, "mdav")
    found = microagg.aggregate(numbers, groups, how=name, progress=False)
    assert found.shape == numbers.shape
    for label in range(groups.n_groups):
        assert (found[groups.labels == label] == found[groups.labels == label][0]).all()
    assert np.isfinite(found).all()
    assert (found.min(0) >= numbers.min(0) - numbers.std(0)).all()
    one = microagg.aggregate(numbers[:, 0], groups, how=name, progress=False)
    assert np.array_equal(one, found[:, 0])


@pytest.mark.parametrize("name", AGGREGATES)
def test_it_takes_its_own_options_only(name, numbers):
    groups = microagg.partition(numbers, 4, "mdav")
    with pytest.raises(OptionError, match="has no option 'distanc'"):
        microagg.aggregate(numbers, groups, how=name, distanc=1)


def test_those_of_tables_are_refused_by_name_and_with_weights():
    table = pa.table({"x": np.arange(20.0), "w": np.ones(20)})
    for name in ("medoid", "integer"):
        with pytest.raises(OptionError, match="aggregate must be one of mean, proximity"):
            microagg.protect(table, quasi_identifiers="x", aggregate=name)
    with pytest.raises(OptionError, match="leave out weights"):
        microagg.protect(table, quasi_identifiers="x", weights="w", aggregate="proximity")
