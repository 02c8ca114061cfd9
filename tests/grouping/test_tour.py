import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError
from microagg.grouping.sequence.orderings import (
    farthest_from_centroid,
    order_by_nearest_next,
)
from microagg.grouping.sequence.tour import order_by_tour
from microagg.kernels.trees.few import FEW
from microagg.kernels.trees.lists import nearest_lists
from tests.grouping.test_orderings import KINDS, cloud
from tests.naive.orderings import path_length, shortest_path_length
from tests.published import integer_losses
from tests.reference import load


def kinds_of_clouds(sizes):
    return st.builds(
        cloud,
        st.integers(0, 10**6),
        st.sampled_from(sizes),
        st.sampled_from([1, 2, 3, 50]),
        st.sampled_from(KINDS),
    )


@given(kinds_of_clouds([1, 2, 3, 4, 5, 7, 8, 9, 17, 33, 100]))
@settings(max_examples=25, deadline=None)
def test_tour_visits_everyone_from_the_farthest(records):
    order = order_by_tour(records)
    assert sorted(order.tolist()) == list(range(len(records)))
    assert order[0] == farthest_from_centroid(records)


@given(kinds_of_clouds([7, 8]))
@settings(max_examples=25, deadline=None)
def test_small_tours_are_the_shortest(records):
    order = order_by_tour(records)
    best = shortest_path_length(records, order[0])
    allowed = 1.0 + 1e-9 if len(records) == 8 else 1.5
    assert path_length(records, order) <= best * allowed


@pytest.mark.parametrize("d", [2, 5])
def test_tour_is_shorter_than_nearest_next(d):
    records = cloud(7, 1000, d, "gaussian")
    npn = path_length(records, order_by_nearest_next(records))
    assert path_length(records, order_by_tour(records)) < 0.94 * npn


def test_one_attribute_is_walked_back_and_forth_as_little_as_possible():
    records = np.random.default_rng(3).permutation(500).astype(float)[:, np.newaxis]
    assert path_length(records, order_by_tour(records)) == 499.0


def test_no_swap_of_edges_between_neighbours_helps():
    records = cloud(11, 300, 2, "gaussian")
    order = order_by_tour(records).tolist()
    rows, lists, _ = nearest_lists(records, np.arange(300, dtype=np.int32), 8, 10**6, few=0)
    place = {row: i for i, row in enumerate(order)}
    step = np.linalg.norm
    for row, near in zip(rows.tolist(), lists.tolist(), strict=True):
        for other in near:
            i, j = sorted((place[row], place[other]))
            if j + 1 < 300:
                old = step(records[row] - records[order[place[row] + 1]])
                old += step(records[other] - records[order[place[other] + 1]])
                new = step(records[row] - records[other])
                new += step(records[order[i + 1]] - records[order[j + 1]])
                assert new >= old - 1e-6


def test_same_records_same_tour_and_progress():
    records = cloud(1, 400, 3, "gaussian")
    shares = []
    first = order_by_tour(records, shares.append)
    np.testing.assert_array_equal(first, order_by_tour(records))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_full_log_of_turns_leaves_the_tour_whole():
    records = cloud(2, 600, 3, "gaussian")
    assert sorted(order_by_tour(records, undo=8).tolist()) == list(range(600))


def test_records_too_far_apart_are_refused():
    with pytest.raises(InputError, match="standardise"):
        order_by_tour(np.linspace(-1e300, 1e300, 20)[:, np.newaxis])


def test_many_copies_of_a_few_records():
    records = np.repeat(cloud(2, 20, 3, "gaussian"), 200, axis=0)
    order = order_by_tour(records)
    assert path_length(records, order) < 1.5 * path_length(
        records[::200], order_by_tour(np.ascontiguousarray(records[::200]))
    )


@pytest.mark.parametrize("few", [0, FEW])
@pytest.mark.parametrize("kind", KINDS)
def test_nearest_lists_hold_the_nearest(kind, few):
    records = cloud(4, 500, 3, kind)
    members = np.arange(0, 500, 3, dtype=np.int32)
    rows, lists, squares = nearest_lists(records, members, 8, 10**6, few=few)
    assert sorted(rows.tolist()) == members.tolist()
    for row, near, found in zip(rows, lists, squares, strict=True):
        away = np.sum((records[members] - records[row]) ** 2, axis=1)
        np.testing.assert_allclose(found, np.sort(away[members != row])[:8], rtol=1e-12)
        assert row not in near
        assert len(set(near.tolist())) == 8
        np.testing.assert_allclose(np.sum((records[near] - records[row]) ** 2, axis=1), found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("looks", [1, 3, 20])
def test_with_few_looks_the_lists_hold_near_ones(kind, looks):
    records = cloud(4, 700, 4, kind)
    members = np.arange(700, dtype=np.int32)
    rows, lists, squares = nearest_lists(records, members, 8, looks, few=0)
    for row, near, found in zip(rows, lists, squares, strict=True):
        there = found < np.inf
        assert np.all(near[~there] == row)
        assert len({row, *near[there].tolist()}) == 1 + there.sum()
        assert np.all(np.diff(found[there]) >= 0)
        away = np.sum((records[near[there]] - records[row]) ** 2, axis=1)
        np.testing.assert_allclose(found[there], away, rtol=1e-12)
        truth = np.sort(np.delete(np.sum((records - records[row]) ** 2, axis=1), row))[:8]
        assert np.all(found >= truth * (1 - 1e-12))
    assert np.isfinite(squares).all() or looks == 1


# Mortazavi 2020, Table 3, the best integers in the order of a tour.
PUBLISHED = {
    "tarragona": {2: 10147342, 3: 17767942, 4: 23777988, 5: 26913057, 10: 40565215},
    "census": {2: 4297367, 3: 7417415, 4: 10054660, 5: 12179645, 10: 22312807},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_losses_are_no_greater_than_published(name):
    losses = integer_losses(load(name), order_by_tour, PUBLISHED[name])
    for (_, whole), published in zip(losses, PUBLISHED[name].values(), strict=True):
        assert whole <= published
