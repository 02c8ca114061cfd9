from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.base.demands import diversities
from microagg.measure.anonymity import (
    AmongAll,
    Disclosure,
    Spread,
    WithinClasses,
    closeness_count,
    diversity_count,
)
from microagg.measure.exposure import Exposure
from tests.naive import measures


def counts_of(values, labels, ordered=True, missing=None):
    """What classes give away, all of them counted at once."""
    among_all, ranks = ranked(values, ordered, missing)
    return Disclosure.of(WithinClasses(among_all, np.asarray(labels), ranks))


def ranked(values, ordered=True, missing=None):
    values, ranks = np.unique(values, return_inverse=True)
    if missing is not None:
        ranks = np.where(missing, 0, ranks + 1)
        ranks = np.unique(ranks, return_inverse=True)[1]
    return AmongAll(np.bincount(ranks), ordered), ranks


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=40))
def test_diversity_and_closeness_against_the_definition(rows):
    values = [value for value, _ in rows]
    labels = np.unique([label for _, label in rows], return_inverse=True)[1].tolist()
    expected = measures.diversity(values, labels)
    found = counts_of(values, labels)
    for spread, each in zip(
        (found.distinct, found.entropy), zip(*expected, strict=True), strict=True
    ):
        assert spread.least == pytest.approx(min(each))
        assert spread.largest == pytest.approx(max(each))
        assert spread.summary().mean == pytest.approx(np.mean(each), abs=1e-6)
    assert (found.records, found.alone) == (len(rows), measures.alone(values, labels))
    for ordered in (True, False):
        each = measures.closeness(values, labels, ordered)
        spread = counts_of(values, labels, ordered).distance
        assert spread.largest == pytest.approx(max(each), abs=1e-12)
        assert spread.least == pytest.approx(min(each), abs=1e-12)
        assert spread.summary().mean == pytest.approx(np.mean(each), abs=1e-6)


def test_closeness_by_hand():
    # Salaries of Li, Li and Venkatasubramanian (2007), section 4.3: 3k to 11k, three groups.
    salaries = np.array([3, 4, 5, 6, 11, 8, 7, 9, 10])
    found = counts_of(salaries, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert found.distance.largest == pytest.approx(0.375)
    assert found.alone == 0
    text = counts_of(["flu", "flu", "gout", "cold"], [0, 0, 1, 1], ordered=False)
    assert text.distance.largest == 0.5
    assert (text.alone, text.percent_alone) == (2, 50.0)
    assert text.to_dict()["disclosed"] == {"records": 2, "percent": 50.0}


ENTRIES = st.sampled_from([-1.5, 0.0, 2.0, 3.0, None])


@given(st.lists(st.tuples(ENTRIES, st.integers(0, 7)), min_size=1, max_size=40), st.booleans())
def test_no_value_is_one_below_all_others(rows, ordered):
    labels = np.unique([group for _, group in rows], return_inverse=True)[1]
    missing = np.array([value is None for value, _ in rows])
    numbers = np.array([0.0 if value is None else value for value, _ in rows])
    found = counts_of(numbers, labels, ordered, missing if missing.any() else None)
    values = [-9.0 if value is None else value for value, _ in rows]
    distinct, entropy = zip(*measures.diversity(values, labels.tolist()), strict=True)
    assert found.distinct.least == min(distinct)
    assert found.entropy.summary().mean == pytest.approx(np.mean(entropy), abs=1e-6)
    apart = measures.closeness(values, labels.tolist(), ordered)
    assert found.distance.largest == pytest.approx(max(apart), abs=1e-12)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6)), min_size=2, max_size=60),
    st.integers(2, 4),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_classes_in_parts_and_in_any_order_are_as_all_at_once(rows, parts, ordered, random):
    values, labels = np.array(rows).T
    labels = np.unique(labels, return_inverse=True)[1]
    among_all, ranks = ranked(values, ordered)
    whole = Disclosure.of(WithinClasses(among_all, labels, ranks))
    home = np.array([random.randrange(parts) for _ in range(labels.max() + 1)])
    found = None
    for part in random.sample(range(parts), parts):
        # Of some classes equal records are one line, in any order.
        mine = [tuple(row) for row in np.column_stack([labels, ranks])[home[labels] == part]]
        lines = random.sample(sorted(set(mine)), len(set(mine)))
        if not lines:
            continue
        own, theirs = np.array(lines).T
        weights = np.array([mine.count(line) for line in lines])
        numbered = np.unique(own, return_inverse=True)[1]
        one = Disclosure.of(WithinClasses(among_all, numbered, theirs, weights))
        found = one if found is None else found.merge(one)
    assert found.to_dict() == whole.to_dict()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_a_spread_in_short(figures):
    summary = Spread.of(np.array(figures)).summary()
    ordered = sorted(figures)
    expected = [ordered[max(0, -(-len(figures) * part // 4) - 1)] for part in range(5)]
    assert astuple(summary)[:5] == pytest.approx(expected, abs=1e-6)
    assert (summary.least, summary.largest) == (min(figures), max(figures))
    assert summary.mean == pytest.approx(np.mean(figures), abs=1e-6)


@given(
    st.lists(
        st.tuples(st.sampled_from([None, -2.5, 0.0, 1.0, 1.5, 7.0]), st.integers(0, 5)),
        min_size=1,
        max_size=40,
    ),
    st.integers(2, 4),
    st.sampled_from([0.0, 0.5, 1.0, 2.5, 100.0]),
)
def test_recursive_span_and_similar_against_the_definition(rows, least, within):
    values = [value for value, _ in rows]
    labels = np.unique([label for _, label in rows], return_inverse=True)[1]
    every = sorted({value for value in values if value is not None})
    numbers = np.array([np.nan] * (None in values) + every)
    ranks = np.array(
        [0 if value is None else every.index(value) + (None in values) for value in values]
    )
    among_all = AmongAll(np.bincount(ranks), values=lambda: numbers)
    counted = WithinClasses(among_all, labels, ranks)
    labels = labels.tolist()
    assert counted.recursive(least).tolist() == measures.recursive(values, labels, least)
    assert counted.span().tolist() == measures.span(values, labels)
    assert counted.similar(within) == pytest.approx(measures.similar(values, labels, within))


def test_counts_of_demands_are_those_of_the_worst_classes():
    among_all, ranks = ranked([0, 0, 1, 1, 2, 2, 2, 3])
    within = WithinClasses(among_all, np.array([0, 0, 0, 0, 1, 1, 1, 1]), ranks)
    (entropy,) = diversities({"x": {"l": 2, "kind": "entropy"}})
    count = diversity_count(entropy)
    assert count.key == ("entropy:2", "x")
    shares = np.array([0.75, 0.25])
    assert count.of(within).least == pytest.approx(np.exp(-(shares * np.log(shares)).sum()))
    assert closeness_count("x").of(within).largest == within.distance().max()


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5)), min_size=1, max_size=60))
def test_exposures_count_every_group_and_add_up(rows):
    among_all, ranks = ranked([value for value, _ in rows])
    labels = np.unique([label for _, label in rows], return_inverse=True)[1]
    within = WithinClasses(among_all, labels, ranks)
    exposed = Exposure.of(within)
    assert exposed.distinct.sum() == exposed.distance.sum() == labels.max() + 1
    told = Exposure.of_classes(Disclosure.of(within))
    assert exposed.to_dict() == told.to_dict()
    twice = exposed.merge(Exposure.from_dict(told.to_dict()))
    assert twice.distance.tolist() == (2 * exposed.distance).tolist()
