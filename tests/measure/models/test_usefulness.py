"""What models learn from a release."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.measure.models.design import categories_of, design, is_number
from microagg.measure.models.trees import boosted_trees
from microagg.measure.models.usefulness import Usefulness
from microagg.measure.statistics import kolmogorov_smirnov, paired
from tests.measure.attacks.scenes import column
from tests.naive import models as naive


def useful(columns, targets, **more):
    return Usefulness(columns=columns, targets=targets, trees=False, **more)


def test_designs():
    number = column("age", [1.0, 2, 3, np.nan], [2.0, 2, 2, 2])
    word = column("town", [0, 1, 1, 2], [1, 1, 1, 0], categories=3, numeric=False)
    same = column("same", [5.0] * 4, [1.0, 2, 3, 4])
    lines = design([number, word, same], 4)
    assert lines.names == ("age", "age", "town", "town")
    assert lines.numbers.tolist() == [True, False, False, False]
    unit = np.sqrt(2 / 3)
    assert lines.original[:, 0] == pytest.approx([-1 / unit, 0, 1 / unit, 0])
    assert lines.released[:, 0] == pytest.approx([0] * 4)
    assert lines.original[:, 1].tolist() == [0, 0, 0, 1]
    # Steps away from the commonest town, which is 1.
    assert lines.original[:, 2:].tolist() == [[1, 0], [0, 0], [0, 0], [0, 1]]
    assert lines.released[:, 2:].tolist() == [[0, 0], [0, 0], [0, 0], [1, 0]]


def test_rare_categories_are_one():
    codes = np.concatenate([np.repeat(np.arange(30), 2), [29]])
    word = column("town", codes, codes, categories=30, numeric=False)
    assert design([word], codes.size).original.shape[1] == 20
    before, after = categories_of(word)
    assert (before == after).all()
    assert before.max() == 20
    assert (before == 20).sum() == 2 * 10


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_numbers_are_told_as_by_least_squares(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) * [3, 0.1] + [100, -5]
    y = X @ [1, 20] + rng.normal(size=40)
    R = X + rng.normal(size=X.shape) * [1, 0.05]
    columns = [column(f"c{a}", X[:, a], R[:, a]) for a in range(2)] + [column("y", y, y)]
    learnt = useful(columns, ["y"]).learnt["y"]
    fits = [naive.least_squares(each, y)[0] for each in (X, R)]
    expected = [
        1 - np.square(y - c[0] - X @ c[1:]).sum() / np.square(y - y.mean()).sum() for c in fits
    ]
    assert learnt.own.scores["r_squared"] == pytest.approx(expected)
    assert learnt.number
    # Coefficients are in deviations of both.
    slope = fits[0][1] * X[:, 0].std() / y.std()
    assert learnt.coefficients[0].before[1] == pytest.approx(slope)
    intervals = [
        [c + side * 1.959964 * e for side in (-1, 1)]
        for c, e in (
            (c[1] * X[:, 0].std() / y.std(), e[1] * X[:, 0].std() / y.std())
            for c, e in (naive.least_squares(each, y) for each in (X, R))
        )
    ]
    share = 100 * naive.overlap(*intervals)
    assert learnt.coefficients[0].overlap == pytest.approx(share, rel=1e-5, abs=1e-5)


def test_categories_are_told_as_by_logistic_regression():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    ill = (x + rng.normal(size=200) > 0.5).astype(float)
    released = x + rng.normal(size=200)
    columns = [
        column("x", x, released),
        column("ill", ill, ill, categories=2, numeric=False),
    ]
    learnt = useful(columns, ["ill"]).learnt["ill"]
    Z = (x - x.mean()) / x.std()
    Y = (released - x.mean()) / x.std()
    target = ill == 1
    right, areas = [], []
    for line in (Z, Y):
        c = naive.logistic(line[:, np.newaxis], target, 1.0)
        scores = c[0] + c[1] * Z
        right.append(100 * ((scores > 0) == target).mean())
        areas.append(naive.area(target, scores))
    assert learnt.own.scores["accuracy"] == pytest.approx(right)
    assert learnt.own.scores["auc"] == pytest.approx(areas)
    assert not learnt.number
    assert learnt.own.model == "logistic"


def test_more_categories_and_what_is_missing():
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    ill = np.digitize(x + 0.3 * rng.normal(size=300), [-0.5, 0.5]).astype(float)
    ill[:10] = np.nan
    columns = [column("x", x, x), column("ill", ill, ill, categories=3, numeric=False)]
    learnt = useful(columns, ["ill", "x"]).learnt
    assert learnt["ill"].records == 290
    accuracy, auc = (learnt["ill"].own.scores[name] for name in ("accuracy", "auc"))
    assert accuracy[0] == accuracy[1] > 60
    assert auc[0] == auc[1] > 0.7
    assert learnt["ill"].overlap == learnt["x"].overlap == pytest.approx(100.0)
    assert learnt["x"].own.scores["r_squared"][0] > 0.7


def test_what_is_a_number():
    assert is_number(column("c", [0.0, 1, 2], [0.0, 1, 2]))
    assert not is_number(column("c", [0.0, 1, 1], [0.0, 0.5, 1]))
    assert not is_number(column("c", [0, 1, 2], [0, 1, 2], categories=3))
    flags = categories_of(column("c", [7.0, 9, 9], [7.5, 8.5, 9]))
    assert [each.tolist() for each in flags] == [[0, 1, 1], [0, 1, 1]]


@given(st.integers(0, 10**6), st.integers(1, 2))
@settings(max_examples=10, deadline=None)
def test_propensity(seed, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, d))
    R = X * rng.uniform(0.3, 1.0) + rng.normal(size=d) * 0.3
    columns = [column(f"c{a}", X[:, a], R[:, a]) for a in range(d)]
    found, ratio = useful(columns, []).propensity
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    expected = naive.propensity((X - mean) / deviation, (R - mean) / deviation)
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-6)
    coefficients = d + d * (d + 1) // 2
    assert ratio == pytest.approx(found * 8 * 120 / coefficients)


def test_propensity_by_hand():
    """Of one category the chances are its shares: p = released / (released + original)."""
    before, after = np.repeat([0.0, 1.0], [6000, 4000]), np.repeat([0.0, 1.0], [4000, 6000])
    word = column("c", before, after, categories=2, numeric=False)
    found, ratio = useful([word], []).propensity
    assert found == pytest.approx(0.01, rel=2e-3)  # (0.4 - 0.5)^2, but for the ridge
    assert ratio == pytest.approx(0.01 * 8 * 20_000, rel=2e-3)
    assert useful([column("c", before, before, categories=2, numeric=False)], []).propensity == (
        pytest.approx(0.0, abs=1e-20),
        pytest.approx(0.0, abs=1e-12),
    )


def test_means_of_groups_are_told_from_originals_by_their_squares():
    """A model without squares would see nothing: group means keep the mean."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=900)
    R = np.repeat(np.sort(X).reshape(-1, 300).mean(axis=1), 300)
    found, ratio = useful([column("c", np.sort(X), R)], []).propensity
    assert found > 0.001
    assert ratio > 5


