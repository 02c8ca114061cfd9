"""Attacks against their definitions, and by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

import microagg
from microagg.measure.attacks.assigning import assigned_exactly, assigned_nearly
from microagg.measure.attacks.attack import Earlier
from microagg.measure.attacks.guessing import told_by_best_guess, told_by_member
from microagg.measure.attacks.inferring import missed, monotone, smoothed
from microagg.measure.attacks.intersecting import candidates
from microagg.measure.attacks.registry import try_attacks
from microagg.measure.linkage import Records, classes
from microagg.measure.statistics import paired
from tests.measure.attacks.scenes import column, scene, scenes
from tests.measure.test_linkage import releases
from tests.naive import attacks as naive


def found(scene, name, column=None):
    """What one attack found."""
    [one] = [
        each.found
        for each in try_attacks(scene)
        if each.attack.name == name and each.found.column == column
    ]
    return one


def values_of(column):
    x, y = column.original.copy(), column.released.copy()
    x[~column.there], y[~column.shown] = np.nan, np.nan
    return x.tolist(), y.tolist()


@given(scenes())
@settings(max_examples=60)
def test_values_by_the_definition(scene):
    everybody = [0] * scene.n
    looks, rows = scene.looks.tolist(), scene.evidence.links.rows
    cells = told = chance = shared = 0.0
    for each in scene.unknown:
        x, y = values_of(each)
        reach = each.reach(scene.sd)
        cells += sum(not math.isnan(value) for value in x)
        asked = [looks[row] for row in rows]
        told += sum(naive.told_by_member(x, y, asked, looks, reach))
        chance += sum(naive.told_by_member(x, y, everybody, everybody, reach))
        own = naive.told_by_member(x, y, looks, looks, reach)
        shared += sum(own[i] == 1.0 and asked[i] == looks[i] for i in range(scene.n))
    nearest, by_class = found(scene, "nearest"), found(scene, "class")
    assert nearest.records.percent == pytest.approx(scene.evidence.links.expected)
    assert nearest.values.percent == pytest.approx(100 * told / cells)
    assert nearest.values.chance == pytest.approx(100 * chance / cells)
    assert by_class.values.percent == pytest.approx(100 * shared / cells)
    sizes = [looks.count(each) for each in looks]
    assert by_class.records.chance == pytest.approx(100 * sum(sizes) / scene.n**2)


@given(scenes())
@settings(max_examples=60)
def test_inference_by_the_definition(scene):
    labels = scene.labels.tolist()
    for each in scene.confidential:
        x, y = values_of(each)
        reach = each.reach(scene.sd)
        told, certain = told_by_best_guess(each, scene.labels, reach)
        best = naive.best_guess(x, y, labels, reach)
        for group, count in best.items():
            members = [i for i in range(scene.n) if labels[i] == group]
            if all(x[i] == y[i] for i in members):
                assert told[members].sum() == count
                assert certain[members].all() == (count == len(members))
        right = found(scene, "inference", each.name)
        there = sum(not math.isnan(value) for value in x)
        assert right.values.percent == pytest.approx(100 * told.sum() / there)
        assert right.records.percent == pytest.approx(100 * certain.mean())


def test_inference_by_hand():
    X = np.array([[1.0], [2], [3], [10], [11], [12]])
    R = np.array([[2.0], [2], [2], [11], [11], [11]])
    ill = column("ill", [0, 0, 1, 2, 2, 2], [0, 0, 1, 2, 2, 2], categories=3, numeric=False)
    one = found(scene(X, R, confidential=[ill]), "inference", "ill")
    assert one.values.percent == pytest.approx(100 * 5 / 6)
    assert one.values.chance == pytest.approx(50.0)
    assert (one.records.percent, one.records.chance) == (50.0, 0.0)
    # Whose class is found, of him all is known that it shares.
    by_class = found(scene(X, R, confidential=[ill]), "class")
    assert (by_class.records.percent, by_class.values.percent) == (100.0, 50.0)
    assert by_class.records.chance == pytest.approx(50.0)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30), st.sampled_from([1.0, 1e-3, 1e9]))
def test_isotonic_regression(values, unit):
    values = np.array(values) * unit
    fitted = monotone(values)
    assert fitted.tolist() == pytest.approx(naive.monotone(values.tolist()))
    np.testing.assert_allclose(fitted, isotonic_regression(values).x, rtol=1e-9, atol=1e-9 * unit)


def test_a_falling_curve_is_found_too():
    values = np.array([9.0, 7, 8, 3, 4, 1])
    both = column("c", values, values)
    np.testing.assert_allclose(smoothed(both), -isotonic_regression(-values).x)
    gap = column("c", values, [9.0, 7, np.nan, 3, 4, 1])
    assert np.isnan(smoothed(gap)).tolist() == [False, False, True, False, False, False]


def test_the_order_of_sorted_rows_gives_values_away():
    rng = np.random.default_rng(7)
    n = 600
    income = np.sort(rng.lognormal(10.3, 0.5, n))
    X = np.column_stack([income, rng.integers(18, 90, n), rng.normal(170, 10, n)])
    R = np.asarray(microagg.aggregate(X, microagg.partition(X, 5, "mdav")))
    sorted_rows, shuffle = found(scene(X, R), "order"), rng.permutation(n)
    shuffled = found(scene(X[shuffle], R[shuffle]), "order")
    assert sorted_rows.values.percent > 2 * shuffled.values.percent
    assert sorted_rows.records.percent > sorted_rows.records.chance + 20
    assert "the order tells most of c0" in sorted_rows.words
    assert "the order tells most" not in shuffled.words
    # By the definition: the share of incomes near scipy's curve.
    near = np.abs(isotonic_regression(R[:, 0]).x - income) <= 0.05 * income.std()
    alone = found(scene(X[:, :1], R[:, :1]), "order")
    assert alone.values.percent == pytest.approx(100 * near.mean())
    assert alone.values.percent > 40


@given(releases(6))
@settings(max_examples=60)
def test_the_assignment_is_the_best_of_all(pair):
    X, R = pair
    if len(X) > 6:
        return
    records = Records.of_numbers(paired(X, R))
    if records.original.shape[1] == 0:
        return
    Z, Y = records.original * records.scales, records.released * records.scales
    Z, Y = Z - Z[0], Y - Z[0]
    labels = classes(records.released)
    given = assigned_exactly(records, labels).classes
    assert sorted(given.tolist()) == sorted(labels.tolist())
    least = naive.least_assignment(Z.tolist(), Y.tolist())
    assert cost(Z, Y, labels, given) == pytest.approx(least, rel=1e-6, abs=1e-6)
    # With every class a candidate the auction is nearly as good, and knows it.
    nearly = assigned_nearly(records, labels, candidates=len(X), block=2)
    assert sorted(nearly.classes.tolist()) == sorted(labels.tolist())
    total = cost(Z, Y, labels, nearly.classes)
    if nearly.above < math.inf:
        assert total <= least * (1 + nearly.above / 100 + 1e-6) + 1e-6


def cost(Z, Y, labels, given):
    firsts = np.unique(labels, return_index=True)[1]
    return float(np.square(Z - Y[firsts[given]]).sum())


def grouped(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    order, labels = np.argsort(X[:, 0]), np.empty(n, np.int64)
    labels[order] = np.arange(n) // k
    means = np.column_stack([np.bincount(labels, line) / np.bincount(labels) for line in X.T])
    return X, means[labels]


@pytest.mark.parametrize("shape", ["even", "skewed"])
def test_nearby_candidates_come_close_to_the_optimum(shape):
    X = np.random.default_rng(0).normal(size=(600, 3))
    X = X if shape == "even" else np.exp(2 * X)
    R = np.asarray(microagg.aggregate(X, microagg.partition(X, 4, "mdav")))
    records = Records.of_numbers(paired(X, R))
    labels = classes(records.released)
    exact, nearly = (
        assigned_exactly(records, labels).classes,
        assigned_nearly(records, labels, candidates=64, block=300),
    )
    # One to one: nobody is left out, and no class is given more often than it is there.
    assert np.array_equal(np.bincount(nearly.classes), np.bincount(labels))
    Z, Y = records.original * records.scales, records.released * records.scales
    least, total = (cost(Z, Y, labels, each) for each in (exact, nearly.classes))
    assert least <= total * (1 + 1e-9)
    # What it says of itself holds.
    assert total <= least * (1 + nearly.above / 100 + 1e-9)
    # Where few people far away make up most of the total, who is found may still differ.
    if shape == "even":
        right, best = (float((each == labels).mean()) for each in (nearly.classes, exact))
        assert right == pytest.approx(best, abs=0.03)


def test_one_to_one_finds_more_than_the_nearest():
    X, R = grouped(600, 3, 4)
    # One to one finds more than the nearest record does, where everybody is in the release.
    R = np.asarray(microagg.aggregate(X, microagg.partition(X, 4, "mdav")))
    one = found(scene(X, R), "assignment")
    assert one.records.percent >= found(scene(X, R), "nearest").records.percent
    assert "an approximation" not in one.words


def test_a_large_release_says_how_it_was_linked():
    X, R = grouped(300, 2, 3)
    large = replace(scene(X, R), exact=100)
    assert "(an approximation: squares add up to at most" in found(large, "assignment").words
    sampled = found(replace(large, most=90), "assignment")
    assert "a sample of 90 records" in sampled.words
    assert sampled.records.chance == pytest.approx(100 / 90)


@given(scenes())
@settings(max_examples=60)
def test_intersection_by_the_definition(scene):
    old = scene.earlier
    lists = [each.tolist() for each in (scene.labels, old.labels, old.rows, old.marks)]
    args = (*lists, old.earlier_marks.tolist())
    shown = [np.where(each.shown, each.released, np.nan) for each in scene.unknown]
    alone, lows, highs = candidates(scene.labels, old, np.array(shown))
    assert alone.tolist() == naive.alone(*args)
    for column_, low, high in zip(scene.unknown, lows, highs, strict=True):
        _, y = values_of(column_)
        for i in range(scene.n):
            left = [y[j] for j in naive.candidates_of(i, *args)]
            if not left or any(map(math.isnan, left)):
                assert (low[i], high[i]) == (-math.inf, math.inf)
            else:
                assert (low[i], high[i]) == (min(left), max(left))


def test_two_releases_by_hand():
    """Two groupings of four, each 2-anonymous; paired by row they single everybody out."""
    X = np.array([[0.0], [1], [10], [11]])
    R = np.array([[0.5], [0.5], [10.5], [10.5]])
    ill = column("ill", [0, 1, 0, 1], [0, 1, 0, 1], categories=2, numeric=False)
    rows = np.arange(4)
    other = Earlier(np.array([0, 1, 0, 1]), rows, rows, rows)
    one = found(scene(X, R, confidential=[ill], earlier=other), "intersection")
    assert (one.records.percent, one.records.chance) == (100.0, 0.0)
    assert (one.values.percent, one.values.chance) == (100.0, 0.0)
    # Without anything that pairs rows nothing follows.
    nothing = np.zeros(4, np.int64)
    blind = Earlier(np.array([0, 1, 0, 1]), rows, nothing, nothing)
    one = found(scene(X, R, confidential=[ill], earlier=blind), "intersection")
    assert one.records.percent == one.values.percent == 0.0


@given(scenes())
@settings(max_examples=60)
def test_reconstruction_by_the_definition(scene):
    for each in scene.numbers:
        x, y = values_of(each)
        off = missed(each, scene.labels)
        for i in range(scene.n):
            guess = naive.last_member(x, y, scene.labels.tolist(), i)
            assert abs(off[i]) == pytest.approx(abs(guess - x[i]), rel=1e-6, abs=2e-2)


def test_means_give_the_last_member_away():
    X, R = grouped(60, 2, 3)
    one = found(scene(X, R), "reconstruction")
    assert (one.records.percent, one.values.percent) == (100.0, 100.0)
    rounded = found(scene(X, R.round(1)), "reconstruction")
    assert 30 < rounded.values.percent < 100
    noise = R + np.random.default_rng(1).normal(size=R.shape)
    assert found(scene(X, noise), "reconstruction").values.percent < 50
    gap = column("c", [1.0, np.nan, 3.0], [2.0, 2.0, 2.0])
    np.testing.assert_allclose(missed(gap, np.zeros(3, np.int64)), [0.0, np.nan, 0.0])


def test_who_knows_the_settings_of_proximity():
    X, R = grouped(60, 2, 3)
    told = scene(X, R + 0.5, distance=0.5, importance=0.001, alpha=0.6)
    one = found(told, "transparent")
    assert one.values.percent == told.evidence.transparent_interval
    assert one.records.percent <= one.values.percent
    assert not [each for each in try_attacks(scene(X, R)) if each.attack.name == "transparent"]


def test_who_knows_nothing_of_a_class():
    x = column("c", [1.0, 2.0], [1.0, 2.0])
    labels = np.array([0, 1])
    assert told_by_member(x, np.array([-1, 1]), labels, 0.0).tolist() == [0.0, 1.0]
