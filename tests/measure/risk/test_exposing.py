import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.measure.risk.exposing import key_columns
from tests.measure.risk.tables import keys_of, records
from tests.naive import risk as naive


@given(records(), st.booleans(), st.integers(0, 99))
def test_columns_alone_and_left_out(table, wildcards, seed):
    weights = np.random.default_rng(seed).integers(1, 9, len(table)).astype(float)
    keys = keys_of(table)
    found = key_columns(keys.combinations, weights, wildcards=wildcards)
    assert [column.name for column in found] == list(keys.names)
    for place, column in enumerate(found):
        alone = [record[place] for record in table]
        assert column.values == len(set(alone))
        assert column.unique_alone == sum(alone.count(value) == 1 for value in alone)
        assert column.distinction == pytest.approx(100 * len(set(alone)) / len(table))
        assert column.separation == pytest.approx(naive.separation(alone))
        rest = [record[:place] + record[place + 1 :] for record in table]
        sample, population = naive.frequencies(rest, weights, wildcards)
        assert column.unique_without == sample.count(1)
        expected = sum(map(naive.individual, sample, population))
        assert column.expected_without == pytest.approx(expected)
