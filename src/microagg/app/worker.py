"""The child process in which all work on tables is done: it can be killed at any moment.

Pickled messages go both ways: a task with its arguments in; how far it is and what came of it out.
"""

import os
import pickle
import sys
import threading
import time
from typing import IO, Any

from microagg.base.errors import sentence_of
from microagg.base.progress import heard_by

# Seconds between two words about how far work is.
_OFTEN = 0.1


def main() -> None:
    """Answer task after task, until nobody asks any more."""
    asked, answers = sys.stdin.buffer, _own_answers()
    from microagg.app import tasks

    waiting: list[Any] = []
    more = threading.Condition()

    def hear() -> None:
        while True:
            try:
                task = pickle.load(asked)
            except (EOFError, OSError):
                # Whoever asked is gone, and nobody wants what is being made.
                os._exit(0)
            with more:
                waiting.append(task)
                more.notify()

    threading.Thread(target=hear, daemon=True).start()
    while True:
        with more:
            more.wait_for(lambda: waiting)
            name, arguments = waiting.pop(0)
        _send(answers, _answer(getattr(tasks, name), arguments, answers))


def _answer(task: Any, arguments: dict[str, Any], answers: IO[bytes]) -> tuple[str, Any]:
    last = 0.0

    def listen(words: str, share: float) -> None:
        nonlocal last
        now = time.monotonic()
        if share == 0.0 or now - last > _OFTEN:
            last = now
            _send(answers, ("progress", (words, share)))

    try:
        with heard_by(listen):
            return "done", task(**arguments)
    except Exception as failure:
        return "failed", sentence_of(failure)


def _send(answers: IO[bytes], message: tuple[str, Any]) -> None:
    pickle.dump(message, answers)
    answers.flush()


def _own_answers() -> IO[bytes]:
    """Where answers go; what libraries print goes nowhere, for it may quote a record."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return answers
