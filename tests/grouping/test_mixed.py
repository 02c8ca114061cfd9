"""A search by what is lost of numbers and categories."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.base.progress import silent
from microagg.base.recipe import Recipe
from microagg.columns.coded import encode
from microagg.engine.memory import Memory
from microagg.engine.planning import make_plan
from microagg.grouping.method import Mixed
from microagg.grouping.refine import mixed_groups as module
from microagg.grouping.refine.budget import afforded
from microagg.grouping.refine.mixed import MixedField, total_cost
from microagg.grouping.refine.mixed_lists import mixed_lists
from microagg.grouping.refine.search import search
from microagg.measure.change import category_loss, numeric_loss
from microagg.table.opening import open_table
from tests.grouping.test_decompose import start_of
from tests.grouping.test_reorder import groups_of
from tests.grouping.test_search import check
from tests.naive import mixed as naive


def make(n, p, q, seed, gaps=0.0, kinds=4, offset=0.0):
    """Records that go together, and where they stand."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 2))
    numbers = hidden @ rng.normal(size=(2, p)) + 0.3 * rng.normal(size=(n, p))
    sharp = 3.0 * hidden @ rng.normal(size=(2, q)) + rng.normal(size=(n, q))
    codes = np.clip(np.floor(sharp + kinds / 2), 0, kinds - 1).astype(np.int32)
    numbers[rng.random((n, p)) < gaps] = np.nan
    codes[rng.random((n, q)) < gaps] = -1
    corners = (codes[:, :, np.newaxis] == np.arange(kinds)).reshape(n, -1)
    points = np.ascontiguousarray(np.column_stack([np.nan_to_num(numbers), corners]), float)
    return points, Mixed(numbers + offset, codes, rng.uniform(0.5, 3.0, q))


SHAPES = st.sampled_from([(1, 1), (0, 1), (0, 3), (2, 3), (1, 6), (4, 1)])


@settings(max_examples=60, deadline=None)
@given(
    SHAPES,
    st.integers(2, 6),
    st.sampled_from([0, 1, 2, 5, 40, 250]),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([1, 2, 4, 60]),
    st.sampled_from([0.0, 1e6]),
    st.integers(0, 10**6),
)
def test_groups_keep_their_size_and_the_loss_never_rises(shape, k, more, gaps, kinds, offset, seed):
    n = 2 * k + more
    points, mixed = make(n, *shape, seed, gaps, kinds, offset)
    order, sizes = start_of(n, k, np.random.default_rng(seed))
    before = [each.copy() for each in (order, sizes, points, *mixed)]
    found = search(points, order, sizes, k, np.random.default_rng(seed), steps=6000, mixed=mixed)
    check(*found, n, k)
    for one, other in zip(before, (order, sizes, points, *mixed), strict=True):
        np.testing.assert_array_equal(one, other)
    start = naive.total_loss(mixed, groups_of(order, sizes))
    assert naive.total_loss(mixed, groups_of(*found)) <= start * (1 + 1e-9) + 1e-9


