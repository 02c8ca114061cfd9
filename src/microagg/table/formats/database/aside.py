"""A database is asked in a process of its own, which can be ended at any moment.

Within one value a driver looks at no clock and hears no signal: a single expression may take
hours, or all memory there is. And a driver that dies takes nobody with it.
"""

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO, Any

import pyarrow as pa

from microagg.base.errors import InputError, MicroaggError, sentence_of
from microagg.base.memory import Arriving, available_memory, keep_within
from microagg.base.processes import start
from microagg.table.formats.database.address import Address

# Bytes that asking may take at least, however little memory there is.
_LEAST_MEMORY = 1 << 28
# What is asked yields pieces of an answer on the way, and returns what else there is to know.
Asked = Iterator[pa.RecordBatch]


def ask_aside(
    task: Callable[..., Any], place: Address, *arguments: Any, seconds: float = 0.0
) -> tuple[list[pa.RecordBatch], Any]:
    """What a generator yields, and what it returns, in a process of its own.

    It is given `place` and the arguments. seconds: that it may take, 0 for any number.
    """
    late = threading.Event()

    def give_up() -> None:
        late.set()
        child.kill()

    pieces, arriving = [], Arriving(f"the answer of {place.shown}")
    memory = max(_LEAST_MEMORY, (available_memory() or 0) // 2)
    pipe = subprocess.PIPE
    # Arrow's own allocator takes far more than it needs.
    env = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    child = start(__name__, stdin=pipe, stdout=pipe, env=env)
    clock = threading.Timer(min(seconds, threading.TIMEOUT_MAX), give_up)
    clock.daemon = True
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        pickle.dump((memory, task, place, *arguments), child.stdin)
        child.stdin.flush()
        while True:
            what, told = pickle.load(child.stdout)
            if what == "ready" and seconds:
                clock.start()
            elif what == "piece":
                pieces.append(told)
                arriving.add(told.nbytes)
            elif what == "failed":
                raise told
            elif what == "done":
                return pieces, told
    except (EOFError, OSError, pickle.UnpicklingError):
        if late.is_set():
            raise place.is_late(seconds) from None
        raise InputError(
            f"the process that asked {place.shown} was ended; look whether there is memory left, "
            "and whether the database is damaged"
        ) from None
    finally:
        clock.cancel()
        child.kill()
        for stream in (child.stdin, child.stdout):
            with suppress(OSError):
                stream.close()
        child.wait()


def main() -> None:
    """Do what is asked, once."""
    # Who asked hears of Ctrl-C too, and ends this.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    memory, task, place, *arguments = pickle.load(asked)
    threading.Thread(target=_end_with, args=(asked,), daemon=True).start()
    keep_within(memory)
    _send(answers, "ready", None)
    try:
        _send(answers, "done", _send_pieces(answers, task(place, *arguments)))
    except MicroaggError as failure:
        _send(answers, "failed", failure)
    except MemoryError:
        sentence = (
            f"the answer of {place.shown} is too large for memory; ask for less, or put it into a "
            "file, on which engine=disk works in parts"
        )
        _send(answers, "failed", InputError(sentence))
    except Exception as failure:
        _send(answers, "failed", InputError(sentence_of(failure)))


def _send_pieces(answers: IO[bytes], pieces: Asked) -> Any:
    while True:
        try:
            _send(answers, "piece", next(pieces))
        except StopIteration as end:
            return end.value


def _end_with(asked: IO[bytes]) -> None:
    """Whoever asked is gone, and nobody wants the answer."""
    asked.read()
    os._exit(1)


def _send(answers: IO[bytes], what: str, told: Any) -> None:
    pickle.dump((what, told), answers, protocol=5)
    answers.flush()
