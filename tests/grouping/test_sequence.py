"""The split of records in any order, against the rational twin."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import microagg
from microagg.grouping.sequence import split
from microagg.grouping.sequence.scan import fill_sequence
from tests.naive import split as naive


def exact_rows(records):
    return [[Fraction(x) for x in row] for row in records.tolist()]


def cost_of(records, sizes, cost):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return naive.cost_of_labels(exact_rows(records), labels, cost)


records = hnp.arrays(
    np.float64,
    st.tuples(st.integers(2, 25), st.integers(1, 4)),
    elements=st.integers(-30, 30).map(float),
)


@pytest.mark.parametrize("both_ends", [False, True])
@settings(max_examples=60)
@given(line=records, k=st.integers(2, 6), offset=st.sampled_from([0.0, 2.0**45]))
def test_the_best_split_of_a_line_of_records(both_ends, line, k, offset):
    k = min(k, len(line))
    line = line + offset
    way = {"two_way_from": 0} if both_ends else {}
    for integer, twin in ((False, naive.sse), (True, naive.integer_sse)):
        cost = naive.vector_cost(twin)
        sizes = split.split_sequence(line, k, integer=integer, **way)
        assert sizes.sum() == len(line)
        assert sizes.min() >= k
        assert sizes.max() <= max(2 * k - 1, len(line) if len(line) < 2 * k else 0)
        best = naive.least_cost(exact_rows(line), k, cost)
        assert cost_of(line, sizes, cost) <= best * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("columns", [1, 50])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_splitting_from_both_ends_costs_the_same(k, columns):
    line = np.random.default_rng(k).normal(size=(2000, columns))
    losses = []
    for start in (10**9, 0):
        sizes = split.split_sequence(line, k, two_way_from=start)
        losses.append(microagg.information_loss(line, np.repeat(np.arange(len(sizes)), sizes)))
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)


def test_k_of_one_and_short_lines():
    line = np.zeros((3, 2))
    assert split.split_sequence(line, 1).tolist() == [1, 1, 1]
    assert split.split_sequence(line, 2).tolist() == [3]


def test_records_too_far_apart_for_exact_integers_are_refused():
    line = np.array([[0.0], [1e9], [2e9], [3e9]])
    with pytest.raises(microagg.MicroaggError, match="too far apart for exact integer centroids"):
        split.split_sequence(line, 2, integer=True)


@pytest.mark.parametrize("n", [255, 256, 257, 1000])
@pytest.mark.parametrize("k", [2, 5, 60])
def test_records_are_split_in_an_order_as_if_they_stood_in_it(n, k):
    rng = np.random.default_rng(n)
    records, order = rng.normal(size=(n, 3)), rng.permutation(n).astype(np.int32)
    in_line = np.ascontiguousarray(records[order].T)
    filled = []
    for given_so, places in ((in_line, order[:0]), (records, order)):
        sizes, tail = np.zeros(n + 1, np.int32), np.empty(2 * k - 1)
        fill_sequence(given_so, places, k, False, sizes, tail)
        filled.append((sizes[k:], tail))
    for one, other in zip(*filled, strict=True):
        np.testing.assert_array_equal(one, other)


def test_records_in_an_order_are_not_held_twice():
    rng = np.random.default_rng(0)
    records = rng.normal(size=(100_000, 20))
    order = rng.permutation(len(records)).astype(np.int32)
    split.split_sequence(records, 3, order=order)
    tracemalloc.start()
    try:
        split.split_sequence(records, 3, order=order)
        assert tracemalloc.get_traced_memory()[1] < records.nbytes / 4
    finally:
        tracemalloc.stop()
