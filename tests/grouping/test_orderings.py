import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.grouping.sequence import orderings
from microagg.grouping.sequence.orderings import (
    farthest_from_centroid,
    order_by_halves,
    order_by_nearest_next,
    order_by_principal_component,
    order_by_zscore,
)
from microagg.grouping.sequence.split import lines_in_order
from microagg.kernels.threads import limited
from tests.naive import orderings as naive
from tests.published import integer_losses
from tests.reference import load


def cloud(seed, n, d, kind):
    """Records of a kind: gaussian, few values, few points, far away, very unequal in scale."""
    rng = np.random.default_rng(seed)
    records = rng.normal(size=(n, d))
    if kind == "grid":
        return rng.integers(0, 3, (n, d)).astype(float)
    if kind == "copies":
        return records[rng.integers(0, max(1, n // 5), n)]
    if kind == "offset":
        return records + 1e9
    if kind == "skewed":
        return np.exp(3 * records)
    return records


KINDS = ("gaussian", "grid", "copies", "offset", "skewed")
clouds = st.builds(
    cloud,
    st.integers(0, 10**6),
    st.sampled_from([1, 2, 3, 4, 5, 16, 17, 31, 40, 90]),
    st.sampled_from([1, 2, 3, 10, 50]),
    st.sampled_from(KINDS),
)


@given(clouds)
@settings(max_examples=60, deadline=None)
def test_nearest_next_equals_its_twin(records):
    start = farthest_from_centroid(records)
    expected = naive.order_by_nearest_next(records, start)
    assert order_by_nearest_next(records).tolist() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_nearest_next_equals_its_twin_through_several_trees(kind):
    records = cloud(3, 700, 2, kind)
    expected = naive.order_by_nearest_next(records, farthest_from_centroid(records))
    shares = []
    order = order_by_nearest_next(records, shares.append, steps_at_once=20)
    assert order.tolist() == expected
    assert len(shares) > 20
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_nearest_next_visits_equal_records_by_row_number_and_in_time():
    records = np.ones((50_000, 3))
    np.testing.assert_array_equal(order_by_nearest_next(records), np.arange(50_000))


@given(clouds)
@settings(max_examples=60, deadline=None)
def test_zscore_equals_its_twin(records):
    assert order_by_zscore(records).tolist() == naive.order_by_zscore(records)


@given(clouds)
@settings(max_examples=60, deadline=None)
def test_principal_component_explains_as_much_as_the_greatest_eigenvalue(records):
    centred = records - records.mean(axis=0)
    loadings = orderings._first_component(records)
    explained = np.sum((centred @ loadings) ** 2)
    greatest = np.linalg.svd(centred, compute_uv=False)[0] ** 2
    assert explained == pytest.approx(greatest, rel=1e-6, abs=1e-9)
    assert np.linalg.norm(loadings) == pytest.approx(1.0)
    assert loadings[np.argmax(np.abs(loadings))] > 0 or loadings.max() == pytest.approx(
        np.abs(loadings).max()
    )
    expected = naive.order_by_score(records, loadings)
    assert order_by_principal_component(records).tolist() == expected


def test_principal_component_of_equal_records():
    np.testing.assert_array_equal(order_by_principal_component(np.ones((9, 4))), np.arange(9))


def test_principal_component_points_up_its_greatest_loading():
    x = np.linspace(-1, 1, 11)
    records = np.column_stack([0.1 * x, -5 * x])
    np.testing.assert_array_equal(order_by_principal_component(records), np.arange(11)[::-1])


@pytest.mark.parametrize("kind", KINDS)
def test_farthest_equals_its_twin(kind):
    records = cloud(5, 200, 4, kind)
    squares = [naive.squared_distance(record, records.mean(axis=0)) for record in records.tolist()]
    found = farthest_from_centroid(records)
    assert squares[found] == pytest.approx(max(squares), rel=1e-6)
    if kind != "offset":
        assert found == naive.farthest_from_centroid(records)


@given(clouds)
@settings(max_examples=60, deadline=None)
def test_halves_are_halves(records):
    order = order_by_halves(records)
    assert sorted(order.tolist()) == list(range(len(records)))
    assert naive.are_halves(records, order)


def test_halves_of_many_records_whatever_the_threads():
    records = cloud(5, 6000, 3, "gaussian")
    order = order_by_halves(records)
    assert naive.are_halves(records, order)
    assert not naive.are_halves(records, order[::-1])
    for count in (1, 3):
        with limited(count):
            assert (order_by_halves(records) == order).all()


@pytest.mark.parametrize("n", [1, 63, 64, 65, 40_000])
def test_lines_in_order(n):
    rng = np.random.default_rng(n)
    records, order = rng.normal(size=(n, 3)), rng.permutation(n).astype(np.int32)
    lines = lines_in_order(records, order)
    np.testing.assert_array_equal(lines, records[order].T)
    assert lines.flags.c_contiguous


def test_records_are_left_alone():
    records = cloud(1, 100, 3, "gaussian")
    records.flags.writeable = False
    for function in (
        order_by_zscore,
        order_by_principal_component,
        order_by_halves,
        order_by_nearest_next,
    ):
        assert sorted(function(records).tolist()) == list(range(100))


ORDERINGS = {
    "npn": order_by_nearest_next,
    "pca": order_by_principal_component,
    "zscore": order_by_zscore,
}
# Mortazavi 2020, Table 3: SSE with rounded means, and with the best integers, for each k.
PUBLISHED = {
    ("tarragona", "npn"): {
        2: (13260893, 13260893),
        3: (18979346, 18979346),
        4: (23492012, 23492005),
        5: (30502975, 30502975),
        10: (41925425, 41925425),
    },
    ("tarragona", "pca"): {
        2: (17488857, 17488857),
        3: (24908172, 24908172),
        4: (27329082, 27329081),
        5: (32186331, 32186331),
        10: (40163339, 40163339),
    },
    ("tarragona", "zscore"): {
        2: (22644761, 22644761),
        3: (29258952, 29258952),
        4: (33481594, 33481594),
        5: (34714172, 34714172),
        10: (40857047, 40857045),
    },
    ("census", "npn"): {
        2: (4898186, 4898186),
        3: (8711694, 8711694),
        4: (12568049, 12568049),
        5: (15503503, 15503503),
        10: (28375732, 28375732),
    },
    ("census", "pca"): {
        2: (25127104, 25127104),
        3: (34230297, 34230297),
        4: (39531564, 39531564),
        5: (42483280, 42483280),
        10: (48900658, 48900658),
    },
    ("census", "zscore"): {
        2: (24239423, 24239423),
        3: (33934143, 33934143),
        4: (38419143, 38419143),
        5: (41403339, 41403339),
        10: (49213517, 49213517),
    },
    ("eia", "npn"): {
        2: (1131223, 1131187),
        3: (2251231, 2251217),
        4: (3097443, 3097435),
        5: (4499990, 4499969),
        10: (11225343, 11225342),
    },
    ("eia", "pca"): {
        2: (48503537, 48503537),
        3: (69470119, 69470119),
        4: (81844938, 81844938),
        5: (90920522, 90920522),
        10: (107512160, 107512160),
    },
    ("eia", "zscore"): {
        2: (46623390, 46623386),
        3: (66341938, 66341938),
        4: (75242168, 75242168),
        5: (81795250, 81795243),
        10: (100077948, 100077946),
    },
}


@pytest.mark.parametrize(("name", "ordering"), PUBLISHED)
def test_published_losses_to_the_digit(name, ordering):
    published = PUBLISHED[name, ordering]
    losses = integer_losses(load(name), ORDERINGS[ordering], published)
    assert list(losses) == list(published.values())
