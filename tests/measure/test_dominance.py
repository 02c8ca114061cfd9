"""How much of what a group publishes is one record's doing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.measure.dominance import largest_shares
from tests.naive import dominance as naive

RECORDS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.floats(-1e6, 1e6, allow_subnormal=False) | st.sampled_from([0.0, 1.0, -1.0]),
        st.sampled_from([0.0, 0.0, 1.0, 2.5, 1000.0]),
        st.integers(0, 6),
        st.booleans(),
    ),
    min_size=1,
    max_size=40,
)


@given(records=RECORDS, weighted=st.booleans(), by_entity=st.booleans(), gaps=st.booleans())
@settings(max_examples=200)
def test_as_defined(records, weighted, by_entity, gaps):
    labels, values, weights, who, missing = map(np.array, zip(*records, strict=True))
    groups, labels = np.unique(labels, return_inverse=True)
    n = len(records)
    found = largest_shares(
        values,
        labels,
        groups.size,
        weights if weighted else None,
        who if by_entity else None,
        missing if gaps else None,
    )
    meant = naive.largest_shares(
        values,
        labels,
        groups.size,
        weights if weighted else np.ones(n),
        who if by_entity else np.arange(n),
        missing if gaps else np.zeros(n, bool),
    )
    assert found == pytest.approx(meant, abs=1e-12)


def test_weights_alone_count_where_values_have_no_zero():
    labels = np.zeros(4, np.int64)
    assert largest_shares(None, labels, 1) == [0.25]
    assert largest_shares(None, labels, 1, np.array([97.0, 1.0, 1.0, 1.0])) == [0.97]


@pytest.mark.parametrize("scale", [1e308, 1e-300, 2.0**62])
def test_huge_and_tiny_values(scale):
    values = np.array([8.0, 1.0, 1.0]) / 10 * scale
    assert largest_shares(values, np.zeros(3, np.int64), 1) == pytest.approx([0.8])
    whole = np.array([2**62, -(2**62), 2**61])
    assert largest_shares(whole, np.zeros(3, np.int64), 1) == pytest.approx([0.4])
