"""Cells and fewer dimensions: each part against a slow twin, then the methods made of them."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.grouping.cluster.mdav import mdav
from microagg.grouping.divide import lloyd_pca, small_cells
from microagg.grouping.divide.blocks import group_block, group_blocks, join_small
from microagg.grouping.divide.cells import CellTree, assign, merge_small, plan_cells
from microagg.grouping.divide.lloyd import coarse_cells, lloyd_cells, nearest_centres
from microagg.grouping.divide.lloyd_pca import lloyd_pca_cells
from microagg.grouping.divide.reduce import Reduction, count_kept, find_axes, reduce
from microagg.grouping.method import Task
from microagg.grouping.methods import all_methods, find
from tests.naive import divide as naive
from tests.reference import load

METHODS = ("pca-mdav", "lloyd-mdav", "mdav-mdav", "piecewise-pca", "lloyd-pca")
IN_CELLS = METHODS[1:]
KINDS = ("gaussian", "clustered", "repeated", "grid", "equal", "far away", "mostly one point")


def make(kind, n, d, seed):
    """Records of every nasty kind."""
    rng = np.random.default_rng(seed)
    records = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    if kind == "clustered":
        records = 20.0 * rng.normal(size=(5, d))[rng.integers(5, size=n)] + records
    elif kind == "repeated":
        records = records[rng.integers(max(1, n // 5), size=n)]
    elif kind == "grid":
        records = np.round(records)
    elif kind == "equal":
        records = np.full((n, d), 0.1)
    elif kind == "far away":
        records = np.round(4.0 * records) / 4.0 + 1e9
    elif kind == "mostly one point":
        records[rng.random(n) < 0.9] = 0.5
    return np.ascontiguousarray(records)


def flats(n, d, count, seed):
    """Records near planes that cross: no two cells of Lloyd's lie in one of them."""
    rng = np.random.default_rng(seed)
    parts = [
        rng.normal(size=(n // count, 2)) @ np.linalg.qr(rng.normal(size=(d, d)))[0][:2]
        for _ in range(count)
    ]
    return np.concatenate(parts) + 0.01 * rng.normal(size=(n // count * count, d))


def sets_of(found):
    order, sizes = found
    return naive.as_sets(np.split(order, np.cumsum(sizes)[:-1]))


def task(records, k, seed=0, **more):
    return Task(records, k, np.random.default_rng(seed), **more)


def group(name, asked, **options):
    method = find(name)
    return method.group(replace(asked, options=method.complete(options)))


def by_mdav(part):
    return mdav(part.records, part.k)


KIND = st.sampled_from(KINDS)
SEED = st.integers(0, 2**32)


# Fewer dimensions


@given(KIND, st.integers(2, 80), st.integers(1, 12), SEED)
@settings(max_examples=60)
def test_axes_are_the_principal_components(kind, n, d, seed):
    records = make(kind, n, d, seed)
    axes = find_axes(records)
    mean, variances, _ = naive.components(records)
    spread = max(1.0, variances[0])
    np.testing.assert_allclose(axes.mean, mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(axes.variances, variances, atol=1e-9 * spread)
    np.testing.assert_allclose(axes.loadings @ axes.loadings.T, np.eye(d), atol=1e-9)
    along = ((records - mean) @ axes.loadings.T).var(axis=0)
    np.testing.assert_allclose(along, variances, atol=1e-9 * spread)


@given(st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=12), st.floats(0.01, 1.0))
def test_the_least_number_of_components_is_kept(variances, energy):
    variances = np.sort(variances)[::-1]
    assert count_kept(variances, Reduction(energy)) == naive.kept(variances, energy)


def test_kept_at_the_ends():
    assert count_kept(np.zeros(3), Reduction(0.99)) == 1
    assert count_kept(np.array([2.0, 1.0, 0.0]), Reduction(1.0)) == 2
    assert count_kept(np.array([2.0, 1.0, 0.0]), Reduction(dimensions=9)) == 3


def test_reduced_records_keep_distances_but_for_what_is_left_out():
    records = make("far away", 50, 6, 1)
    reduced = reduce(records, Reduction(dimensions=4))
    assert reduced.shape == (50, 4)
    errors = naive.reconstruction_errors(records, records, 4)
    far = ((records - records.mean(axis=0)) ** 2).sum(axis=1)
    np.testing.assert_allclose((reduced**2).sum(axis=1) + errors, far, rtol=1e-6)
    assert reduce(records, Reduction(dimensions=6)) is records


def test_pca_mdav_is_mdav_on_the_components():
    records = make("gaussian", 300, 5, 2)
    mean, _, vectors = naive.components(records)
    projected = np.ascontiguousarray((records - mean) @ vectors[:3].T)
    found = group("pca-mdav", task(records, 4), dimensions=3)
    assert sets_of(found) == sets_of(mdav(projected, 4))
    whole = group("pca-mdav", task(records, 4), energy=1.0)
    assert sets_of(whole) == sets_of(mdav(records, 4))


def test_pca_mdav_loses_hardly_more_than_mdav():
    X = load("census")
    plain = microagg.information_loss(X, microagg.partition(X, 3, "mdav"))
    reduced = microagg.information_loss(X, microagg.partition(X, 3, "pca-mdav"))
    few = microagg.information_loss(X, microagg.partition(X, 3, "pca-mdav", dimensions=2))
    assert plain * 0.9 < reduced < plain * 1.1
    assert few > plain * 1.5


# Any method in each cell


@given(KIND, st.integers(2, 5), st.integers(0, 150), st.integers(1, 6), SEED)
@settings(max_examples=50)
def test_groups_are_those_of_each_cell(kind, k, more, cells, seed):
    records = make(kind, 2 * k + more, 3, seed)
    cell_of = join_small(records, np.random.default_rng(seed).integers(cells, size=len(records)), k)
    order, sizes = group_blocks(task(records, k), cell_of, by_mdav)
    assert np.array_equal(np.sort(order), np.arange(len(records)))
    if kind != "equal":  # a constant cell needs no method
        constant = [np.ptp(records[cell_of == c], axis=0).max() == 0 for c in np.unique(cell_of)]
        if not any(constant):
            assert sets_of((order, sizes)) == naive.group_cells(records, cell_of, k, mdav)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k


@given(KIND, st.integers(2, 5), st.integers(0, 300), SEED)
@settings(max_examples=50)
def test_a_search_starts_from_mdav_in_small_cells(kind, k, more, seed):
    records = make(kind, 2 * k + more, 3, seed)
    n = len(records)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_cells, "_CELL", 40)
        patch.setattr(small_cells, "_GROUPS", 10)
        order, sizes = small_cells.mdav_in_small_cells(task(records, k))
    assert np.array_equal(np.sort(order), np.arange(n))
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    cells = n // max(40, 10 * k)
    cell_of = np.zeros(n, np.int64)
    if cells > 1:  # 200 records a cell are all that there are
        plain = plan_cells(records, -(-n // cells)).to_dict()
        cell_of = np.array([naive.follow(plain, row) for row in records])
        cell_of = join_small(records, cell_of, k)
    constant = [np.ptp(records[cell_of == c], axis=0).max() == 0 for c in np.unique(cell_of)]
    if not any(constant):  # a constant cell needs no method
        assert sets_of((order, sizes)) == naive.group_cells(records, cell_of, k, mdav)


def test_records_of_a_sample_say_where_small_cells_are():
    records = make("gaussian", 60_000, 3, 1)
    order, sizes = small_cells.mdav_in_small_cells(task(records, 3))
    assert np.array_equal(np.sort(order), np.arange(60_000))
    assert set(sizes.tolist()) <= {3, 4, 5}
    tree = plan_cells(records[::25], 5_000, total=60_000)
    assert 12 <= tree.n_cells <= 16
    cell_of = assign(tree, records)
    assert np.bincount(cell_of).max() < 10_000
    first = np.cumsum(sizes) - sizes
    crossing = np.add.reduceat((cell_of[order] != np.repeat(cell_of[order[first]], sizes)), first)
    assert not crossing.any()


@given(KIND, st.integers(2, 9), st.integers(4, 60), st.integers(1, 12), SEED)
@settings(max_examples=60)
def test_small_cells_join_the_nearest(kind, k, n, cells, seed):
    # Random offsets break ties, which sums in another order may settle otherwise.
    rng = np.random.default_rng(seed)
    records = make(kind, n, 2, seed) + 1e-3 * rng.normal(size=(n, 2))
    before = rng.integers(cells, size=n)
    after = join_small(records, before, k)
    counts = np.bincount(after)
    assert counts.min() >= min(k, n)
    assert all(np.unique(after[before == cell]).size == 1 for cell in np.unique(before))
    cells_after = [np.flatnonzero(after == cell) for cell in range(counts.size)]
    if kind != "far away":
        assert naive.as_sets(cells_after) == naive.join_small(records, before, k)


def test_constant_cells_measure_no_distance():
    def refuse(_part):
        raise AssertionError

    for n, k in ((10, 5), (11, 5), (50_000, 3)):
        order, sizes = group_block(task(np.full((n, 2), 3.0), k), refuse)
        assert np.array_equal(order, np.arange(n))
        assert sizes.sum() == n
        assert sizes.min() >= k
        assert sizes.max() < 2 * k
    assert group_block(task(np.arange(9.0)[:, None], 5), refuse)[1].tolist() == [9]


@pytest.mark.parametrize("others", [1, 2, 3, 40, 6000])
def test_a_point_repeated_again_and_again_is_grouped_by_itself(others):
    rng = np.random.default_rng(others)
    records = np.zeros((20_000, 3))
    records[rng.permutation(20_000)[:others]] = rng.normal(size=(others, 3))
    seen = []

    def group(part):
        seen.append(len(part.records))
        return by_mdav(part)

    order, sizes = group_block(task(records, 3), group)
    assert np.array_equal(np.sort(order), np.arange(20_000))
    assert sizes.min() >= 3
    assert sizes.max() <= 5
    assert sum(seen) == (others if others >= 6 else 0)


def test_a_failure_in_one_cell_ends_it_all():
    def fail(_part):
        raise RuntimeError("as told")

    records = make("gaussian", 100, 2, 0)
    with pytest.raises(RuntimeError, match="as told"):
        group_blocks(task(records, 2), np.arange(100) % 4, fail)


def test_progress_of_all_cells_adds_up():
    shares = []
    records = make("gaussian", 6000, 3, 0)
    cell_of = np.arange(6000) % 5
    group_blocks(
        task(records, 3, advance=shares.append),
        cell_of,
        lambda part: mdav(part.records, part.k, part.advance),
    )
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)


# Cells


@given(KIND, st.integers(1, 40), st.integers(1, 7), SEED)
@settings(max_examples=40)
def test_nearest_centres(kind, n, count, seed):
    records = make(kind, n, 3, seed)
    centres = make("grid", count, 3, seed + 1)
    assert np.array_equal(nearest_centres(records, centres), naive.nearest(records, centres))


def test_lloyd_settles_on_a_sample_of_large_data():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=9000)
    records = 50.0 * np.eye(3)[truth] + rng.normal(size=(9000, 3))
    cell_of = lloyd_cells(records, 3, rng)
    assert len({(t, c) for t, c in zip(truth.tolist(), cell_of.tolist(), strict=True)}) == 3


@given(st.integers(1, 9), st.integers(20, 200), SEED)
@settings(max_examples=40)
def test_coarse_cells_are_groups_of_mdav(cells, n, seed):
    records = make("gaussian", n, 3, seed)
    found = coarse_cells(records, cells)
    rows = [np.flatnonzero(found == cell) for cell in range(int(found.max()) + 1)]
    size = n // cells
    expected = sets_of(mdav(records, size)) if n >= 2 * size else {frozenset(range(n))}
    assert naive.as_sets(rows) == expected


def test_hybrid_cells_represent_better_than_lloyds():
    records = flats(3000, 6, 3, 1)
    lloyd = lloyd_cells(records, 3, np.random.default_rng(0))

    def error(cell_of):
        own = [records[cell_of == cell] for cell in np.unique(cell_of)]
        return sum(naive.reconstruction_errors(part, part, 2).sum() for part in own)

    reduction = Reduction(dimensions=2)
    for price in (0.0, None):
        rng = np.random.default_rng(0)
        cell_of, kept = lloyd_pca_cells(records, 3, 3, reduction, rng, price=price)
        assert kept == 2
        assert error(cell_of) < 0.5 * error(lloyd)


@pytest.mark.parametrize("price", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["gaussian", "clustered", "far away"])
def test_records_go_where_they_cost_least(kind, price):
    records = make(kind, 300, 5, 4)
    lloyd = lloyd_cells(records, 4, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    reduction = Reduction(dimensions=3)
    cell_of, _ = lloyd_pca_cells(records, 3, 4, reduction, rng, price=price, rounds=1)
    costs = []
    for cell in range(4):
        members = records[lloyd == cell]
        away = ((records - members.mean(axis=0)) ** 2).sum(axis=1)
        across = naive.reconstruction_errors(records, members, 3)
        costs.append(price * away + (1 - price) * across)
    assert np.array_equal(cell_of, np.argmin(costs, axis=0))


@pytest.mark.parametrize("kind", KINDS)
def test_no_round_of_the_hybrid_raises_the_total(kind, monkeypatch):
    totals = []
    original = lloyd_pca._assign
    monkeypatch.setattr(
        lloyd_pca, "_assign", lambda *given: totals.append(original(*given)) or totals[-1]
    )
    for price in (0.0, None):
        totals.clear()
        rng = np.random.default_rng(1)
        lloyd_pca_cells(make(kind, 500, 6, 8), 3, 5, Reduction(dimensions=2), rng, price=price)
        slack = 1e-9 * max(totals[0], 1e-6)
        assert all(after <= before + slack for before, after in itertools.pairwise(totals))
    if kind == "gaussian":
        assert len(totals) > 3


def test_at_the_full_price_the_hybrid_is_lloyds():
    records = make("clustered", 400, 4, 3)
    lloyd = lloyd_cells(records, 5, np.random.default_rng(1))
    rng = np.random.default_rng(1)
    cell_of, _ = lloyd_pca_cells(records, 3, 5, Reduction(dimensions=2), rng, price=1.0)
    assert np.array_equal(cell_of, lloyd)


def test_the_hybrid_lowers_distortion():
    X = flats(4000, 6, 4, 2)
    options = {"standardize": False, "cells": 4, "dimensions": 2}
    losses = [
        microagg.information_loss(X, microagg.partition(X, 5, name, **options))
        for name in ("piecewise-pca", "lloyd-pca")
    ]
    assert losses[1] < 0.7 * losses[0]


# The methods


@pytest.mark.parametrize("cells", [1, 4, 1000])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", IN_CELLS)
def test_groups_of_k_in_any_number_of_cells(name, kind, cells):
    for k, n, d in ((2, 70, 3), (5, 53, 1), (3, 9, 2)):
        found = microagg.partition(make(kind, n, d, k), k, name, cells=cells)
        assert found.sizes.min() >= k
        assert found.sizes.max() < 2 * k
        assert len(found) == n


@pytest.mark.parametrize("name", IN_CELLS)
def test_one_cell_with_all_dimensions_is_mdav(name):
    records = make("clustered", 200, 3, 1)
    options = {"cells": 1} | ({"energy": 1} if "pca" in name else {})
    found = group(name, task(records, 4), **options)
    assert sets_of(found) == sets_of(mdav(records, 4))


@pytest.mark.parametrize("name", IN_CELLS)
def test_cells_are_the_same_whatever_the_threads(name, threads):
    X = make("clustered", 12_000, 4, 5)
    found = []
    for count in (1, 2, 3, 8):
        threads(count)
        options = {"cells": 5, "then": "reporder" if name == "lloyd-mdav" else "mdav"}
        found.append(
            microagg.partition(
                X[: 800 if name == "lloyd-mdav" else None], 3, name, **options
            ).labels
        )
    assert all(np.array_equal(found[0], other) for other in found[1:])


@pytest.mark.parametrize(
    "then",
    [method.name for method in all_methods() if not (method.one_column or method.needs)],
)
def test_any_method_may_form_the_groups(then):
    X = make("clustered", 160, 4, 6)
    for name, options in (("pca-mdav", {}), ("piecewise-pca", {"cells": 3})):
        found = microagg.partition(X, 3, name, then=then, **options)
        assert found.sizes.min() >= 3
        assert found.method == name


def test_one_component_may_be_grouped_at_the_least_loss():
    X = make("gaussian", 90, 4, 7)
    records = (X - X.mean(axis=0)) / X.std(axis=0)
    line = reduce(records, Reduction(dimensions=1))[:, 0]
    found = microagg.partition(X, 4, "pca-mdav", dimensions=1, then="univariate")
    best = microagg.optimal_univariate(line, 4)
    assert microagg.information_loss(line, found) == pytest.approx(
        microagg.information_loss(line, best)
    )


@pytest.mark.parametrize(
    ("method", "options", "sentence"),
    [
        ("lloyd-mdav", {"cells": 0}, "cells must be a whole number, 1 or more"),
        ("mdav-mdav", {"cells": 2.5}, "cells must be a whole number, 1 or more"),
        ("lloyd-mdav", {"energy": 0.5}, "has no option 'energy'"),
        ("pca-mdav", {"cells": 3}, "has no option 'cells'"),
        ("pca-mdav", {"energy": 0}, "energy must be a share of the variance"),
        ("pca-mdav", {"energy": 1.5}, "energy must be a share of the variance"),
        ("pca-mdav", {"energy": "all"}, "energy must be a share of the variance"),
        ("pca-mdav", {"energy": float("nan")}, "energy must be a share of the variance"),
        ("lloyd-pca", {"dimensions": 0}, "dimensions must be a whole number, 1 or more"),
        ("lloyd-pca", {"dimensions": 2, "energy": 0.9}, "give energy or dimensions, not both"),
        ("piecewise-pca", {"then": "mdva"}, "did you mean mdav"),
        ("piecewise-pca", {"then": "univariate"}, "groups one column at a time"),
    ],
)
def test_bad_options_get_one_clear_sentence(method, options, sentence):
    with pytest.raises(microagg.MicroaggError) as caught:
        microagg.partition(make("gaussian", 60, 3, 0), 3, method, **options)
    assert sentence in str(caught.value)


# The tree of cells


@given(KIND, st.integers(1, 150), st.integers(1, 5), st.integers(1, 40), SEED)
@settings(max_examples=60)
def test_every_row_has_one_cell_whatever_the_batch(kind, n, d, capacity, seed):
    rng = np.random.default_rng(seed)
    rows = make(kind, n, d, seed)
    sample = rows[rng.random(n) < 0.5] if n > 20 else rows
    if len(sample) == 0:
        sample = rows
    tree = plan_cells(sample, capacity, total=n)
    found = assign(tree, rows)
    assert found.dtype == np.int64
    assert found.min() >= 0
    assert found.max() < tree.n_cells
    plain = tree.to_dict()
    assert found.tolist() == [naive.follow(plain, row) for row in rows]
    ends = np.sort(rng.integers(0, n + 1, size=3))
    batches = [assign(tree, batch) for batch in np.split(rows, ends)]
    assert np.array_equal(np.concatenate(batches), found)
    fortran = np.asfortranarray(rows)
    assert np.array_equal(assign(tree, fortran), found)
    equal = {tuple(row): cell for row, cell in zip(rows.tolist(), found.tolist(), strict=True)}
    assert all(
        equal[tuple(row)] == cell for row, cell in zip(rows.tolist(), found.tolist(), strict=True)
    )


@given(KIND, st.integers(1, 200), st.integers(1, 4), st.integers(1, 50), SEED)
@settings(max_examples=60)
def test_cells_hold_what_they_can(kind, n, d, capacity, seed):
    rows = make(kind, n, d, seed)
    tree = plan_cells(rows, capacity)
    found = assign(tree, rows)
    counts = np.bincount(found, minlength=tree.n_cells)
    assert counts.min() > 0
    for cell in np.flatnonzero(counts > capacity):
        assert len(np.unique(rows[found == cell], axis=0)) == 1
    if kind == "gaussian":
        assert tree.n_cells == 1 or counts.min() >= capacity // 2


@given(KIND, st.integers(1, 200), st.integers(1, 12), st.integers(1, 20), SEED)
@settings(max_examples=60)
def test_merging_leaves_no_small_cell(kind, n, capacity, k, seed):
    rng = np.random.default_rng(seed)
    rows = make(kind, n, 3, seed)
    tree = plan_cells(rows, capacity)
    arrived = rows[rng.random(n) < 0.7]
    before = assign(tree, arrived)
    first = merge_small(tree, np.bincount(before, minlength=tree.n_cells), k)
    assert np.array_equal(first[first], first)
    assert (first <= np.arange(tree.n_cells)).all()
    cells = np.unique(first)
    counts = np.bincount(first[before], minlength=tree.n_cells)[cells]
    assert counts.sum() == len(arrived)
    assert counts.min() >= k or cells.size == 1


def test_large_cells_are_not_merged_and_siblings_come_first():
    line = np.arange(80.0)[:, None]
    tree = plan_cells(line, 10)
    assert tree.n_cells == 8
    counts = np.array([10, 10, 10, 2, 10, 10, 10, 10])
    assert merge_small(tree, counts, 5).tolist() == [0, 1, 2, 2, 4, 5, 6, 7]
    counts = np.array([10, 10, 1, 2, 10, 10, 10, 10])
    assert merge_small(tree, counts, 5).tolist() == [0, 1, 1, 1, 4, 5, 6, 7]
    assert merge_small(tree, np.zeros(8, int), 5).tolist() == [0] * 8


@given(KIND, st.integers(1, 120), st.integers(1, 5), SEED)
@settings(max_examples=30)
def test_trees_come_back_from_json_to_the_last_bit(kind, n, d, seed):
    rows = make(kind, n, d, seed) * 1e-7 / 3
    tree = plan_cells(rows, 7)
    again = CellTree.from_dict(json.loads(json.dumps(tree.to_dict())))
    for name, plain in tree.to_dict().items():
        ours, theirs = getattr(tree, name), getattr(again, name)
        assert ours.tobytes() == theirs.tobytes(), name
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        assert plain == theirs.tolist()
    assert np.array_equal(assign(again, rows), assign(tree, rows))


def test_damaged_plans_are_refused():
    good = plan_cells(make("gaussian", 60, 2, 0), 10).to_dict()
    loop = [[0 if child == 1 else child for child in pair] for pair in good["children"]]
    damages = ({"cuts": good["cuts"][1:]}, {"children": loop}, {"middles": "x"}, {"weights": None})
    for damage in damages:
        with pytest.raises(microagg.MicroaggError, match="plan of cells is damaged"):
            CellTree.from_dict(good | damage)
    with pytest.raises(microagg.MicroaggError, match="plan of cells is damaged"):
        CellTree.from_dict({})


def test_splits_follow_the_first_component_and_the_scale():
    rng = np.random.default_rng(0)
    along = rng.normal(size=(500, 1))
    rows = along * [3.0, 3.0] + 0.1 * rng.normal(size=(500, 2))
    split = plan_cells(rows, 250).weights[0]
    assert split[0] == pytest.approx(split[1], rel=0.05)
    square = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
    assert plan_cells(square, 32).weights[0].tolist() == [1.0, 0.0]
    assert plan_cells(square * [0.0, 1.0], 32).weights[0].tolist() == [0.0, 1.0]
