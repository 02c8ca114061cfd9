"""Strata that no group crosses, and entities whose records stay together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError
from microagg.grouping.constraints import (
    How,
    check_entities_within,
    entity_mixed,
    entity_points,
    partition_units,
)
from microagg.grouping.doors import partition
from microagg.grouping.method import Mixed
from tests.naive import mixed as naive_mixed
from tests.naive import units as naive

MDAV = How("mdav", 0, {})


def units(points, k, how=MDAV, **constraints):
    return partition_units(np.asarray(points, float), k, how, **constraints)


def codes(values):
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


@st.composite
def tables(draw):
    """Records with k units or more in every stratum, and entities that lie in one each."""
    k = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    sizes = draw(st.lists(st.integers(k, 2 * k + 5), min_size=1, max_size=4))
    # The first rows of all strata, so that each has its units; some entities have more.
    strata_of = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    entities = np.arange(strata_of.size)
    entities = rng.permutation(np.r_[entities, rng.choice(entities, draw(st.integers(0, 20)))])
    return rng.integers(0, 9, (entities.size, 2)), entities, strata_of[entities], k


@given(table=tables(), by_entity=st.booleans(), by_stratum=st.booleans())
@settings(max_examples=150)
def test_groups_hold_k_units_and_cross_nothing(table, by_entity, by_stratum):
    points, entities, strata, k = table
    entities = entities if by_entity else None
    grouped = units(points, k, strata=strata if by_stratum else None, entities=entities)
    labels = grouped.labels
    assert labels.size == len(points)
    assert sorted(set(labels)) == list(range(grouped.n_groups))
    assert min(naive.units_in_groups(labels, entities)) >= k
    if entities is not None:
        assert all(len(each) == 1 for each in naive.groups_of_each(labels, entities).values())
    if by_stratum:
        assert naive.crossing(labels, strata) == 0


def test_plain_records_are_partitioned_as_ever():
    points = np.random.default_rng(0).normal(size=(50, 3))
    ours = units(points, 4)
    theirs = partition(points, 4, "mdav", standardize=False)
    assert ours.labels.tolist() == theirs.labels.tolist()
    assert ours.method == "mdav"


def test_strata_are_partitioned_as_if_each_were_alone():
    rng = np.random.default_rng(1)
    points, strata = rng.normal(size=(90, 2)), rng.integers(0, 3, 90)
    how = How("lloyd-mdav", 7, {"cells": 2})
    told = []
    labels = units(points, 4, how, strata=strata, advance=told.append).labels
    for stratum in range(3):
        rows = np.flatnonzero(strata == stratum)
        alone = partition(
            points[rows], 4, how.method, seed=how.seed, standardize=False, **how.options
        )
        assert codes(labels[rows]).tolist() == codes(alone.labels).tolist()
    assert np.all(np.diff(told) > 0)
    assert told[-1] == 1.0


def test_a_search_may_follow_the_method():
    points = np.random.default_rng(2).normal(size=(80, 2))
    for constraint in ({}, {"strata": np.arange(80) % 2}, {"entities": np.arange(80) // 2}):
        plain = units(points, 4, **constraint)
        refined = units(points, 4, How("mdav", 0, {}, refine=True), **constraint)
        assert plain.method == "mdav"
        assert refined.method == "mdav+search"


def test_an_entity_stands_where_its_records_do_on_average():
    points = np.array([[0.0], [10.0], [5.1], [5.2], [99.0], [98.0]])
    entities = np.array([0, 0, 1, 2, 3, 4])
    np.testing.assert_allclose(entity_points(points, entities).ravel(), [5, 5.1, 5.2, 99, 98])
    labels = units(points, 2, entities=entities).labels
    assert labels[0] == labels[1] == labels[2] == labels[3]
    assert labels[4] == labels[5] != labels[0]


def test_an_entity_may_not_lie_in_two_strata():
    strata, entities = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 2])
    with pytest.raises(InputError, match="1 entities have rows in several strata of 'region'"):
        check_entities_within(strata, entities, "'region'")
    check_entities_within(strata, np.array([0, 1, 0, 1]), "'region'")


def test_fewer_units_than_k_are_refused():
    with pytest.raises(InputError, match="only 2 "):
        units(np.zeros((9, 1)), 3, entities=np.arange(9) % 2)
    with pytest.raises(InputError, match="only 2 "):
        units(np.zeros((2, 1)), 3)


@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 5),
            st.one_of(st.none(), st.integers(-9, 9)),
            st.integers(-1, 3),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_what_an_entity_has_to_lose(rows):
    """Its average and its commonest category, by the definition."""
    of, values, codes = zip(*rows, strict=True)
    entities = np.unique(of, return_inverse=True)[1]
    numbers = np.array([[np.nan if value is None else value] for value in values], float)
    prices = np.array([2.0])
    mixed = Mixed(numbers, np.array(codes, np.int32)[:, None], prices)
    found = entity_mixed(mixed, entities)
    assert found.prices is prices
    for entity in range(entities.max() + 1):
        mine = [row for row, each in zip(rows, entities, strict=True) if each == entity]
        known = [value for _, value, _ in mine if value is not None]
        mean = sum(known) / len(known) if known else np.nan
        np.testing.assert_allclose(found.numbers[entity, 0], mean, atol=1e-12)
        kinds = sorted({code for *_, code in mine})
        assert found.codes[entity, 0] == max(
            kinds, key=lambda kind: (sum(code == kind for *_, code in mine), -kind)
        )


def test_entities_are_grouped_by_what_is_lost_of_them():
    """People in two waves: a category in the middle of two others is no category."""
    rng = np.random.default_rng(0)
    codes = np.repeat(rng.integers(0, 6, 150), 2)
    values = np.repeat(rng.normal(size=150), 2)
    entities = np.repeat(np.arange(150), 2)
    points = np.column_stack([values, np.eye(6)[codes] * 2.0])
    mixed = Mixed(values[:, None], codes.astype(np.int32)[:, None], np.array([2.0]))

    def lost(**more):
        how = How("search", 0, {})
        labels = partition_units(points, 4, how, entities=entities, **more).labels
        groups = [np.flatnonzero(labels == each) for each in range(labels.max() + 1)]
        return naive_mixed.total_loss(mixed, groups)

    assert lost(mixed=mixed) < lost()
