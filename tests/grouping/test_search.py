import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.grouping.cluster.mdav import mdav
from microagg.grouping.refine import search as module
from microagg.grouping.refine.budget import EFFORTS, Budget, afforded
from microagg.grouping.refine.combining import combine
from microagg.grouping.refine.search import search
from tests.grouping.test_decompose import start_of
from tests.grouping.test_reorder import KINDS, groups_of, make
from tests.naive.decompose import total_sse
from tests.naive.search import least_sse
from tests.reference import load


def standardised(name):
    raw = load(name)
    return np.ascontiguousarray((raw - raw.mean(axis=0)) / raw.std(axis=0))


def check(order, sizes, n, k):
    assert np.array_equal(np.sort(order), np.arange(n))
    assert sizes.sum() == n
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.sampled_from([1, 2, 7, 50]),
    st.integers(2, 7),
    st.sampled_from([0, 1, 2, 3, 5, 8, 40, 300]),
    st.integers(0, 10**6),
)
def test_groups_keep_their_size_and_the_loss_never_rises(kind, d, k, more, seed):
    n = 2 * k + more
    records = make(kind, n, d, seed)
    original = records.copy()
    order, sizes = start_of(n, k, np.random.default_rng(seed))
    start = total_sse(records, groups_of(order, sizes))
    given_order, given_sizes = order.copy(), sizes.copy()
    found, found_sizes = search(records, order, sizes, k, np.random.default_rng(seed), steps=3000)
    check(found, found_sizes, n, k)
    assert np.array_equal(records, original)
    assert np.array_equal(order, given_order)
    assert np.array_equal(sizes, given_sizes)
    noise = 1e-4 if kind == "offset" else 1e-9
    assert total_sse(records, groups_of(found, found_sizes)) <= start * (1 + noise) + 1e-20


@pytest.mark.parametrize("k", [2, 3, 4])
def test_tiny_inputs_reach_the_optimum(k):
    missed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        records = rng.normal(size=(int(rng.integers(2 * k, 10)), int(rng.integers(1, 4))))
        order, sizes = start_of(len(records), k, rng)
        steps = afforded(len(records), "balanced")
        found = groups_of(*search(records, order, sizes, k, rng, steps=steps))
        missed += total_sse(records, found) > least_sse(records, k) * (1 + 1e-9)
    assert missed <= 1


@pytest.mark.parametrize("n", [100, 700, 5000])
def test_same_steps_and_seed_same_groups_whatever_the_threads(n, threads):
    records = make("generic", n, 3, 1)
    found = []
    for count in (1, 2, 3, 8):
        threads(count)
        rng = np.random.default_rng(7)
        order, sizes = start_of(n, 3, rng)
        found.append(search(records, order, sizes, 3, rng, steps=100 * n))
    for order, sizes in found[1:]:
        assert np.array_equal(order, found[0][0])
        assert np.array_equal(sizes, found[0][1])


def test_steps_pay():
    records = make("generic", 800, 4, 2)
    order, sizes = np.arange(800), np.full(200, 4)
    losses = []
    for steps in (0, 8_000, 80_000, 800_000):
        found = search(records, order, sizes, 4, np.random.default_rng(0), steps=steps)
        losses.append(total_sse(records, groups_of(*found)))
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.2 * losses[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_two_partitions_part_by_part(kind, seed):
    records = make(kind, 60, 2, seed)
    rng = np.random.default_rng(seed)
    lines = [np.argsort(records[:, 0] + noise) for noise in (0.0, 0.1 * rng.normal(size=60))]
    pair = [
        (order.astype(np.int32), np.array(sizes, np.int32))
        for order, sizes in zip(lines, ([3] * 20, [4] * 15), strict=True)
    ]
    order, sizes, total = combine(records, *pair[0], *pair[1])
    found = groups_of(order, sizes)
    assert np.array_equal(np.sort(order), np.arange(60))
    parts = {frozenset(group.tolist()) for given in pair for group in groups_of(*given)}
    assert {frozenset(group.tolist()) for group in found} <= parts
    losses = [total_sse(records, groups_of(*given)) for given in pair]
    assert total == pytest.approx(total_sse(records, found), abs=1e-9)
    assert total <= min(losses) * (1 + 1e-9) + 1e-9
    # Cut into places of twelve records, three or four groups each: the better of both in each.
    if kind == "generic":
        blocks = [
            [total_sse(records, groups_of(*given)[first : first + count]) for first in starts]
            for given, count, starts in (
                (pair[0], 4, range(0, 20, 4)),
                ((lines[0].astype(np.int32), pair[1][1]), 3, range(0, 15, 3)),
            )
        ]
        both = combine(records, *pair[0], lines[0].astype(np.int32), pair[1][1])
        assert both[2] == pytest.approx(sum(map(min, *blocks)))


def test_stages_are_shown_and_nothing_better_is_lost():
    records = make("generic", 600, 3, 3)
    order, sizes = np.arange(600), np.full(200, 3)
    shown, shares = [], []
    found = search(
        records,
        order,
        sizes,
        3,
        np.random.default_rng(0),
        shares.append,
        steps=100_000,
        seen=lambda *groups: shown.append(total_sse(records, groups_of(*groups))),
    )
    assert len(shown) > 1
    best = total_sse(records, groups_of(*found))
    # Part by part it may well be better than any of them.
    assert best <= min([*shown, total_sse(records, groups_of(order, sizes))]) * (1 + 1e-12)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_person_sees_the_loss_fall(monkeypatch):
    records = make("generic", 600, 3, 3)
    order, sizes = np.arange(600), np.full(200, 3)
    told = []
    monkeypatch.setattr(module, "tell", told.append)
    found = search(records, order, sizes, 3, np.random.default_rng(0), steps=100_000)
    losses = [float(words.removeprefix("loss ").removesuffix(" %")) for words in told]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]
    spread = ((records - records.mean(axis=0)) ** 2).sum()
    assert losses[-1] == pytest.approx(100 * total_sse(records, groups_of(*found)) / spread, 1e-3)


