"""Search, bound and integer programme together."""

import time

import numpy as np
import pytest

import microagg
from microagg.grouping.bound import best as module
from microagg.grouping.bound.best import search_best
from microagg.grouping.bound.choosing import costs_of, improve
from microagg.grouping.bound.proving import prove, shares, sse_of
from tests.grouping.test_decompose import start_of
from tests.grouping.test_reorder import KINDS, groups_of, make
from tests.grouping.test_search import check
from tests.naive.decompose import total_sse
from tests.naive.search import least_sse


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "k", "d"), [(4, 2, 2), (17, 3, 7), (60, 4, 2), (64, 8, 3)])
def test_groups_keep_their_size_and_the_loss_never_rises(kind, n, k, d):
    records = make(kind, n, d, n)
    rng = np.random.default_rng(n)
    order, sizes = start_of(n, k, rng)
    start = total_sse(records, groups_of(order, sizes))
    found = search_best(records, order, sizes, k, rng, steps=2000)
    check(*found, n, k)
    noise = 1e-4 if kind == "offset" else 1e-9
    assert total_sse(records, groups_of(*found)) <= start * (1 + noise) + 1e-20


@pytest.mark.parametrize("seed", range(12))
def test_tiny_inputs_reach_the_optimum(seed):
    rng = np.random.default_rng(seed)
    k = 2 + seed % 3
    records = rng.normal(size=(10, 2))
    order, sizes = start_of(10, k, rng)
    found = groups_of(*search_best(records, order, sizes, k, rng, steps=20_000))
    assert total_sse(records, found) == pytest.approx(least_sse(records, k))


@pytest.mark.parametrize("k", [3, 7])
def test_same_steps_and_seed_same_groups_whatever_the_threads(k, threads):
    records = make("generic", 150, 3, 1)
    found = []
    for count in (1, 2, 3, 8):
        threads(count)
        rng = np.random.default_rng(7)
        order, sizes = start_of(150, k, rng)
        found.append(search_best(records, order, sizes, k, rng, steps=20_000))
    for order, sizes in found[1:]:
        assert np.array_equal(order, found[0][0])
        assert np.array_equal(sizes, found[0][1])


@pytest.mark.parametrize("count", [1, 2])
def test_time_limit_is_kept(count, threads):
    threads(count)
    records = make("generic", 800, 6, 4)
    order, sizes = np.arange(800), np.full(200, 4)
    rng = np.random.default_rng(0)
    search_best(records[:50].copy(), np.arange(50), np.array([50]), 4, rng, seconds=0.1)
    begun = time.monotonic()
    found = search_best(records, order, sizes, 4, rng, seconds=3.0)
    # Room for a busy machine.
    assert 2.4 < time.monotonic() - begun < 4.5
    check(*found, 800, 4)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("where", ["prove", "repeat", "seek"])
def test_an_interruption_reaches_the_caller(where, count, monkeypatch, threads):
    threads(count)
    original = module.seek
    calls = []

    def seek(*arguments):
        original(*arguments)
        calls.append(1)
        if where == "seek" and len(calls) == 2:
            raise KeyboardInterrupt

    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "seek", seek)
    if where != "seek":
        monkeypatch.setattr(module, where, interrupted)
    records = make("generic", 210, 3, 5)
    order, sizes = np.arange(210), np.full(70, 3)
    with pytest.raises(KeyboardInterrupt):
        search_best(records, order, sizes, 3, np.random.default_rng(0), steps=100_000)
    assert len(calls) == (2 if where == "seek" else 1)


def test_one_attribute_and_many_records_are_only_searched(monkeypatch):
    monkeypatch.setattr(module, "prove", None)
    for n, d in ((120, 2), (60, 1)):
        records = make("generic", n, d, 0)
        order, sizes = np.arange(n), np.full(n // 3, 3)
        rng = np.random.default_rng(0)
        check(*search_best(records, order, sizes, 3, rng, steps=500, most_records=100), n, 3)


def test_the_best_effort_with_and_without_a_limit():
    X = np.random.default_rng(4).normal(size=(90, 3))
    quick = microagg.partition(X, 3, effort="quick")
    best = microagg.partition(X, 3, effort="best")
    again = microagg.partition(X, 3, "search", effort="best")
    assert np.array_equal(best.labels, again.labels)
    assert microagg.information_loss(X, best) <= microagg.information_loss(X, quick)
    timed = microagg.partition(X, 3, "search", effort="best", time_limit=1.0)
    assert microagg.information_loss(X, timed) <= microagg.information_loss(X, quick)
    with pytest.raises(microagg.MicroaggError, match="exclude each other"):
        microagg.partition(X, 3, "search", effort="quick", time_limit=1.0)


def test_costs_of_groups():
    records = make("generic", 30, 3, 0)
    sets = np.arange(30).reshape(6, 5)
    assert costs_of(records, sets) == pytest.approx([total_sse(records, [rows]) for rows in sets])


def test_never_worse_and_often_better_partitions():
    better = 0
    for seed in range(6):
        records = make("generic", 10, 2, seed)
        rng = np.random.default_rng(seed)
        labels = rng.permutation(np.array([0] * 3 + [1] * 3 + [2] * 4))
        proof = prove(records, 3, 5.0)
        found = improve(records, 3, labels, [proof.sets], proof.prices, rng, tries=6)
        assert np.bincount(found).min() >= 3
        assert sse_of(records, found) <= sse_of(records, labels)
        assert sse_of(records, found) >= least_sse(records, 3) * (1 - 1e-9)
        better += sse_of(records, found) < sse_of(records, labels)
        for limits in ({"tries": 0}, {"seconds": 0.0}, {"tries": 9, "ended": lambda: True}):
            same = improve(records, 3, labels, [proof.sets], proof.prices, rng, **limits)
            assert same.tolist() == labels.tolist()
    assert better > 3


@pytest.mark.parametrize("priced", [False, True])
def test_every_group_known_the_best_partition_is_found(priced):
    from itertools import combinations

    for seed in range(4):
        records = make("generic", 9, 2, seed)
        every = [np.array(list(combinations(range(9), m)), np.int32) for m in (3, 4, 5)]
        labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(3), 3))
        rng = np.random.default_rng(0)
        prices = shares(records, labels) if priced else None
        found = improve(records, 3, labels, every, prices, rng, tries=40)
        assert sse_of(records, found) == pytest.approx(least_sse(records, 3))


def test_without_prices_no_other_groups_than_those_given():
    records = make("generic", 60, 3, 1)
    rng = np.random.default_rng(0)
    given = [rng.permutation(60).reshape(20, 3).astype(np.int32) for _ in range(20)]
    found = improve(records, 3, np.repeat(np.arange(20), 3), given, None, rng, tries=4)
    known = {
        frozenset(rows) for rows in np.concatenate([np.arange(60).reshape(20, 3), *given]).tolist()
    }
    assert {frozenset(np.flatnonzero(found == label).tolist()) for label in range(20)} <= known


def test_work_of_a_proof_can_be_counted():
    records = make("generic", 120, 3, 2)
    totals = [prove(records, 3, np.inf, pricings=count).total for count in (1, 4, 1000)]
    again = [prove(records, 3, np.inf, pricings=count).total for count in (1, 4, 1000)]
    assert totals == again
    assert totals[0] < totals[1] < totals[2]
