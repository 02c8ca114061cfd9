"""Groups with records of k different households, against a slow twin and on nasty tables."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError
from microagg.grouping import households as ours
from microagg.grouping.constraints import How, given_groups, partition_units
from microagg.grouping.households import keep_households
from tests.naive import households as naive
from tests.naive import units

MDAV = How("mdav", 0, {})


def codes(values):
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


@st.composite
def tables(draw, whole=True):
    """Records of k households or more; some households have many, and some values tie."""
    k = draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    n = draw(st.sampled_from([k, k + 1, 2 * k - 1, 2 * k, 3 * k, 8 * k + 1]))
    members = rng.integers(0, draw(st.integers(1, n)), n)
    members[rng.permutation(n)[:k]] = 1000 + np.arange(k)
    households, d = codes(members), draw(st.sampled_from([1, 2, 7]))
    points = (
        rng.integers(0, 4, (n, d)).astype(float)
        if whole and draw(st.booleans())
        else rng.normal(size=(n, d))
    )
    # Members of a household are alike, at worst the same; the table may lie far from zero.
    alike = rng.normal(size=(households.max() + 1, d))[households] * draw(st.sampled_from([0, 5]))
    return points + alike + draw(st.sampled_from([0.0, 1e6])), households, k


@given(table=tables(), method=st.sampled_from(["mdav", "search", "zscore"]))
@settings(max_examples=120)
def test_every_group_has_records_of_k_households(table, method):
    points, households, k = table
    grouped = partition_units(points, k, How(method, 0, {}), households=households)
    labels = grouped.labels
    assert sorted(set(labels.tolist())) == list(range(grouped.n_groups))
    assert min(naive.different(labels.tolist(), households.tolist()).values()) >= k


@given(table=tables())
@settings(max_examples=60)
def test_only_which_records_share_a_household_counts(table):
    points, households, k = table
    other = np.random.default_rng(1).permutation(households.max() + 1)[households]
    one, two = (partition_units(points, k, MDAV, households=h).labels for h in (households, other))
    assert np.array_equal(one, two)


@given(table=tables(whole=False))
@settings(max_examples=60)
def test_exchanges_are_those_of_the_slow_twin(table, monkeypatch_module):
    points, households, k = table
    points = points - points.mean(axis=0)
    labels = partition_units(points, k, MDAV).labels
    meant = naive.enriched(points, labels, households, k)
    found = keep_households(points, labels, households, k)
    if meant is not None:
        assert units.units_in_groups(found) == units.units_in_groups(meant)
        assert naive.sse(points, found) == pytest.approx(naive.sse(points, meant))


@pytest.fixture(scope="module")
def monkeypatch_module():
    """Exchanges as they are needed, without those that only gain."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ours, "_PASSES", 0)
        yield


def test_groups_that_have_them_stay_as_they_are():
    points = np.random.default_rng(0).normal(size=(60, 2))
    plain = partition_units(points, 4, MDAV)
    assert np.array_equal(
        partition_units(points, 4, MDAV, households=np.arange(60)).labels, plain.labels
    )


def test_little_is_lost_where_members_are_alike():
    rng = np.random.default_rng(3)
    households = np.repeat(np.arange(400), 3)
    points = rng.normal(size=(400, 3))[households] + 0.6 * rng.normal(size=(1200, 3))
    plain = partition_units(points, 4, MDAV).labels
    kept = partition_units(points, 4, MDAV, households=households).labels
    whole = partition_units(points, 4, MDAV, entities=households).labels
    assert min(naive.different(plain.tolist(), households.tolist()).values()) < 4
    assert naive.sse(points, kept) < 1.5 * naive.sse(points, plain)
    assert naive.sse(points, kept) < 0.7 * naive.sse(points, whole)


def test_a_household_that_is_half_of_all_is_spread():
    rng = np.random.default_rng(0)
    households = np.append(np.zeros(150, np.int64), 1 + np.arange(150))
    points = np.concatenate([rng.normal(size=(150, 2)) + 9, rng.normal(size=(150, 2))])
    labels = partition_units(points, 3, MDAV, households=households).labels
    assert min(naive.different(labels.tolist(), households.tolist()).values()) >= 3
    assert labels.max() > 20


def test_strata_are_not_crossed():
    rng = np.random.default_rng(0)
    households, strata = np.repeat(np.arange(60), 4), rng.integers(0, 3, 240)
    points = rng.normal(size=(60, 2))[households]
    labels = partition_units(points, 3, MDAV, strata=strata, households=households).labels
    assert units.crossing(labels, strata) == 0
    assert min(naive.different(labels.tolist(), households.tolist()).values()) >= 3


def test_given_groups_are_counted_in_households():
    households = np.array([0, 0, 1, 2, 2, 3])
    labels = np.array([0, 0, 0, 1, 1, 1])
    assert given_groups(labels, 6, 2, None, None, households).n_groups == 2
    with pytest.raises(InputError, match="at least k = 3 different households, but 2 of 2"):
        given_groups(labels, 6, 3, None, None, households)
