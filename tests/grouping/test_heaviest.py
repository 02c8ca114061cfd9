"""Starting again with the heaviest groups: never worse, and right where a search alone is not."""

import numpy as np
import pytest

from microagg.grouping.cluster.mdav import mdav
from microagg.grouping.refine import heaviest
from microagg.grouping.refine.heaviest import is_concentrated, redo_heaviest, worth_redoing
from microagg.grouping.refine.search import Search, search


def sse(records, order, sizes):
    parts = np.split(records[order], np.cumsum(sizes)[:-1])
    return sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts)


def heavy_tailed(n=400, d=3, seed=0):
    records = np.random.default_rng(seed).standard_t(1.2, size=(n, d))
    return np.ascontiguousarray(records)


def began(records, k=3):
    return Search(records, *mdav(records, k), k)


def test_outliers_are_heavy_and_even_records_are_not():
    assert is_concentrated(began(heavy_tailed()))
    even = np.random.default_rng(0).uniform(size=(400, 3))
    assert not is_concentrated(began(even))
    assert not worth_redoing(began(even), 10**9)
    assert worth_redoing(began(heavy_tailed()), 10**8)
    assert not worth_redoing(began(heavy_tailed()), 1000)
    assert not worth_redoing(began(heavy_tailed()), None, 0.001)


def test_groups_stay_whole_and_lose_no_more():
    better = 0
    for seed in range(8):
        records = heavy_tailed(300, 2, seed)
        work = began(records)
        before = sse(records, *work.groups())
        left = redo_heaviest(work, np.random.default_rng(seed), steps=2_000_000)
        order, sizes = work.groups()
        assert 0 <= left <= 2_000_000
        assert sorted(order.tolist()) == list(range(300))
        assert sizes.min() >= 3
        assert sizes.max() <= 5
        after = sse(records, order, sizes)
        assert after <= before * (1 + 1e-12)
        better += after < before * (1 - 1e-6)
    assert better >= 2


def test_only_the_heaviest_are_touched():
    records = heavy_tailed()
    work = began(records)
    chosen = set(heaviest._heaviest(heaviest._losses(work), heaviest._TRIES[0][0]).tolist())
    others = {frozenset(group) for group in groups(work) if not chosen & set(group)}
    work.take_part(*found(work, sorted(chosen)))
    assert others <= {frozenset(group) for group in groups(work)}


def groups(work):
    order, sizes = work.groups()
    return [part.tolist() for part in np.split(order, np.cumsum(sizes)[:-1])]


def found(work, rows):
    rows = np.array(rows)
    anew = work.within(rows)
    order, sizes = anew.groups()
    return rows[order], sizes


@pytest.mark.parametrize("steps", [3_000_000, 3_000_001])
def test_the_same_whatever_the_threads(threads, steps):
    records = heavy_tailed(300, 2)
    start = mdav(records, 3)
    results = []
    for count in (1, 2, 3, 8):
        threads(count)
        results.append(search(records, *start, 3, np.random.default_rng(1), steps=steps))
    for result in results[1:]:
        for one, other in zip(results[0], result, strict=True):
            np.testing.assert_array_equal(one, other)
