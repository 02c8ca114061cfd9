import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.grouping.sequence import reorder as module
from microagg.grouping.sequence.kmeans import kmeans
from microagg.grouping.sequence.reorder import order_groups, reorder
from microagg.kernels import threads
from microagg.kernels.trees.planting import plant
from tests.naive import reorder as naive
from tests.naive.decompose import total_sse
from tests.reference import load


def make(kind, n, d, seed):
    """Random or nasty records."""
    rng = np.random.default_rng(seed)
    if kind == "generic":
        return rng.normal(size=(n, d))
    if kind == "grid":
        return rng.integers(0, 3, size=(n, d)).astype(float)
    if kind == "equal":
        return np.full((n, d), 0.1)
    if kind == "offset":
        return rng.normal(size=(n, d)) + 1e9
    return np.repeat(rng.normal(size=(-(-n // 4), d)), 4, axis=0)[:n].copy()


KINDS = ("generic", "grid", "equal", "offset", "repeated")


def groups_of(order, sizes):
    return np.split(order, np.cumsum(sizes)[:-1])


def line_of(records, labels):
    """The order in which the fast version puts the records of these clusters in line."""
    line, sizes = module._cut_large(records, np.asarray(labels))
    start = module._farthest(records)
    return order_groups(plant(records), records, line, sizes, start)


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.integers(1, 60),
    st.sampled_from([1, 2, 3, 50]),
    st.integers(1, 12),
    st.integers(0, 10**6),
)
def test_line_is_that_of_the_algorithm_even_among_ties(kind, n, d, clusters, seed):
    records = make(kind, n, d, seed)
    labels = np.random.default_rng(seed).integers(0, clusters, n)
    assert line_of(records, labels).tolist() == naive.order_groups(records, labels)


def test_line_of_one_large_cluster():
    records = make("generic", 120, 2, 5)
    labels = np.zeros(120, int)
    assert line_of(records, labels).tolist() == naive.order_groups(records, labels)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n", "k"), [(6, 3), (7, 3), (8, 3), (9, 3), (40, 2), (45, 3), (60, 5)])
def test_rounds_are_those_of_the_algorithm(n, k, seed):
    records = make("generic", n, 3, seed)
    labels = np.random.default_rng(seed).integers(0, 4, n)
    result = module.repeat_rounds(plant(records), records, labels, k, turn=False)
    history, expected = naive.reorder(records, k, labels)
    assert history == sorted(history, reverse=True)
    assert result.rounds >= len(history)
    assert result.sse == pytest.approx(history[-1], rel=1e-9)
    found = {frozenset(group.tolist()) for group in groups_of(result.line, result.sizes)}
    assert found == {frozenset(np.flatnonzero(expected == g)) for g in set(expected)}


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.sampled_from([1, 2, 50]),
    st.integers(2, 5),
    st.integers(0, 20),
    st.integers(0, 10**6),
)
def test_groups_cover_all_and_keep_their_size(kind, d, k, more, seed):
    n = 2 * k + more
    records = make(kind, n, d, seed)
    original = records.copy()
    order, sizes = reorder(records, k, np.random.default_rng(seed), clusters=(1, 3, n + 5))
    assert np.array_equal(records, original)
    assert np.array_equal(np.sort(order), np.arange(n))
    assert sizes.sum() == n
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1 or len(sizes) == 1


def test_same_seed_same_result_and_more_starts_are_never_worse():
    records = make("generic", 300, 4, 0)

    def run(clusters):
        order, sizes = reorder(records, 3, np.random.default_rng(7), clusters=clusters)
        return order, sizes, total_sse(records, groups_of(order, sizes))

    one, again, alone, more = run((2, 5, 9)), run((2, 5, 9)), run(5), run(range(1, 12))
    assert np.array_equal(one[0], again[0])
    assert np.array_equal(one[1], again[1])
    assert more[2] <= one[2] <= alone[2]


@pytest.mark.parametrize("k", [2, 3, 7])
def test_turning_is_never_worse_than_the_letter(k):
    losses = []
    for seed in range(4):
        records = make("generic", 150, 3, seed)
        for turn in (False, True):
            rng = np.random.default_rng(seed)
            groups = groups_of(*reorder(records, k, rng, clusters=(1, 8), turn=turn))
            losses.append(total_sse(records, groups))
    letter, turned = np.array(losses[::2]), np.array(losses[1::2])
    assert np.all(turned <= letter * (1 + 1e-12))
    assert turned.sum() < letter.sum()


def test_any_order_of_starts_gives_the_same(monkeypatch):
    records = make("generic", 200, 3, 1)
    two = reorder(records, 3, np.random.default_rng(0))

    def backwards(jobs, _at_once=None):
        for job in reversed(jobs):
            job()

    monkeypatch.setattr(threads, "run_each", backwards)
    one = reorder(records, 3, np.random.default_rng(0))
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])


def test_large_clusters_are_cut_into_pieces():
    labels = np.repeat([0, 2], [3 * module._LARGEST_CLUSTER + 2, 5])
    records = np.arange(labels.size, dtype=float)[:, np.newaxis]
    line, sizes = module._cut_large(records, labels)
    assert sizes.tolist() == [3073, 3073, 3072, 3072, 5]
    assert np.array_equal(line, np.arange(labels.size))


def test_progress_ascends_to_one():
    seen = []
    reorder(make("generic", 100, 2, 0), 3, np.random.default_rng(0), seen.append, range(1, 8))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.integers(1, 80),
    st.integers(1, 20),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_kmeans_ends_with_every_record_at_its_nearest_mean(kind, n, clusters, spread, seed):
    records = make(kind, n, 2, seed)
    labels = kmeans(records, clusters, np.random.default_rng(seed), spread=spread)
    again = kmeans(records, clusters, np.random.default_rng(seed), spread=spread)
    assert np.array_equal(labels, again)
    used = np.unique(labels)
    assert labels.min() >= 0
    assert labels.max() < clusters
    assert used.size <= len(np.unique(records, axis=0))
    means = np.array([records[labels == c].mean(axis=0) for c in used])
    squares = ((records[:, None] - means) ** 2).sum(axis=2)
    own = squares[np.arange(n), np.searchsorted(used, labels)]
    assert np.all(np.sqrt(own) <= np.sqrt(squares.min(axis=1)) + 1e-6 * (1 + kind_scale(kind)))


def kind_scale(kind):
    return 1e6 if kind == "offset" else 0.0


@pytest.mark.parametrize(("k", "published"), [(3, 0.369), (10, 1.99)])
def test_eia_reaches_the_published_loss(k, published):
    raw = load("eia")
    records = np.ascontiguousarray((raw - raw.mean(axis=0)) / raw.std(axis=0))
    order, sizes = reorder(records, k, np.random.default_rng(0), clusters=range(150, 201, 3))
    loss = 100 * total_sse(records, groups_of(order, sizes)) / records.size
    assert loss < published * 1.03
