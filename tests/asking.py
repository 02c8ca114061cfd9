"""Processes that ask databases, forked from one in which all that they import is loaded.

They are what `microagg.table.formats.database.aside` starts, each a process of its own that can be
ended; only the quarter of a second that Python takes to load the libraries is spent once.
"""

import os
import pickle
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from microagg.table.formats.database import aside

_ROOT = str(Path(__file__).parents[1])


class Asking:
    """As much of `subprocess.Popen` as whoever asks needs."""

    def __init__(self, pid, stdin, stdout):
        self.pid, self.stdin, self.stdout = pid, stdin, stdout

    def kill(self):
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self):
        """It is not ours to wait for, and was killed."""


@pytest.fixture(scope="session")
def forking():
    """A function that starts such processes."""
    with TemporaryDirectory() as folder:
        door = str(Path(folder) / "door")
        env = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"}
        words = [sys.executable, "-c", f"import tests.asking as a; a.serve({door!r})"]
        with subprocess.Popen(words, cwd=_ROOT, env=env, stdout=subprocess.PIPE) as serving:
            assert serving.stdout is not None
            serving.stdout.readline()

            def start(module, *, env, **_):
                assert module == aside.__name__
                theirs, to_it = os.pipe()
                from_it, ours = os.pipe()
                with socket.socket(socket.AF_UNIX) as line:
                    line.connect(door)
                    socket.send_fds(line, [b"."], [theirs, ours])
                    os.close(theirs)
                    os.close(ours)
                    line.sendall(pickle.dumps((Path.cwd(), env)))
                    line.shutdown(socket.SHUT_WR)
                    pid = int(line.recv(64))
                return Asking(pid, os.fdopen(to_it, "wb"), os.fdopen(from_it, "rb"))

            try:
                yield start
            finally:
                serving.kill()


@pytest.fixture
def asked_by_forks(forking, monkeypatch):
    """For tests that ask often, and of what is told rather than of who is asked."""
    monkeypatch.setattr(aside, "start", forking)


def serve(door):
    """Fork for everybody who knocks, in the folder and with the settings that they have."""
    import adbc_driver_postgresql.dbapi  # noqa: F401

    import microagg.table.formats.database.postgresql  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(door)
        listening.listen()
        print("ready", flush=True)
        while True:
            line, _ = listening.accept()
            _, streams, _, _ = socket.recv_fds(line, 1, 2)
            if os.fork() == 0:
                where, env = pickle.load(line.makefile("rb"))
                os.chdir(where)
                os.environ.clear()
                os.environ.update(env)
                line.sendall(str(os.getpid()).encode())
                for stream, number in zip(streams, (0, 1), strict=True):
                    os.dup2(stream, number)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                os.closerange(3, 64)
                aside.main()
                os._exit(0)
            for stream in streams:
                os.close(stream)
            line.close()
