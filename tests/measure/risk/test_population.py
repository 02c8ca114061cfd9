import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.measure.risk.population import _pitman_fit, pitman, population_uniques, zayatz
from tests.naive import risk as naive


def counted(sizes):
    return np.unique(np.array(sizes), return_counts=True)


@given(st.lists(st.integers(1, 6), min_size=2, max_size=12).filter(lambda sizes: 1 in sizes))
def test_zayatz_is_bayes_rule(sizes):
    population = 2 * sum(sizes) + 7
    assert zayatz(*counted(sizes), population) == pytest.approx(naive.zayatz(sizes, population))


def test_pitman_takes_the_most_likely_parameters():
    sizes = [1] * 40 + [2] * 15 + [3] * 6 + [9, 20]
    theta, alpha = _pitman_fit(*counted(sizes))
    best = naive.pitman_likelihood(sizes, theta, alpha)
    for other in (theta * 1.02, theta / 1.02):
        assert naive.pitman_likelihood(sizes, other, alpha) < best
    for other in (alpha + 0.01, alpha - 0.01):
        assert naive.pitman_likelihood(sizes, theta, other) < best
    found = pitman(*counted(sizes), 5_000)
    assert found == pytest.approx(naive.pitman_alone(theta, alpha, 5_000), rel=1e-9)


def test_estimates_are_near_what_a_population_is():
    rng = np.random.default_rng(5)
    kinds = np.floor(rng.pareto(1.0, 200_000) * 30_000).astype(np.int64)
    true = 100.0 * (np.unique(kinds, return_counts=True)[1] == 1).sum() / kinds.size
    for share, name in ((0.05, "Pitman"), (0.5, "Zayatz")):
        sample = rng.choice(kinds, int(share * kinds.size), replace=False)
        sizes = np.unique(sample, return_counts=True)[1]
        found = population_uniques(*counted(sizes), kinds.size)
        assert name in found.words
        alone = 100.0 * (sizes == 1).sum() / sample.size
        assert abs(found.percent - true) < 0.25 * abs(alone - true), name


@pytest.mark.parametrize("sizes", [[1, 1, 1], [2, 3], [1], [5]])
def test_where_models_have_nothing_to_go_by(sizes):
    found = population_uniques(*counted(sizes), 1000.0)
    assert found.percent == (100.0 if max(sizes) == 1 else 0.0)
    assert math.isfinite(found.percent)


def test_the_whole_population_is_counted():
    found = population_uniques(*counted([1, 1, 2]), 4.0)
    assert found == (50.0, "")
