"""Work done in other threads before it is asked for, and handed out in its order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from microagg.kernels.threads import limited, thread_count

T = TypeVar("T")
S = TypeVar("S")
_END: Any = object()


def read_ahead(parts: Iterable[T], depth: int = 2) -> Iterator[T]:
    """The same parts, made in another thread, up to so many before they are asked for.

    A failure comes out where the part would have. Whoever stops early waits for those under way.
    """
    remaining = iter(parts)
    with ThreadPoolExecutor(1) as maker:
        ahead = deque(maker.submit(next, remaining, _END) for _ in range(depth))
        try:
            while (part := ahead.popleft().result()) is not _END:
                ahead.append(maker.submit(next, remaining, _END))
                yield part
        finally:
            maker.shutdown(cancel_futures=True)


def made_ahead(make: Callable[[S], T], parts: Iterable[S]) -> Iterator[T]:
    """What is made of each part, on every core: of as many parts at once as there are threads.

    A failure comes out where its part would have. Whoever stops early waits for those under way.
    """
    threads = thread_count()
    if threads == 1:
        yield from map(make, parts)
        return

    def made(part: S) -> T:
        with limited(1):
            return make(part)

    remaining = iter(parts)
    with ThreadPoolExecutor(threads) as makers:
        ahead = deque(makers.submit(made, part) for part in islice(remaining, threads))
        try:
            while ahead:
                done = ahead.popleft().result()
                ahead.extend(makers.submit(made, part) for part in islice(remaining, 1))
                yield done
        finally:
            makers.shutdown(cancel_futures=True)
