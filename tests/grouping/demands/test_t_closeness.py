"""The three published algorithms, against the same step by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.base.errors import OptionError
from microagg.grouping.constraints import How, partition_units
from microagg.grouping.demands.demand import Close, Confidential, Distinct
from tests.naive import t_closeness as naive

METHODS = {"t-merge": naive.t_merge, "t-swap": naive.t_swap, "t-first": naive.t_first}


@pytest.mark.parametrize("method", METHODS)
@given(n=st.integers(4, 40), k=st.integers(2, 5), t=st.integers(3, 30), seed=st.integers(0, 99))
@settings(max_examples=25)
def test_the_same_as_step_by_step(method, n, k, t, seed):
    # Not the distance of any group: by a hair ours is stricter.
    t, n = t / 100.0 + 1e-5, max(n, 2 * k)
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    ranks = np.argsort(np.argsort(points[:, 0] + rng.normal(size=n)))
    # Of a larger table, a little uneven, so that no two groups are as far from it.
    counts = rng.integers(1000, 1050, n)
    expected = METHODS[method](points, k, ranks.tolist(), counts.tolist(), t)
    column = Confidential("secret", ranks, counts)
    found = partition_units(points, k, How(method, 0, {}), demands=[Close(column, t)])
    groups = {frozenset(np.flatnonzero(found.labels == g).tolist()) for g in set(found.labels)}
    assert groups == expected


@pytest.mark.parametrize("method", METHODS)
def test_without_closeness_they_say_what_they_need(method):
    points = np.random.default_rng(0).normal(size=(20, 2))
    column = Confidential("secret", np.arange(20) % 4, np.full(4, 5))
    for run in (
        lambda: microagg.partition(points, 3, method),
        lambda: partition_units(points, 3, How(method, 0, {}), demands=[Distinct(column, 2)]),
    ):
        with pytest.raises(OptionError, match="needs a closeness demand"):
            run()


def test_so_many_parts_that_they_are_close():
    """Without ties and leftovers t-first keeps t by its construction, and needs no merges."""
    rng = np.random.default_rng(1)
    for n, t in ((200, 0.05), (120, 0.1), (100, 0.25)):
        points = rng.normal(size=(n, 2))
        column = Confidential("secret", rng.permutation(n), np.ones(n, np.int64))
        found = partition_units(points, 2, How("t-first", 0, {}), demands=[Close(column, t)])
        least = next(k for k in range(2, n) if naive.bound(n, k) <= t)
        assert found.n_groups == n // least
