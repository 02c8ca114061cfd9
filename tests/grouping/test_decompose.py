import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.grouping.refine.decompose import decompose
from tests.grouping.test_reorder import KINDS, groups_of, make
from tests.naive import decompose as naive
from tests.reference import load


def start_of(n, k, rng):
    """A random partition with some groups of 2k and more."""
    order = rng.permutation(n)
    sizes = []
    while n - sum(sizes) >= 2 * k:
        sizes.append(int(rng.integers(k, min(3 * k, n - sum(sizes) - k) + 1)))
    sizes.append(n - sum(sizes))
    return order, np.array(sizes)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("n", "k"), [(4, 2), (6, 3), (7, 3), (8, 3), (9, 3), (60, 3), (90, 5)])
def test_groups_are_those_of_the_twin(n, k, seed):
    rng = np.random.default_rng(seed)
    records = rng.normal(size=(n, int(rng.integers(1, 5))))
    order, sizes = start_of(n, k, rng)
    found = groups_of(*decompose(records, order, sizes, k))
    expected = naive.decompose(records, [group.tolist() for group in groups_of(order, sizes)], k)
    assert naive.total_sse(records, found) == pytest.approx(
        naive.total_sse(records, expected), rel=1e-9
    )
    assert {frozenset(g.tolist()) for g in found} == {frozenset(g) for g in expected}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.sampled_from([1, 2, 50]),
    st.integers(2, 6),
    st.integers(0, 60),
    st.integers(0, 10**6),
)
def test_groups_keep_their_size_and_the_loss_never_rises(kind, d, k, more, seed):
    n = 2 * k + more
    records = make(kind, n, d, seed)
    original = records.copy()
    order, sizes = start_of(n, k, np.random.default_rng(seed))
    start = naive.total_sse(records, groups_of(order, sizes))
    found, found_sizes = decompose(records, order, sizes, k)
    again, again_sizes = decompose(records, order, sizes, k)
    assert np.array_equal(found, again)
    assert np.array_equal(found_sizes, again_sizes)
    assert np.array_equal(records, original)
    assert np.array_equal(np.sort(found), np.arange(n))
    assert found_sizes.sum() == n
    assert found_sizes.min() >= k
    assert found_sizes.max() <= 2 * k - 1
    noise = 1e-4 if kind == "offset" else 1e-9
    assert naive.total_sse(records, groups_of(found, found_sizes)) <= start * (1 + noise) + 1e-20


def test_one_huge_group_is_split():
    records = make("generic", 500, 2, 3)
    order, sizes = decompose(records, np.arange(500), np.array([500]), 4)
    assert sizes.min() >= 4
    assert sizes.max() <= 7
    assert naive.total_sse(records, groups_of(order, sizes)) < 0.1 * records.size


def test_progress_ascends_to_one():
    seen = []
    records = make("generic", 100, 2, 0)
    decompose(records, np.arange(100), np.full(20, 5), 5, seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_tarragona_from_rows_in_file_order():
    raw = load("tarragona")
    records = np.ascontiguousarray((raw - raw.mean(axis=0)) / raw.std(axis=0))
    order, sizes = decompose(records, np.arange(834), np.full(278, 3), 3)
    assert 100 * naive.total_sse(records, groups_of(order, sizes)) / records.size < 17.0
