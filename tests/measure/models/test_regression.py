"""Least squares, logistic regression and their scores."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from microagg.measure.models.regression import (
    NORMAL,
    Fit,
    area_under_curve,
    least_squares,
    logistic,
    overlap,
    r_squared,
)
from tests.naive import models as naive


def data(seed, n, p):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ rng.normal(size=p) + rng.normal(size=n)


@given(st.integers(0, 10**6), st.integers(1, 5))
@settings(max_examples=40)
def test_least_squares(seed, p):
    X, y = data(seed, 30, p)
    fit = least_squares(X, y)
    coefficients, errors = naive.least_squares(X, y)
    np.testing.assert_allclose(fit.coefficients, coefficients, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fit.errors, errors, rtol=1e-8)
    left = y - fit.predict(X)
    assert r_squared(y, fit.predict(X)) == pytest.approx(1 - left.var() / y.var())


def test_least_squares_by_hand():
    """Fifteen women of 1.47 to 1.83 m: the straight line of a well-known textbook example."""
    height = [
        1.47,
        1.50,
        1.52,
        1.55,
        1.57,
        1.60,
        1.63,
        1.65,
        1.68,
        1.70,
        1.73,
        1.75,
        1.78,
        1.80,
        1.83,
    ]
    mass = [52.21, 53.12, 54.48, 55.84, 57.20, 58.57, 59.93, 61.29]
    mass += [63.11, 64.47, 66.28, 68.10, 69.92, 72.19, 74.46]
    fit = least_squares(np.array(height)[:, np.newaxis], np.array(mass))
    assert fit.coefficients == pytest.approx([-39.062, 61.272], abs=5e-4)
    assert fit.errors == pytest.approx([2.938, 1.776], abs=5e-3)


def test_columns_that_depend_on_each_other():
    X, y = data(1, 40, 2)
    plain = least_squares(X, y)
    twice = least_squares(np.column_stack([X, X[:, 0]]), y)
    np.testing.assert_allclose(twice.predict(np.column_stack([X, X[:, 0]])), plain.predict(X))
    assert np.isfinite(twice.errors).all()
    alone = least_squares(np.empty((40, 0)), y)
    assert alone.coefficients == pytest.approx([y.mean()])
    assert r_squared(np.ones(3), np.zeros(3)) == 0.0


@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([0.1, 1.0, 10.0]))
@settings(max_examples=25, deadline=None)
def test_logistic(seed, p, ridge):
    X, y = data(seed, 40, p)
    target = y > 0.3
    fit = logistic(X, target, ridge)
    expected = naive.logistic(X, target, ridge)
    np.testing.assert_allclose(fit.coefficients, expected, rtol=1e-3, atol=1e-3)
    found, best = (naive.logistic_cost(c, X, target, ridge) for c in (fit.coefficients, expected))
    assert found <= best + 1e-9


def test_logistic_is_that_of_a_peer():
    X, y = data(3, 500, 4)
    target = y > 0
    peer = LogisticRegression(tol=1e-10, max_iter=1000).fit(X, target)
    fit = logistic(X, target)
    np.testing.assert_allclose(fit.coefficients[1:], peer.coef_[0], rtol=1e-5)
    assert fit.coefficients[0] == pytest.approx(peer.intercept_[0], rel=1e-4)
    np.testing.assert_allclose(fit.predict(X), peer.decision_function(X), rtol=1e-4, atol=1e-5)


def test_logistic_of_two_by_two_is_the_log_odds():
    """Of a table with cells a, b, c, d: log (ad / bc), whose error is sqrt(1/a + ... + 1/d)."""
    a, b, c, d = 20, 10, 15, 30
    X = np.repeat([1.0, 1.0, 0.0, 0.0], [a, b, c, d])[:, np.newaxis]
    target = np.repeat([True, False, True, False], [a, b, c, d])
    fit = logistic(X, target, ridge=1e-9)
    assert fit.coefficients == pytest.approx([math.log(c / d), math.log(a * d / (b * c))])
    assert fit.errors[1] == pytest.approx(math.sqrt(1 / a + 1 / b + 1 / c + 1 / d))


@pytest.mark.parametrize("target", [[True] * 6, [False] * 6, [False] * 3 + [True] * 3])
def test_targets_without_a_question_stay_finite(target):
    X = np.arange(6.0)[:, np.newaxis] * 1e6
    fit = logistic(X, np.array(target))
    assert np.isfinite(fit.coefficients).all()
    assert np.isfinite(fit.errors).all()


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=25))
def test_area_under_the_curve(pairs):
    target, scores = np.array([t for t, _ in pairs]), np.array([float(s) for _, s in pairs])
    assert area_under_curve(target, scores) == pytest.approx(naive.area(target, scores))


def test_overlap_by_hand():
    def fit(low, high):
        return Fit(np.array([(low + high) / 2]), np.array([(high - low) / 2 / NORMAL]))

    assert overlap(fit(0, 2), fit(1, 5))[0] == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert overlap(fit(0, 2), fit(0, 2))[0] == pytest.approx(1.0)
    assert overlap(fit(0, 1), fit(2, 3))[0] == 0.0
    assert overlap(fit(1, 1), fit(1, 1))[0] == 1.0
    assert overlap(fit(1, 1), fit(2, 2))[0] == 0.0


@given(st.integers(0, 10**6))
def test_overlap(seed):
    rng = np.random.default_rng(seed)
    fits = [Fit(rng.normal(size=4), rng.uniform(0.1, 1, 4)) for _ in range(2)]
    for place, share in enumerate(overlap(*fits)):
        intervals = [
            (fit.coefficients[place] - NORMAL * fit.errors[place],
             fit.coefficients[place] + NORMAL * fit.errors[place])
            for fit in fits
        ]  # fmt: skip
        assert share == pytest.approx(naive.overlap(*intervals))
