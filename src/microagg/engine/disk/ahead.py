"""Read ahead: the next part comes in while this one is worked on."""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
_END = object()


def read_ahead(parts: Iterable[T], depth: int = 2) -> Iterator[T]:
    """The same parts, made in another thread, up to so many before they are asked for.

    A failure comes out where the part would have. Whoever stops early stops the other thread too.
    """
    ready: queue.Queue[object] = queue.Queue(depth)
    stopped = threading.Event()

    def put(item: object) -> bool:
        while not stopped.is_set():
            try:
                ready.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def make() -> None:
        try:
            for part in parts:
                if not put(part):
                    return
            put(_END)
        except BaseException as failure:
            put(_Failed(failure))

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not _END:
            if isinstance(item, _Failed):
                raise item.failure
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join()


class _Failed:
    def __init__(self, failure: BaseException) -> None:
        self.failure = failure