@given(st.integers(0, 10**6), st.integers(1, 3))
@settings(max_examples=30)
def test_two_way_tables(seed, d):
    rng = np.random.default_rng(seed)
    before, after = rng.integers(0, 3, (2, d, 20)).astype(float)
    before[0, 0] = after[0, 1] = np.nan
    columns = [column(f"c{a}", before[a], after[a], categories=3, numeric=False) for a in range(d)]
    words = [[str(each) for each in line] for line in (*before, *after)]
    pairs = [(a, b) for a in range(d) for b in range(a + 1, d)] or [(0, 0)]
    expected = [
        naive.variation(
            list(zip(words[a], words[b], strict=True)),
            list(zip(words[d + a], words[d + b], strict=True)),
        )
        for a, b in pairs
    ]
    assert useful(columns, []).tables.tolist() == pytest.approx(expected)
    assert useful([column("x", [1.0, 2], [1.0, 2])], []).tables is None


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=25))
def test_kolmogorov_smirnov(pairs):
    x, y = (np.array(each, float) for each in zip(*pairs, strict=True))
    if x.min() == x.max():
        return
    assert kolmogorov_smirnov(paired(x, y)).total == pytest.approx(
        naive.kolmogorov_smirnov(x.tolist(), y.tolist())
    )


def test_boosted_trees_learn_from_the_half_they_see():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y, ill = np.sin(3 * x), (np.abs(x) > 0.7).astype(float)
    noise = rng.normal(size=400)
    lines = design([column("x", x, noise)], 400)
    scores = boosted_trees(column("y", y, y), lines)
    assert scores["r_squared"][0] > 0.8 > 0.2 > scores["r_squared"][1]
    told = boosted_trees(column("ill", ill, ill, categories=2, numeric=False), lines)
    assert told["accuracy"][0] > 90 > 70 > told["accuracy"][1]
    assert told["auc"][0] > 0.95
    assert boosted_trees(column("y", y, y), design([], 400)) is None


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(0, 3))
@settings(max_examples=60)
def test_of_few_records_that_are_alike_or_lack_values(seed, n, d):
    """Constant columns, columns that depend on each other, and more of them than records."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, d)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, 9, n).astype(float)
    ill = rng.integers(0, 3, n).astype(float)
    columns = [column(f"c{a}", X[:, a], rng.permutation(X[:, a])) for a in range(d)]
    columns += [column("y", y, y), column("ill", ill, ill, categories=3, numeric=False)]
    found = useful(columns, ["y", "ill"])
    told = found.learnt
    lines = design([each for each in columns if each.name != "y"], n).original
    if told["y"].number:
        # Whatever depends on what, the fit to the originals is one.
        left = y - naive.fitted(lines, y)
        spread = np.square(y - y.mean()).sum()
        expected = 1 - np.square(left).sum() / spread if spread else 0.0
        assert told["y"].own.scores["r_squared"][0] == pytest.approx(expected, abs=1e-7)
    for each in told.values():
        for pair in each.own.scores.values():
            assert np.isfinite(pair).all()
        assert 0.0 <= each.overlap <= 100.0 + 1e-9
    for pair in (
        told["ill"].own.scores["accuracy"],
        [100 * a for a in told["ill"].own.scores["auc"]],
    ):
        assert all(-1e-9 <= each <= 100.0 + 1e-9 for each in pair)
    distance, ratio = found.propensity
    assert 0.0 <= distance <= 0.25
    assert 0.0 <= ratio < np.inf
    words = [str(each) for each in ill]
    pairs = list(zip(words, words, strict=True))
    assert found.tables.tolist() == [naive.variation(pairs, pairs)]