@settings(max_examples=60, deadline=None)
@given(SHAPES, st.integers(1, 12), st.sampled_from([0.0, 0.4, 1.0]), st.integers(0, 10**6))
def test_the_loss_of_a_group_is_what_is_counted_by_hand(shape, n, gaps, seed):
    points, mixed = make(n, *shape, seed, gaps)
    field = MixedField(points, np.zeros((n, 1), np.int32), np.ones(n), *mixed)
    by_hand = naive.total_loss(mixed, [range(n)])
    assert total_cost(field) == pytest.approx(by_hand, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(SHAPES, st.sampled_from([0.0, 0.3]), st.sampled_from([2, 3, 9]), st.integers(0, 10**6))
def test_what_a_move_costs_is_the_difference_it_makes(shape, gaps, kinds, seed):
    """Groups are kept up by counts: every kind of move, judged before it is made."""
    n, rng = 24, np.random.default_rng(seed)
    _, mixed = make(n, *shape, seed, gaps, kinds)
    region = region_of(mixed, [range(0, 5), range(5, 12), range(12, 24)])

    def loss():
        members, counts = region.members, region.counts
        return naive.total_loss(mixed, [members[g, : counts[g]].tolist() for g in range(3)])

    for _ in range(30):
        x, z = (int(each) for each in rng.choice(n, 2, replace=False))
        one, other = int(region.group[x]), int(region.group[z])
        if one == other:
            continue
        before = loss()
        if rng.random() < 0.5 and region.counts[one] > 1:
            cost = module.joining(region, x, other) - module.leaving(region, x)
            module.take(region, x)
            module.put(region, x, other)
        else:
            cost = module.replacing(region, one, x, z) + module.replacing(region, other, z, x)
            module.swap(region, x, z)
        assert cost == pytest.approx(loss() - before, abs=1e-9)


def region_of(mixed, groups):
    n, p = mixed.numbers.shape
    q, slots = mixed.codes.shape[1], len(groups)
    region = module.Region(
        mixed.numbers, mixed.codes, mixed.prices,
        np.zeros((slots, p)), np.zeros((slots, p)),
        np.empty((slots, q, n), np.int32), np.full((slots, q), -1, np.int32),
        np.zeros((slots, q), np.int32), np.zeros((slots, q), np.int32), np.zeros(99, np.int32),
        np.zeros((n, 1), np.int32), np.ones(n, np.int64),
        np.empty((slots, n), np.int32), np.zeros(slots, np.int64),
        np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.int64),
    )  # fmt: skip
    for slot, rows in enumerate(groups):
        for row in rows:
            module.put(region, row, slot)
    return region


@pytest.mark.parametrize("k", [2, 3])
def test_tiny_tables_reach_the_optimum(k):
    missed = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2 * k, 10))
        points, mixed = make(n, 1, 3, seed, 0.1)
        order, sizes = start_of(n, k, rng)
        steps = afforded(n, "balanced")
        found = groups_of(*search(points, order, sizes, k, rng, steps=steps, mixed=mixed))
        missed += naive.total_loss(mixed, found) > naive.least_loss(mixed, k) * (1 + 1e-9) + 1e-12
    assert missed <= 1


@pytest.mark.parametrize("n", [100, 3000])
def test_same_steps_and_seed_same_groups_whatever_the_threads(n, threads):
    points, mixed = make(n, 2, 3, 1, 0.05)
    found = []
    for count in (1, 2, 3):
        threads(count)
        rng = np.random.default_rng(7)
        found.append(search(points, *start_of(n, 3, rng), 3, rng, steps=60 * n, mixed=mixed))
    for order, sizes in found[1:]:
        assert np.array_equal(order, found[0][0])
        assert np.array_equal(sizes, found[0][1])


def test_it_finds_less_loss_than_a_search_by_points():
    points, mixed = make(600, 1, 4, 5)
    losses = {}
    for name, given_mixed in (("points", None), ("loss", mixed)):
        found = search(
            points, np.arange(600), np.full(200, 3), 3, np.random.default_rng(0),
            steps=600_000, mixed=given_mixed,
        )  # fmt: skip
        losses[name] = naive.total_loss(mixed, groups_of(*found))
    assert losses["loss"] < 0.97 * losses["points"]


def test_seconds_end_a_search():
    points, mixed = make(400, 1, 2, 3)
    order, sizes = start_of(400, 4, np.random.default_rng(0))
    found = search(points, order, sizes, 4, np.random.default_rng(0), seconds=0.3, mixed=mixed)
    check(*found, 400, 4)


