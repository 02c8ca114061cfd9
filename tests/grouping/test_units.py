import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError
from microagg.grouping.constraints import partition_units
from microagg.grouping.doors import partition
from tests.naive import units as naive


def units(points, k, **settings):
    settings = {"method": "mdav", "seed": 0, "options": {}, "strata_name": "'region'", **settings}
    return partition_units(np.asarray(points, float), k, **settings)


def codes(values):
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


@st.composite
def tables(draw):
    n = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    entities = codes(rng.integers(0, draw(st.integers(1, n)), n))
    strata = rng.integers(0, draw(st.integers(1, 4)), entities.max() + 1)[entities]
    return rng.integers(0, 9, (n, 2)), entities, codes(strata), draw(st.integers(1, 5))


@given(table=tables(), small=st.sampled_from(["error", "merge", "drop"]), by_entity=st.booleans())
@settings(max_examples=150)
def test_groups_hold_k_units_and_cross_nothing(table, small, by_entity):
    points, entities, strata, k = table
    entities = entities if by_entity else None
    sizes = naive.units_in_groups(strata, entities)
    every = naive.units_in_groups([0] * len(strata), entities)[0]
    wanted = {"strata": strata, "small_strata": small, "entities": entities}
    if every < k or (small == "error" and min(sizes) < k) or (small == "drop" and max(sizes) < k):
        with pytest.raises(InputError, match=f"k (is|=) {k}"):
            units(points, k, **wanted)
        return
    found = units(points, k, **wanted)
    kept = np.ones(len(strata), bool) if found.kept is None else found.kept
    labels = found.partition.labels
    assert labels.size == kept.sum()
    of_kept = None if entities is None else entities[kept]
    assert min(naive.units_in_groups(labels, of_kept)) >= k
    if entities is not None:
        assert all(len(each) == 1 for each in naive.groups_of_each(labels, of_kept).values())
    few = [stratum for stratum, size in enumerate(sizes) if size < k]
    assert found.small == len(few)
    assert found.moved == np.isin(strata, few).sum()
    if small == "drop":
        assert kept.tolist() == (~np.isin(strata, few)).tolist()
    else:
        assert kept.all()
    if small == "merge" and few:
        assert found.crossed
    else:
        assert not found.crossed
        assert naive.crossing(labels, strata[kept]) == 0


def test_plain_records_are_partitioned_as_ever():
    points = np.random.default_rng(0).normal(size=(50, 3))
    ours = units(points, 4).partition
    theirs = partition(points, 4, "mdav", standardize=False)
    assert ours.labels.tolist() == theirs.labels.tolist()
    assert ours.method == "mdav"


def test_an_entity_stands_where_its_records_do_on_average():
    points = np.array([[0.0], [10.0], [5.1], [5.2], [99.0], [98.0]])
    entities = np.array([0, 0, 1, 2, 3, 4])
    labels = units(points, 2, entities=entities).partition.labels
    assert labels[0] == labels[1] == labels[2] == labels[3]
    assert labels[4] == labels[5] != labels[0]


def test_a_pool_of_small_strata_that_is_large_enough_stays_by_itself():
    strata = np.array([0] * 4 + [1, 2, 3] + [4] * 4)
    points = np.arange(11.0)[:, np.newaxis]
    found = units(points, 3, strata=strata, small_strata="merge")
    labels = found.partition.labels
    assert len(set(labels[4:7])) == 1
    assert not set(labels[4:7]) & set(labels[[0, 1, 2, 3, 7, 8, 9, 10]])


def test_a_small_pool_joins_the_nearest_stratum():
    strata = np.array([0] * 4 + [1] + [2] * 4)
    points = np.array([0.0, 1, 2, 3, 9, 10, 11, 12, 13])[:, np.newaxis]
    labels = units(points, 4, strata=strata, small_strata="merge").partition.labels
    assert labels[4] == labels[5] != labels[0]


def test_small_strata_are_named_and_counted():
    points, strata = np.zeros((7, 1)), np.array([0, 0, 0, 1, 1, 2, 2])
    with pytest.raises(InputError, match="2 of 3 strata of 'region' have fewer than k = 3 records"):
        units(points, 3, strata=strata)
    with pytest.raises(InputError, match="entities"):
        units(points, 3, strata=strata, entities=np.arange(7))
    with pytest.raises(InputError, match="nothing would be left"):
        units(points, 4, strata=strata, small_strata="drop")


def test_an_entity_may_not_lie_in_two_strata():
    with pytest.raises(InputError, match="1 entities have rows in several strata of 'region'"):
        units(np.zeros((4, 1)), 1, strata=np.array([0, 1, 0, 1]), entities=np.array([0, 0, 1, 2]))


def test_fewer_entities_than_k():
    with pytest.raises(InputError, match="only 2 entities"):
        units(np.zeros((9, 1)), 3, entities=np.arange(9) % 2)
