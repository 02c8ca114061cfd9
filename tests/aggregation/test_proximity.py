import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.aggregation.proximity import proximity_centroids
from microagg.measure.interval import transparent_disclosure
from microagg.measure.statistics import paired
from tests.naive.proximity import best_of_starts, objective, z_scores
from tests.reference import load


@st.composite
def problems(draw):
    """A column, any partition of it, and preferences of any shape."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    groups = draw(st.integers(2, 12))
    n = groups * draw(st.integers(1, 5)) + draw(st.integers(1, 5))
    labels = rng.permutation(np.r_[np.arange(groups), rng.integers(0, groups, n - groups)])
    kind = draw(st.sampled_from(["normal", "grid", "heavy", "constant within", "two values"]))
    x = {
        "normal": rng.normal(size=n),
        "grid": rng.integers(0, 4, n).astype(float),
        "heavy": rng.lognormal(0, 2, size=n),
        "constant within": rng.normal(size=groups)[labels],
        "two values": (labels % 2).astype(float),
    }[kind]
    distance = draw(st.sampled_from([0.0, 0.1, 0.5, 0.8, 2.0, None]))
    importance = draw(st.sampled_from([0.0, 0.001, 0.5, 0.9, None]))
    distance = 2.0 * rng.random(n) if distance is None else distance
    importance = 0.95 * rng.random(n) if importance is None else importance
    alpha = draw(st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]))
    return x, labels, distance, importance, alpha


def solve(x, labels, distance, importance, alpha, **options):
    return proximity_centroids(
        x, labels, distance=distance, importance=importance, alpha=alpha, **options
    )


def published(result, x, labels):
    """One z-score a group; all members must publish the same."""
    y = np.empty(labels.max() + 1)
    y[labels] = (result.values - x.mean()) / x.std()
    assert np.array_equal(y[labels], (result.values - x.mean()) / x.std())
    return y


@settings(max_examples=40, deadline=None, derandomize=True)
@given(problems(), st.integers(0, 2**32 - 1))
def test_no_dearer_than_a_general_solver(problem, seed):
    x, labels, distance, importance, alpha = problem
    if np.ptp(x) == 0.0:
        return
    result = solve(*problem)
    y = published(result, x, labels)
    z = z_scores(x)
    cost = objective(y, z, labels, distance, importance, alpha)
    assert result.objective[0] == pytest.approx(cost, rel=1e-9, abs=1e-9)
    assert result.values.mean() == pytest.approx(x.mean(), rel=1e-9, abs=1e-9 * x.std())
    assert result.values.var() == pytest.approx(x.var(), rel=1e-9)
    rng = np.random.default_rng(seed)
    rival = best_of_starts(z, labels, distance, importance, alpha, 3, rng)
    assert cost <= rival * (1.0 + 1e-6) + 1e-9
    assert result.bound[0] <= rival * (1.0 + 1e-9) + 1e-9
    assert result.bound[0] <= result.objective[0]
    local = solve(*problem, solution="local")
    assert local.objective[0] >= result.objective[0] * (1.0 - 1e-12)
    assert local.bound[0] <= result.objective[0] * (1.0 + 1e-9) + 1e-9


def test_with_one_well_a_group_both_solutions_are_the_optimum():
    # 2 alpha distance^2 is far below (1 - alpha) (1 - importance)^2.
    x = np.random.default_rng(9).lognormal(size=400)
    labels = microagg.optimal_univariate(x, 4).labels
    result = solve(x, labels, 0.1, 0.001, 0.5)
    local = solve(x, labels, 0.1, 0.001, 0.5, solution="local")
    assert result.gap[0] < 1e-9
    assert result.values == pytest.approx(local.values, rel=1e-9)


@pytest.mark.parametrize("name", ["tarragona", "census", "eia"])
@pytest.mark.parametrize(("distance", "alpha"), [(0.1, 0.2), (0.4, 0.8), (0.8, 0.6), (0.8, 0.8)])
def test_certified_gap_on_reference_data(name, distance, alpha):
    X = load(name)
    labels = microagg.partition(X, 5, "mdav").labels
    result = proximity_centroids(X, labels, distance=distance, alpha=alpha)
    assert result.gap.max() < 1e-3
    assert (result.gap >= 0.0).all()
    assert result.values.mean(axis=0) == pytest.approx(X.mean(axis=0), rel=1e-9)
    assert result.values.var(axis=0) == pytest.approx(X.var(axis=0), rel=1e-9)


def test_the_global_solution_is_better_than_the_local_one_where_groups_have_two_wells():
    rng = np.random.default_rng(3)
    x = rng.normal(size=900)
    labels = microagg.optimal_univariate(x, 3).labels
    everywhere = solve(x, labels, 0.8, 0.9, 0.8)
    local = solve(x, labels, 0.8, 0.9, 0.8, solution="local")
    assert everywhere.objective[0] < 0.5 * local.objective[0]
    assert everywhere.gap[0] < 1e-3
    assert local.values.var() == pytest.approx(x.var(), rel=1e-9)


@pytest.mark.parametrize("name", ["tarragona", "census", "eia"])
def test_sides_by_lot_cost_little_and_mislead(name):
    X = load(name)
    labels = microagg.partition(X, 3, "mdav").labels
    asked = {"distance": 0.8, "importance": 0.001, "alpha": 0.6}
    best, lots, again, others = (
        proximity_centroids(X, labels, **asked, solution=solution, seed=seed)
        for solution, seed in (("global", 0), ("random", 1), ("random", 1), ("random", 2))
    )
    assert np.array_equal(lots.values, again.values)
    assert not np.array_equal(lots.values, others.values)
    assert best.objective.sum() <= lots.objective.sum() < 1.04 * best.objective.sum()
    assert (lots.bound <= best.objective * (1.0 + 1e-9)).all()
    assert lots.values.var(axis=0) == pytest.approx(X.var(axis=0), rel=1e-9)
    before, after = (
        transparent_disclosure(paired(X, each.values), 5.0, **asked).total for each in (best, lots)
    )
    assert after < 0.85 * before


def test_exact_ties_are_shared_out_between_the_wells():
    # Every group publishes its value plus or minus the distance, at the same cost.
    labels = np.arange(3000) // 3
    x = np.random.default_rng(0).permutation(1000).astype(float)[labels]
    result = solve(x, labels, 0.5, 0.0, 1.0)
    sides = result.values > x
    assert 0.3 < sides.mean() < 0.7
    assert result.objective[0] < 1e-6 * 3000 * 0.5**4
    moved = np.abs(result.values - x) / x.std()
    assert moved == pytest.approx(0.5, abs=1e-2)


def test_alpha_0_renormalises_the_plain_centroids():
    rng = np.random.default_rng(1)
    x, labels = rng.normal(5.0, 2.0, 60), np.arange(60) // 4
    result = solve(x, labels, 0.8, 0.5, 0.0)
    plain = microagg.aggregate(x, labels)
    expected = (plain - x.mean()) / plain.std() * x.std() + x.mean()
    assert result.values == pytest.approx(expected, rel=1e-12)
    assert result.gap[0] == 0.0


@pytest.mark.parametrize("alpha", [0.0, 1e-12, 0.5, 1.0])
def test_groups_of_equal_means(alpha):
    x, labels = np.array([-1.0, 1.0, -2.0, 2.0, -3.0, 3.0]), np.array([0, 0, 1, 1, 2, 2])
    result = solve(x, labels, 0.3, 0.2, alpha)
    assert result.values.mean() == pytest.approx(0.0, abs=1e-12)
    assert result.values.var() == pytest.approx(x.var(), rel=1e-12)
    rival = best_of_starts(z_scores(x), labels, 0.3, 0.2, alpha, 12, np.random.default_rng(0))
    assert result.objective[0] <= rival * (1.0 + 1e-6)


def test_two_groups_have_two_choices():
    x, labels = np.array([0.0, 0.0, 1.0, 1.0, 1.0]), np.array([0, 0, 1, 1, 1])
    z = z_scores(x)
    costs = [objective(side * z[[0, 2]], z, labels, 2.0, 0.0, 1.0) for side in (1.0, -1.0)]
    assert solve(x, labels, 2.0, 0.0, 1.0).objective[0] == pytest.approx(min(costs))
    assert costs[1] < costs[0]


def test_groups_of_one_and_a_constant_column():
    X = np.column_stack([np.arange(8.0), np.full(8, 3.5)])
    result = proximity_centroids(X, np.arange(8), distance=0.4, alpha=0.9)
    assert np.array_equal(result.values[:, 1], X[:, 1])
    assert result.gap[1] == 0.0
    assert result.objective[1] == 0.0
    assert result.values[:, 0].var() == pytest.approx(X[:, 0].var())
    one = proximity_centroids(np.full(5, 1e300), np.zeros(5, int))
    assert np.array_equal(one.values, np.full(5, 1e300))


@pytest.mark.parametrize(("offset", "unit"), [(0.0, 1e-200), (1e9, 1.0), (-1e6, 1e-3), (0, 1e300)])
def test_offsets_and_units_change_nothing(offset, unit):
    rng = np.random.default_rng(5)
    plain, labels = rng.integers(0, 100, 300) / 64.0, np.arange(300) // 5
    expected = solve(plain, labels, 0.6, 0.3, 0.7)
    moved = solve(plain * unit + offset, labels, 0.6, 0.3, 0.7)
    assert moved.objective == pytest.approx(expected.objective, rel=1e-5)
    away = (moved.values - offset) / unit
    assert away.mean() == pytest.approx(plain.mean(), rel=1e-5)
    assert np.median(np.abs(away - expected.values)) < 1e-4


def test_integers_far_from_zero_keep_their_digits():
    x = np.array([0, 1, 5, 9, 12, 30, 31, 44], np.int64)
    labels = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    near = proximity_centroids(x, labels, distance=0.3).objective
    far = proximity_centroids(x + 2**60, labels, distance=0.3).objective
    assert far == pytest.approx(near, rel=1e-12)
    unsigned = x.astype(np.uint64) + np.uint64(2**63)
    assert proximity_centroids(unsigned, labels, distance=0.3).objective == pytest.approx(near)


def test_preferences_of_every_shape():
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(60, 3)), np.arange(60) // 4
    one = proximity_centroids(X, labels, distance=0.3, importance=0.2).values
    each = proximity_centroids(X, labels, distance=[0.3] * 3, importance=[0.2] * 3).values
    cells = np.full((60, 3), 0.3)
    every = proximity_centroids(X, labels, distance=cells, importance=cells - 0.1).values
    assert np.array_equal(one, each)
    assert one == pytest.approx(every, abs=1e-9)
    for column in range(3):
        alone = proximity_centroids(X[:, column], labels, distance=0.3, importance=0.2).values
        assert np.array_equal(alone, one[:, column])
    cells[0] = 3.0
    assert not np.allclose(proximity_centroids(X, labels, distance=cells).values, one)


def test_importance_pushes_the_published_value_away():
    rng = np.random.default_rng(4)
    x, labels = rng.normal(size=90), np.arange(90) // 3
    importance = np.full(90, 0.001)
    importance[7] = 0.99
    before = np.abs(solve(x, labels, 0.5, 0.001, 0.5).values - x)[7]
    after = np.abs(solve(x, labels, 0.5, importance, 0.5).values - x)[7]
    wanted = 0.5 * x.std()
    assert abs(after - wanted) < 0.02 * wanted < abs(before - wanted)


def test_relative_distances_are_shares_of_the_z_score():
    rng = np.random.default_rng(6)
    x, labels = rng.normal(10.0, 3.0, 50), np.arange(50) // 5
    share = solve(x, labels, 0.4, 0.3, 0.6, relative=True)
    spelled_out = solve(x, labels, 0.4 * np.abs(z_scores(x)), 0.3, 0.6)
    assert share.values == pytest.approx(spelled_out.values, rel=1e-9)


def test_the_number_of_threads_does_not_matter(threads):
    x = np.random.default_rng(7).normal(size=60_000)
    labels = microagg.optimal_univariate(x, 3).labels
    threads(1)
    alone = solve(x, labels, 0.8, 0.5, 0.8)
    for count in (2, 3, 8):
        threads(count)
        found = solve(x, labels, 0.8, 0.5, 0.8)
        assert np.array_equal(found.values, alone.values)
        assert found.bound == alone.bound
    assert alone.gap[0] < 1e-5


def test_aggregate_takes_the_options():
    rng = np.random.default_rng(8)
    X, partition = rng.normal(size=(40, 2)), microagg.optimal_univariate(np.arange(40.0), 4)
    options = {
        "distance": 0.2,
        "importance": 0.5,
        "alpha": 0.3,
        "solution": "local",
        "relative": True,
    }
    shown = microagg.aggregate(X, partition, how="proximity", **options)
    assert np.array_equal(shown, proximity_centroids(X, partition, **options).values)
    assert microagg.aggregate(X[:, 0], partition, "proximity").shape == (40,)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"importance": 1.0}, "importance must be below 1"),
        ({"importance": -0.1}, "importance must not be negative, but 1 of 1 are"),
        ({"distance": [0.1, -1.0, 0.1]}, "distance must not be negative, but 1 of 3 are"),
        ({"distance": [0.1, 0.2]}, "distance must be one number, one an attribute (1) or one a"),
        ({"distance": np.nan}, "distance must hold finite numbers"),
        ({"distance": 1e200}, "distance counts in standard deviations of the attribute"),
        ({"alpha": 1.5}, "alpha must be from 0 to 1, but it is 1.5"),
        ({"alpha": "much"}, "alpha must be a number from 0 to 1"),
        ({"solution": "best"}, "solution must be one of global, local, random, but it is 'best'"),
        ({"closeness": 1}, "how='proximity' has no option 'closeness'; there are distance"),
    ],
)
def test_bad_settings_get_one_clear_sentence(options, sentence):
    with pytest.raises(microagg.MicroaggError) as caught:
        microagg.aggregate([0.5, 1.5, 2.5], [0, 0, 1], "proximity", **options)
    assert sentence in str(caught.value)


def test_other_ways_have_no_options():
    with pytest.raises(microagg.MicroaggError, match="how='mean' has no option 'alpha'; it has no"):
        microagg.aggregate([0.5, 1.5], [0, 0], alpha=0.5)


def test_one_group_cannot_keep_a_variance():
    with pytest.raises(microagg.MicroaggError, match="column 1 of X varies, but there is only one"):
        microagg.aggregate([[1.0, 1.0], [1.0, 2.0]], [0, 0], "proximity")
