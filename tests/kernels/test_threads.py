"""Jobs side by side: each once, the first ones first, told how far all are; and who uses them."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import microagg
from microagg.base.errors import InputError
from microagg.base.progress import silent
from microagg.grouping.bound.near import find_near
from microagg.grouping.divide.lloyd import nearest_centres
from microagg.grouping.divide.lloyd_pca import lloyd_pca_cells
from microagg.grouping.divide.reduce import Reduction
from microagg.grouping.sequence.kmeans import kmeans
from microagg.grouping.sequence.orderings import order_by_principal_component, order_by_zscore
from microagg.grouping.sequence.sorting import sort_stably
from microagg.grouping.sequence.split import split_sequence
from microagg.kernels.threads import limited, run_all, run_blocks, run_each, thread_count
from microagg.kernels.trees.lists import nearest_lists
from microagg.kernels.trees.nearest import find_nearest
from microagg.kernels.trees.planting import plant
from microagg.measure.interval import interval_disclosure
from microagg.measure.statistics import paired

COUNTS = (1, 2, 3, 8)


@pytest.mark.parametrize("count", COUNTS)
def test_every_cell_with_records_is_done_once(count, threads):
    threads(count)
    done = []
    run_all(lambda cell, _: done.append(cell), np.array([3, 0, 9, 5, 0, 9, 1]), silent)
    assert sorted(done) == [0, 2, 3, 5, 6]
    if count == 1:
        assert done == [2, 5, 3, 0, 6]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("total", "size"), [(0, 3), (1, 3), (9, 3), (10, 3)])
def test_blocks_cover_all_once(total, size, count, threads):
    threads(count)
    done, told = [], []
    run_blocks(lambda first, last: done.append((first, last)), total, size, told.append)
    edges = [(first, min(total, first + size)) for first in range(0, total, size)]
    assert sorted(done) == edges
    assert told == sorted(told)
    assert not edges or told[-1] == pytest.approx(1.0)


def test_no_more_at_once_than_threads_or_asked_for(threads):
    threads(8)
    for at_once, most in ((None, 8), (3, 3)):
        inside, seen = [], []

        def job(inside=inside, seen=seen):
            inside.append(1)
            seen.append((len(inside), thread_count()))
            inside.pop()

        run_each([job] * 50, at_once)
        assert len(seen) == 50
        assert max(many for many, _ in seen) <= most
        assert {share for _, share in seen} == {8 // most}


def test_fewer_jobs_than_threads_share_them(threads):
    threads(8)
    shares = []
    run_each([lambda: shares.append(thread_count())] * 2)
    assert shares == [4, 4]
    with limited(1):
        run_each([lambda: shares.append(threading.get_ident())] * 2)
    assert shares[2:] == [threading.get_ident()] * 2
    assert thread_count() == 8


def test_shares_are_of_all_records():
    told = []

    def work(_, advance):
        for share in (0.25, 0.5, 1.0):
            advance(share)

    run_all(work, np.array([30, 10, 60]), told.append)
    assert np.all(np.diff(told) >= -1e-12)
    assert told[-1] == pytest.approx(1.0)
    alone = []
    run_all(work, np.array([0, 8]), alone.append)
    assert alone == [0.25, 0.5, 1.0, 1.0]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("cells", [1, 50])
@pytest.mark.parametrize("failure", [InputError("no"), KeyboardInterrupt("no")])
def test_a_failure_comes_out_and_stops_the_rest(failure, cells, count, threads):
    threads(count)
    done = []

    def work(cell, _):
        done.append(cell)
        raise failure

    before = threading.active_count()
    with pytest.raises(type(failure), match="no"):
        run_all(work, np.full(cells, 5), silent)
    assert threading.active_count() == before
    # One for each that is at work at the same time.
    assert 1 <= len(done) <= count


def test_of_several_failures_that_of_the_first_job_comes_out(threads):
    threads(2)
    failed = threading.Event()

    def late():
        failed.wait(10)
        raise ValueError("first")

    def early():
        failed.set()
        raise ValueError("second")

    with pytest.raises(ValueError, match="first"):
        run_each([late, early])


def test_a_helper_that_gets_no_core_is_not_waited_for(threads, monkeypatch):
    threads(2)
    late = []
    monkeypatch.setattr("_thread.start_new_thread", lambda work, _: late.append(work))
    done = []
    run_each([lambda number=number: done.append(number) for number in range(5)])
    assert done == [0, 1, 2, 3, 4]
    late[0]()
    assert done == [0, 1, 2, 3, 4]


def test_nothing_is_nothing():
    run_all(None, np.zeros(3, np.int64), silent)


def test_every_core_unless_it_is_said_otherwise(monkeypatch):
    monkeypatch.delenv("MICROAGG_THREADS", raising=False)
    assert thread_count() == len(os.sched_getaffinity(0))
    monkeypatch.setenv("MICROAGG_THREADS", " 5 ")
    assert thread_count() == 5


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_nonsense_is_refused_in_one_sentence(text):
    command = [sys.executable, "-m", "microagg", "methods"]
    environment = {**os.environ, "MICROAGG_THREADS": text}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert "MICROAGG_THREADS must be a whole number, 1 or more" in found.stderr
    assert found.stderr.count("\n") == 1


RNG = np.random.default_rng(8)
CLOUD = RNG.normal(size=(20_000, 4))
GRID = RNG.integers(0, 9, (9_000, 3)).astype(float)
LINE = RNG.normal(size=150_000)
USERS = {
    "orders": lambda: [order_by_zscore(LINE[:, None]), order_by_principal_component(CLOUD)],
    "sort": lambda: sort_stably(LINE),
    "split": lambda: [split_sequence(np.tile(CLOUD, (2, 1)), 3)],
    "univariate": lambda: [microagg.optimal_univariate(LINE, k).labels for k in (3, 30)],
    "k-means": lambda: [kmeans(CLOUD, 7, np.random.default_rng(0))],
    "centres": lambda: [nearest_centres(CLOUD, CLOUD[:9])],
    "flats": lambda: lloyd_pca_cells(CLOUD, 3, 4, Reduction(), np.random.default_rng(0)),
    "tree": lambda: plant(CLOUD),
    "lists": lambda: nearest_lists(GRID, np.arange(9_000, dtype=np.int32), 6, 4),
    "nearest others": lambda: find_near(GRID, 4),
    "links": lambda: find_nearest(
        plant(GRID, scales=np.arange(1.0, 4.0)), GRID + 0.5, np.full(9_000, np.inf),
        np.arange(9_000), silent,
    ),
    "intervals": lambda: [interval_disclosure(paired(GRID, GRID[::-1]), basis="rank").attributes],
    "search": lambda: [
        microagg.partition(CLOUD[:6_000], 3, "search", seed=1, effort="brief").labels
    ],
    "search in cells": lambda: [microagg.partition(CLOUD, 3, "search", steps=10**6).labels],
}  # fmt: skip


@pytest.mark.parametrize("user", USERS)
def test_the_same_bytes_whatever_the_threads(user, threads):
    found = []
    for count in COUNTS:
        threads(count)
        found.append([np.asarray(part).tobytes() for part in USERS[user]()])
    assert all(other == found[0] for other in found[1:])
