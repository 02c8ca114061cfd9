"""Errors to expect, against the propositions and against simulated releases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.base.errors import OptionError
from microagg.private import expected_error, release, suggest_k
from microagg.private.registry import METHODS
from microagg.private.theory import (
    best_k,
    grouped_error,
    groups_always_help,
    mean_error,
    mean_error_with_larger_groups,
    mean_error_with_more_records,
    plain_error,
)

ONE = {"x": (0.0, 1.0)}


def simulate(x, method, epsilon, k=None, runs=200, bounds=(0.0, 1.0)):
    """The mean squared error over many runs, of values far from their bounds."""
    errors = []
    for seed in range(runs):
        found = release(
            x,
            epsilon=epsilon,
            bounds={"0": bounds},
            method=method,
            k=k,
            accept="partition-conditional",
            simulate=True,
            seed=seed,
        )
        data = found.data
        if method == "marginals":
            data = np.repeat(found.marginals["0"].values, found.marginals["0"].counts)
        errors.append(((data - x) ** 2).sum())
    return np.mean(errors)


def test_proposition_7():
    assert plain_error(100, 2.0, 6.0) == 2 * 100 * 9
    x = np.full(2000, 0.5)
    assert simulate(x, "records", 60.0) == pytest.approx(plain_error(2000, 60.0, 1.0), rel=0.02)


def test_proposition_8_is_reached_by_the_worst_data():
    n, k, epsilon = 400, 20, 100.0
    # One group has half its values at either end; the noise is too small to reach the bounds.
    x = np.sort(np.r_[np.full(n // 2 - k // 2, 0.4), np.full(n // 2 + k // 2, 0.6)])
    bound = grouped_error(n, k, epsilon, 0.2).groups
    found = simulate(x, "marginals", epsilon, k)
    assert found == pytest.approx(bound + grouped_error(n, k, epsilon, 1.0).noise, rel=0.05)
    assert grouped_error(100, 4, 2.0, 6.0) == (4 * 9, 2 * 100 * (6 / 8) ** 2)
    assert grouped_error(100, 4, 2.0, 6.0).total == 36 + 112.5


@given(st.integers(2, 30), st.integers(1, 10), st.integers(0, 2**32 - 1))
def test_proposition_8_holds(groups, k, seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.beta(0.3, 0.3, groups * k)).reshape(groups, k)
    sse = ((x - x.mean(axis=1, keepdims=True)) ** 2).sum()
    assert sse <= grouped_error(groups * k, k, 1.0, 1.0).groups


@given(st.integers(2, 10_000), st.integers(1, 50), st.floats(0.1, 10), st.integers(1, 20))
def test_propositions_9_and_10(n, k, epsilon, factor):
    before = mean_error(n, k, epsilon, 3.0)
    assert before.total == pytest.approx(grouped_error(n, k, epsilon, 3.0).total / n)
    more = mean_error_with_more_records(before, factor)
    assert more == pytest.approx(mean_error(factor * n, k, epsilon, 3.0))
    larger = mean_error_with_larger_groups(before, factor)
    assert larger == pytest.approx(mean_error(factor * n, factor * k, epsilon, 3.0))


@given(st.integers(2, 2000), st.integers(1, 2000), st.floats(0.1, 50))
def test_when_groups_help(n, k, epsilon):
    better = grouped_error(n, k, epsilon, 1.0).total < plain_error(n, epsilon, 1.0)
    helps = groups_always_help(n, k, epsilon)
    near = abs(k**3 / max(k**2 - 1, 1e-9) - 8 * n / epsilon**2) < 1e-9 * n
    assert better == helps or near or k == 1


def test_inequality_3_is_not_sufficient():
    n, k, epsilon = 2, 2, 2.7
    assert k < 8 * n / epsilon**2
    assert epsilon < np.sqrt(8)
    assert not groups_always_help(n, k, epsilon)
    assert grouped_error(n, k, epsilon, 1.0).total > plain_error(n, epsilon, 1.0)


@pytest.mark.parametrize("method", ["mdav", "mdav-columns", "marginals", "records"])
def test_uniform_errors_in_one_column(method):
    n, k, epsilon = 1200, 1 if method == "records" else 20, 50.0
    x = (np.arange(n) + 0.5) / n
    expected = expected_error(method, n, epsilon, ONE, k=k)
    away = x + 5  # the bounds stay out of reach
    found = simulate(away, method, 11 * epsilon, None if k == 1 else k, 100, bounds=(0.0, 11.0))
    assert found == pytest.approx(expected.total, rel=0.03)


def test_uniform_error_of_insensitive():
    n, k, epsilon = 1200, 100, 50.0
    x = (np.arange(n) + 0.5) / n
    expected = expected_error("insensitive", n, epsilon, ONE, k=k)
    found = simulate(x + 5, "insensitive", 11 * epsilon, k, 200, bounds=(0.0, 11.0))
    assert found == pytest.approx(expected.total, rel=0.1)


def test_uniform_error_of_optimal():
    n, epsilon = 4000, 1.0
    x = (np.arange(n) + 0.5) / n
    expected = expected_error("optimal", n, epsilon, ONE)
    found = simulate(x + 5, "optimal", 11 * epsilon, runs=100, bounds=(0.0, 11.0))
    assert found == pytest.approx(expected.total, rel=0.05)


def test_noise_of_several_columns_is_exact():
    bounds = {"a": (0, 10), "b": (5, 6)}
    for budget, noise in (
        ("even", 4 * 101),
        ("sensitivity", 2 * 121),
        ("optimal", (10 ** (2 / 3) + 1) ** 3),
    ):
        found = expected_error("marginals", 100, 1.0, bounds, k=5, budget=budget)
        assert found.noise == pytest.approx(2 * 100 / 25 * noise)
        wide = expected_error("insensitive", 100, 1.0, bounds, k=5, budget=budget)
        assert wide.noise == pytest.approx(found.noise * 20**2)


def test_known_sse_needs_no_assumption():
    found = expected_error("mdav", 100, 1.0, ONE, k=5, sse=12.5)
    assert found == (12.5, 8.0)
    with pytest.raises(OptionError, match="leave sse out"):
        expected_error("optimal", 100, 1.0, ONE, sse=1.0)


def test_suggested_sizes():
    assert suggest_k(1080, 0.25) == round((24 * 1080**2 / 0.0625) ** 0.25)
    assert suggest_k(1080, 1.0, columns=4) == suggest_k(1080, 0.25)
    assert suggest_k(1000, 1.0, assume="worst-case") == round(16_000 ** (1 / 3))
    assert suggest_k(1080, 0.25, bounds={"x": (-6e307, 6e307)}) == suggest_k(1080, 0.25)
    assert suggest_k(1080, 0.25, bounds={"x": (0.0, 1e-300)}) == suggest_k(1080, 0.25)
    assert suggest_k(10, 1e-6) == 10
    assert suggest_k(10, 1e6) == 1
    assert suggest_k(500, 1.0, "records") == suggest_k(500, 1.0, "optimal") == 1


@pytest.mark.parametrize("method", ["mdav", "mdav-columns", "marginals", "insensitive"])
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("assume", ["uniform", "worst-case"])
def test_no_other_size_is_expected_to_do_better(method, columns, assume):
    bounds = {str(number): (0.0, 10.0**number) for number in range(columns)}
    settings = {"bounds": bounds, "budget": "sensitivity", "assume": assume}
    if assume == "worst-case" and columns > 1 and METHODS[method].together:
        with pytest.raises(OptionError, match="whatever k is"):
            suggest_k(300, 1.0, method, **settings)
        return
    best = suggest_k(300, 1.0, method, **settings)
    errors = [expected_error(method, 300, 1.0, k=k, **settings).total for k in range(1, 301)]
    assert errors[best - 1] == min(errors)


def test_release_without_k_takes_the_suggested_one():
    bounds = {"0": (0, 1), "1": (0, 5)}
    found = release(
        np.random.default_rng(0).random((500, 2)),
        epsilon=1.0,
        bounds=bounds,
        method="marginals",
        budget="optimal",
        simulate=True,
    )
    assert found.guarantee.public["k"] == suggest_k(500, 1.0, bounds=bounds, budget="optimal")
    assert best_k("marginals", 500, [1.0], [1.0]) == suggest_k(500, 1.0)


def test_unusable_settings():
    with pytest.raises(OptionError, match="assume must be one of"):
        expected_error("mdav", 100, 1.0, ONE, assume="the best")
    with pytest.raises(OptionError, match="assume must be one of"):
        suggest_k(100, 1.0, assume="the best")
    with pytest.raises(OptionError, match="bounds of column 'x' must be a pair"):
        expected_error("mdav", 100, 1.0, {"x": ["a", "b"]})
    for n, columns in ((0, 1), (10, 0)):
        with pytest.raises(OptionError, match="at least one record and one column"):
            suggest_k(n, 1.0, columns=columns)
    with pytest.raises(OptionError, match="no private method"):
        expected_error("magic", 100, 1.0, ONE)
