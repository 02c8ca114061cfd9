"""optimal_univariate against exact rational twins, on ordinary and on nasty input."""

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import microagg
from microagg.base.arrays import as_whole_numbers
from microagg.grouping.sequence.univariate import group_values
from tests.naive import split as naive

# Every way through the door, on inputs small enough for the twins.
WAYS = {
    "as shipped": {},
    "divide and conquer": {"scan_up_to_k": 0},
    "from both ends": {"two_way_from": 0},
    "both": {"scan_up_to_k": 0, "two_way_from": 0},
}
TWINS = {
    "sse": naive.sse,
    "integer": naive.integer_sse,
    "absolute": naive.absolute,
    "range": naive.span,
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def optimal(values, k, way, cost="sse", **options):
    """`optimal_univariate`, whose limits are its own: with others, from behind its checks."""
    if not way:
        return microagg.optimal_univariate(values, k, cost=cost, **options)
    integer = cost == "integer"
    numbers = as_whole_numbers(np.asarray(values), "x") if integer else np.asarray(values)
    return group_values(numbers, k, cost=cost, **options, **way)


def exact(values) -> list[Fraction]:
    return [Fraction(x) for x in np.asarray(values).tolist()]


def check_groups(values, partition, k, limit=True):
    """At least k in each group, labels without gaps, groups consecutive in value."""
    assert partition.labels.shape == (len(values),)
    sizes = np.bincount(partition.labels)
    assert sizes.min() >= k
    assert sizes.sum() == len(values)
    if limit:
        assert sizes.max() <= max(2 * k - 1, k)
    assert np.array_equal(sizes, partition.sizes)
    order = np.lexsort((partition.labels, np.asarray(values)))
    assert (np.diff(partition.labels[order]) >= 0).all()


def check_optimal(values, k, cost, twin, way=WAYS["as shipped"], **options):
    partition = optimal(values, k, way, cost, **options)
    limit = not options and len(values) >= 2 * k
    check_groups(values, partition, k, limit)
    line = sorted(exact(values))
    best = naive.least_cost(line, k, twin, longest=2 * k - 1 if limit else None)
    ours = naive.cost_of_labels(exact(values), partition.labels, twin)
    assert ours >= best
    return ours, best


# Lines with ties, offsets and mixed magnitudes, as multiples of a power of two: exact in float64.
steps = st.one_of(st.integers(0, 3), st.integers(0, 1000), st.integers(0, 10**6))


@st.composite
def lines(draw, least=1, most=40):
    values = np.cumsum(draw(st.lists(steps, min_size=least, max_size=most))).astype(float)
    values = values * 2.0 ** draw(st.integers(-40, 10))
    values = values + draw(st.sampled_from([0.0, 1e15, -1e15, 1e9, -0.1]))
    return np.array(draw(st.permutations(values.tolist())))


@every_way
@settings(max_examples=120)
@given(values=lines(), k=st.integers(1, 9))
def test_sse_is_the_optimum(way, values, k):
    k = min(k, len(values))
    ours, best = check_optimal(values, k, "sse", naive.sse, way)
    assert ours <= best * (1 + Fraction(1, 10**12))


@every_way
@settings(max_examples=120)
@given(
    values=st.lists(
        st.one_of(st.integers(-5, 5), st.integers(-300, 300), st.integers(-(10**6), 10**6)),
        min_size=1,
        max_size=40,
    ),
    offset=st.sampled_from([0, 2**62, -(2**62), 10**15]),
    k=st.integers(1, 9),
)
def test_integer_cost_is_the_optimum_to_the_last_digit(way, values, offset, k):
    values = np.array(values, np.int64) + offset
    k = min(k, len(values))
    ours, best = check_optimal(values, k, "integer", naive.integer_sse, way)
    assert ours == best


@settings(max_examples=60)
@given(
    values=st.lists(st.integers(-(2**44), 2**44), min_size=4, max_size=30),
    unit=st.sampled_from([1, 10**3]),
    k=st.integers(2, 6),
)
def test_integers_far_apart_stay_exact(values, unit, k):
    values = np.array(values, np.int64) * unit
    k = min(k, len(values))
    ours, best = check_optimal(values, k, "integer", naive.integer_sse)
    assert ours == best


@settings(max_examples=120)
@given(values=lines(), k=st.integers(1, 9), cost=st.sampled_from(["absolute", "range"]))
@example(values=np.array([0.0, 1e-9, 2e-9, 1e9, 1e9 + 1, 2e9]), k=2, cost="absolute")
def test_distances_are_the_optimum(values, k, cost):
    k = min(k, len(values))
    ours, best = check_optimal(values, k, cost, TWINS[cost])
    assert ours <= best * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("cost", ["absolute", "range"])
def test_distances_of_integers_are_exact_whatever_their_offset(cost):
    values = np.random.default_rng(3).integers(0, 2**40, 60) + 2**62
    for k in (2, 7, 29):
        ours, best = check_optimal(values, k, cost, TWINS[cost])
        assert ours == best


@settings(max_examples=100)
@given(
    values=lines(most=30),
    k=st.integers(1, 4),
    weight=st.sampled_from([1e-9, 1e-3, 1.0, 30.0, 1e6]),
)
def test_size_cost_is_the_optimum_of_the_quadratic_programme(values, k, weight):
    k = min(k, len(values))
    c = weight * float(np.ptp(values)) ** 2 + 1e-6
    ours, best = check_optimal(values, k, "sse", naive.sse_and_noise(Fraction(c)), size_cost=c)
    assert ours <= best * (1 + Fraction(1, 10**12))


@given(
    values=st.lists(st.integers(0, 12), min_size=1, max_size=9),
    k=st.integers(1, 4),
    cost=st.sampled_from(sorted(TWINS)),
)
@settings(max_examples=60)
def test_no_partition_of_any_kind_is_better(values, k, cost):
    k = min(k, len(values))
    twin = TWINS[cost]
    partition = microagg.optimal_univariate(values, k, cost=cost)
    ours = naive.cost_of_labels(exact(values), partition.labels, twin)
    best = naive.least_cost_of_all_partitions(sorted(exact(values)), k, twin)
    assert abs(ours - best) <= best / 10**12


@pytest.mark.parametrize("k", [2, 5, 20, 60])
def test_long_lines_on_every_way_cost_the_same(k):
    """Ways that share no code agree on a line too long for the twins."""
    rng = np.random.default_rng(k)
    values = np.concatenate(
        [rng.normal(size=1500), rng.integers(0, 40, 1000), np.exp(4 * rng.normal(size=1500))]
    )
    costs = []
    for scan_up_to, two_way_from in [(0, 10**9), (10**9, 10**9), (0, 0), (10**9, 0)]:
        way = {"scan_up_to_k": scan_up_to, "two_way_from": two_way_from}
        partition = optimal(values, k, way)
        check_groups(values, partition, k)
        costs.append(microagg.information_loss(values, partition))
    assert costs == pytest.approx([costs[0]] * 4, rel=1e-12)


def test_the_papers_counter_example():
    """Rounding the centroids of the best float groups is not the best integer grouping."""
    x = [1, 2, 2, 3, 4, 4, 6, 6, 8, 10]
    floats = microagg.optimal_univariate(x, 3)
    assert floats.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
    assert float(naive.cost_of_labels(exact(x), floats.labels, naive.sse)) == pytest.approx(37 / 3)
    assert naive.cost_of_labels(exact(x), floats.labels, naive.integer_sse) == 14
    whole = microagg.optimal_univariate(x, 3, cost="integer")
    assert whole.labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert naive.cost_of_labels(exact(x), whole.labels, naive.integer_sse) == 13


@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("extra", ["k", "k+1", "2k-1", "2k", "3k-1"])
def test_sizes_at_the_edges(k, extra):
    n = {"k": k, "k+1": k + 1, "2k-1": 2 * k - 1, "2k": 2 * k, "3k-1": 3 * k - 1}[extra]
    values = np.random.default_rng(n).permutation(n).astype(float)
    for cost in ("sse", "integer"):
        partition = microagg.optimal_univariate(values, k, cost=cost)
        check_groups(values, partition, k, limit=n >= 2 * k)
        if n < 2 * k and k > 1:
            assert partition.n_groups == 1
        if k == 1:
            assert partition.n_groups == n


@every_way
def test_constant_values_cost_nothing_and_groups_stay_small(way):
    partition = optimal(np.full(500, 7.25), 4, way)
    check_groups(np.full(500, 7.25), partition, 4)


@given(values=lines(most=30), k=st.integers(1, 5), seed=st.integers(0, 99))
def test_row_order_does_not_matter(values, k, seed):
    k = min(k, len(values))
    shuffle = np.random.default_rng(seed).permutation(len(values))

    def groups(x):
        labels = microagg.optimal_univariate(x, k).labels
        return sorted(tuple(sorted(x[labels == g])) for g in range(labels.max() + 1))

    assert groups(values) == groups(values[shuffle])


def test_equal_values_are_told_apart_by_row():
    labels = microagg.optimal_univariate([5.0] * 6, 2).labels
    assert labels.tolist() == sorted(labels.tolist())


@every_way
@pytest.mark.parametrize(
    ("values", "k"),
    [
        ([0.0] * 3 + [1e-9, 2e-9, 3e-9] + [1e300, 1e300, 1.5e300], 3),
        ([-1.7e308, -1.6e308, 1.6e308, 1.7e308], 2),
        ([5e-324, 1e-323, 4e-323, 4.5e-323], 2),
        ([1e-200, 2e-200, 9e-200, 1e-199], 2),
        ([1e15, 1e15 + 0.125, 1e15 + 4, 1e15 + 4.25, 1e15 + 99, 1e15 + 99.125], 2),
        # Two tight clusters very far apart: prefix sums about one pivot lose both.
        ([1e12 + i * 1e-3 * (i % 3) for i in range(12)] + [1e-6 * i * i for i in range(12)], 3),
    ],
)
def test_extreme_magnitudes(values, k, way):
    partition = optimal(values, k, way)
    ours = naive.cost_of_labels(exact(values), partition.labels, naive.sse)
    best = naive.least_cost(sorted(exact(values)), k, naive.sse, 2 * k - 1)
    # Squares 600 orders of magnitude below the greatest vanish; nothing else may.
    assert ours <= best * (1 + Fraction(1, 10**12))


@every_way
def test_a_dear_group_far_left_does_not_blur_the_choice_right_of_it(way):
    """Path costs are relative: choices after a group that costs 1e30 still see 1e-6."""
    rng = np.random.default_rng(3)
    tight = np.sort(rng.normal(size=60))
    values = np.concatenate([[-1e15, -5e14, -2e14], tight])
    together = optimal(values, 3, way).labels[3:]
    ours = naive.cost_of_labels(exact(tight), together, naive.sse)
    alone = naive.least_cost(exact(tight), 3, naive.sse, 5)
    assert ours <= alone * (1 + Fraction(1, 10**9))


INTEGERS = [5, 1, 4, 4, 9, 12, 7, 3]


@pytest.mark.parametrize("dtype", list("bhilqBHILQefdg"))
def test_dtypes(dtype):
    expected = microagg.optimal_univariate(INTEGERS, 3).labels
    x = np.array(INTEGERS, dtype)
    for cost in ("sse", "integer"):
        assert np.array_equal(microagg.optimal_univariate(x, 3, cost=cost).labels, expected)
    assert np.array_equal(x, np.array(INTEGERS, dtype))


def test_booleans_and_strides():
    assert microagg.optimal_univariate([True, False, True, False], 2).labels.tolist() == [
        1,
        0,
        1,
        0,
    ]
    wide = np.arange(24.0).reshape(12, 2)
    labels = microagg.optimal_univariate(wide[::-1, 1], 3).labels
    assert labels.tolist() == sorted(labels.tolist(), reverse=True)


def test_columns_of_data_frames():
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    expected = microagg.optimal_univariate(INTEGERS, 3).labels
    columns = [
        tuple(INTEGERS),
        pd.Series(INTEGERS),
        pd.Series(INTEGERS, dtype="Int64"),
        pd.Series(INTEGERS, dtype="float32"),
        pl.Series(INTEGERS),
        pl.Series(INTEGERS, dtype=pl.Float64),
        pa.array(INTEGERS),
        pa.chunked_array([INTEGERS[:3], INTEGERS[3:]]),
    ]
    for column in columns:
        assert np.array_equal(microagg.optimal_univariate(column, 3).labels, expected)


def test_the_input_stays_as_it_was():
    for values in (np.array([1e300, -1e300, 3.0, 4.0]), np.array([3, 1, 2, 4], np.uint64)):
        before = values.copy()
        values.flags.writeable = False
        microagg.optimal_univariate(values, 2)
        assert np.array_equal(values, before)


def test_full_range_integers():
    low, high = -(2**63), 2**63 - 1
    x = np.array([low, low + 1, low + 3, high - 2, high - 1, high], np.int64)
    assert microagg.optimal_univariate(x, 3).labels.tolist() == [0, 0, 0, 1, 1, 1]
    u = np.array([0, 1, 3, 2**64 - 3, 2**64 - 2, 2**64 - 1], np.uint64)
    assert microagg.optimal_univariate(u, 3).labels.tolist() == [0, 0, 0, 1, 1, 1]
    with pytest.raises(microagg.MicroaggError, match="too far apart for exact sums"):
        microagg.optimal_univariate(x, 3, cost="integer")


def test_same_groups_whatever_the_threads(threads):
    rng = np.random.default_rng(5)
    x = np.round(rng.normal(size=150_000), 3)
    for k in (3, 40):
        found = []
        for count in (1, 2, 3, 8):
            threads(count)
            found.append(microagg.optimal_univariate(x, k).labels)
        assert all(np.array_equal(found[0], other) for other in found[1:])


@pytest.mark.parametrize("cost", ["sse", "integer"])
def test_same_groups_without_compilation(cost):
    """The kernels as plain Python: what the compiler made of them is what they say."""
    script = (
        "import numpy as np, microagg\n"
        "x = np.random.default_rng(1).integers(-90, 90, 150)\n"
        "for k in (1, 3, 16):\n"
        f"    print(microagg.optimal_univariate(x, k, cost={cost!r}).labels.tolist())\n"
        "print(microagg.optimal_univariate(x, 2, size_cost=99.0).labels.tolist())\n"
    )
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
        ).stdout
        for env in (None, plain)
    ]
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("x", "k", "options", "sentence"),
    [
        ([1.0, np.nan, 3.0], 2, {}, "x must hold finite numbers, but 1 of 3 are missing"),
        ([1.0, np.inf, -np.inf], 2, {}, "2 of 3 are missing (NaN) or infinite"),
        ([1.0, 2.0], 0, {}, "k must be at least 1, but it is 0"),
        ([1.0, 2.0], -3, {}, "k must be at least 1, but it is -3"),
        ([1.0, 2.0], 1.5, {}, "k must be a whole number, 1 or more, but an object of type float"),
        ([1.0, 2.0], "2", {}, "an object of type str arrived"),
        ([1.0, 2.0], True, {}, "an object of type bool arrived"),
        ([1.0, 2.0], 3, {}, "k is 3, but there are only 2 records"),
        ([], 1, {}, "k is 1, but there are only 0 records"),
        ([[1.0, 2.0]], 1, {}, "x must be 1-dimensional, but it has 2 dimensions; pass one column"),
        (3.0, 1, {}, "x must be 1-dimensional, but it has 0 dimensions"),
        (["a", "b"], 1, {}, "x must hold real numbers, but its type is <U1"),
        (np.array(["a", 1], object), 1, {}, "some of its entries are text, missing or of another"),
        ([1, None], 1, {}, "1 of 2 are missing (NaN) or infinite"),
        ([1j, 2j], 1, {}, "x must hold real numbers, but its type is complex128"),
        (np.array(["2020-01-01"], "M8[D]"), 1, {}, "its type is datetime64[D]"),
        ([2**70, 1], 1, {}, "integers beyond 64 bits"),
        ([[1], [1, 2]], 1, {}, "are its rows of one length?"),
        ([1.5, 2.0], 1, {"cost": "integer"}, "1 of 2 values have a fraction"),
        ([1e30, 2.0], 1, {"cost": "integer"}, "integers beyond 64 bits"),
        ([1.0, 2.0], 1, {"cost": "sae"}, "cost must be one of sse, integer, absolute, range, but"),
        ([1.0, 2.0], 1, {"size_cost": -1}, "size_cost must be a number, 0 or more"),
        ([1.0, 2.0], 1, {"size_cost": "x"}, "size_cost must be a number, 0 or more"),
        ([1, 2], 1, {"size_cost": 1, "cost": "integer"}, "size_cost goes with cost='sse' only"),
    ],
)
def test_bad_input_gets_one_clear_sentence(x, k, options, sentence):
    with pytest.raises(microagg.MicroaggError) as caught:
        microagg.optimal_univariate(x, k, **options)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_values_of_nullable_columns():
    import pandas as pd
    import polars as pl

    for column in (pd.Series([1, None, 3], dtype="Int64"), pl.Series([1, None, 3])):
        with pytest.raises(microagg.MicroaggError, match="missing"):
            microagg.optimal_univariate(column, 2)


@example(values=[0.0, -0.0, 0.0, -0.0, 1.0])
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=60))
def test_any_floats_give_valid_groups(values):
    x = np.array(values)
    check_groups(x, microagg.optimal_univariate(x, 2), 2, limit=len(x) >= 4)
