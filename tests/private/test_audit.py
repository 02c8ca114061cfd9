"""The audit: what it can find, and that it finds no more than there is."""

from dataclasses import replace

import numpy as np
import pytest

from microagg.private.audit import COUNTER_EXAMPLE, FLOOR, PAIRS, _exceeded, pairs_for
from microagg.private.registry import WORD, all_methods
from microagg.private.releasing import prepare

METHODS = {method.name: method for method in all_methods()}


def prepared(method, pair, table):
    return prepare(
        table,
        epsilon=1.0,
        bounds=pair.bounds,
        method=method.name,
        k=method.only_k or pair.k,
        budget=pair.budget,
        accept=WORD,
    )


def test_pairs_differ_in_one_record():
    for pair in (*PAIRS, COUNTER_EXAMPLE):
        one, two = (list(zip(*table.values(), strict=True)) for table in (pair.one, pair.two))
        assert sum(a != b for a, b in zip(one, two, strict=True)) == 1
        assert pair.one.keys() == pair.two.keys() == pair.bounds.keys()


def test_pairs_try_what_they_say():
    sizes = {pair.name: len(next(iter(pair.one.values()))) for pair in PAIRS}
    named = {pair.name: pair for pair in PAIRS}
    assert sizes["uneven groups"] % named["uneven groups"].k
    assert sizes["two columns"] // named["two columns"].k == 3
    for name in ("split by width", "optimal split"):
        table = named[name].one
        shares = prepared(METHODS["records"], named[name], table).guarantee.epsilon_by_column
        assert shares["b"] > 3 * shares["a"]
    assert [pair.name for pair in PAIRS if pair not in pairs_for(METHODS["mdav"])] == ["categories"]
    assert pairs_for(METHODS["marginals"]) == list(PAIRS)


@pytest.mark.parametrize("name", METHODS)
def test_a_record_moves_nearly_all_that_the_noise_is_made_for(name):
    """The privacy loss itself: all changes of sums, each over the scale of its noise."""
    for pair in pairs_for(METHODS[name]):
        one, two = (prepared(METHODS[name], pair, table) for table in (pair.one, pair.two))
        if not METHODS[name].standard:
            two = replace(two, partitions=one.partitions)
        loss = 0.0
        for column, asked in one.questions().items():
            change = np.abs(asked.sums - two.questions()[column].sums).sum()
            loss += change / asked.sensitivity * asked.epsilon
        assert 0.95 < loss <= 1.0, pair.name


def laplace(rng, shift, runs=20_000):
    return rng.laplace(0.0, 1.0, (runs, 1)) + shift


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_finds_what_there_is_and_no_more(epsilon):
    rng = np.random.default_rng(2)
    found = [_exceeded(laplace(rng, epsilon), laplace(rng, 0.0), 1e-3) for _ in range(20)]
    assert max(found) <= epsilon
    assert min(found) > FLOOR * epsilon - 0.12


def test_finds_nothing_where_nothing_is():
    rng = np.random.default_rng(4)
    assert max(_exceeded(laplace(rng, 0.0), laplace(rng, 0.0), 1e-3) for _ in range(20)) <= 0.0


def test_finds_what_never_happens_to_the_other():
    p, q = np.ones((4000, 1)), np.zeros((4000, 1))
    # 2000 of 2000 against 0 of 2000, at 99.9 %: both bounds are ln(1 / 0.0005) / 2000 away.
    rare = -np.expm1(np.log(0.0005) / 2000)
    assert _exceeded(p, q, 1e-3) == pytest.approx(np.log((1 - rare) / rare))
