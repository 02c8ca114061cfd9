"""Work in a child process."""

import os
import signal
import time

import pytest

from microagg.app.jobs import Jobs, Worker
from microagg.base.errors import MicroaggError


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    made = Worker(tmp_path_factory.mktemp("scratch"))
    yield made
    made.kill()


def until(true):
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_task_answers_and_a_bad_one_says_why(worker):
    assert "mdav" in [method["name"] for method in worker.call("methods", {})]
    with pytest.raises(MicroaggError, match=r"nothing\.csv"):
        worker.call("look", {"address": "/nothing.csv", "reading": {}})
    with pytest.raises(MicroaggError, match="TypeError"):
        worker.call("methods", {"no": 1})


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """What takes a second or more to look at."""
    path = tmp_path_factory.mktemp("tables") / "long.csv"
    with path.open("w") as stream:
        stream.write("a,b\n")
        stream.writelines(f"{n},{n * 7919 % 100003}\n" for n in range(1_000_000))
    return {"address": str(path), "reading": {}}


def test_a_crash_leaves_the_app_alive(worker, long):
    jobs, kept = Jobs(), []
    job = jobs.add(worker, "long", "/", "look", long, kept.append)
    until(lambda: job.status == "running")
    os.kill(worker.start().pid, signal.SIGKILL)
    until(lambda: not job.under_way)
    assert job.status == "failed"
    assert "nothing else is lost" in job.problem
    assert worker.call("methods", {})
    assert kept == []


def test_cancelling_kills_the_work_and_lets_the_next_go_on(worker, long):
    jobs, kept = Jobs(), []
    first = jobs.add(worker, "first", "/", "look", long, kept.append)
    second = jobs.add(worker, "second", "/", "look", long, kept.append)
    third = jobs.add(worker, "third", "/", "methods", {}, kept.append)
    until(lambda: first.status == "running")
    child = worker.start()
    jobs.cancel(second)
    jobs.cancel(first)
    assert child.poll() is not None
    until(lambda: not third.under_way)
    assert [job.status for job in jobs.all] == ["cancelled", "cancelled", "done"]
    assert len(kept) == 1
    assert jobs.under_way == []
