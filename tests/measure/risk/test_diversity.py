import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.measure.risk.diversity import diversity
from tests.naive import risk as naive


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=40))
def test_in_three_ways(pairs):
    numbers = {}
    labels = np.array([numbers.setdefault(label, len(numbers)) for label, _ in pairs])
    values = np.array([value for _, value in pairs])
    found = diversity(labels, values)
    for row, label in enumerate(labels):
        own = values[labels == label].tolist()
        shares = [own.count(value) / len(own) for value in set(own)]
        assert found.distinct[row] == len(shares)
        entropy = -sum(share * math.log(share) for share in shares)
        assert found.entropy[row] == pytest.approx(math.exp(entropy))
        assert found.recursive[row] == naive.recursive(own)
    assert found.to_dict()["distinct"] == found.distinct.min()
