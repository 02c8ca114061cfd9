"""Points without what confidential values tell of them, and groups by these."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.grouping.constraints import How, partition_units
from microagg.grouping.demands import keeping
from microagg.grouping.demands.book import Book
from microagg.grouping.demands.demand import Close, Distinct
from microagg.grouping.demands.untold import directions, expected, telling
from microagg.grouping.divide.cells import dense_part, plan_cells
from tests.grouping.demands.test_keeping import all_kept, column_of
from tests.naive import untold as naive


def told(n, d=4, seed=0):
    """Points of which the sum of the first two tells half of a secret."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d))
    secret = 0.7 * points[:, 0] + 0.3 * points[:, 1] + rng.normal(size=n)
    return points, column_of(np.round(secret, 1))


@given(seed=st.integers(0, 999), kinds=st.integers(1, 5), n=st.integers(80, 120))
@settings(max_examples=25)
def test_what_is_expected_is_the_mean_of_those_alike(seed, kinds, n):
    rng = np.random.default_rng(seed)
    ranks = rng.integers(0, kinds, n)
    points = rng.normal(size=(n, 3)) + ranks[:, None] * [0.0, 1.0, 1e6]
    assert np.allclose(expected(points, [ranks]), naive.expected(points, ranks), atol=1e-6)


def test_what_is_left_of_points_tells_nothing_of_several_columns():
    rng = np.random.default_rng(1)
    points, column = told(4000)
    other = rng.integers(0, 3, 4000)
    points[:, 2] += other
    ranks = [column.ranks, other]
    rest = points - expected(points, ranks)
    assert telling(points, expected(points, ranks))
    assert not telling(rest, expected(rest, ranks))
    assert np.abs(np.corrcoef(rest[:, 0], column.ranks)[0, 1]) < 0.02
    assert np.ptp([rest[other == kind, 2].mean() for kind in range(3)]) < 0.02


def test_values_that_have_nothing_to_do_with_points_tell_nothing():
    points = np.random.default_rng(2).normal(size=(500, 3))
    column = column_of(np.random.default_rng(3).normal(size=500))
    assert not telling(points, expected(points, [column.ranks]))
    assert directions(points, expected(points, [column.ranks])).shape == (0, 3)
    assert not telling(np.ones((50, 2)), expected(np.ones((50, 2)), [np.arange(50)]))


def test_cells_are_not_cut_along_what_tells():
    points, column = told(4000)
    found = directions(points, expected(points, [column.ranks]))
    assert found.shape == (1, 4)
    assert np.allclose(np.abs(found[0]), np.array([0.7, 0.3, 0, 0]) / np.hypot(0.7, 0.3), atol=0.1)
    tree = plan_cells(points, 300, across=found)
    assert tree.n_cells >= 12
    assert np.allclose(tree.weights @ found[0], 0.0)
    # Where there is no other way, space is cut nevertheless.
    line = points[:, :1]
    assert plan_cells(line, 300, across=np.eye(1)).n_cells >= 12


def test_a_dense_part_has_values_of_all_kinds():
    points, column = told(4000)
    across = directions(points, expected(points, [column.ranks]))
    rows = dense_part(points, 300, across)
    assert 150 <= rows.size <= 300
    assert (np.diff(rows) > 0).all()
    assert abs(column.ranks[rows].mean() - column.ranks.mean()) < 0.2 * column.ranks.std()
    assert points[rows].var(axis=0).sum() < 0.75 * points.var(axis=0).sum()
    assert dense_part(np.zeros((40, 2)), 10, np.empty((0, 2))).tolist() == list(range(10))


def test_groups_by_what_is_not_told_lose_less(monkeypatch):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1500, 3))
    demands = [Close(column_of(np.round(1.5 * points[:, 0] + rng.normal(size=1500), 1)), 0.15)]
    losses = []
    for shares in ((), keeping._SHARES):
        monkeypatch.setattr(keeping, "_SHARES", shares)
        found = partition_units(points, 5, How("mdav", 0, {}), demands=demands)
        losses.append(microagg.information_loss(points, found))
        assert all_kept(demands, found.labels)
    assert losses[1] < 0.7 * losses[0]


@pytest.mark.parametrize("steps", [None, 20_000])
def test_many_units_are_tried_on_some_and_any_threads_give_the_same(steps, threads, monkeypatch):
    monkeypatch.setattr(keeping, "_PIECE", 512)
    monkeypatch.setattr(keeping, "_TRIED", 256)
    monkeypatch.setattr("microagg.grouping.demands.searching._REGION", 512)
    points, column = told(2500)
    demands = [Close(column, 0.2), Distinct(column, 3)]
    how = How("mdav", 3, {}) if steps is None else How("search", 3, {"steps": steps})
    found = []
    for count in (1, 2, 3):
        threads(count)
        found.append(partition_units(points, 3, how, demands=demands).labels)
    assert all(np.array_equal(found[0], each) for each in found[1:])
    assert all_kept(demands, found[0])
    assert np.bincount(found[0]).min() >= 3
    assert not Book.of(demands, 2500).shortfalls(found[0]).any()
