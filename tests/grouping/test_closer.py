import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.grouping.refine import closer
from microagg.grouping.refine.annealing import LANES
from microagg.grouping.refine.closer import closer_lists
from microagg.kernels.trees.lists import nearest_lists
from tests.grouping.test_reorder import KINDS, make
from tests.naive.search import closer_list


def lists_of(points, count, looks):
    """Lists from a tree that was not searched to the end, by numbers in the order of the tree."""
    n = len(points)
    rows, lists, squares = nearest_lists(points, np.arange(n, dtype=np.int32), count, looks, few=0)
    number = np.empty(n, np.int32)
    number[rows] = np.arange(n)
    return points[rows], number[lists], squares


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.integers(2, 120),
    st.sampled_from([LANES, 3 * LANES]),
    st.integers(1, 14),
    st.integers(1, 4),
    st.integers(0, 2**32),
)
def test_a_list_holds_the_nearest_of_neighbours_and_theirs(kind, n, d, count, looks, seed):
    points, lists, squares = lists_of(make(kind, n, d, seed), count, looks)
    given_lists, given_squares = lists.copy(), squares.copy()
    near, near_squares = closer_lists(points, lists, squares)
    assert np.array_equal(lists, given_lists)
    assert np.array_equal(squares, given_squares)
    for row in range(n):
        _, expected = closer_list(points, lists, squares, row, closer._ASKED)
        expected += [np.inf] * (lists.shape[1] - len(expected))
        np.testing.assert_allclose(near_squares[row], expected, rtol=1e-9)
        there = near[row][near_squares[row] < np.inf]
        assert np.unique(there).size == there.size
        assert row not in there
        away = ((points[there] - points[row]) ** 2).sum(axis=1)
        np.testing.assert_allclose(away, near_squares[row][: there.size], rtol=1e-9)


def test_exact_lists_stay_as_they_are():
    points, lists, squares = lists_of(make("generic", 500, LANES, 1), 12, 10**6)
    near, near_squares = closer_lists(points, lists, squares)
    assert np.array_equal(near, lists)
    assert np.array_equal(near_squares, squares)


def test_lists_that_ended_early_come_much_nearer():
    records = make("generic", 6_000, 2 * LANES, 1)
    points, lists, squares = lists_of(records, 12, 20)
    best = lists_of(records, 12, 10**6)[2].sum()
    near_squares = closer_lists(points, lists, squares)[1]
    assert near_squares.sum() - best < 0.6 * (squares.sum() - best)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_the_same_whatever_the_threads(count, threads):
    given_lists = lists_of(make("generic", 9_000, LANES, 2), 12, 8)
    threads(1)
    alone = closer_lists(*given_lists)
    threads(count)
    for one, other in zip(alone, closer_lists(*given_lists), strict=True):
        assert one.tobytes() == other.tobytes()
