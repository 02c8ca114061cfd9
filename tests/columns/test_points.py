from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from tests.columns.parts import placed
from tests.naive import points as naive


def points(*arrays, kinds=None):
    return np.hstack(
        [placed(array, (kinds or {}).get(place))[1] for place, array in enumerate(arrays)]
    )


def distances(matrix):
    return np.sqrt(((matrix[:, np.newaxis] - matrix[np.newaxis]) ** 2).sum(axis=2))


def test_numbers_become_z_scores():
    values = np.random.default_rng(0).normal(5, 3, 40)
    matrix = points(pa.array(values), pa.array(np.arange(40)))
    assert matrix.shape == (40, 2)
    np.testing.assert_allclose(matrix[:, 0], (values - values.mean()) / values.std(), rtol=1e-12)
    np.testing.assert_allclose(matrix.std(axis=0), 1.0)


@pytest.mark.parametrize("offset", [10**15, 2**62, -(2**62)])
def test_offsets_cost_no_digits(offset):
    small = np.arange(20) ** 2
    moved = points(pa.array(small + offset))
    np.testing.assert_allclose(moved, points(pa.array(small)), rtol=1e-12)


def test_the_ends_of_all_numbers():
    for column in (
        pa.array([0, 2**64 - 1], pa.uint64()),
        pa.array([-(2**63), 2**63 - 1]),
        pa.array([-1.7e308, 1.7e308]),
    ):
        np.testing.assert_allclose(points(column), [[-1.0], [1.0]])


@pytest.mark.parametrize("categories", [1, 2, 3, 64])
def test_categories_are_equally_far_apart(categories):
    letters = [f"c{place % categories}" for place in range(130)]
    shares = np.bincount(np.arange(130) % categories) / 130
    apart = distances(points(pa.array(letters)))
    differ = np.array(letters)[:, np.newaxis] != np.array(letters)[np.newaxis]
    far = naive.apart(shares.tolist())
    np.testing.assert_allclose(apart, differ * far, atol=1e-12)


def test_many_categories_are_about_as_far_apart_and_never_at_the_same_place():
    letters = np.array([f"c{place}" for place in range(200)] * 2)
    apart = distances(points(pa.array(letters))) / naive.apart([1 / 200] * 200)
    differ = letters[:, np.newaxis] != letters[np.newaxis]
    assert (apart[~differ] < 1e-12).all()
    assert apart[differ].min() > 0.6
    assert apart[differ].max() < 1.4
    assert np.mean(apart[differ]) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("gaps", [0, 30])
@pytest.mark.parametrize(
    ("entries", "kind"),
    [
        ([float(place**2) for place in range(100)], None),
        ([date(2000, 1, 1 + place % 9) for place in range(100)], None),
        ([place == 77 for place in range(100)], None),
        (["rare" if place in (5, 60) else "common" for place in range(100)], None),
        ([f"c{place % 7}" for place in range(100)], None),
        ([place // 40 for place in range(100)], "ordinal"),
    ],
)
def test_every_column_weighs_one(entries, kind, gaps):
    column = pa.array([None if place % 100 < gaps else each for place, each in enumerate(entries)])
    matrix = points(column, kinds={0: kind})
    values = matrix[:, :-1] if gaps else matrix
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=1e-12)
    assert values.var(axis=0).sum() == pytest.approx(1.0)


def test_ranks_are_numbers():
    ranks = points(pa.array([30, 10, 20]), kinds={0: "ordinal"})
    np.testing.assert_allclose(ranks[:, 0], np.array([1, -1, 0]) * np.sqrt(1.5))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.0, 3.0, 8.0, None]),
        pa.array(["a", "b", "c", None]),
        pa.array([True, False, True, None]),
    ],
)
def test_having_no_value_is_a_small_step_beside_the_mean(column):
    matrix = points(column)
    np.testing.assert_allclose(matrix[:3, :-1].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(matrix[3, :-1], 0.0)
    assert matrix[:, -1].tolist() == [0.0, 0.0, 0.0, 0.1]


def test_nothing_but_missing_values_or_one():
    for values in ([None] * 4, [5, None, None, None], [5, 5, 5, None]):
        for kind in (pa.int64(), pa.float64(), pa.string()):
            entries = [None if each is None else str(each) for each in values]
            column = pa.array(entries).cast(kind) if kind != pa.string() else pa.array(entries)
            matrix = points(column, kinds={0: "nominal"} if kind == pa.string() else None)
            assert np.isfinite(matrix).all()
            assert not matrix[:, :-1].any()
