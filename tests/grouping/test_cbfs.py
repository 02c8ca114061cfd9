"""CBFS: brute force to the last row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.grouping.cluster.cbfs import cbfs
from tests.grouping.test_mdav import KINDS, assert_same, make
from tests.naive.cbfs import cbfs as naive_cbfs


@given(
    st.sampled_from(KINDS),
    st.integers(2, 7),
    st.integers(0, 120),
    st.sampled_from([1, 2, 3, 10, 50]),
    st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_equals_brute_force_by_definition(kind, k, more, d, seed):
    records = make(kind, 2 * k + more, d, seed)
    expected = naive_cbfs(records, k)
    for prunes in (True, False, None):
        assert_same(cbfs(records, k, prunes=prunes), expected)


@pytest.mark.parametrize("k", [2, 3, 40])
def test_equals_brute_force_at_the_edges(k):
    for n in (2 * k, 2 * k + 1, 3 * k - 1, 3 * k, 5 * k):
        records = make("grid", n, 2, n)
        for prunes in (True, False):
            assert_same(cbfs(records, k, prunes=prunes), naive_cbfs(records, k))


@pytest.mark.parametrize("kind", KINDS)
def test_pruning_changes_nothing_on_deep_trees(kind):
    records = make(kind, 9000, 4, 1)
    assert_same(cbfs(records, 5, prunes=True), cbfs(records, 5, prunes=False))


def test_starts_outside_and_keeps_its_promises():
    records = make("gaussian", 5003, 3, 2)
    before = records.copy()
    shares = []
    order, sizes = cbfs(records, 7, shares.append)
    np.testing.assert_array_equal(records, before)
    np.testing.assert_array_equal(np.sort(order), np.arange(5003))
    assert sizes.sum() == 5003
    assert sizes.min() >= 7
    assert sizes.max() <= 13
    assert shares == sorted(shares)
    away = np.linalg.norm(records - records.mean(axis=0), axis=1)
    seeds = order[:-7:7][: sizes.size - 1]
    assert (np.diff(away[seeds]) <= 1e-12).all()
