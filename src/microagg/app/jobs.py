"""Work that takes long: one job after another in a child process, with a bar, to be cancelled."""

import os
import pickle
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from microagg.base.errors import MicroaggError
from microagg.base.processes import start

# Seconds for which every page tells that a job came to nothing; its own page always does.
_NEWS = 30.0
_ENDED = (
    "the work ended before it was done: it was stopped from outside, or there was not enough "
    "memory; nothing else is lost"
)


class CancelledError(Exception):
    """Somebody wants it no more."""


class Worker:
    """A child process that does one task at a time; it is started when there is one."""

    def __init__(self, scratch: Path) -> None:
        """scratch: where its temporary files go."""
        self._scratch = scratch
        self._child: subprocess.Popen[bytes] | None = None
        self._one_at_a_time = threading.Lock()
        self._starting = threading.Lock()

    def start(self) -> "subprocess.Popen[bytes]":
        """Have it ready before it is needed; what it needs takes a second or two to load."""
        with self._starting:
            if self._child is None or self._child.poll() is not None:
                self._child = start(
                    "microagg.app.worker",
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**os.environ, "TMPDIR": str(self._scratch)},
                    start_new_session=True,
                )
            return self._child

    def call(
        self,
        task: str,
        arguments: Mapping[str, Any],
        listen: Callable[[str, float], None] = lambda _words, _share: None,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> Any:
        """Do a task of `microagg.app.tasks`; a MicroaggError says what went wrong.

        is_wanted: asked once it is its turn, and when the child is gone.
        """
        with self._one_at_a_time:
            if not is_wanted():
                raise CancelledError
            child = self.start()
            assert child.stdin is not None
            assert child.stdout is not None
            try:
                pickle.dump((task, dict(arguments)), child.stdin)
                child.stdin.flush()
                while True:
                    what, told = pickle.load(child.stdout)
                    if what == "progress":
                        listen(*told)
                    elif what == "failed":
                        raise MicroaggError(told)
                    else:
                        return told
            except (EOFError, OSError, ValueError, pickle.UnpicklingError) as failure:
                if isinstance(failure, MicroaggError):
                    raise
                self.kill()
                if not is_wanted():
                    raise CancelledError from None
                raise MicroaggError(_ENDED) from None

    def kill(self) -> None:
        """End the child and all that it started, at once."""
        with self._starting:
            child, self._child = self._child, None
        if child is None:
            return
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(child.pid, signal.SIGKILL)
            else:
                child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


@dataclass
class Job:
    """Something that is being made.

    page: where its result is shown.
    """

    number: int
    title: str
    page: str
    worker: Worker
    words: str = ""
    share: float = 0.0
    status: Literal["waiting", "running", "done", "failed", "cancelled"] = "waiting"
    problem: str = ""
    started: float = field(default_factory=time.monotonic)
    ended: float = 0.0

    @property
    def came_to_nothing(self) -> bool:
        """Whether it failed or was cancelled."""
        return self.status in ("failed", "cancelled")

    @property
    def is_news(self) -> bool:
        """Whether it ended just now."""
        return time.monotonic() - self.ended < _NEWS

    @property
    def under_way(self) -> bool:
        """Whether there is more to come."""
        return self.status in ("waiting", "running")

    def to_dict(self) -> dict[str, Any]:
        """What a page asks for again and again."""
        return {
            "number": self.number,
            "title": self.title,
            "words": self.words,
            "share": round(self.share, 3),
            "status": self.status,
            "seconds": round(time.monotonic() - self.started),
        }


class Jobs:
    """Jobs in the order they were asked for; a worker does one after another."""

    def __init__(self) -> None:
        self.all: list[Job] = []

    def add(
        self,
        worker: Worker,
        title: str,
        page: str,
        task: str,
        arguments: Mapping[str, Any],
        keep: Callable[[Any], None],
    ) -> Job:
        """Have something made in the background; keep: what is done with the result."""
        job = Job(len(self.all) + 1, title, page, worker)
        self.all.append(job)

        def listen(words: str, share: float) -> None:
            job.status, job.words, job.share = "running", words, share

        def work() -> None:
            try:
                result = worker.call(
                    task, arguments, listen, is_wanted=lambda: job.status != "cancelled"
                )
                if job.status != "cancelled":
                    keep(result)
                    job.status = "done"
            except CancelledError:
                job.status = "cancelled"
            except MicroaggError as failure:
                if job.status != "cancelled":
                    job.status, job.problem = "failed", str(failure)
            job.ended = time.monotonic()

        threading.Thread(target=work, daemon=True).start()
        return job

    def cancel(self, job: Job) -> None:
        """Want it no more; what it has made so far goes."""
        was, job.status = job.status, "cancelled" if job.under_way else job.status
        job.ended = time.monotonic()
        if was == "running":
            job.worker.kill()
            # The next job need not wait for what takes long to load.
            job.worker.start()

    def cancel_all(self) -> None:
        """Want none of them any more."""
        for job in self.all:
            if job.under_way:
                job.status = "cancelled"

    @property
    def under_way(self) -> list[Job]:
        """Those that are not done."""
        return [job for job in self.all if job.under_way]

    def find(self, number: int) -> Job | None:
        """By its number."""
        return self.all[number - 1] if 0 < number <= len(self.all) else None
