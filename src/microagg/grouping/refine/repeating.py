"""Search again and again from the start: many good partitions, each found by itself.

A search that ends in good groups nearly everywhere has frozen somewhere in worse ones, each search
elsewhere. Taken together, several of them know better groups for almost every place than a single
search of the same length, and an integer programme can put these together.
"""

import threading
from collections.abc import Callable

import numpy as np

from microagg.base.progress import Advance, silent
from microagg.grouping.method import Groups
from microagg.grouping.refine.search import Search, Seen, seek
from microagg.kernels.threads import run_all


def repeat(
    search: Search,
    rng: np.random.Generator,
    count: int,
    steps: int,
    advance: Advance = silent,
    *,
    seen: Seen,
    late: Callable[[], bool] = lambda: False,
) -> None:
    """Search so many times from where `search` began, with so many steps each, side by side.

    What is better in the groups found is taken, search by search, and `seen` is shown all of them.
    late: whether time is over: asked often, by every thread.
    """
    generators = rng.spawn(count)
    found: list[Groups | None] = [None] * count
    stopped = threading.Event()

    def over() -> bool:
        return stopped.is_set() or late()

    def begin(number: int, _advance: Advance) -> None:
        try:
            if not over():
                anew = search.anew(over)
                seek(anew, generators[number], steps)
                found[number] = anew.groups()
        except KeyboardInterrupt:
            # Searches that others are at end soon, and then the interruption goes on.
            stopped.set()
            raise

    run_all(begin, np.ones(count, np.int64), advance)
    for groups in found:
        if groups is not None:
            search.take(*groups)
            seen(*groups)
