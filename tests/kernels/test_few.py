import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.kernels.trees.few import lists_of_few, nearest_among
from microagg.kernels.trees.lists import nearest_lists


def points(rng, kind, n, d):
    if kind == "grid":
        return rng.integers(-2, 3, (n, d)).astype(float)
    return rng.normal(size=(n, d)) + (1e9 if kind == "offset" else 0.0)


KINDS = st.sampled_from(["plain", "grid", "offset"])


@given(KINDS, st.integers(1, 90), st.integers(1, 60), st.integers(1, 7), st.integers(0, 2**32))
def test_the_nearest_and_its_ties_are_those_of_a_tree(kind, n, queries, d, seed):
    rng = np.random.default_rng(seed)
    there, asked = points(rng, kind, n, d), points(rng, kind, queries, d)
    scales, weights = rng.integers(1, 9, d) / 8, rng.integers(0, 2**40, n)
    rest = asked, np.full(queries, np.inf), weights, lambda _share: None
    by_tree = nearest_among(there, scales, *rest, few=0)
    for one, other in zip(by_tree, nearest_among(there, scales, *rest), strict=True):
        assert one.tobytes() == other.tobytes()


@given(KINDS, st.integers(1, 90), st.integers(1, 12), st.integers(1, 7), st.integers(0, 2**32))
def test_lists_are_those_of_a_tree_but_for_ties(kind, n, count, d, seed):
    records = points(np.random.default_rng(seed), kind, 2 * n, d)
    members = np.arange(0, 2 * n, 2, dtype=np.int32)
    rows, lists, squares = nearest_lists(records, members, count, 10**6)
    assert np.array_equal(rows, members)
    in_tree, _, expected = nearest_lists(records, members, count, 10**6, few=0)
    assert squares.tobytes() == expected[np.argsort(in_tree)].tobytes()
    for row, near, away in zip(rows, lists, squares, strict=True):
        assert row not in near
        assert np.all(np.diff(near)[np.diff(away) == 0] > 0)
        for other, square in zip(near, away, strict=True):
            assert sum((records[other] - records[row]) ** 2) == square


@pytest.mark.parametrize("exponent", [-1070, -600, -150, 150, 450])
@pytest.mark.parametrize("kind", ["plain", "grid"])
def test_lists_are_exact_in_any_units(kind, exponent):
    records = points(np.random.default_rng(3), kind, 300, 3) * 2.0**exponent
    members = np.arange(300, dtype=np.int32)
    with np.errstate(over="ignore"):
        _, _, squares = nearest_lists(records, members, 7, 10**6)
    in_tree, _, found = nearest_lists(records, members, 7, 10**6, few=0)
    assert squares.tobytes() == found[np.argsort(in_tree)].tobytes()


def test_lists_tell_apart_what_single_precision_cannot():
    rng = np.random.default_rng(4)
    records = np.repeat(rng.normal(size=(20, 3)), 20, axis=0) + 1e-12 * rng.normal(size=(400, 3))
    members = np.arange(400, dtype=np.int32)
    _, _, squares = nearest_lists(records, members, 9, 10**6)
    in_tree, _, found = nearest_lists(records, members, 9, 10**6, few=0)
    assert squares.tobytes() == found[np.argsort(in_tree)].tobytes()


def test_whoever_waits_is_told():
    shares = []
    records = np.random.default_rng(0).normal(size=(1500, 2))
    lists_of_few(records, np.arange(1500, dtype=np.int32), 3, shares.append)
    assert len(shares) > 2
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