@pytest.mark.parametrize(("p", "q", "n"), [(1, 3, 400), (3, 2, 400), (0, 3, 60), (1, 1, 5)])
def test_lists_hold_near_ones(p, q, n):
    _, mixed = make(n, p, q, 3, 0.02)
    own = np.repeat(np.arange(n, dtype=np.int32)[:, np.newaxis], min(12, n - 1), axis=1)
    lists, squares = mixed_lists(mixed, own)
    assert (np.diff(squares, axis=1) >= 0.0).all()
    found = []
    for x in range(0, n, 7):
        assert len(set(lists[x].tolist())) == lists.shape[1]
        assert x not in lists[x]
        away = [naive.distance(mixed, x, y) for y in range(n)]
        np.testing.assert_allclose(squares[x], [away[y] for y in lists[x]], atol=1e-9)
        away[x] = np.inf
        found.append((squares[x] <= np.sort(away)[lists.shape[1] - 1] + 1e-9).mean())
    assert np.mean(found) > 0.9


def test_lists_are_the_same_whatever_the_threads(threads):
    _, mixed = make(5000, 2, 4, 1, 0.02)
    own = np.repeat(np.arange(5000, dtype=np.int32)[:, np.newaxis], 8, axis=1)
    found = []
    for count in (1, 3):
        threads(count)
        found.append(mixed_lists(mixed, own))
    np.testing.assert_array_equal(found[0][0], found[1][0])


def table_of(n, seed=0):
    rng = np.random.default_rng(seed)
    region = rng.integers(0, 4, n)
    return {
        "age": rng.integers(20, 70, n),
        "income": np.round(rng.lognormal(3, 1, n) + 20 * region, 1),
        "region": [None if rng.random() < 0.05 else "NESW"[each] for each in region],
        "job": [["none", "clerk", "cook"][j] for j in (region + rng.integers(0, 2, n)) % 3],
        "owner": rng.random(n) < 0.1,
    }  # fmt: skip


def planned(table, **settings):
    recipe = Recipe(quasi_identifiers=list(table), k=3, **settings)
    frame = pa.table(table)
    source = open_table(frame, recipe.reading, recipe.quasi_identifiers, silent, recipe.columns())
    return make_plan(Memory(source, recipe).survey(silent), {"name": "x"}, recipe)


@pytest.mark.parametrize("weights", [{}, {"income": 2.0, "job": 3.0}])
def test_what_is_searched_is_the_loss_that_is_reported(weights):
    n = 200
    table = pa.table(table_of(n))
    plan = planned(table_of(n), attribute_weights=weights)
    columns = plan.code(table)
    mixed = plan.mixed(columns, plan.place(columns))
    labels = np.arange(n) // 4
    groups = [np.flatnonzero(labels == g) for g in range(n // 4)]
    expected = 0.0
    for name in table.column_names:
        column = encode(name, table[name].combine_chunks())
        after = column.values.astype(float) if column.numeric else column.values.copy()
        gone = column.missing
        for group in groups:
            there = group if gone is None else group[~gone[group]]
            if there.size:
                inside = column.values[there]
                after[group] = inside.mean() if column.numeric else np.bincount(inside).argmax()
        loss = numeric_loss if column.numeric else category_loss
        expected += weights.get(name, 1.0) ** 2 * loss(column.values, after, gone)
    assert 100.0 / n * naive.total_loss(mixed, groups) == pytest.approx(expected)


def test_tables_of_numbers_are_searched_by_points():
    table = {"a": np.arange(30.0), "b": np.arange(30) % 7}
    plan = planned(table)
    columns = plan.code(pa.table(table))
    assert plan.mixed(columns, plan.place(columns)) is None


@pytest.mark.parametrize(
    "settings", [{}, {"method": "search", "effort": "best"}, {"method": "tsp", "refine": True}]
)
def test_tables_lose_less_by_it(settings):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(table_of(300))
    given = {"quasi_identifiers": list(table), "k": 3}
    plain = microagg.protect(table, **given, method="tsp").certificate
    polished = microagg.protect(table, **given, **settings).certificate
    assert polished.information_loss < 0.95 * plain.information_loss


def test_a_saved_plan_knows_what_is_to_be_lost():
    plan = planned(table_of(50))
    again = type(plan).from_json(plan.to_json())
    assert again.codings[2].place.others == plan.codings[2].place.others > 0
