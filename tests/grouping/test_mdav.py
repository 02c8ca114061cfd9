"""MDAV: brute force to the last row, and the published figures."""

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import microagg
from microagg.grouping.cluster.mdav import mdav, mdav_of_few
from microagg.grouping.cluster.search import search
from microagg.grouping.cluster.shrinking import shrinking
from microagg.grouping.cluster.tree import remove
from tests.naive.mdav import RoundingDecidesError
from tests.naive.mdav import mdav as naive_mdav
from tests.reference import load

KINDS = ("gaussian", "clustered", "repeated", "grid", "skewed", "equal", "far away")


def make(kind, n, d, seed):
    """Records of every nasty kind."""
    rng = np.random.default_rng(seed)
    records = rng.normal(size=(n, d))
    if kind == "clustered":
        records = 20.0 * rng.normal(size=(5, d))[rng.integers(5, size=n)] + records
    elif kind == "repeated":
        records = records[rng.integers(max(1, n // 5), size=n)]
    elif kind == "grid":
        records = np.round(records)
    elif kind == "skewed":
        records = np.round(np.exp(2.0 * records))
    elif kind == "equal":
        records = np.full((n, d), 0.1)
    elif kind == "far away":
        records = np.round(4.0 * records) / 4.0 + 1e9
    return np.ascontiguousarray(records)


def assert_same(result, expected):
    """The same rows in the same order, cut at the same places."""
    np.testing.assert_array_equal(result[1], expected[1])
    np.testing.assert_array_equal(result[0], expected[0])


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
    try:
        expected = naive_mdav(records, k)
    except RoundingDecidesError:
        reject()
    for prunes in (True, False, None):
        assert_same(mdav(records, k, prunes=prunes), expected)
    assert_same(mdav_of_few(records, k), expected)


@pytest.mark.parametrize("k", [2, 3, 40])
def test_equals_brute_force_at_the_edges(k):
    for n in (2 * k, 2 * k + 1, 3 * k - 1, 3 * k, 3 * k + 1, 5 * k):
        records = make("grid", n, 2, n)
        for prunes in (True, False):
            assert_same(mdav(records, k, prunes=prunes), naive_mdav(records, k))
        assert_same(mdav_of_few(records, k), naive_mdav(records, k))


@pytest.mark.parametrize("kind", KINDS)
def test_pruning_changes_nothing_on_deep_trees(kind):
    records = make(kind, 6000, 4, 1)
    expected = mdav(records, 5, prunes=False)
    assert_same(mdav(records, 5, prunes=True), expected)
    assert_same(mdav_of_few(records, 5), expected)


def test_promises():
    records = make("clustered", 5003, 3, 2)
    before = records.copy()
    shares = []
    order, sizes = mdav(records, 7, shares.append)
    np.testing.assert_array_equal(records, before)
    np.testing.assert_array_equal(np.sort(order), np.arange(5003))
    assert sizes.sum() == 5003
    assert sizes.min() >= 7
    assert sizes.max() <= 13
    assert shares == sorted(shares)
    assert 0.0 < shares[-1] <= 1.0


def test_pruning_is_given_up_where_it_does_not_pay():
    records = make("gaussian", 4000, 40, 3)
    pruned = []
    for tree, keep in shrinking(records, 2, 3500, prune_from=50):
        pruned.append(tree.prunes)
        assert keep <= tree.left
        for seed in tree.remaining()[: tree.left - keep + 1]:
            search(tree, records[seed], 1.0, seed, np.empty(2, np.int64), np.empty(2))
            remove(tree, seed)
    assert pruned[0]
    assert not pruned[-1]


@pytest.mark.parametrize(
    ("name", "losses"),
    [
        ("tarragona", (16.932588, 19.545962, 22.461860, 33.192885)),
        ("census", (5.692186, 7.494700, 9.088435, 14.155930)),
        ("eia", (0.482939, 0.671345, 1.666675, 3.839670)),
    ],
)
def test_published_losses(name, losses):
    numbers = load(name)
    records = np.ascontiguousarray((numbers - numbers.mean(axis=0)) / numbers.std(axis=0))
    for k, loss in zip((3, 4, 5, 10), losses, strict=True):
        groups = microagg.Partition.from_sequence(*mdav(records, k), k, "mdav")
        assert microagg.information_loss(numbers, groups) == pytest.approx(loss, abs=6e-7)