@pytest.mark.parametrize("n", [300, 20_000])
def test_time_limit_is_kept(n):
    records = make("generic", n, 4, 4)
    order, sizes = np.arange(n), np.full(n // 4, 4)
    rng = np.random.default_rng(0)
    search(records[:50].copy(), np.arange(50), np.array([50]), 4, rng, seconds=0.0)
    begun = time.monotonic()
    found = search(records, order, sizes, 4, rng, seconds=0.5)
    # Room for a busy machine: a region takes milliseconds.
    assert 0.4 < time.monotonic() - begun < 2.0
    check(*found, n, 4)
    assert total_sse(records, groups_of(*found)) < 0.7 * total_sse(records, groups_of(order, sizes))


@pytest.mark.parametrize("count", [1, 2])
def test_an_interruption_reaches_the_caller(count, monkeypatch, threads):
    threads(count)
    records = make("generic", 1200, 3, 5)
    order, sizes = np.arange(1200), np.full(400, 3)
    calls = []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 11:
            raise KeyboardInterrupt
        return combine(*arguments)

    monkeypatch.setattr(module, "combine", interrupted)
    with pytest.raises(KeyboardInterrupt):
        search(records, order, sizes, 3, np.random.default_rng(0), steps=10**12)


def test_an_interruption_inside_a_stage_stops_both_threads(monkeypatch):
    import threading

    records = make("generic", 1200, 3, 5)
    main, original = threading.get_ident(), module.anneal
    before = threading.active_count()
    calls = []

    def interrupted(*arguments):
        original(*arguments)
        if threading.get_ident() == main:
            calls.append(1)
            if len(calls) == 5:
                raise KeyboardInterrupt

    monkeypatch.setattr(module, "anneal", interrupted)
    rng = np.random.default_rng(0)
    with pytest.raises(KeyboardInterrupt):
        search(records, np.arange(1200), np.full(400, 3), 3, rng, steps=10**9)
    assert threading.active_count() == before


def test_no_time_to_get_ready(monkeypatch):
    def late(*_arguments):
        raise TimeoutError

    records = make("generic", 60, 3, 5)
    monkeypatch.setattr(module, "nearest_lists", late)
    found = search(
        records, np.arange(60), np.array([20] * 3), 3, np.random.default_rng(0), steps=10
    )
    check(*found, 60, 3)


def test_a_limit_that_is_over_before_it_begins():
    records = make("generic", 3000, 3, 5)
    order, sizes = np.arange(3000), np.full(600, 5)
    found = search(records, order, sizes, 5, np.random.default_rng(0), seconds=0.0)
    assert np.array_equal(found[0], order)
    assert np.array_equal(found[1], sizes)


def test_few_steps_never_raise_the_loss_and_the_last_stage_counts():
    records = make("generic", 4_000, 5, 6)
    order, sizes = mdav(records, 4)
    start = total_sse(records, groups_of(order, sizes))
    for steps in (1, 4_000, 40_000, 200_000):
        found = search(records, order, sizes, 4, np.random.default_rng(0), steps=steps)
        check(*found, 4_000, 4)
        assert total_sse(records, groups_of(*found)) <= start * (1 + 1e-9)
    assert total_sse(records, groups_of(*found)) < 0.95 * start


def test_few_steps_for_many_records_are_aimed_and_find_more(monkeypatch):
    n, k = 12_000, 5
    records = make("generic", n, 8, 1)
    start = mdav(records, k)

    def loss():
        found = search(records, *start, k, np.random.default_rng(1), steps=35 * n)
        check(*found, n, k)
        return total_sse(records, groups_of(*found))

    aimed = loss()
    monkeypatch.setattr(module, "_AIMED", module._CAREFUL)
    assert aimed < 0.99 * loss()


def test_what_is_aimed():
    assert Budget(12_000, 35 * 12_000, can_aim=True).aims()
    assert not Budget(12_000, 35 * 12_000).aims()
    assert not Budget(12_000, 500 * 12_000, can_aim=True).aims()
    assert not Budget(10_000, 35 * 10_000, can_aim=True).aims()
    budget, steps = Budget(12_000, 35 * 12_000, can_aim=True), []
    while not budget.spent():
        steps.append(budget.stage(1, local=False)[0])
        budget.take(steps[-1])
    assert sum(steps) == 35 * 12_000
    assert len(steps) == 6


def test_steps_of_efforts():
    for effort in EFFORTS:
        assert afforded(6, effort) <= 30_000
        assert afforded(10**6, effort) > afforded(1000, effort)
    assert afforded(1000, "quick") < afforded(1000, "balanced") < afforded(1000, "best")
    for n in (1000, 10**5, 10**6, 10**7):
        assert afforded(n, "brief") <= afforded(n, "quick") <= afforded(n, "balanced")


@pytest.mark.parametrize("method", ["mdav", "vmdav", "tsp", "pca"])
def test_any_method_can_be_refined(method):
    X = np.random.default_rng(1).normal(size=(200, 3))
    plain = microagg.partition(X, 3, method)
    refined = microagg.partition(X, 3, method, refine=True)
    assert refined.method == f"{method}+search"
    assert microagg.information_loss(X, refined) < 0.97 * microagg.information_loss(X, plain)
    again = microagg.partition(X, 3, method, refine=True)
    assert np.array_equal(again.labels, refined.labels)
    timed = microagg.partition(X, 3, method, refine=0.2)
    assert microagg.information_loss(X, timed) <= microagg.information_loss(X, plain)
    many = microagg.partition_many(X, [3], method, refine=True)
    assert np.array_equal(many[3].labels, refined.labels)


def test_an_optimum_is_not_refined():
    x = np.random.default_rng(2).normal(size=90)
    refined = microagg.partition(x, 4, refine=True)
    assert refined.method == "univariate"
    assert np.array_equal(refined.labels, microagg.partition(x, 4).labels)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "search", "steps": -1}, "steps must be a whole number, 0 or more"),
        ({"method": "search", "steps": 1.5}, "steps must be a whole number, 0 or more"),
        ({"method": "search", "time_limit": -1}, "time_limit must be a number of seconds"),
        ({"method": "search", "time_limit": "long"}, "time_limit must be a number of seconds"),
        (
            {"method": "search", "effort": "great"},
            "effort must be brief, quick, balanced or best; 'great' arrived",
        ),
        ({"effort": "great"}, "effort must be brief, quick, balanced or best; 'great' arrived"),
        ({"method": "search", "steps": 5, "effort": "best"}, "exclude each other"),
        ({"method": "search", "steps": 5, "time_limit": 1}, "exclude each other"),
        ({"method": "search", "time_limit": 5, "effort": "quick"}, "exclude each other"),
        ({"method": "search", "start": "search"}, "search cannot start from 'search' here"),
        ({"method": "search", "start": "auto"}, "search cannot start from 'auto' here"),
        ({"method": "search", "start": "univariate"}, "cannot start from 'univariate' here"),
        ({"refine": -1}, "refine must be True, False or a number of seconds"),
        ({"refine": "yes"}, "refine must be True, False or a number of seconds"),
        ({"refine": float("nan")}, "refine must be True, False or a number of seconds"),
        ({"refine": True, "integer": True}, "refine does not centre groups on integers"),
    ],
)
def test_bad_options_get_one_clear_sentence(options, sentence):
    X = np.random.default_rng(3).integers(0, 99, (40, 3))
    with pytest.raises(microagg.MicroaggError) as caught:
        microagg.partition(X, 3, **options)
    assert sentence in str(caught.value)


def test_auto_takes_an_effort():
    X = np.random.default_rng(4).normal(size=(400, 3))
    losses = [
        microagg.information_loss(X, microagg.partition(X, 3, effort=effort))
        for effort in ("quick", "best")
    ]
    assert losses[1] < losses[0]
    assert microagg.partition(X[:, 0], 3, effort="best").method == "univariate"


@pytest.mark.parametrize(
    ("name", "k", "bar"),
    [("tarragona", 3, 14.75), ("tarragona", 10, 30.6), ("census", 5, 7.6), ("eia", 3, 0.360)],
)
def test_published_sets_lose_far_less(name, k, bar):
    """MDAV loses 16.93, 33.19, 9.09 and 0.483 percent."""
    records = standardised(name)
    found = search(records, *mdav(records, k), k, np.random.default_rng(0), steps=6_000_000)
    assert 100 * total_sse(records, groups_of(*found)) / records.size < bar
