"""Sums that nothing rounds, against Python's fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.kernels.exact_sums import Moments, root

ANY = st.floats(allow_nan=False, allow_infinity=False)
ORDINARY = st.floats(-1e6, 1e6)


def moments(values):
    found = Moments()
    found.add(values)
    return found


def plainly(values):
    exact = [Fraction(value) for value in values.tolist()]
    return sum(exact, Fraction(0)), sum((x * x for x in exact), Fraction(0))


@settings(max_examples=100, deadline=None)
@given(st.lists(ANY | ORDINARY, max_size=40))
def test_floats_are_added_exactly(values):
    array = np.array(values, float)
    found = moments(array)
    assert (found.total, found.squares) == plainly(array)
    assert found.count == array.size


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40))
def test_integers_are_added_exactly(values):
    array = np.array(values, np.int64)
    found = moments(array)
    assert (found.total, found.squares) == plainly(array)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), max_size=40))
def test_unsigned_integers_are_added_exactly(values):
    array = np.array(values, np.uint64)
    found = moments(array)
    assert (found.total, found.squares) == plainly(array)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), -1, 2**44 - 1])
def test_as_many_of_the_largest_as_are_added_at_once(value):
    count = (1 << 18) + 3
    found = moments(np.full(count, value, np.int64))
    assert found.total == count * value
    assert found.squares == count * value * value
    assert found.variance == 0


def test_many_of_the_widest_significands():
    value = float(2**53 - 1)
    found = moments(np.full((1 << 18) + 1, value))
    assert found.total == ((1 << 18) + 1) * Fraction(value)


def test_parts_and_order_make_no_difference():
    rng = np.random.default_rng(0)
    values = rng.standard_cauchy(10_000) * 1e9 + 1e12
    whole = moments(values)
    parted = Moments()
    for part in np.array_split(rng.permutation(values), 17):
        parted.merge(moments(part))
    assert parted == whole


def test_mean_and_variance():
    values = np.array([1e9 + 1, 1e9 + 2, 1e9 + 3])
    found = moments(values)
    assert found.mean == 10**9 + 2
    assert found.variance == Fraction(2, 3)
    assert (Moments().mean, Moments().variance) == (0, 0)


@pytest.mark.parametrize("number", [0.0, 5e-324, 1e-200, 1 / 3, 2.0, 1e200, 1.7e308])
def test_roots_of_any_size(number):
    assert root(Fraction(number) ** 2) == number
    assert root(Fraction(number)) == pytest.approx(number**0.5, rel=1e-15)


def test_the_ends_of_all_numbers():
    for value in (1.7976931348623157e308, 5e-324, 2.0**-480, 2.0**500):
        found = moments(np.array([value, -value, value, 0.0]))
        assert (found.total, found.squares) == (Fraction(value), 3 * Fraction(value) ** 2)
