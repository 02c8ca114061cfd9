"""Jobs one by one: each once, the largest first, and told how far all are."""

import threading

import numpy as np
import pytest

from microagg.base.errors import InputError
from microagg.base.progress import silent
from microagg.kernels.threads import run_all


def test_every_cell_with_records_is_done_once(threads):
    counts = np.array([3, 0, 9, 5, 0, 9, 1])
    for count in (1, 2):
        threads(count)
        done, turn = [], threading.Lock()

        def work(cell, _, done=done, turn=turn):
            with turn:
                done.append(cell)

        run_all(work, counts, silent)
        assert sorted(done) == [0, 2, 3, 5, 6]
        assert set(done[:1]) <= {2, 5}


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


@pytest.mark.parametrize("cells", [1, 50])
def test_a_failure_comes_out_and_stops_the_rest(cells):
    done = []

    def work(cell, _):
        done.append(cell)
        raise InputError("no")

    with pytest.raises(InputError, match="no"):
        run_all(work, np.full(cells, 5), silent)
    # One for each that is at work at the same time.
    assert 1 <= len(done) <= 2


def test_nothing_is_nothing():
    run_all(None, np.zeros(3, np.int64), silent)
