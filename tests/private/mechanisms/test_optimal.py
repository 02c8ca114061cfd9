"""The groups with the least error plus noise, against the paper's quadratic programme."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.private import expected_error
from microagg.private.domains import Range
from tests.naive.private import error_of, least_error, simulated_error
from tests.private.mechanisms.grouping import groups


@given(
    st.lists(st.integers(0, 16), min_size=1, max_size=40),
    st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(2), Fraction(8), Fraction(40)]),
)
def test_is_the_quadratic_programme(numbers, epsilon):
    values = np.array(numbers, float)[:, np.newaxis]
    found = groups("optimal", values, 1, [Range(0.0, 16.0)], [float(epsilon)])[0]
    exact = [Fraction(x, 16) for x in numbers]
    c = 2 / epsilon**2
    assert error_of(exact, found.labels.tolist(), c) == least_error(exact, c)


@pytest.mark.parametrize("low", [-1e6, 0.0, 1e9])
def test_on_skewed_values_with_an_offset(low):
    rng = np.random.default_rng(2)
    values = np.round(np.minimum(rng.lognormal(2, 1, 150), 400), 1) + low
    shares = (values - low) / 400
    found = groups("optimal", values[:, np.newaxis], 1, [Range(low, low + 400)], [0.7])[0]
    exact, c = [Fraction(x) for x in shares.tolist()], 2 / Fraction(0.7) ** 2
    least = least_error(exact, c)
    assert float(error_of(exact, found.labels.tolist(), c) / least) < 1 + 1e-12


def test_respects_a_least_size():
    values = np.repeat([0.0, 1.0], 7)[:, np.newaxis]
    assert groups("optimal", values, 1, [Range(0, 1)], [100.0])[0].n_groups == 2
    assert groups("optimal", values, 8, [Range(0, 1)], [100.0])[0].n_groups == 1


def test_survives_extreme_widths():
    for width in (1e-150, 1e150, 1e300):
        values = np.linspace(0, 1, 20)[:, np.newaxis] * width
        found = groups("optimal", values, 1, [Range(0, width)], [5.0])[0]
        same = groups("optimal", values / width, 1, [Range(0, 1)], [5.0])[0]
        assert found.labels.tolist() == same.labels.tolist()


def test_uniform_error():
    n, epsilon = 4000, 1.0
    x = (np.arange(n) + 0.5) / n
    expected = expected_error("optimal", n, epsilon, {"x": (0.0, 1.0)})
    errors = simulated_error(x + 5, "optimal", 11 * epsilon, bounds=(0.0, 11.0), runs=100)
    assert errors.mean() == pytest.approx(expected.total, rel=0.05)
