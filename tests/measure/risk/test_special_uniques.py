from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.kernels.threads import limited
from microagg.measure.risk.special_uniques import (
    MOST_COLUMNS,
    largest_size,
    score_values,
    special_uniques,
)
from tests.measure.risk.tables import keys_of, records
from tests.naive import risk as naive


def sets_of(found):
    """The sets of columns with their times."""
    columns = range(found.columns)
    names = [tuple(c for c in columns if mask >> c & 1) for mask in found.sets.tolist()]
    assert len(set(names)) == len(names)
    return dict(zip(names, found.times.tolist(), strict=True))


@given(records(most=16), st.booleans(), st.integers(1, 4))
def test_as_all_sets_looked_at_one_by_one(table, wildcards, largest):
    keys = keys_of(table)
    largest = min(largest, len(keys.names))
    found = special_uniques(keys.combinations, largest, wildcards=wildcards)
    assert found.scores[keys.combinations.labels].tolist() == naive.suda(table, largest, wildcards)
    times = {}
    for own in naive.minimal_uniques(table, largest, wildcards):
        for chosen in own:
            times[chosen] = times.get(chosen, 0) + 1
    assert sets_of(found) == times


@given(records(most=12, columns=6, missing=False))
def test_contributions_add_up(table):
    keys = keys_of(table)
    found = special_uniques(keys.combinations, len(keys.names))
    if found.scores.any():
        assert found.contributions.sum() == pytest.approx(100.0)
    columns = np.zeros(len(keys.names))
    for chosen, share in zip(sets_of(found), found.contributions, strict=True):
        columns[list(chosen)] += share
    assert found.column_contributions == pytest.approx(columns)


@given(records(most=16, missing=False))
def test_dis(table):
    keys = keys_of(table)
    found = special_uniques(keys.combinations, len(keys.names))
    sizes = keys.combinations.sizes
    dis = found.dis(int((sizes == 1).sum()), 2 * int((sizes == 2).sum()))
    scores = naive.suda(table, len(keys.names))
    expected = naive.dis(scores, table, len(keys.names)) if any(scores) else [0.0] * len(table)
    assert dis[keys.combinations.labels] == pytest.approx(expected, rel=1e-5)


def test_many_lists_grow():
    rng = np.random.default_rng(3)
    table = [tuple(row) for row in rng.integers(0, 3, (300, 6)).tolist()]
    keys = keys_of(table)
    found = special_uniques(keys.combinations, 6)
    assert found.times.sum() > 64
    assert found.scores[keys.combinations.labels].tolist() == naive.suda(table, 6)


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_as_many_threads_find_the_same(threads):
    rng = np.random.default_rng(4)
    keys = keys_of([tuple(row) for row in rng.integers(0, 6, (500, 5)).tolist()])
    with limited(1):
        alone = special_uniques(keys.combinations, 4)
    with limited(threads):
        found = special_uniques(keys.combinations, 4)
    for name in ("scores", "sets", "times"):
        assert np.array_equal(getattr(found, name), getattr(alone, name))


def test_what_a_set_adds():
    assert score_values(7, 7)[1:].tolist() == [factorial(7 - size) for size in range(1, 8)]
    assert score_values(7, 3)[1:4].tolist() == [6 * 5 * 4, 5 * 4, 4]


def test_how_far_is_looked():
    assert largest_size(8, 1000) == 8
    assert largest_size(8, 1000, most_work=8_000) == 1
    assert largest_size(8, 1000, most_work=7_999) == 0
    assert largest_size(MOST_COLUMNS + 1, 10) == 0


def test_nothing_is_looked_for_where_nothing_is_asked():
    found = special_uniques(keys_of([(1,), (2,)]).combinations, 0)
    assert not found.scores.any()
    assert found.column_contributions.tolist() == [0.0]
