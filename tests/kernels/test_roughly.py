import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.kernels.trees.nearest import find_nearest
from microagg.kernels.trees.planting import plant
from microagg.kernels.trees.roughly import find_nearest_roughly


def clouds(rng, kind, n, queries, d):
    """Points, and queries near them: plain, tied, nearly tied, far off, beside an outlier."""
    points = rng.normal(size=(n, d))
    if kind == "grid":
        return rng.integers(-2, 3, (n, d)) * 1.0, rng.integers(-4, 5, (queries, d)) / 2
    if kind == "nearly":
        # Closer to each other than single precision can tell.
        points = np.concatenate([points, points + rng.normal(size=(n, d)) * 1e-8])
    if kind == "offset":
        points += 1e9
    if kind == "outlier":
        points[0] = 1e12
    if kind in ("tiny", "huge"):
        points *= 1e-120 if kind == "tiny" else 1e120
    spread = np.abs(points[-1] - points[1]).max() if n > 1 else 1.0
    return points, points[rng.integers(0, len(points), queries)] + spread * rng.normal(
        size=(queries, d)
    ) * 10.0 ** rng.integers(-9, 1)


KINDS = ["plain", "grid", "nearly", "offset", "outlier", "tiny", "huge"]


@given(
    st.sampled_from(KINDS),
    st.integers(1, 400),
    st.integers(1, 12),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_it_finds_what_is_found_exactly(kind, n, d, bounded, seed):
    rng = np.random.default_rng(seed)
    points, queries = clouds(rng, kind, n, 50, d)
    tree = plant(points, scales=rng.integers(1, 9, d) / 8)
    weights = rng.integers(0, 2**40, len(points))
    within = np.full(len(queries), np.inf)
    if bounded:
        within = find_nearest(tree, queries, within, weights, lambda _share: None).squares
    asked = queries, within, weights, lambda _share: None
    for one, other in zip(
        find_nearest_roughly(tree, *asked), find_nearest(tree, *asked), strict=True
    ):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize(("n", "d"), [(70_000, 3), (4_000, 40)])
def test_many_queries_whatever_the_threads(n, d, threads):
    rng = np.random.default_rng(n)
    points, queries = rng.normal(size=(n, d)), rng.normal(size=(4_500, d))
    asked = queries, np.full(4_500, np.inf), np.arange(n), lambda _share: None
    expected = find_nearest(plant(points), *asked)
    for count in (1, 2, 3, 8):
        threads(count)
        for one, other in zip(find_nearest_roughly(plant(points), *asked), expected, strict=True):
            assert one.tobytes() == other.tobytes()
