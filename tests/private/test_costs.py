"""The propositions on one column of width D, by simulated releases and in numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.private.costs import Setting, of_neighbours
from tests.naive.private import simulated_error


def worst(n, k, epsilon, width=1.0):
    return of_neighbours(Setting(n, [width], [epsilon], "worst-case")).at(k)


def plain(n, epsilon, width=1.0):
    return Setting(n, [width], [epsilon]).noise


def test_proposition_7():
    assert plain(100, 2.0, 6.0) == 2 * 100 * 9
    x = np.full(2000, 0.5)
    assert simulated_error(x, "records", 60.0).mean() == pytest.approx(plain(2000, 60.0), rel=0.02)


def test_proposition_8_is_reached_by_the_worst_data():
    n, k, epsilon = 400, 20, 100.0
    # One group has half its values at either end; the noise is too small to reach the bounds.
    x = np.sort(np.r_[np.full(n // 2 - k // 2, 0.4), np.full(n // 2 + k // 2, 0.6)])
    bound = worst(n, k, epsilon, 0.2).groups + worst(n, k, epsilon).noise
    errors = simulated_error(x, "marginals", epsilon, k)
    assert errors.mean() == pytest.approx(bound, rel=0.05)
    assert worst(100, 4, 2.0, 6.0) == (4 * 9, 2 * 100 * (6 / 8) ** 2)
    assert worst(100, 4, 2.0, 6.0).total == 36 + 112.5


@given(st.integers(2, 30), st.integers(1, 10), st.integers(0, 2**32 - 1))
def test_proposition_8_holds(groups, k, seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.beta(0.3, 0.3, groups * k)).reshape(groups, k)
    sse = ((x - x.mean(axis=1, keepdims=True)) ** 2).sum()
    assert sse <= worst(groups * k, k, 1.0).groups


@given(st.integers(2, 10_000), st.integers(1, 50), st.floats(0.1, 10), st.integers(1, 20))
def test_propositions_9_and_10(n, k, epsilon, factor):
    """A record's error: more records leave its noise, larger groups with them its SSE."""
    groups, noise = np.array(worst(n, k, epsilon, 3.0)) / n
    more = np.array(worst(factor * n, k, epsilon, 3.0)) / (factor * n)
    assert more == pytest.approx([groups / factor, noise])
    larger = np.array(worst(factor * n, factor * k, epsilon, 3.0)) / (factor * n)
    assert larger == pytest.approx([groups, noise / factor**2])


def always_helps(n, k, epsilon):
    return k > 1 and k**3 / (k**2 - 1) < 8 * n / epsilon**2


@given(st.integers(2, 2000), st.integers(1, 2000), st.floats(0.1, 50))
def test_when_groups_help(n, k, epsilon):
    better = worst(n, k, epsilon).total < plain(n, epsilon)
    near = abs(k**3 / max(k**2 - 1, 1e-9) - 8 * n / epsilon**2) < 1e-9 * n
    assert better == always_helps(n, k, epsilon) or near or k == 1


def test_inequality_3_is_not_sufficient():
    n, k, epsilon = 2, 2, 2.7
    assert k < 8 * n / epsilon**2
    assert epsilon < np.sqrt(8)
    assert not always_helps(n, k, epsilon)
    assert worst(n, k, epsilon).total > plain(n, epsilon)
