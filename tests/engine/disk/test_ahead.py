"""Reading ahead: the same parts, and no thread that goes on alone."""

import threading
import time

import pytest

from microagg.base.errors import InputError
from microagg.engine.disk.ahead import read_ahead


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
