import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.base.errors import InputError
from microagg.measure.risk import frequencies as module
from microagg.measure.risk.frequencies import frequencies
from microagg.measure.risk.keys import Keys, joined, numbered
from tests.measure.risk.tables import keys_of, records
from tests.naive import risk as naive


@given(records(), st.booleans(), st.integers(0, 99))
def test_as_records_compared_one_by_one(table, wildcards, seed):
    weights = np.random.default_rng(seed).integers(1, 9, len(table)).astype(float)
    found = keys_of(table).combinations
    sample, population = frequencies(found, weights, wildcards=wildcards)
    expected = naive.frequencies(table, weights, wildcards)
    assert sample[found.labels].tolist() == expected[0]
    assert population[found.labels] == pytest.approx(expected[1])


@given(records(missing=False))
def test_without_weights_the_table_is_all_there_is(table):
    found = frequencies(keys_of(table).combinations)
    assert found.sample.tolist() == found.population.tolist()


@pytest.mark.parametrize("kinds", [3, 10**6])
def test_pairs_are_numbered_in_order_of_appearance(kinds):
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 50, 3000), rng.integers(0, 3, 3000) * (kinds // 3)
    labels, count = joined(one, 50, other, kinds)
    numbers = {}
    for pair in zip(one.tolist(), other.tolist(), strict=True):
        numbers.setdefault(pair, len(numbers))
    assert count == len(numbers)
    assert labels.tolist() == [
        numbers[pair] for pair in zip(one.tolist(), other.tolist(), strict=True)
    ]


def test_many_columns_of_many_values_do_not_overflow():
    rng = np.random.default_rng(1)
    columns = [rng.permutation(500) + 1 for _ in range(40)]
    keys = Keys.of([f"c{i}" for i in range(40)], [np.tile(column, 2) for column in columns])
    labels, count = numbered(keys)
    assert count == 500
    assert labels.tolist() == [*range(500)] * 2
    assert (keys.combinations.sizes == 2).all()


def test_too_many_ways_of_missing_are_refused(monkeypatch):
    monkeypatch.setattr(module, "_MOST_WORK", 10)
    found = keys_of([(1, None), (None, 2), (1, 2)]).combinations
    with pytest.raises(InputError, match="missing in 3 different ways"):
        frequencies(found, wildcards=True)
