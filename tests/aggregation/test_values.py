from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microagg
from tests.naive.split import nearest_integer


@st.composite
def grouped(draw, elements):
    labels = draw(st.lists(st.integers(0, 4), min_size=1, max_size=25))
    values = draw(st.lists(elements, min_size=len(labels), max_size=len(labels)))
    return values, np.unique(labels, return_inverse=True)[1]


def exact_means(values, labels):
    means = []
    for label in labels:
        group = [Fraction(v) for v, other in zip(values, labels, strict=True) if other == label]
        means.append(sum(group) / len(group))
    return means


@given(grouped(st.floats(-1e6, 1e6)), st.sampled_from([0.0, 1e12]))
def test_means(data, offset):
    values, labels = data
    values = np.array(values) + offset
    expected = [float(mean) for mean in exact_means(values.tolist(), labels)]
    published = microagg.aggregate(values, labels)
    assert published == pytest.approx(expected, rel=1e-15, abs=1e-9)


@given(grouped(st.integers(-(2**63), 2**63 - 1)))
def test_integers_are_exact_in_all_of_int64(data):
    values, labels = data
    expected = [nearest_integer(mean) for mean in exact_means(values, labels)]
    published = microagg.aggregate(np.array(values, np.int64), labels, how="integer")
    assert published.dtype == np.int64
    assert published.tolist() == expected


@given(grouped(st.integers(0, 2**64 - 1)))
def test_integers_are_exact_in_all_of_uint64(data):
    values, labels = data
    expected = [nearest_integer(mean) for mean in exact_means(values, labels)]
    published = microagg.aggregate(np.array(values, np.uint64), labels, how="integer")
    assert published.dtype == np.uint64
    assert published.tolist() == expected


def test_halves_go_away_from_zero():
    assert microagg.aggregate([7, 8, -7, -8], [0, 0, 1, 1], "integer").tolist() == [8, 8, -8, -8]


def test_means_of_integers_with_a_huge_offset():
    values = np.array([2**62, 2**62 + 2048, -(2**62), -(2**62) + 4096], np.int64)
    published = microagg.aggregate(values, [0, 0, 1, 1])
    assert published.tolist() == [
        2.0**62 + 1024,
        2.0**62 + 1024,
        -(2.0**62) + 2048,
        -(2.0**62) + 2048,
    ]


def test_many_columns_keep_shape_order_and_input():
    X = np.asfortranarray(np.random.default_rng(0).normal(size=(40, 50)))
    before = X.copy()
    partition = microagg.optimal_univariate(X[:, 0], 4)
    published = microagg.aggregate(X, partition)
    assert published.shape == X.shape
    for column in range(50):
        assert np.array_equal(published[:, column], microagg.aggregate(X[:, column], partition))
    assert np.array_equal(X, before)
    assert np.bincount(partition.labels).min() >= 4


@pytest.mark.parametrize(
    ("labels", "how", "sentence"),
    [
        ([0, 0], "mean", "labels must be one number a record, 3 in all"),
        ([0.0, 0.0, 0.0], "mean", "labels must be integers, but their type is float64"),
        ([0, 2, 2], "mean", "labels must be the numbers 0 to g - 1, each used at least once"),
        ([0, -1, 0], "mean", "labels must be the numbers 0 to g - 1"),
        ([0, 0, 9**9], "mean", "labels must be the numbers 0 to g - 1"),
        ([0, 0, 0], "median", "how must be one of mean, integer, proximity, but it is 'median'"),
        ([0, 0, 0], "integer", "3 of 3 values have a fraction"),
    ],
)
def test_bad_input_gets_one_clear_sentence(labels, how, sentence):
    with pytest.raises(microagg.MicroaggError) as caught:
        microagg.aggregate([0.5, 1.5, 2.5], labels, how)
    assert sentence in str(caught.value)
