"""Searching many times from the start: each time by itself, and the better parts of all."""

import threading

import numpy as np
import pytest

from microagg.grouping.cluster.mdav import mdav
from microagg.grouping.refine import repeating
from microagg.grouping.refine.repeating import repeat
from microagg.grouping.refine.search import Search, seek
from microagg.kernels.threads import thread_count
from tests.grouping.test_reorder import groups_of, make
from tests.grouping.test_search import check
from tests.naive.decompose import total_sse

RECORDS = make("generic", 200, 3, 2)


def began(k=4):
    return Search(RECORDS, *mdav(RECORDS, k), k)


def sse(groups):
    return total_sse(RECORDS, groups_of(*groups))


def repeated(count=6, steps=20_000, **options):
    search, shown = began(), []
    repeat(
        search,
        np.random.default_rng(5),
        count,
        steps,
        seen=lambda *groups: shown.append(groups),
        **options,
    )
    return search.groups(), shown


@pytest.mark.parametrize("count", [1, 2])
def test_each_is_a_search_of_its_own_from_the_start(count, threads):
    threads(count)
    best, shown = repeated()
    assert len(shown) == 6
    for found, rng in zip(shown, np.random.default_rng(5).spawn(6), strict=True):
        alone = began()
        seek(alone, rng, 20_000)
        assert all(map(np.array_equal, found, alone.groups()))
    check(*best, 200, 4)
    assert sse(best) <= min(map(sse, shown)) * (1 + 1e-12)
    assert len({round(sse(found), 9) for found in shown}) > 1


def test_the_same_whatever_the_threads(threads):
    threads(1)
    first, _ = repeated()
    threads(2)
    second, _ = repeated()
    assert all(map(np.array_equal, first, second))


def test_progress_is_reported_and_threads_are_put_back(threads):
    threads(2)
    shares = []
    repeated(advance=shares.append)
    assert thread_count() == 2
    assert all(0.0 <= share < 1.0 for share in shares)


def test_late_nothing_more_is_begun():
    asked = []

    def late():
        asked.append(1)
        return len(asked) > 3

    _, shown = repeated(count=50, late=late)
    assert len(shown) <= 3
    assert repeated(late=lambda: True)[1] == []


@pytest.mark.parametrize("count", [1, 2])
def test_an_interruption_stops_all_searches(count, monkeypatch, threads):
    threads(count)
    original, calls = repeating.seek, []

    def interrupted(*arguments):
        if threading.current_thread() is threading.main_thread():
            calls.append(1)
            if len(calls) == 2:
                raise KeyboardInterrupt
        original(*arguments)

    monkeypatch.setattr(repeating, "seek", interrupted)
    search, shown = began(), []
    with pytest.raises(KeyboardInterrupt):
        repeat(
            search, np.random.default_rng(0), 1000, 5_000, seen=lambda *groups: shown.append(groups)
        )
    assert shown == []
    assert len(calls) == 2
