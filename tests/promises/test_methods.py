"""What every registered method promises. A new method is tested by being registered."""

import numpy as np
import pytest

import microagg
from microagg.grouping.methods import all_methods, find

NAMES = [
    method.name for method in all_methods() if method.name != "univariate" and not method.needs
]
rng = np.random.default_rng(11)


def check(labels, n, k, bounded=False):
    assert labels.shape == (n,)
    assert labels.dtype == np.int64
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    if bounded and n >= 2 * k > 2:
        assert sizes.max() <= 2 * k - 1


def bounded(name):
    return find(name).bounded


DATA = {
    "ordinary": rng.normal(size=(150, 4)),
    "clusters": np.repeat(rng.normal(size=(8, 3)) * 20, 20, axis=0) + rng.normal(size=(160, 3)),
    "duplicates": np.repeat(rng.integers(0, 3, (30, 2)), 4, axis=0).astype(float),
    "grid": np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2),
    "all equal": np.full((40, 3), 2.5),
    "constant column": np.column_stack([rng.normal(size=70), np.ones(70), rng.normal(size=70)]),
    "one column": rng.normal(size=(90, 1)),
    "fifty columns": rng.normal(size=(80, 50)),
    "huge offset": 1e15 + rng.normal(size=(60, 2)) * 100,
    "huge values": rng.normal(size=(60, 2)) * 1e300,
    "tiny values": rng.normal(size=(60, 2)) * 1e-300,
    "mixed scales": rng.normal(size=(60, 3)) * np.array([1e-200, 1.0, 1e200]),
    "heavy tails": np.exp(4 * rng.normal(size=(120, 3))),
    "big integers": rng.integers(2**62, 2**62 + 10**6, (60, 2)),
}


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", NAMES)
def test_groups_of_at_least_k(name, data, k):
    X = DATA[data]
    before = X.copy()
    found = microagg.partition(X, k, name)
    check(found.labels, len(X), k, bounded(found.method))
    assert np.array_equal(X, before)
    assert found.k == k
    assert (found.method == name) == (name != "auto")


@pytest.mark.parametrize("name", NAMES)
def test_sizes_at_the_edges(name):
    for k in (1, 2, 3, 5):
        for n in {k, k + 1, 2 * k - 1, 2 * k, 2 * k + 1, 3 * k - 1, 3 * k}:
            X = np.random.default_rng(n).normal(size=(n, 2))
            found = microagg.partition(X, k, name)
            check(found.labels, n, k, bounded(found.method))
            if k == 1:
                assert found.n_groups == n


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_groups_whatever_the_threads(name, threads):
    X = np.random.default_rng(3).normal(size=(700, 3))
    found = []
    for count in (1, 2, 3, 8):
        threads(count)
        found.append(microagg.partition(X, 3, name, seed=5).labels)
    for other in found[1:]:
        assert found[0].tobytes() == other.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_kinds_of_input(name):
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    whole = np.random.default_rng(4).integers(0, 50, (60, 3))
    expected = microagg.partition(whole, 4, name).labels
    frame = pd.DataFrame(whole, columns=["a", "b", "c"])
    kinds = [
        whole.astype(np.float32),
        whole.astype(np.int16),
        whole.astype(np.uint64),
        np.asfortranarray(whole),
        whole.tolist(),
        np.repeat(whole, 2, axis=0)[::2],
        frame,
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
    ]
    for X in kinds:
        assert np.array_equal(microagg.partition(X, 4, name).labels, expected)


@pytest.mark.parametrize("name", NAMES)
def test_scale_and_offset_do_not_matter_when_standardized(name):
    """Powers of two change no digit, so not even a tie may fall otherwise."""
    X = np.random.default_rng(5).integers(-40, 40, (80, 3)).astype(float)
    expected = microagg.partition(X, 3, name).labels
    scaled = X * np.array([2.0**30, 1.0, 2.0**-30])
    assert np.array_equal(microagg.partition(scaled, 3, name).labels, expected)


@pytest.mark.parametrize("name", NAMES)
def test_distances_as_they_are_without_standardizing(name):
    """A column a thousand times wider decides alone, unless columns are put on one scale."""
    rng = np.random.default_rng(6)
    X = np.column_stack([rng.normal(size=200) * 1000, rng.normal(size=200)])
    raw = microagg.partition(X, 4, name, standardize=False)
    even = microagg.partition(X, 4, name)
    check(raw.labels, 200, 4, bounded(raw.method))
    loss = [microagg.information_loss(X[:, 0], found) for found in (raw, even)]
    assert loss[0] < loss[1]


@pytest.mark.parametrize("name", NAMES)
def test_bad_input_gets_one_clear_sentence(name):
    X = np.ones((6, 2))
    broken = X.copy()
    broken[2, 1] = np.nan
    cases = [
        ((broken, 2), {}, "1 of 12 are missing (NaN) or infinite"),
        ((X * np.inf, 2), {}, "12 of 12 are missing"),
        ((X, 7), {}, "k is 7, but there are only 6 records"),
        ((X, 0), {}, "k must be at least 1"),
        ((X[:, :0], 2), {}, "X has no columns"),
        ((X[:0], 1), {}, "X has no records"),
        ((np.ones((2, 2, 2)), 1), {}, "X must be 1-dimensional or 2-dimensional, but it has 3"),
        ((X, 2), {"gama": 0.2}, "has no option 'gama'"),
    ]
    for arguments, options, sentence in cases:
        with pytest.raises(microagg.MicroaggError) as caught:
            microagg.partition(*arguments, method=name, **options)
        assert sentence in str(caught.value)


def test_methods_describe_themselves():
    for name, description in microagg.methods().items():
        assert description
        assert "\n" not in description
        assert find(name).paper
        assert find(name).time


@pytest.mark.parametrize("method", all_methods(), ids=lambda method: method.name)
def test_options_check_themselves(method):
    for option in method.options:
        assert option.meaning
        default = option.value(option.default)
        assert default == option.default
        with pytest.raises(microagg.MicroaggError) as caught:
            option.value(object())
        assert "\n" not in str(caught.value)
    assert method.complete({}) == {option.name: option.default for option in method.options}


@pytest.mark.parametrize("name", NAMES)
def test_many_k_at_once_are_the_same_as_one_by_one(name):
    X = np.random.default_rng(8).normal(size=(100, 3))
    many = microagg.partition_many(X, [2, 5, 3], name)
    assert list(many) == [2, 5, 3]
    for k, found in many.items():
        if name != "auto":
            assert np.array_equal(found.labels, microagg.partition(X, k, name).labels)
        check(found.labels, 100, k)


@pytest.mark.parametrize("name", [name for name in NAMES if find(name).integer])
def test_integer_centroids(name):
    X = np.random.default_rng(9).integers(-300, 300, (90, 3))
    whole = microagg.partition(X, 3, name, integer=True, standardize=True)
    floats = microagg.partition(X, 3, whole.method)

    def loss(found):
        return ((X - microagg.aggregate(X, found, "integer")) ** 2).sum()

    check(whole.labels, 90, 3)
    if whole.method != "univariate":
        # The float split weighs z-scores, the integer split the numbers as they are.
        assert loss(whole) <= loss(floats)
    with pytest.raises(microagg.MicroaggError, match="values have a fraction"):
        microagg.partition(X + 0.5, 3, name, integer=True)


@pytest.mark.parametrize("name", [name for name in NAMES if not find(name).integer])
def test_integer_is_refused_where_it_means_nothing(name):
    with pytest.raises(microagg.MicroaggError, match="does not centre groups on integers"):
        microagg.partition(np.arange(20).reshape(10, 2), 2, name, integer=True)
