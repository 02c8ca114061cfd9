"""Processes of their own that start at once: forked from one in which microagg is loaded.

They can be killed, signalled and piped to like any other, and end as programs end; only the seconds
of processor that Python takes to load libraries and kernels are spent once. What is tested of a
start itself (what is imported, streams that are closed) needs a process of `subprocess`.
"""

import atexit
import gc
import os
import pickle
import runpy
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

PIPE = subprocess.PIPE
_ROOT = Path(__file__).parents[1]
# Of the numbers that are told: who it is, and how it ended.
_DIGITS = 16
_STREAMS = (
    ("stdin", "r", "strict"),
    ("stdout", "w", "strict"),
    ("stderr", "w", "backslashreplace"),
)


class Process:
    """As much of `subprocess.Popen` as tests need, for `-m MODULE ...` or `-c SCRIPT ...`."""

    def __init__(self, *words, cwd, stdin=None, stdout=None, stderr=None, text=False):
        self.returncode = None
        ends = [_ends(*each) for each in ((stdin, "w"), (stdout, "r"), (stderr, "r"))]
        self.stdin, self.stdout, self.stderr = (
            None if ours is None else os.fdopen(ours, mode + "b" * (not text))
            for mode, ours, _ in ends
        )
        self._line, line = socket.socketpair()
        theirs = [line.detach(), *(each for _, _, each in ends)]
        socket.send_fds(_server(), [b"."], theirs)
        for each in theirs:
            os.close(each)
        with self._line.makefile("wb") as sending:
            pickle.dump(([str(word) for word in words], str(cwd), dict(os.environ)), sending)
        self.pid = self._hear()

    def poll(self, seconds=0.0):
        """How it ended, None as long as it goes on; waited for so many seconds."""
        if self.returncode is None and select.select([self._line], [], [], seconds)[0]:
            self.returncode = os.waitstatus_to_exitcode(self._hear())
            self._line.close()
        return self.returncode

    def _hear(self):
        return int(self._line.recv(_DIGITS, socket.MSG_WAITALL))

    def wait(self, timeout=120):
        assert self.poll(timeout) is not None, "it goes on"
        return self.returncode

    def send_signal(self, number):
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()


def _ends(stream, mode):
    """How we use a stream, our end of it if it is a pipe, and theirs."""
    if stream == PIPE:
        reading, writing = os.pipe()
        return (mode, writing, reading) if mode == "w" else (mode, reading, writing)
    return mode, None, os.open(os.devnull, os.O_RDWR) if stream is None else os.dup(stream.fileno())


def run(*words, cwd, stdin=None, stdout=None, text=True):
    """Wait for the end, and return what `subprocess.run` does."""
    with TemporaryFile() as said, TemporaryFile() as complained:
        with Process(
            *words, cwd=cwd, stdin=stdin, stdout=stdout or said, stderr=complained
        ) as process:
            try:
                process.wait()
            finally:
                process.kill()
        told = []
        for stream in (said, complained):
            stream.seek(0)
            told.append(stream.read().decode() if text else stream.read())
    return subprocess.CompletedProcess(words, process.returncode, *told)


@cache
def _server():
    """The line to the process that forks."""
    ours, theirs = socket.socketpair()
    script = f"import tests.forking as f; f.serve({theirs.fileno()})"
    with theirs:
        words, passed = [sys.executable, "-c", script], [theirs.fileno()]
        server = subprocess.Popen(words, cwd=_ROOT, pass_fds=passed, stdin=subprocess.DEVNULL)

    @atexit.register
    def end():
        ours.close()
        server.wait()

    return ours


def serve(number):
    """Fork for whoever asks, until nobody can any more; returns in what was forked."""
    _load()
    asked = socket.socket(fileno=number)
    while streams := socket.recv_fds(asked, 1, 4)[1]:
        if os.fork() == 0:
            asked.detach()
            return _keep(streams)
        for stream in streams:
            os.close(stream)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    with suppress(ChildProcessError):
        while True:
            os.wait()
    os._exit(0)


def _load():
    """All that a release takes, and its kernels."""
    from tests.commands import ROLES, microagg, survey

    with TemporaryDirectory() as folder:
        source = survey(Path(folder) / "survey.csv")
        for engine in ("memory", "disk"):
            words = ("-o", "r.csv", "--engine", engine, "--force", "--cell-rows", "30")
            done = microagg("protect", source.name, *ROLES, *words, folder=Path(folder))
            assert done.code == 0, done.err
    # What is never looked at again stays in memory that is shared.
    gc.collect()
    gc.freeze()


def _keep(streams):
    """Fork once more: to tell who asked how it ends, and to be what was asked for."""
    line = socket.socket(fileno=streams[0])
    with line.makefile("rb") as reading:
        words, cwd, env = pickle.load(reading)
    pid = os.fork()
    if pid:
        for stream in streams[1:]:
            os.close(stream)
        with suppress(OSError):
            line.sendall(f"{pid:{_DIGITS}}".encode())
            line.sendall(f"{os.waitpid(pid, 0)[1]:{_DIGITS}}".encode())
        os._exit(0)
    for place, stream in enumerate(streams[1:]):
        os.dup2(stream, place)
    os.closerange(3, 256)
    line.detach()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    _become(words)


def _become(words):
    how, what, *rest = words
    for number, (name, mode, errors) in enumerate(_STREAMS):
        stream = open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
    if how == "-m":
        sys.argv = [what, *rest]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.argv = ["-c", *rest]
        exec(compile(what, "<string>", "exec"), vars(sys.modules["__main__"]))
