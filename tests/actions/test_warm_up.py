import subprocess
import sys

import pytest

from microagg.actions import warm_up
from microagg.base.errors import MicroaggError
from microagg.kernels.announcing import announcement


def test_a_journey_is_rehearsed(capsys):
    warm_up.rehearse(1, 2, "journey")
    assert capsys.readouterr().out.split() == ["done"] * len(warm_up.JOURNEY)


@pytest.mark.parametrize("rehearse", warm_up._everything(), ids=lambda each: each.__qualname__)
def test_every_rehearsal_runs(rehearse):
    rehearse()


def test_a_process_that_ends_early_is_told(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(MicroaggError, match="could not be compiled"):
        warm_up.warm_up(processes=2)


def test_processes_beside_begin_with_the_first_kernel_and_end_with_the_work(monkeypatch, threads):
    threads(3)
    begun = []
    start = subprocess.Popen

    def popen(*words, **settings):
        begun.append(start(*words, **settings))
        return begun[-1]

    monkeypatch.setattr(subprocess, "Popen", popen)
    with warm_up.compiling_beside():
        assert begun == []
        announcement.beside()
        assert len(begun) == 2
    assert all(each.poll() is not None for each in begun)
    assert announcement.beside is None
