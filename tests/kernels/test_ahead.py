"""Reading ahead: the same parts, and no thread that goes on alone."""

import threading
import time

import pytest

from microagg.base.errors import InputError
from microagg.kernels.ahead import made_ahead, read_ahead
from microagg.kernels.threads import thread_count


def test_parts_come_as_they_are_made():
    assert list(read_ahead(range(100))) == list(range(100))
    assert list(read_ahead([])) == []


def test_no_more_than_so_many_are_made_before_they_are_asked_for():
    made = []

    def parts():
        for part in range(50):
            made.append(part)
            yield part

    ahead = read_ahead(parts(), depth=2)
    assert next(ahead) == 0
    time.sleep(0.2)
    # One that was taken, two that are ready, and one that waits for room.
    assert len(made) <= 4
    ahead.close()
    assert len(made) <= 5


def test_a_failure_comes_where_the_part_would_have():
    def parts():
        yield 1
        yield 2
        raise InputError("damaged")

    came = []
    with pytest.raises(InputError, match="damaged"):
        came.extend(read_ahead(parts()))
    assert came == [1, 2]


def test_whoever_stops_early_stops_the_other_thread():
    before = threading.active_count()
    ahead = read_ahead(iter(int, 1))
    next(ahead)
    assert threading.active_count() == before + 1
    ahead.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_what_is_made_of_parts_comes_in_their_order(count, threads):
    threads(count)
    at_work, most = set(), []

    def square(part):
        at_work.add(part)
        most.append(len(at_work))
        time.sleep(0.01 * (part % 3))
        assert thread_count() == 1
        at_work.discard(part)
        return part * part

    assert list(made_ahead(square, range(20))) == [part * part for part in range(20)]
    assert max(most) <= count
    assert list(made_ahead(square, [])) == []


@pytest.mark.parametrize("count", [1, 2, 8])
def test_a_failure_comes_where_what_is_made_would_have(count, threads):
    def refuse(part):
        if part == 5:
            raise InputError("refused")
        return part

    threads(count)
    before, came = threading.active_count(), []
    with pytest.raises(InputError, match="refused"):
        came.extend(made_ahead(refuse, range(100)))
    assert came == [0, 1, 2, 3, 4]
    assert threading.active_count() == before
