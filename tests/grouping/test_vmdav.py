"""V-MDAV: brute force to the last row, and groups that grow where they should."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.grouping.cluster.cbfs import cbfs
from microagg.grouping.cluster.vmdav import vmdav
from tests.grouping.test_mdav import KINDS, assert_same, make
from tests.naive.vmdav import vmdav as naive_vmdav
from tests.reference import load


@given(
    st.sampled_from(KINDS),
    st.integers(2, 7),
    st.integers(0, 120),
    st.sampled_from([1, 2, 3, 10, 50]),
    st.sampled_from([0.0, 0.2, 0.9, 1.1, 5.0]),
    st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_equals_brute_force_by_definition(kind, k, more, d, gamma, seed):
    records = make(kind, 2 * k + more, d, seed)
    expected = naive_vmdav(records, k, gamma)
    for prunes in (True, False, None):
        assert_same(vmdav(records, k, gamma=gamma, prunes=prunes), expected)


@pytest.mark.parametrize("k", [2, 3, 40])
def test_equals_brute_force_at_the_edges(k):
    for n in (2 * k, 2 * k + 1, 3 * k - 1, 3 * k, 5 * k):
        records = make("grid", n, 2, n)
        for prunes in (True, False):
            result = vmdav(records, k, gamma=1.1, prunes=prunes)
            assert_same(result, naive_vmdav(records, k, 1.1))


@pytest.mark.parametrize("kind", KINDS)
def test_pruning_changes_nothing_on_deep_trees(kind):
    records = make(kind, 9000, 4, 1)
    pruned = vmdav(records, 5, gamma=0.8, prunes=True)
    assert_same(pruned, vmdav(records, 5, gamma=0.8, prunes=False))


def test_natural_groups_are_found():
    rng = np.random.default_rng(5)
    centres = 100.0 * np.arange(12)
    natural = np.repeat(np.arange(12), [3, 4, 4, 4, 3, 3, 4, 4, 3, 4, 4, 3])
    records = (centres[natural] + rng.uniform(size=natural.size))[:, None]
    order, sizes = vmdav(records, 3, gamma=1.1)
    labels = microagg.Partition.from_sequence(order, sizes, 3, "vmdav").labels
    assert len(set(zip(labels, natural, strict=True))) == 12


@pytest.mark.parametrize("n", [3001, 6007])
def test_promises_and_choice_of_gamma(n):
    records = make("clustered", n, 3, 2)
    before = records.copy()
    shares = []
    order, sizes = vmdav(records, 7, shares.append)
    np.testing.assert_array_equal(records, before)
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    assert sizes.sum() == n
    assert sizes.min() >= 7
    assert sizes.max() <= 13 + 6
    assert shares == sorted(shares)
    assert_same(vmdav(records, 7), (order, sizes))


def test_chosen_gamma_is_no_worse_than_fixed_sizes():
    numbers = load("eia")
    records = np.ascontiguousarray((numbers - numbers.mean(axis=0)) / numbers.std(axis=0))
    losses = [
        microagg.information_loss(
            numbers, microagg.Partition.from_sequence(*method(records, 5), 5, "any")
        )
        for method in (vmdav, cbfs)
    ]
    assert losses[0] < 0.8 * losses[1]
