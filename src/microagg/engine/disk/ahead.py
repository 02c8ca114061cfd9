"""Read ahead: the next part comes in while this one is worked on."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
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
